/** `hidden`: what a caller may not call doesn't exist for it. */
import { gunzipSync, gzipSync } from "node:zlib";
import type { Decision } from "scopegate";
import { withMcp } from "scopegate/mcp";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import type { CreateMcp } from "./support/backend.ts";
import { ODD_NAMES, PAIRS } from "./support/corpus/hidden.ts";
import { message } from "./support/corpus/hostile.ts";
import { modern } from "./support/corpus/revisions.ts";
import { EVERY_HOST, EXPRESS, HOSTS, openHost, type OpenHost } from "./support/hosts.ts";
import { requestOf } from "./support/memory.ts";
import { post } from "./support/send.ts";
import { argumentsFor, SDK } from "./support/sdk.ts";
import { createMcpResourceServer, issuer } from "./support/tools.ts";

const ran: string[] = [];

const createMcp: CreateMcp = (line) => {
  const { Server, Template, completable } = SDK[line];
  const mcp = new Server({ name: "agents", version: "1.0.0" });
  const done = (name: string) => () => {
    ran.push(name);
    return { content: [], messages: [], contents: [] };
  };
  for (const tool of ["search", "secret", "scoped", "ruleless"])
    mcp.registerTool(tool, { description: tool, inputSchema: z.looseObject({}) }, done(tool));
  const id = line === 1 ? completable(z.string(), () => ["a"]) : z.string();
  for (const prompt of ["open", "secret"])
    mcp.registerPrompt(prompt, { argsSchema: argumentsFor(line, { id }) }, done(prompt));
  for (const name of ["open", "secret"]) mcp.registerResource(name, `note://${name}`, {}, done(name));
  const complete = { id: () => ["a", "b"] };
  mcp.registerResource("docs", new Template("docs://{id}", { list: undefined, complete }), {}, done("docs"));
  return mcp;
};

const decisions: Decision[] = [];

const createServer = (transport: "optional" | "public" | readonly string[], more: object = {}) =>
  createMcpResourceServer(
    {
      "* /mcp": transport,
      "MCP tools/list": "public",
      "MCP prompts/list": "public",
      "MCP resources/list": "public",
      "MCP resources/templates/list": "public",
      "MCP tools/call search": "public",
      "MCP tools/call secret": ["secret:use"],
      "MCP tools/call scoped": ["agents:<agent_id>:run"],
      "MCP prompts/get open": "public",
      "MCP prompts/get secret": ["secret:use"],
      "MCP resources/read note://open": "public",
      "MCP resources/read note://secret": ["secret:use"],
      "MCP resources/read docs://{id}": ["docs:<id>:read"],
      ...more,
    },
    { hidden: true },
    { onDecision: (decision) => void decisions.push(decision) },
  );

const tokenWith = (...scopes: readonly string[]) => issuer.token({ userId: "u", scopes: [...scopes] });

const batch = (...tools: readonly string[]) =>
  tools.map((name, index) => message("tools/call", { name }, index + 1));

const VARYING = /^(?:date|mcp-session-id|keep-alive|connection)$/;

const createAsker =
  (open: () => OpenHost) =>
  async (body: object, token?: string, more = {}) => {
    const { status, headers, text } = await post(open().port, body, token, more);
    // Events have an id of their own.
    const shown = [...headers].filter(([name]) => !VARYING.test(name));
    return { status, headers: shown, body: text.replace(/^id: .*\n/gm, "") };
  };

const named = (answer: object) =>
  JSON.parse(JSON.stringify(answer).replaceAll(/secret|nobody|scoped|docs:|none:|note:/g, "NAME")) as object;

