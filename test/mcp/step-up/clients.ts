/** MCP clients that sign their user in whenever a server asks for it. */
import { existsSync } from "node:fs";
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from "@modelcontextprotocol/client";
import { Client as Client1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Transport1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { signIn } from "../../adapters/mcp/support/authorization-server.ts";
import { createOAuthClient, type OAuthClient } from "../../adapters/mcp/support/oauth-client.ts";

/** A call, whose `method` is one of the protocol. */
export interface Call {
  readonly method: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

export interface Target {
  readonly url: string;
  readonly issuer: string;
  /** Whether the client registers itself, instead of being known to the authorization server. */
  readonly isDynamic?: boolean;
}

/** A client in use. `initialize` is the first call. */
export interface Session {
  /** Returns the result, or why there is none. */
  readonly call: (call: Call) => Promise<unknown>;
  readonly close: () => Promise<unknown>;
}

export interface McpClient {
  readonly name: string;
  /** Whether npm has installed it: `npm run test:mcp` does. */
  readonly isInstalled: boolean;
  readonly open: (target: Target) => Session | Promise<Session>;
}

/** An application stops if a call needs more sign-ins than that. */
const MAX_SIGN_INS = 3;

/** Repeats a call after each sign-in that it caused. */
async function withSignIns(
  provider: OAuthClient,
  run: () => Promise<unknown>,
  finish: (answer: URLSearchParams) => Promise<unknown>,
): Promise<unknown> {
  for (let signIns = 0; ; signIns += 1)
    try {
      return await run();
    } catch (error) {
      const answer = await provider.answer();
      if (answer.size === 0 || signIns === MAX_SIGN_INS) throw error;
      if (!answer.has("code")) throw new Error(String(answer.get("error")), { cause: error });
      await finish(answer);
    }
}

/** What the tests use of a client of the official SDK. */
export interface SdkClient {
  connect(transport: object): Promise<void>;
  close(): Promise<void>;
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
  callTool(params: object, ...options: readonly unknown[]): Promise<object>;
  getPrompt(params: object): Promise<object>;
  readResource(params: object): Promise<object>;
}
interface SdkTransport {
  readonly sessionId?: string;
  finishAuth(answer: string | URLSearchParams): Promise<void>;
  terminateSession(): Promise<void>;
}
type Construct<T> = new (...parameters: readonly unknown[]) => T;

/** The clients of both lines of the official SDK. */
export const SDK_CLIENTS = {
  1: { Client: Client1, Transport: Transport1 },
  2: { Client: Client2, Transport: Transport2 },
} as unknown as Readonly<
  Record<1 | 2, { readonly Client: Construct<SdkClient>; readonly Transport: Construct<SdkTransport> }>
>;

const INFO = { name: "test", version: "1.0.0" };

export function send(client: SdkClient, { method, params = {} }: Call): Promise<object> {
  switch (method) {
    case "tools/list":
      return client.listTools();
    case "tools/call":
      return client.callTool(params);
    case "prompts/get":
      return client.getPrompt(params);
    default:
      return client.readResource(params);
  }
}

interface SdkOptions {
  readonly line: 1 | 2;
  readonly versionNegotiation?: object;
  /** Whether authorization requests repeat the `acr_values` and `max_age` of the last challenge (RFC 9470). */
  readonly repeatsAuthentication?: boolean;
}

function openSdk(target: Target, { line, repeatsAuthentication, ...options }: SdkOptions): Session {
  const { Client, Transport } = SDK_CLIENTS[line];
  let challenge = "";
  const recordingFetch = async (url: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await fetch(url, init);
    challenge = response.headers.get("www-authenticate") ?? challenge;
    return response;
  };
  const browse = (url: URL): Promise<URL> => {
    if (!repeatsAuthentication) return signIn(url);
    for (const [, name = "", value = ""] of challenge.matchAll(/(acr_values|max_age)="([^"]*)"/g))
      url.searchParams.set(name, value);
    // OpenID Providers require it for these parameters.
    const scopes = new Set([...(url.searchParams.get("scope") ?? "").split(" "), "openid"]);
    if (url.searchParams.has("acr_values")) url.searchParams.set("scope", [...scopes].join(" "));
    return signIn(url);
  };
  const provider = createOAuthClient(target.issuer, browse, target.isDynamic);
  let client: SdkClient;
  let transport: SdkTransport;
  const connect = async (): Promise<void> => {
    client = new Client(INFO, options);
    // A transport connects once.
    transport = new Transport(new URL(target.url), {
      authProvider: provider,
      fetch: recordingFetch,
    });
    await client.connect(transport);
  };
  const finish = (answer: URLSearchParams) =>
    transport.finishAuth(line === 1 ? (answer.get("code") ?? "") : answer);
  return {
    call: (call) =>
      withSignIns(provider, () => (call.method === "initialize" ? connect() : send(client, call)), finish),
    close: () => client.close(),
  };
}

const sdkClient = (name: string, options: SdkOptions): McpClient => ({
  name,
  isInstalled: true,
  open: (target) => openSdk(target, options),
});

export const SDK_1 = sdkClient("SDK 1.x", { line: 1 });
export const SDK_2 = sdkClient("SDK 2.x", { line: 2 });
export const SDK_2_MODERN = sdkClient("SDK 2.x with the revision 2026-07-28", {
  line: 2,
  versionNegotiation: { mode: "auto" },
});

/** Applications that repeat what a challenge asks of the login. No client does this by itself. */
export const WITH_AUTHENTICATION = ([1, 2] as const).map((line) =>
  sdkClient(`SDK ${line}.x`, { line, repeatsAuthentication: true }),
);

interface AiClient {
  tools(): Promise<Readonly<Record<string, { execute(args: unknown, options: object): Promise<object> }>>>;
  getPrompt(params: object): Promise<object>;
  readResource(params: object): Promise<object>;
  close(): Promise<void>;
}
interface AiModule {
  readonly createMCPClient: (config: object) => Promise<AiClient>;
  readonly auth: (provider: object, options: object) => Promise<unknown>;
}

const AI_PACKAGE = "@ai-sdk/mcp";
const AI_SDK_MODULE = new URL(`../node_modules/${AI_PACKAGE}/dist/index.js`, import.meta.url);

async function openAiSdk(target: Target): Promise<Session> {
  const { createMCPClient, auth } = (await import(AI_SDK_MODULE.href)) as AiModule;
  const provider = createOAuthClient(target.issuer, signIn, target.isDynamic);
  const transport = { type: "http", url: target.url, authProvider: provider };
  let client: AiClient | undefined;
  const run = async ({ method, params = {} }: Call): Promise<unknown> => {
    if (method === "initialize") return (client = await createMCPClient({ transport }));
    if (!client) throw new Error("Not connected");
    if (method === "prompts/get") return client.getPrompt(params);
    if (method === "resources/read") return client.readResource(params);
    const tools = await client.tools();
    return method === "tools/list"
      ? tools
      : tools[String(params["name"])]?.execute(params["arguments"], { toolCallId: "1", messages: [] });
  };
  const finish = (answer: URLSearchParams) =>
    auth(provider, {
      serverUrl: target.url,
      authorizationCode: answer.get("code"),
      callbackState: answer.get("state"),
      callbackIssuer: answer.get("iss"),
    });
  return {
    call: (call) => withSignIns(provider, () => run(call), finish),
    close: async () => client?.close(),
  };
}

export const AI_SDK: McpClient = {
  name: "AI SDK",
  isInstalled: existsSync(AI_SDK_MODULE),
  open: openAiSdk,
};
