/** The DPoP session of the official MCP client, against MCP servers of both lines on every host. */
import { createServer, type Server } from "node:http";
import {
  Client,
  DpopSession,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createResourceServer } from "scopegate";
import { signIn } from "../../adapters/mcp/support/authorization-server.ts";
import { createBackend } from "../../adapters/mcp/support/backend.ts";
import { type Host, HOSTS } from "../../adapters/mcp/support/hosts.ts";
import { createOAuthClient } from "../../adapters/mcp/support/oauth-client.ts";
import { type Line, LINES, TABLE } from "../../adapters/mcp/support/tools.ts";
import { listen } from "../../support/http.ts";
import { openProvider, type ProofProvider } from "./provider.ts";

let login: ProofProvider;
beforeAll(async () => {
  login = await openProvider();
});
afterAll(() => login.close());

/** One exchange with the MCP server, as the client saw it. */
interface Exchange {
  /** The message of the client; `undefined` for a stream. */
  readonly message: string | undefined;
  readonly status: number;
  readonly challenge: string | null;
  readonly scheme: string | undefined;
  readonly hasNonce: boolean;
}

interface Options {
  readonly nonce?: boolean;
  readonly required?: boolean;
  /** How far the clock of the server is ahead. */
  readonly aheadSeconds?: () => number;
}

const NONCE_SECONDS = 30;

/** An MCP server at a URL that is known before it exists. Only clients that hold a key may call `remove_agent`. */
async function openProtected(host: Host, line: Line, options: Options = {}) {
  const { nonce = false, required = false, aheadSeconds = () => 0 } = options;
  const { port, close } = await listen(
    createServer((request, response) => void application.emit("request", request, response)),
  );
  const origin = `http://127.0.0.1:${port}`;
  const url = `${origin}/mcp`;
  const server = createResourceServer({
    serviceId: url,
    issuer: login.issuer,
    keys: { discovery: true },
    resource: { id: url, authorizationServers: [login.issuer] },
    scopesClaim: "scope",
    scopeMappings: {
      ...TABLE,
      "MCP tools/call remove_agent": { scopes: ["docs:read"], senderConstrained: true },
    },
    now: () => Date.now() + aheadSeconds() * 1000,
    senderConstraint: {
      dpop: { origins: [origin], nonce: nonce && { lifetimeSeconds: NONCE_SECONDS } },
      required,
    },
  });
  const backend = createBackend(line);
  const application: Server = await host.create(server, backend);
  onTestFinished(async () => {
    await close();
    await server.close();
  });
  return { url, backend };
}

const messageOf = (body: unknown): string | undefined =>
  typeof body === "string" ? (JSON.parse(body) as { readonly method: string }).method : undefined;

/** An application with the official client, whose tokens are bound to its key if it has one. */
async function createApplication(url: string, hasKey = true) {
  const session = hasKey ? await DpopSession.create() : undefined;
  const store = createOAuthClient(login.issuer, signIn);
  const provider = {
    ...store,
    ...(session && { dpop: () => session }),
  } as unknown as OAuthClientProvider;
  const exchanges: Exchange[] = [];
  const record = async (target: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await fetch(target, init);
    if (target.toString() !== url) return response;
    const { status, headers } = response;
    const [scheme] = new Headers(init?.headers).get("authorization")?.split(" ") ?? [];
    const challenge = headers.get("www-authenticate");
    const message = messageOf(init?.body);
    exchanges.push({ message, status, challenge, scheme, hasNonce: headers.has("dpop-nonce") });
    return response;
  };
  const connect = () => {
    const transport = new StreamableHTTPClientTransport(new URL(url), {
      authProvider: provider,
      fetch: record,
    });
    const client = new Client({ name: "test", version: "1.0.0" });
    onTestFinished(() => client.close());
    const finish = async () => transport.finishAuth(await store.answer());
    const connected = client.connect(transport);
    return { client, finish, connected };
  };
  const tokenType = () => (store.tokens() as { readonly token_type?: string } | undefined)?.token_type;
  /** Signs in, and connects. */
  const open = async () => {
    const { finish, connected } = connect();
    await expect(connected).rejects.toThrow(/unauthorized/i);
    await finish();
    const next = connect();
    await next.connected;
    return next;
  };
  return { open, tokenType, exchanges };
}

const RUN_AGENT = { name: "run_agent", arguments: { agent_id: "web" } };

