/** A tool that learns from its backend that its caller needs more scopes. */
import type { Decision } from "scopegate";
import { challenge, type HandlerExtra } from "scopegate/mcp";
import { withPrincipal } from "scopegate/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { CreateMcp } from "./support/backend.ts";
import { call, message } from "./support/corpus/hostile.ts";
import { headersOf, modern } from "./support/corpus/revisions.ts";
import { EVERY_HOST, openHost, type OpenHost } from "./support/hosts.ts";
import { SDK } from "./support/sdk.ts";
import { send } from "./support/send.ts";
import { createMcpResourceServer, TABLE, tokenOf } from "./support/tools.ts";

const createMcp: CreateMcp = (line) => {
  const mcp = new SDK[line].Server({ name: "agents", version: "1.0.0" });
  const config = { inputSchema: z.looseObject({}), outputSchema: z.object({ n: z.number() }) };
  mcp.registerTool("search", config, (_, extra: HandlerExtra) => challenge(extra, ["docs:publish"]));
  mcp.registerPrompt("greet", {}, (extra: HandlerExtra) => {
    throw new Error(challenge(extra, ["docs:publish"]).content[0]?.text);
  });
  return mcp;
};

const decisions: Decision[] = [];
const onDecision = (decision: Decision) => void decisions.push(decision);
const createServer = () =>
  createMcpResourceServer({ ...TABLE, "MCP prompts/get greet": [] }, {}, { onDecision });

const CHALLENGE =
  'Bearer error="insufficient_scope", error_description="The access token does not grant the scopes that this operation needs.", ' +
  `scope="docs:read docs:publish agents:web:run", resource_metadata="https://api.example/.well-known/oauth-protected-resource/mcp"`;

describe.each(EVERY_HOST)("a tool of version $line on $name, in JSON: $isJson", (host) => {
  let open: OpenHost;
  beforeAll(async () => {
    open = await openHost(host, createServer(), { create: createMcp });
  });
  afterAll(() => open.close());

  const ask = async (body: object, headers = {}) =>
    send(open.port, { body: JSON.stringify(body), headers }, await tokenOf("runner"));
  const read = (body: string): string => /^data: (.*)$/m.exec(body)?.[1] ?? body;

  it("asks for the scopes of the operation and those that it names, in one challenge", async () => {
    decisions.length = 0;
    const { status, head, body } = await ask(call("search", {}));
    // A stream of events has begun before most handlers know what they need.
    expect(host.isJson ? [403] : [200, 403]).toContain(status);
    if (status === 403) {
      expect(head.match(/^www-authenticate: .*$/gim)).toHaveLength(1);
      expect(/^www-authenticate: (.*)$/im.exec(head)?.[1]).toBe(CHALLENGE);
      expect(JSON.parse(body)).toMatchObject({
        code: "scope_insufficient",
        required_scopes: ["docs:read", "docs:publish"],
        missing_scopes: ["docs:publish"],
      });
    } else {
      expect(head).not.toMatch(/^www-authenticate/im);
    }
    expect(decisions.at(-1)).toMatchObject({ allowed: false, reason: "scope_insufficient" });
  });

  it("sends the challenge in the result where other calls share the response", async () => {
    const { status, body } = await ask([call("search", {}), message("ping", {}, 2)]);
    if (host.isJson) {
      expect(status).toBe(200);
      const responses = JSON.parse(body) as readonly { id: number; result: object }[];
      expect(responses.find(({ id }) => id === 1)?.result).toMatchObject({
        isError: true,
        _meta: { "mcp/www_authenticate": [CHALLENGE] },
      });
    }
  });

  it("refuses a prompt in the same way", async () => {
    const { status, body } = await ask(message("prompts/get", { name: "greet" }));
    expect(host.isJson ? [403] : [200, 403]).toContain(status);
    if (status === 200) expect(JSON.parse(read(body) || "{}")).not.toHaveProperty("result");
  });

  it("answers an error of JSON-RPC since revision 2026-07-28, without the scopes of the token", async () => {
    if (host.line === 1) return;
    const received = await ask(
      modern("tools/call", { name: "search", arguments: {} }),
      headersOf("tools/call", "search"),
    );
    expect(received.status).toBe(403);
    expect(received.head).toContain('scope="docs:read docs:publish"');
    expect(JSON.parse(received.body)).toMatchObject({
      id: 1,
      error: { data: { code: "scope_insufficient" } },
    });
  });
});

describe("challenge", () => {
  it("can be tested without a server", () => {
    const extra = withPrincipal({ authInfo: undefined }, { scopes: ["docs:read"] });
    expect(challenge(extra, ["docs:publish"])._meta["mcp/www_authenticate"][0]).toContain(
      'scope="docs:publish"',
    );
  });

  it("takes only what protectMcp has passed on, and scopes that a token can have", () => {
    for (const wrong of [{}, { authInfo: {} }, { auth: { extra: {} } }, null, undefined, 5])
      expect(() => challenge(wrong as never, ["a:b"])).toThrow(TypeError);
    const extra = withPrincipal({ authInfo: undefined }, { scopes: [] });
    for (const scope of ["a b", "", "agents:<id>:run"])
      expect(() => challenge(extra, [scope])).toThrow("scopes");
  });
});
