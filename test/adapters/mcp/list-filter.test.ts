/** The option `listFilter`: how lists are edited, and on every host. */
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { editLists, type EditEntry } from "../../../src/adapters/mcp/lists.ts";
import { createEditor } from "../../../src/adapters/mcp/response-editor.ts";
import { EVERY_HOST, openHost, type OpenHost } from "./support/hosts.ts";
import { post } from "./support/send.ts";
import { createMcpResourceServer, tokenOf, TOOLS, type User } from "./support/tools.ts";

const message = { jsonrpc: "2.0", id: 1, result: { tools: [{ name: "open" }, { name: "closed" }] } };
const without = { jsonrpc: "2.0", id: 1, result: { tools: [{ name: "open" }] } };
const json = JSON.stringify(message);

/** Filters a body that arrives in pieces of `size` characters. */
async function filterBody(body: string, names: readonly string[], size = Infinity): Promise<string> {
  const editEntry: EditEntry = (entry, { name = "" }) => (names.includes(name) ? [entry] : []);
  const edits = { isFilter: true, editMessage: (one: object) => editLists(one as never, editEntry) };
  const type = /^\W?(?:event|data|id|retry)?:/.test(body) ? "text/event-stream" : "application/json";
  const editor = createEditor(edits, { type, encoding: undefined });
  let sent = "";
  for (let start = 0; start < body.length; start += size)
    sent += (await editor?.write(body.slice(start, start + size))) ?? "";
  return `${sent}${(await editor?.end()) ?? ""}`;
}
const filter = (body: string) => filterBody(body, ["open"]);

describe("editLists", () => {
  it.each([json, ` ${json}`, `\r\n${json}`])("removes what may not be called from JSON: %j", async (body) => {
    expect(JSON.parse(await filter(body))).toEqual(without);
  });

  it("removes it from each message of a batch, and from each event", async () => {
    expect(JSON.parse(await filter(`[${json},${json}]`))).toEqual([without, without]);
    const event = `event: message\ndata: ${json}\n\n`;
    expect(await filter(`${event}id: 1\r\n${event}`)).toBe(
      `event: message\ndata: ${JSON.stringify(without)}\n\nid: 1\nevent: message\ndata: ${JSON.stringify(without)}\n\n`,
    );
  });

  it("removes it from the first event behind a byte order mark, which clients ignore", async () => {
    expect(await filter(`\uFEFFdata: ${json}\n\n`)).toBe(`data: ${JSON.stringify(without)}\n\n`);
  });

  it.each(["\r", "\n", "\r\n"])(
    "filters an event whose message is on two lines, divided by %j",
    async (end) => {
      const place = json.indexOf(",") + 1;
      const body = `data: ${json.slice(0, place)}${end}data: ${json.slice(place)}${end}${end}`;
      const expected = `data: ${JSON.stringify(without)}\n\n`;
      expect(await filter(body)).toBe(expected);
      expect(await filterBody(body, ["open"], 1)).toBe(expected);
    },
  );

  it("keeps line breaks of a name in its event", async () => {
    const names = ["a\rdata: {}\r\rdata: x", "b\ndata: {}", "c\u2028data: {}\u2029", "d\u0085data: {}"];
    const tools = names.map((name) => ({ name }));
    const event = `data: ${JSON.stringify({ ...message, result: { tools } })}`;
    const text = await filterBody(`${event}\n\n`, names);
    expect(text.split(/\r\n|\r|\n/)).toEqual([event, "", ""]);
  });

  it("makes a list private that caches would share", () => {
    const shared = { ...message, result: { ...message.result, cacheScope: "public" } };
    expect(editLists(shared, (entry) => [entry])).toMatchObject({ result: { cacheScope: "private" } });
  });

  it("leaves a message without a list as it is", async () => {
    const error = { jsonrpc: "2.0", id: 1, error: { code: -32600, message: "x" } };
    expect(JSON.parse(await filter(JSON.stringify(error)))).toEqual(error);
  });

  it.each([
    gzipSync(json).toString(),
    `<html>${json}</html>`,
    `x${json}`,
    `${json},`,
    `data: ${json},\n\n`,
    "data: [DONE]\n\n",
  ])("replaces a body that it cannot read by an empty one", async (body) =>
    expect(await filter(body)).toBe(""),
  );
});

describe.each(EVERY_HOST)("lists of version $line on $name, as JSON: $isJson", (host) => {
  let [open, whole] = [] as unknown as [OpenHost, OpenHost];
  beforeAll(async () => {
    open = await openHost(host, createMcpResourceServer(), { listFilter: true });
    whole = await openHost(host, createMcpResourceServer());
  });
  afterAll(() => Promise.all([open.close(), whole.close()]));

  const list = async ({ port }: OpenHost, user: User) => {
    const body = { jsonrpc: "2.0", id: 1, method: "tools/list" };
    const { status, headers, text } = await post(port, body, await tokenOf(user));
    const type = host.isJson ? "application/json" : "text/event-stream";
    expect([status, headers.get("content-type")]).toEqual([200, type]);
    return TOOLS.filter((tool) => text.includes(`"name":"${tool}"`));
  };

  it("show what the caller may call with some arguments, and everything without the option", async () => {
    expect(await list(open, "nobody")).toEqual([]);
    expect(await list(open, "reader")).toEqual(["search"]);
    expect(await list(open, "runner")).toEqual(["search", "run_agent"]);
    expect(await list(whole, "nobody")).toEqual(TOOLS);
  });
});
