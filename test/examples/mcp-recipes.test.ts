/** The programs in `examples/mcp`, as the guide for MCP servers explains them. */
import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { decodeJwt } from "jose";
import type * as oidc from "oidc-provider";
// The main module logs a warning on Node.js 20.
// @ts-expect-error Only the main module has types.
import { Provider as untyped } from "oidc-provider/lib/provider.js";
import { createResourceServer } from "scopegate";
import { apiKeyFile, createApiKey } from "scopegate/api-keys";
import { remoteKeys } from "scopegate/keys";
import { type HandlerExtra, withMcp } from "scopegate/mcp";
import { createTestIssuer } from "scopegate/testing";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { signInConfiguration } from "../adapters/mcp/support/authorization-server.ts";
import { post } from "../adapters/mcp/support/send.ts";
import { createResourceServer as createComplete } from "../support/server.ts";
import { ROOT } from "../documentation/markdown.ts";
import { type Served, serve } from "../documentation/serve.ts";
import { temporaryFolder } from "../support/folder.ts";
import { askMcp, listen } from "../support/http.ts";

const Provider = untyped as typeof oidc.Provider;

const RESOURCE = "http://localhost:3000/mcp";
const issuer = createTestIssuer({ algorithm: "RS256", audience: RESOURCE });
const keysFile = join(temporaryFolder("mcp-recipes"), "keys.json");
const fileOf = (name: string): string => pathToFileURL(join(ROOT, "examples/mcp", name)).href;
const tokenOf = (userId: string, ...scopes: readonly string[]) =>
  issuer.token({ userId, scopes: [...scopes] });

beforeAll(() => {
  vi.stubEnv("JWT_PUBLIC_KEY", issuer.key.verificationKey);
  vi.stubEnv("KEYS_FILE", keysFile);
});
afterAll(() => {
  vi.unstubAllEnvs();
});

describe("a server with limits, a log and API keys", () => {
  let served: Served;
  const lines: string[] = [];
  beforeAll(async () => {
    vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
    served = await serve(fileOf("recipes.mjs"));
  });
  beforeEach(() => {
    lines.length = 0;
  });
  afterAll(async () => {
    vi.restoreAllMocks();
    await served.close();
  });
  const search = (token?: string) =>
    askMcp(served.port, "tools/call", { name: "search", arguments: { query: "x" } }, token);

  it("limits the calls of a tool for each caller", async () => {
    const [alice, bob] = [await tokenOf("alice", "docs:read"), await tokenOf("bob", "docs:read")];
    const statuses = [];
    for (const token of [alice, alice, alice, bob]) statuses.push((await search(token)).status);
    expect(statuses).toEqual([200, 200, 429, 200]);
    expect((await search(await tokenOf("alice", "docs:read"))).headers["retry-after"]).toBe("60");
    expect((await askMcp(served.port, "tools/list", {}, alice)).status).toBe(200);
  });

  it("writes a line for each call with its user, its operation and its outcome", async () => {
    await search(await tokenOf("carol", "docs:read"));
    await search(await tokenOf("carol"));
    const time = expect.any(String) as string;
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      { time, user: "carol", operation: "tools/call search", outcome: "allowed" },
      { time, user: "carol", operation: "tools/call search", outcome: "scope_insufficient" },
    ]);
  });

  it("accepts the API key of a program that can't sign in, with its scopes only", async () => {
    const make = async (...scopes: string[]): Promise<string> => {
      const { key, record } = createApiKey({
        prefix: "docs_key_",
        name: "ci",
        scopes,
        ownerId: "service:ci",
        expiresAt: new Date(Date.now() + 60_000), // `requiredClaims: ["exp"]` is for API keys, too
      });
      await apiKeyFile(keysFile).add(record);
      return key;
    };
    expect((await search(await make("docs:read"))).status).toBe(200);
    expect((await search(await make("agents:web:run"))).status).toBe(403);
    expect((await search("docs_key_wrong")).status).toBe(401);
  });
});

it("serves the metadata of an MCP server in a route of Next.js", async () => {
  const { GET } = (await import(fileOf("nextjs-metadata.mjs"))) as { GET: (request: Request) => Response };
  const path = "http://localhost:3000/.well-known/oauth-protected-resource/mcp";
  expect(await GET(new Request(path)).json()).toMatchObject({ resource: RESOURCE });
  expect(GET(new Request(`${path}/other`)).status).toBe(404);
});

