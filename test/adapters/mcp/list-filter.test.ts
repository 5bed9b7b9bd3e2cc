/** The option `listFilter`, on every host, with responses of both kinds. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HOSTS, openHost, type OpenHost } from "./support/hosts.ts";
import { createMcpResourceServer, LINES, tokenOf, TOOLS, type User } from "./support/tools.ts";

const CASES = HOSTS.flatMap((host) =>
  LINES.flatMap((line) => [true, false].map((isJson) => ({ ...host, line, isJson }))),
);
const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list" };

describe.each(CASES)("lists of version $line on $name, as JSON: $isJson", (host) => {
  let open: OpenHost;
  let whole: OpenHost;
  beforeAll(async () => {
    const { line, isJson } = host;
    open = await openHost(host, createMcpResourceServer(), { line, isJson, listFilter: true });
    whole = await openHost(host, createMcpResourceServer(), { line, isJson });
  });
  afterAll(() => Promise.all([open.close(), whole.close()]));

  const list = async ({ port }: OpenHost, user: User) => {
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${await tokenOf(user)}`,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
      },
      body: JSON.stringify(LIST),
      signal: AbortSignal.timeout(5000),
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe(host.isJson ? "application/json" : "text/event-stream");
    const body = await response.text();
    return TOOLS.filter((tool) => body.includes(`"name":"${tool}"`));
  };

  it("show what the caller may call with some arguments", async () => {
    expect(await list(open, "nobody")).toEqual([]);
    expect(await list(open, "reader")).toEqual(["search"]);
    expect(await list(open, "runner")).toEqual(["search", "run_agent"]);
  });

  it("show everything without the option", async () => {
    expect(await list(whole, "nobody")).toEqual(TOOLS);
  });
});
