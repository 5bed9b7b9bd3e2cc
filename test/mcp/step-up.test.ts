/** Real MCP clients, which get their tokens from a real authorization server, and more scopes when they need them. */
import { afterAll, describe, expect, it } from "vitest";
import type { ScopeMappings } from "scopegate";
import {
  type Authorization,
  openAuthorizationServer,
  STRONG,
} from "../adapters/mcp/support/authorization-server.ts";
import { type Host, HOSTS } from "../adapters/mcp/support/hosts.ts";
import type { Line } from "../adapters/mcp/support/tools.ts";
import {
  AI_SDK,
  type Call,
  type McpClient,
  SDK_1,
  SDK_2,
  SDK_2_MODERN,
  WITH_AUTHENTICATION,
} from "./step-up/clients.ts";
import { type Exchange, openMcpServer } from "../adapters/mcp/support/mcp-server.ts";
import { INSPECTOR, MCP_REMOTE, MCP_REMOTE_STRONG } from "./step-up/programs.ts";

/** What the metadata of the MCP server names in `scopes_supported`. */
const SUPPORTED = {
  "the default": undefined,
  "every scope": ["mcp:use", "a:read", "b:read", "agents:web:run"],
  "the scope of the transport": ["mcp:use"],
} as const;
type Supported = keyof typeof SUPPORTED;

/** Without the scope of an agent, which clients then request when they need it. */
const STATIC_SCOPES = ["mcp:use", "a:read", "b:read"];

const ONE_FOR_EACH = { "the default": 4, "every scope": 1, "the scope of the transport": 4 };

/**
 * `CALLS` needs three scopes beside that of the transport: the default is one sign-in for each of them.
 * The most sign-ins that `CALLS` may cost a client, for each value of `scopes_supported`. A client without step-up
 * cannot make the calls that need further scopes: `refused` is how many.
 */
const LIMITS: readonly {
  readonly client: McpClient;
  readonly signIns: Readonly<Record<Supported, number>>;
  readonly refused?: Readonly<Record<Supported, number>>;
}[] = [
  { client: SDK_1, signIns: ONE_FOR_EACH },
  { client: SDK_2, signIns: ONE_FOR_EACH },
  { client: SDK_2_MODERN, signIns: ONE_FOR_EACH },
  {
    client: AI_SDK,
    signIns: { "the default": 1, "every scope": 1, "the scope of the transport": 1 },
    refused: { "the default": 6, "every scope": 0, "the scope of the transport": 6 },
  },
  { client: INSPECTOR, signIns: ONE_FOR_EACH },
  { client: MCP_REMOTE, signIns: ONE_FOR_EACH },
];

const TABLE: ScopeMappings = {
  "* /mcp": ["mcp:use"],
  "MCP tools/list": [],
  "MCP tools/call a": ["a:read"],
  "MCP tools/call b": ["b:read"],
  "MCP tools/call run_agent": ["agents:<agent_id>:run"],
  "MCP prompts/get greet": ["a:read"],
  "MCP resources/read note://one": ["b:read"],
};

const INITIALIZE: Call = { method: "initialize" };
const A: Call = { method: "tools/call", params: { name: "a", arguments: {} } };
const B: Call = { method: "tools/call", params: { name: "b", arguments: {} } };
const RUN_AGENT: Call = {
  method: "tools/call",
  params: { name: "run_agent", arguments: { agent_id: "web" } },
};
const CALLS: readonly Call[] = [
  INITIALIZE,
  { method: "tools/list" },
  A,
  B,
  RUN_AGENT,
  { method: "prompts/get", params: { name: "greet" } },
  { method: "resources/read", params: { uri: "note://one" } },
  A,
];

const LINES = [
  { line: 1, server: "SDK 1.x" },
  { line: 2, server: "SDK 2.x" },
] as const;

interface Run {
  readonly calls: readonly Call[];
  /** Default: Express. */
  readonly host?: Host;
  readonly line?: Line;
  readonly scopeMappings?: ScopeMappings;
  readonly scopesSupported?: readonly string[] | undefined;
  readonly isDynamic?: boolean;
  readonly canRefresh?: boolean;
  readonly isDenied?: (scope: string | undefined) => boolean;
}

interface Outcome {
  /** For each call, `done` or why it failed. */
  readonly results: readonly string[];
  readonly authorizations: readonly Authorization[];
  /** The scopes with which clients registered. */
  readonly registered: readonly unknown[];
  readonly exchanges: readonly Exchange[];
}