it("keeps each session of version 1 of the SDK for the caller who started it", async () => {
  const { port, close } = await serve(fileOf("sessions.mjs"));
  const send = async (userId: string, method: string, params: object, session?: string) => {
    const headers = session === undefined ? {} : { "mcp-session-id": session };
    return post(port, { jsonrpc: "2.0", id: 1, method, params }, await tokenOf(userId), headers);
  };
  const clientInfo = { name: "test", version: "1" };
  const start = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  const session = (await send("alice", "initialize", start)).headers.get("mcp-session-id") ?? "";
  const { text } = await send("alice", "tools/call", { name: "whoami" }, session);
  expect(JSON.parse(text)).toMatchObject({ result: { content: [{ text: "alice" }] } });
  expect((await send("bob", "tools/call", { name: "whoami" }, session)).status).toBe(404);
  await close();
});

describe("the exchange of a caller's token for one of another API (RFC 8693)", () => {
  const API = "https://api.example/";
  const GRANT = "urn:ietf:params:oauth:grant-type:token-exchange";

  interface ExchangeModule {
    readonly createExchange: (options: object) => (extra: HandlerExtra) => Promise<string>;
  }

  /** An authorization server that exchanges tokens of `issuer`, as its policy allows this client. */
  async function openProvider() {
    const { port, close } = await listen(createServer((request, response) => void handle(request, response)));
    const provider = new Provider(`http://127.0.0.1:${port}`, {
      ...signInConfiguration(["notes:read"]),
      clients: [
        {
          client_id: "mcp-server",
          client_secret: "a secret of the tests: 100%",
          grant_types: [GRANT],
          redirect_uris: [],
          response_types: [],
        },
      ],
      features: { devInteractions: { enabled: false }, resourceIndicators: { enabled: true } },
    });
    const parameters = ["subject_token", "subject_token_type", "audience", "scope"];
    let exchanges = 0;
    const verifier = createResourceServer({ ...issuer.resourceServerOptions, serviceId: RESOURCE });
    provider.registerGrantType(
      GRANT,
      async (context) => {
        const { client, params } = context.oidc;
        const { subject_token: subject, audience, scope } = params as Record<string, string>;
        const caller = await verifier.authenticate(subject ?? "");
        const info = { audience, scope, accessTokenFormat: "jwt" as const };
        const token = new provider.AccessToken({ accountId: caller.userId ?? "", client, scope } as never);
        token.resourceServer = new provider.ResourceServer(audience ?? "", info as never);
        exchanges += 1;
        context.body = {
          access_token: await token.save(),
          issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
          token_type: "Bearer",
          expires_in: 300,
        };
      },
      parameters,
    );
    const handle = provider.callback();
    return { url: provider.issuer, close, count: () => exchanges };
  }

  it("keeps the user, and is made once for calls with the same token", async () => {
    const provider = await openProvider();
    const { createExchange } = (await import(fileOf("token-exchange.mjs"))) as ExchangeModule;
    const exchange = createExchange({
      tokenEndpoint: `${provider.url}/token`,
      clientId: "mcp-server",
      clientSecret: "a secret of the tests: 100%",
      audience: API,
      scope: "notes:read",
    });
    const api = createResourceServer({
      serviceId: API,
      issuer: provider.url,
      keys: remoteKeys({ discovery: true }),
      scopesClaim: "scope",
    });
    const exchanged: string[] = [];
    const server = createComplete({
      ...issuer.resourceServerOptions,
      serviceId: RESOURCE,
      scopeMappings: { "* /mcp": [], "MCP tools/call notes": [] },
    });
    const handler = withMcp(server, async (_, access) => {
      exchanged.push(await exchange({ authInfo: access.authInfo }));
      return Response.json({ jsonrpc: "2.0", id: 1, result: { content: [] } });
    });
    const token = await tokenOf("alice");
    const call = () =>
      handler(
        new Request(RESOURCE, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "notes" } }),
        }),
      );
    expect([(await call()).status, (await call()).status]).toEqual([200, 200]);
    const [first = ""] = exchanged;
    expect(decodeJwt(first)).toMatchObject({ sub: "alice", aud: API });
    const principal = await api.authenticate(first);
    expect(principal).toMatchObject({ userId: "alice", scopes: ["notes:read"] });
    expect(provider.count()).toBe(1);
    await expect(exchange({})).rejects.toThrow("needs a caller");
    await provider.close();
  });
});