describe.each(EVERY_HOST)("what is hidden on $name, version $line, in JSON: $isJson", (host) => {
  let open: OpenHost;
  const ask = createAsker(() => open);
  beforeAll(async () => {
    open = await openHost(host, createServer("optional"), { create: createMcp });
  });
  afterAll(() => open.close());
  beforeEach(() => {
    ran.length = 0;
    decisions.length = 0;
  });

  it("is answered as what doesn't exist, for callers with and without a token", async () => {
    for (const token of [undefined, await tokenWith("other:use")])
      for (const [hidden, missing] of PAIRS) {
        const answers = [await ask(hidden, token), await ask(missing, token)] as const;
        expect({ hidden, ...named(answers[0]) }).toEqual({ hidden, ...named(answers[1]) });
        expect(answers[0].status).toBe(200);
        expect(answers[0].body).not.toMatch(/x[\da-f]{32}x/);
      }
    expect(ran).toEqual([]);
  });

  it("runs for a caller who may call it", async () => {
    const token = await tokenWith("secret:use");
    await ask(message("tools/call", { name: "secret" }), token);
    await ask(message("prompts/get", { name: "secret", arguments: { id: "a" } }), token);
    expect(ran).toEqual(["secret", "secret"]);
  });

  it("has the decision of its rule, or that there's none", async () => {
    for (const [name, reason] of Object.entries({
      secret: "scope_insufficient",
      ruleless: "route_unmapped",
    })) {
      await ask(message("tools/call", { name }), await tokenWith());
      expect(decisions.at(-1)).toMatchObject({ reason });
    }
    expect(ran).toEqual([]);
  });

  it("is in no list", async () => {
    const lists = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];
    for (const [scopes, names] of [
      [[], []],
      [["secret:use"], ["secret", "secret", "note://secret"]],
      [["docs:a:read"], ["docs://{id}"]],
      [["agents:web:run"], ["scoped"]],
    ] as const) {
      const token = await tokenWith(...scopes);
      const bodies = await Promise.all(lists.map(async (list) => (await ask(message(list), token)).body));
      const found = bodies
        .join("")
        .match(/"(?:name|uri|uriTemplate)":"[^"]*(?:secret|scoped|\{id\}|ruleless)[^"]*"/g);
      const values = (found ?? []).map((each) => /:"(.*)"$/.exec(each)?.[1]);
      expect(new Set(values)).toEqual(new Set(names));
    }
  });

  it("doesn't keep the other operations of a batch from running", async () => {
    const answers = [await ask(batch("search", "secret")), await ask(batch("search", "nobody"))] as const;
    expect(named(answers[0])).toEqual(named(answers[1]));
    expect(answers[0].status).toBe(200);
    expect(ran).toEqual(["search", "search"]);
  });
});

/** With a rule for every name, its callers get the server's own response for an unknown name. */
const OWN_LINES = HOSTS.flatMap((host) => [true, false].map((isJson) => ({ ...host, isJson })));

describe.each(OWN_LINES)("an unknown name on $name, version $line, in JSON: $isJson", (host) => {
  let open: OpenHost;
  const ask = createAsker(() => open);
  beforeAll(async () => {
    const more = {
      "MCP tools/call *": ["any:use"],
      "MCP prompts/get *": ["any:use"],
      "MCP resources/read *": ["any:use"],
    };
    open = await openHost(host, createServer("optional", more), { create: createMcp });
  });
  afterAll(() => open.close());

  it("has the same response, byte by byte, if the server or the gate says that it's unknown", async () => {
    ran.length = 0;
    const [some, any] = [await tokenWith(), await tokenWith("any:use")];
    for (const name of ODD_NAMES) {
      const body = message("tools/call", { name });
      expect(await ask(body, some)).toEqual(await ask(body, any));
    }
    for (const body of [
      message("prompts/get", { name: "nobody" }),
      message("resources/read", { uri: "none://x/y" }),
      // The SDK of version 1 sends the normalized URI back.
      message("resources/read", { uri: "NONE://x/../y" }),
      message("resources/read", { uri: " none:\t//x" }),
    ])
      expect(await ask(body, some)).toEqual(await ask(body, any));
    for (const [hidden, missing] of PAIRS.slice(0, 3))
      expect(named(await ask(hidden, any))).toEqual(named(await ask(missing, any)));
    expect(ran).toEqual([]);
  });

  it("has the same response since revision 2026-07-28, with its headers", async () => {
    if (host.line === 1) return;
    const [some, any] = [await tokenWith(), await tokenWith("any:use")];
    for (const [method, params, name] of [
      ["tools/call", { name: "nobody" }, "nobody"],
      ["tools/call", { name: "nobody" }, "=?base64?bm9ib2R5?="],
      ["resources/read", { uri: "none://x" }, "none://x"],
    ] as const) {
      const headers = { "mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": name };
      const body = modern(method, params);
      const answer = await ask(body, some, headers);
      expect(answer).toEqual(await ask(body, any, headers));
      expect(answer.body).toContain(Object.values(params)[0]);
    }
  });
});

