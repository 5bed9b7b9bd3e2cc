import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { filterLists } from "../../src/mcp/lists.ts";

const message = { jsonrpc: "2.0", id: 1, result: { tools: [{ name: "open" }, { name: "closed" }] } };
const without = { jsonrpc: "2.0", id: 1, result: { tools: [{ name: "open" }] } };
const json = JSON.stringify(message);
const filter = (body: string) => filterLists(body, (operation) => operation === "tools/call open");

describe("filterLists", () => {
  it.each([json, ` ${json}`, `\r\n${json}`])("removes what may not be called from JSON: %j", (body) => {
    expect(JSON.parse(filter(body))).toEqual(without);
  });

  it("removes it from each message of a batch, and from each event", () => {
    expect(JSON.parse(filter(`[${json},${json}]`))).toEqual([without, without]);
    const event = `event: message\ndata: ${json}\n\n`;
    expect(filter(`${event}id: 1\r\n${event}`)).toBe(
      `event: message\ndata: ${JSON.stringify(without)}\n\nid: 1\r\nevent: message\ndata: ${JSON.stringify(without)}\n\n`,
    );
  });

  it("leaves a message without a list as it is", () => {
    const error = { jsonrpc: "2.0", id: 1, error: { code: -32600, message: "x" } };
    expect(JSON.parse(filter(JSON.stringify(error)))).toEqual(error);
  });

  it.each([
    gzipSync(json).toString(),
    `<html>${json}</html>`,
    `x${json}`,
    `${json},`,
    "[null]",
    `data: ${json},\n\n`,
    "data: null\n\n",
    "data: [DONE]\n\n",
  ])("replaces a body that it cannot read by an empty one", (body) => expect(filter(body)).toBe(""));
});