/** Makes the calls with a new user of a new authorization server and a new MCP server. */
async function run(
  { open }: McpClient,
  { calls, host, line = 2, isDynamic = false, ...options }: Run,
): Promise<Outcome> {
  const { scopeMappings = TABLE, scopesSupported, canRefresh = false, isDenied } = options;
  const scopes = SUPPORTED["every scope"];
  const login = await openAuthorizationServer({ scopes, canRefresh, ...(isDenied && { isDenied }) });
  const { issuer, authorizations, registrations } = login;
  const mcp = await openMcpServer({ host, line, issuer, scopeMappings, scopesSupported });
  const session = await open({ url: mcp.url, issuer, isDynamic });
  const results: string[] = [];
  for (const call of calls)
    results.push(
      await session.call(call).then(
        () => "done",
        (error: unknown) => (error as Error).message,
      ),
    );
  await session.close();
  await mcp.close();
  await login.close();
  return {
    results,
    authorizations,
    registered: registrations.map(({ scope }) => scope),
    exchanges: mcp.exchanges,
  };
}

const INSTALLED = LIMITS.filter(({ client }) => client.isInstalled);
const CLIENTS = INSTALLED.map(({ client }) => client);
const STEPPING_UP = CLIENTS.filter((client) => client !== AI_SDK);
if (CLIENTS.length < LIMITS.length) console.warn("Some clients are skipped: npm run test:mcp installs them.");

const counts: object[] = [];
afterAll(() => console.table(counts));

describe.each(INSTALLED)("the client $client.name", ({ client, signIns, refused }) => {
  const settings = Object.keys(SUPPORTED) as Supported[];
  const cases = LINES.flatMap((line) => settings.map((supported) => ({ ...line, supported })));
  it.each(cases)(
    "signs in a limited number of times, if scopes_supported is $supported, with a server of $server",
    async ({ line, server, supported }) => {
      const scopesSupported = SUPPORTED[supported];
      const { results, authorizations, exchanges } = await run(client, {
        calls: CALLS,
        line,
        scopesSupported,
      });
      const failed = results.filter((result) => result !== "done");
      const challenges = exchanges.filter(({ status }) => status === 403).length;
      counts.push({
        client: client.name,
        server,
        scopes_supported: supported,
        "sign-ins": authorizations.length,
        "403": challenges,
        "failed calls": failed.length,
      });
      expect(failed).toHaveLength(refused?.[supported] ?? 0);
      expect(authorizations.length).toBeLessThanOrEqual(signIns[supported]);
    },
  );
});

describe.each(HOSTS)("an MCP server on $name", (host) => {
  it.each([
    { client: SDK_1, line: 1 },
    { client: SDK_2, line: 2 },
    { client: SDK_2_MODERN, line: 2 },
  ] as const)("leads the client $client.name to a token, and to more scopes", async ({ client, line }) => {
    // No scope helps to call a tool without a rule, so the client must not ask for one.
    const refused: Call = { method: "tools/call", params: { name: "remove_agent", arguments: {} } };
    const calls = [INITIALIZE, { method: "tools/list" }, RUN_AGENT, refused];
    const { results, authorizations, exchanges } = await run(client, { calls, host, line });
    expect(results).toEqual(["done", "done", "done", expect.not.stringMatching(/^done$/)]);
    const requested = authorizations.map(({ params }) => params["scope"]?.split(" ").sort());
    expect(requested).toEqual([["mcp:use"], ["agents:web:run", "mcp:use"]]);
    const statuses = exchanges.map(({ status }) => status);
    expect(statuses.filter((status) => status === 403)).toHaveLength(2);
    expect(statuses.filter((status) => status >= 500)).toEqual([]);
  });
});

describe.each(CLIENTS)("the dynamically registered client $name", (client) => {
  const calls = [INITIALIZE, A, RUN_AGENT, A];

  it("keeps its scopes if it may not request another one", async () => {
    const scopesSupported = ["mcp:use", "a:read"];
    const { results, authorizations, registered } = await run(client, {
      calls,
      isDynamic: true,
      scopesSupported,
    });
    // Clients register with these scopes. The authorization server answers `invalid_scope` if they request others.
    expect(registered).toEqual(["mcp:use a:read"]);
    expect(results).toEqual(["done", "done", expect.not.stringMatching(/^done$/), "done"]);
    const errors = authorizations.flatMap(({ error }) => error ?? []);
    // The AI SDK never steps up. The Inspector leaves out scopes that it did not register, in vain.
    expect(errors).toEqual(client === AI_SDK || client === INSPECTOR ? [] : ["invalid_scope"]);
  });

  it("allows every call after one sign-in, if every scope is supported", async () => {
    const scopesSupported = SUPPORTED["every scope"];
    const { results, authorizations } = await run(client, { calls, isDynamic: true, scopesSupported });
    expect(results).toEqual(["done", "done", "done", "done"]);
    expect(authorizations).toHaveLength(1);
  });
});