it("sends nothing of a compressed response, which contains the name that the server received", async () => {
  const compress = async (request: Request): Promise<Response> =>
    new Response(gzipSync(await request.text()), {
      headers: { "content-type": "application/json", "content-encoding": "gzip" },
    });
  const handler = withMcp(createServer("optional"), compress);
  const call = async (name: string): Promise<string> => {
    const response = await handler(requestOf(message("tools/call", { name })));
    const bytes = Buffer.from(await response.arrayBuffer());
    return bytes.length === 0 ? "" : gunzipSync(bytes).toString();
  };
  expect(await call("search")).toContain("search");
  expect(await call("secret")).toBe("");
});

it("sends no ETag of the body that the handler wrote, whose length would show that there are further tools", async () => {
  const listed = { jsonrpc: "2.0", id: 1, result: { tools: [{ name: "search" }, { name: "secret" }] } };
  const headers = { etag: 'W/"70-x"', "content-digest": "sha-256=:x:" };
  const list = () => Response.json(listed, { headers });
  const response = await withMcp(createServer("optional"), list)(requestOf(message("tools/list")));
  expect(await response.text()).not.toContain("secret");
  expect([response.headers.get("etag"), response.headers.get("content-digest")]).toEqual([null, null]);
});

describe("a public transport, where no token is read before the operations are known", () => {
  let open: OpenHost;
  const ask = createAsker(() => open);
  beforeAll(async () => {
    open = await openHost(EXPRESS, createServer("public"), { create: createMcp });
  });
  afterAll(() => open.close());

  it("hides the same for callers with a good token, a bad one and none", async () => {
    const [good, expired] = [await tokenWith(), await issuer.token({ userId: "u", rejectedAs: "expired" })];
    for (const token of [undefined, good, expired, "x", "a.b.c"])
      for (const [hidden, missing] of PAIRS)
        expect({ token, ...named(await ask(hidden, token)) }).toEqual({
          token,
          ...named(await ask(missing, token)),
        });
    ran.length = 0;
    const token = await tokenWith("secret:use");
    const answers = [
      await ask(batch("secret", "scoped"), token),
      await ask(batch("secret", "nobody"), token),
    ] as const;
    expect(named(answers[0])).toEqual(named(answers[1]));
    expect(ran).toEqual(["secret", "secret"]);
  });
});

it("hides only the tool that requires a bound token from a caller whose token is bound to no key", async () => {
  const server = createMcpResourceServer(
    {
      "* /mcp": "public",
      "MCP tools/call pay": { scopes: [], senderConstrained: true },
      "MCP tools/call search": ["docs:read"],
    },
    { hidden: true },
    { senderConstraint: { dpop: { origins: ["https://api.example"] } } },
  );
  const called: string[] = [];
  const handler = withMcp(server, async (request) => {
    const messages = (await request.json()) as readonly { readonly params: { readonly name: string } }[];
    called.push(...messages.map(({ params }) => params.name));
    return Response.json([]);
  });
  const call = async (...scopes: readonly string[]) => {
    called.length = 0;
    await handler(requestOf(batch("pay", "search"), await tokenWith(...scopes)));
    return called;
  };
  const UNKNOWN = expect.stringMatching(/^x[\da-f]{32}x\dx$/) as string;
  expect(await call("docs:read")).toEqual([UNKNOWN, "search"]);
  expect(await call()).toEqual([UNKNOWN, UNKNOWN]);
});
