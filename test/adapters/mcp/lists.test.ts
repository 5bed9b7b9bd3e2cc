import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { filterLists } from "../../../src/adapters/mcp/lists.ts";

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

  it("removes it from the first event behind a byte order mark, which clients ignore", () => {
    expect(filter(`\uFEFFdata: ${json}\n\n`)).toBe(`\uFEFFdata: ${JSON.stringify(without)}\n\n`);
  });

  it("keeps line breaks in a name inside of the event (GHSA-4hxc-9384-m385)", () => {
    const names = [
      "open",
      "a\rdata: {}\r\rdata: x",
      "b\ndata: {}",
      "c\u2028data: {}\u2029",
      "d\u0085data: {}",
    ];
    const tools = names.map((name) => ({ name }));
    const body = `data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools } })}\n\n`;
    const filtered = filterLists(body, () => true);
    expect(filtered.split(/\r\n|\r|\n/)).toEqual([body.trimEnd(), "", ""]);
    expect(filterLists(body, (operation) => operation === "tools/call open")).toBe(
      `data: ${JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools: [{ name: "open" }] } })}\n\n`,
    );
  });

  it.each(["\r", "\n", "\r\n"])("empties an event whose message is on two lines, divided by %j", (end) => {
    expect(filter(`data: ${json.slice(0, 20)}${end}data: ${json.slice(20)}\n\n`)).toBe("");
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