describe("an authorization server that denies requests without a scope", () => {
  const scopeMappings = { ...TABLE, "* /mcp": [] };
  const calls = [INITIALIZE, A];

  it.each(CLIENTS.filter((client) => client !== MCP_REMOTE))(
    "lets the client $name in only if a scope is supported",
    async (client) => {
      const denied = await run(client, { calls, scopeMappings, scopesSupported: [] });
      expect(denied.results).not.toContain("done");
      expect(denied.authorizations[0]).toMatchObject({ error: "access_denied" });
      const allowed = await run(client, { calls, scopeMappings, scopesSupported: ["a:read"] });
      expect(allowed.results).toEqual(["done", "done"]);
    },
  );

  it.skipIf(!MCP_REMOTE.isInstalled)(
    "lets mcp-remote in, which requests all scopes of the issuer then",
    async () => {
      const { results, authorizations } = await run(MCP_REMOTE, {
        calls,
        scopeMappings,
        scopesSupported: [],
      });
      expect(results).toEqual(["done", "done"]);
      expect(authorizations).toMatchObject([
        { params: { scope: ["openid", ...SUPPORTED["every scope"]].join(" ") } },
      ]);
    },
  );
});

describe("a user who refuses the scopes of a call", () => {
  it.each(STEPPING_UP)("keeps the token of the client $name", async (client) => {
    const isDenied = (scope = "") => scope.includes("agents:");
    const { results, authorizations } = await run(client, {
      calls: [INITIALIZE, A, RUN_AGENT, A],
      scopesSupported: STATIC_SCOPES,
      isDenied,
    });
    expect(results).toEqual(["done", "done", expect.not.stringMatching(/^done$/), "done"]);
    expect(authorizations.map(({ error }) => error)).toEqual([undefined, "access_denied"]);
  });
});

describe("refresh tokens", () => {
  const calls = [INITIALIZE, RUN_AGENT, A];

  it.each(STEPPING_UP.filter((client) => client !== SDK_1))(
    "do not keep the client $name from getting more scopes",
    async (client) => {
      const options = { calls, canRefresh: true, scopesSupported: STATIC_SCOPES };
      const { results, authorizations } = await run(client, options);
      expect(results).toEqual(["done", "done", "done"]);
      expect(authorizations).toHaveLength(2);
    },
  );

  it("keep the client SDK 1.x from getting more scopes, unless every scope is supported", async () => {
    const refused = await run(SDK_1, { calls, canRefresh: true, scopesSupported: STATIC_SCOPES });
    // It refreshes its token instead of asking the user, and gets the same scopes again.
    expect(refused.results).toEqual(["done", expect.stringContaining("403 after trying upscoping"), "done"]);
    expect(refused.authorizations).toHaveLength(1);
    const scopesSupported = SUPPORTED["every scope"];
    const { results } = await run(SDK_1, { calls, canRefresh: true, scopesSupported });
    expect(results).toEqual(["done", "done", "done"]);
  });
});

describe("a rule that needs a strong and recent login", () => {
  const rule = { scopes: ["b:read"], acr: { anyOf: [STRONG] }, maxAuthAgeSeconds: 300 };
  const options = {
    calls: [INITIALIZE, A, B, A],
    scopeMappings: { ...TABLE, "MCP tools/call b": rule },
    scopesSupported: STATIC_SCOPES,
  };

  it.each(CLIENTS)("refuses the client $name, which does not ask for one", async (client) => {
    const { results, authorizations, exchanges } = await run(client, options);
    expect(results).toEqual(["done", "done", expect.not.stringMatching(/^done$/), "done"]);
    expect(exchanges.map(({ challenge }) => challenge)).toContainEqual(
      expect.stringMatching(/error="insufficient_user_authentication".*acr_values="[^"]+", max_age="300"/),
    );
    for (const { params } of authorizations) {
      expect(params["acr_values"]).toBeUndefined();
      expect(params["max_age"]).toBeUndefined();
    }
  });

  it.each(WITH_AUTHENTICATION)(
    "allows the client $name, if the application repeats acr_values and max_age",
    async (client) => {
      const { results, authorizations } = await run(client, options);
      expect(results).toEqual(["done", "done", "done", "done"]);
      expect(authorizations[1]?.params).toMatchObject({ acr_values: STRONG, max_age: "300" });
      expect(authorizations).toHaveLength(2);
    },
  );

  it.each(WITH_AUTHENTICATION)("keeps the scopes that the client $name got by step-up", async (client) => {
    const { results, authorizations } = await run(client, {
      ...options,
      calls: [INITIALIZE, RUN_AGENT, B, RUN_AGENT],
    });
    expect(results).toEqual(["done", "done", "done", "done"]);
    expect(authorizations).toHaveLength(3);
  });

  it.skipIf(!MCP_REMOTE.isInstalled)("allows mcp-remote, if its flags ask for one", async () => {
    // mcp-remote requests exactly these scopes. OpenID Providers require `openid` for `acr_values`.
    const scopesSupported = ["openid", "mcp:use", "a:read", "b:read"];
    const { results, authorizations } = await run(MCP_REMOTE_STRONG, { ...options, scopesSupported });
    expect(results).toEqual(["done", "done", "done", "done"]);
    expect(authorizations).toHaveLength(1);
  });
});