describe.each(HOSTS)("an MCP server on $name", (host) => {
  const cases = LINES.flatMap((line) => [
    { line, nonce: false, title: `of line ${line}` },
    { line, nonce: true, title: `of line ${line} with nonces` },
  ]);
  it.each(cases)("$title accepts the proofs of a client, also after a step-up", async ({ line, nonce }) => {
    const { url, backend } = await openProtected(host, line, { nonce });
    const { open, tokenType, exchanges } = await createApplication(url);
    const statuses = () => exchanges.map(({ status }) => status);
    const { client, finish } = await open();
    expect(tokenType()).toBe("DPoP");

    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["search", "run_agent", "remove_agent"]);
    await client.callTool({ name: "search", arguments: { q: "x" } });
    await client.callTool({ name: "remove_agent", arguments: {} });
    expect(statuses()).not.toContain(403);

    await expect(client.callTool(RUN_AGENT)).rejects.toThrow(/unauthorized/i);
    const refused = exchanges.find(({ status }) => status === 403);
    expect(refused?.challenge).toMatch(/^DPoP error="insufficient_scope"/);
    expect(refused?.challenge).not.toContain("Bearer");
    await finish();
    await client.callTool(RUN_AGENT);

    expect(backend.executions.map(({ call }) => call)).toEqual([
      "search",
      "remove_agent undefined",
      "run_agent web",
    ]);
    // Only the first request, without a token. The client keeps the nonce of this answer, so it repeats no proof.
    const refusals = exchanges.filter(({ status }) => status === 401);
    expect(refusals).toMatchObject([{ scheme: undefined, hasNonce: nonce }]);
    expect(exchanges.filter(({ scheme }) => scheme === "Bearer")).toEqual([]);
    expect(statuses().filter((status) => status >= 500)).toEqual([]);
  });
});

const [EXPRESS] = HOSTS as readonly [Host, ...Host[]];

it("repeats a call once if its nonce is too old", async () => {
  let aheadSeconds = 0;
  const options = { nonce: true, aheadSeconds: () => aheadSeconds };
  const { url, backend } = await openProtected(EXPRESS, 2, options);
  const { open, exchanges } = await createApplication(url);
  const { client } = await open();
  aheadSeconds = 2 * NONCE_SECONDS;
  await client.callTool({ name: "search", arguments: { q: "x" } });
  // The client also opens a stream.
  const calls = exchanges.filter(({ message }) => message === "tools/call");
  expect(calls).toMatchObject([
    { status: 401, scheme: "DPoP", hasNonce: true },
    { status: 200, scheme: "DPoP" },
  ]);
  expect(calls[0]?.challenge).toMatch(/^DPoP error="use_dpop_nonce"/);
  expect(backend.executions).toHaveLength(1);
});

describe("an application without a key", () => {
  it("calls everything but the operation that needs one", async () => {
    const { url, backend } = await openProtected(EXPRESS, 2);
    const { open, tokenType, exchanges } = await createApplication(url, false);
    const { client } = await open();
    expect(tokenType()).toBe("Bearer");
    await client.callTool({ name: "search", arguments: { q: "x" } });
    await expect(client.callTool({ name: "remove_agent", arguments: {} })).rejects.toThrow();
    expect(backend.executions.map(({ call }) => call)).toEqual(["search"]);
    const { status, challenge } = exchanges.at(-1) ?? {};
    expect(status).toBe(401);
    expect(challenge).toMatch(/^DPoP error="invalid_token"/);
  });

  it("gets in nowhere if every token must be bound to one", async () => {
    const { url } = await openProtected(EXPRESS, 2, { required: true });
    const { open, exchanges } = await createApplication(url, false);
    await expect(open()).rejects.toThrow();
    for (const { status, challenge } of exchanges) {
      expect(status).toBe(401);
      expect(challenge).toMatch(/^DPoP /);
      expect(challenge).not.toContain("Bearer");
    }
  });
});

it("is found by an application with a key if every token must be bound to one", async () => {
  const { url } = await openProtected(EXPRESS, 2, { required: true, nonce: true });
  const { open, exchanges } = await createApplication(url);
  const { client } = await open();
  await client.callTool({ name: "search", arguments: { q: "x" } });
  // The client reads from this challenge where the metadata is, and which scopes to request.
  expect(exchanges[0]?.challenge).toMatch(
    /^DPoP scope="docs:read", algs="[^"]+", resource_metadata="[^"]+"$/,
  );
});
