/** The DPoP session of the official MCP client, against MCP servers of both lines on every host. */
import { createServer, type Server } from "node:http";
import { createAdaptorServer } from "@hono/node-server";
import {
  Client,
  DpopSession,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  withDpop,
} from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import { protectMcp } from "scopegate/mcp";
import { signIn } from "../../adapters/mcp/support/authorization-server.ts";
import { createBackend } from "../../adapters/mcp/support/backend.ts";
import { type Host, HOSTS } from "../../adapters/mcp/support/hosts.ts";
import { createOAuthClient } from "../../adapters/mcp/support/oauth-client.ts";
import { type Line, LINES, TABLE } from "../../adapters/mcp/support/tools.ts";
import { listen } from "../../support/http.ts";
import { createResourceServer } from "../../support/server.ts";
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
  const token = () => (store.tokens() as { readonly access_token?: string } | undefined)?.access_token;
  return { open, tokenType, exchanges, session, token };
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

/** Hosts with both guards: each checks the same proof, whose `jti` may be used once. */
const BEHIND_PROTECT: readonly Pick<Host, "name" | "create">[] = [
  {
    name: "Express",
    create: (server, backend) => {
      const app = express();
      app.use(forExpress.metadata(server), forExpress.protect(server), protectMcp(server));
      app.all("/mcp", (request, response, next) => {
        backend.node(request, response, request.body).catch(next);
      });
      return Promise.resolve(createServer(app));
    },
  },
  {
    name: "Koa",
    create: (server, backend) => {
      const app = new Koa();
      app.use(forKoa.metadata(server)).use(forKoa.protect(server)).use(protectMcp(server));
      app.use(async (context) => {
        context.respond = false;
        const { body } = context.request as { readonly body?: unknown };
        await backend.node(context.req, context.res, body);
      });
      const callback = app.callback();
      return Promise.resolve(createServer((request, response) => void callback(request, response)));
    },
  },
  {
    name: "Fastify",
    create: async (server, backend) => {
      const app = fastify();
      await app.register(forFastify.metadata(server));
      await app.register(forFastify.protect(server));
      await app.register(protectMcp(server));
      app.all("/mcp", async (request, reply) => {
        reply.hijack();
        await backend.node(request.raw, reply.raw, request.body);
      });
      await app.ready();
      return app.server;
    },
  },
  {
    name: "Hono",
    create: (server, backend) => {
      const app = new Hono<{ Variables: { auth: unknown; parsedBody: unknown } }>();
      app.use(forHono.metadata(server), forHono.protect(server), protectMcp(server));
      app.all("/mcp", (c) =>
        backend.web(c.req.raw, { authInfo: c.get("auth"), parsedBody: c.get("parsedBody") }),
      );
      const { fetch } = app;
      return Promise.resolve(createAdaptorServer({ fetch, overrideGlobalObjects: false }) as Server);
    },
  },
];

it.each(BEHIND_PROTECT)(
  "checks the proof of a request once, on $name with `protect` and `protectMcp`",
  async (host) => {
    const { url, backend } = await openProtected({ ...host, line: 2 }, 2, { nonce: true });
    const { open, exchanges } = await createApplication(url);
    const { client } = await open();
    await client.callTool({ name: "search", arguments: { q: "x" } });
    await client.callTool({ name: "remove_agent", arguments: {} });
    expect(backend.executions).toHaveLength(2);
    expect(exchanges.filter(({ status }) => status === 401)).toHaveLength(1);
  },
);

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

it("lets an application with a key find it if every token must be bound to one", async () => {
  const { url } = await openProtected(EXPRESS, 2, { required: true, nonce: true });
  const { open, exchanges } = await createApplication(url);
  const { client } = await open();
  await client.callTool({ name: "search", arguments: { q: "x" } });
  // The client reads from this challenge where the metadata is, and which scopes to request.
  expect(exchanges[0]?.challenge).toMatch(
    /^DPoP scope="docs:read", algs="[^"]+", resource_metadata="[^"]+"$/,
  );
});

it.each([false, true])(
  "accepts a client of line 1, whose `fetch` is that of `withDpop`; with nonces: %s",
  async (nonce) => {
    const { url, backend } = await openProtected(EXPRESS, 1, { nonce, required: true });
    const { open, session, token } = await createApplication(url);
    await open();
    if (!session) throw new Error("The application has no key.");
    const client = new Client1({ name: "test", version: "1.0.0" });
    onTestFinished(() => client.close());
    const signedFetch = withDpop(session, token)((target, init) => fetch(target, init));
    const transport = new Transport1(new URL(url), { fetch: signedFetch });
    await client.connect(transport);
    await client.callTool({ name: "remove_agent", arguments: {} });
    expect(backend.executions.map(({ call }) => call)).toEqual(["remove_agent undefined"]);
  },
);
