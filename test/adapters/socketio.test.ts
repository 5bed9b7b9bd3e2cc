import { once } from "node:events";
import { createServer as createHttp, type Server as HttpServer } from "node:http";
import type { Socket as NetSocket } from "node:net";
import { Server, type ServerOptions, type Socket } from "socket.io";
import {
  io as connect,
  type ManagerOptions,
  type Socket as Client,
  type SocketOptions,
} from "socket.io-client";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ResourceServer } from "scopegate";
import { protectUpgrade } from "scopegate/node";
import { principalOf, protect, type SocketIoOptions } from "scopegate/socketio";
import { ask, listen } from "../support/http.ts";
import { exchange, openRaw, render, renderUpgrade } from "../support/raw-http.ts";
import { createServer, issuer, NOW } from "../support/resource-servers.ts";
import type { ResourceServerOptions } from "../support/server.ts";
import { slowCheck } from "../support/slow-check.ts";

const serverWith = (options: Partial<ResourceServerOptions> = {}) =>
  createServer({
    adminScope: "platform:admin",
    scopeMappings: {
      "GET /socket.io": ["chat:read"],
      "GET /socket.io/admin": ["admin:read"],
      "GET /socket.io/rooms/:room": ["rooms:<room>:read"],
      "GET /socket.io/teams/:team": ["teams:<team>:read"],
    },
    ...options,
  });

const tokenFor = (sub: string, ...scopes: string[]) => issuer.token({ sub, scopes });
const TOKEN = await tokenFor("ada", "chat:read");
const ADMIN = await tokenFor("ada", "chat:read", "admin:read");
/** Has no scope. */
const WEAK = await tokenFor("ada");
const EXPIRED = await issuer.token({ sub: "ada", scopes: ["chat:read"], exp: NOW - 1 });
const headers = (token: string) => ({ extraHeaders: { authorization: `Bearer ${token}` } });

interface Started {
  readonly server: ResourceServer;
  readonly port: number;
  readonly io: Server;
  readonly http: HttpServer;
  /** The events that clients sent, each with the namespace and the user id of its socket. */
  readonly events: string[];
}

/** A Socket.IO server that answers `hello` in the main namespace, in `/admin` and in `/rooms/:room`. */
async function start(
  options: Partial<ResourceServerOptions> = {},
  guard?: SocketIoOptions,
  settings: Partial<ServerOptions> = {},
): Promise<Started> {
  const http = createHttp((_request, response) => response.writeHead(204).end());
  const io = new Server(http, settings);
  const server = serverWith(options);
  const events: string[] = [];
  const handle = (socket: Socket): void => {
    const caller = principalOf(socket)?.userId ?? "nobody";
    socket.on("hello", (reply: (text: string) => void) => {
      events.push(`${socket.nsp.name} ${caller}`);
      reply(`hello ${caller}`);
    });
  };
  io.on("connection", handle);
  io.of("/admin").on("connection", handle);
  protect(server, guard)(io);
  io.of(/^\/rooms\/.+$/).on("connection", handle);
  const { port } = await listen(http);
  onTestFinished(() => io.close());
  return { server, port, io, http, events };
}

type Connecting = Partial<ManagerOptions & SocketOptions>;

function open(port: number, options: Connecting = {}, namespace = ""): Client {
  const client = connect(`http://127.0.0.1:${port}${namespace}`, {
    reconnection: false,
    forceNew: true,
    ...options,
  });
  onTestFinished(() => void client.disconnect());
  return client;
}

/** Connects to a namespace in the session of a client. */
const join = (client: Client, namespace: string, options: Connecting = {}): Client =>
  client.io.socket(namespace, options).connect();

const POLLING: Connecting = { transports: ["polling"] };
const WEBSOCKET: Connecting = { transports: ["websocket"] };

/** What becomes of a connection: the reply to `hello`, or what `connect_error` reports. */
async function outcomeOf(client: Client): Promise<unknown> {
  return new Promise((resolve) => {
    client.on("connect", () => void client.emitWithAck("hello").then(resolve));
    client.on("connect_error", (error: Error & { data?: unknown; description?: unknown }) => {
      const { description } = error;
      const detail = description as { readonly message?: string } | number | undefined;
      resolve(error.data ?? (typeof detail === "object" ? detail.message : detail));
    });
  });
}

function expectOutcome(outcome: unknown, expected: object | string | number): void {
  if (typeof expected === "object") expect(outcome).toMatchObject(expected);
  else expect(outcome).toBe(expected);
}

/** Opens a session by raw requests, as the client does, and returns its id. */
async function openSession(port: number, token?: string): Promise<string> {
  const opened = await ask(port, { path: "/socket.io/?EIO=4&transport=polling", token });
  expect(opened.status, opened.text).toBe(200);
  return (JSON.parse(opened.text.slice(1)) as { readonly sid: string }).sid;
}

const sessionPath = (sid: string, transport = "polling"): string =>
  `/socket.io/?EIO=4&transport=${transport}&sid=${sid}`;

/** Sends packets of a session. */
const post = async (port: number, sid: string, packets: string, token?: string) => {
  const fields = [
    ["Host", "agents.example"],
    ["Content-Type", "text/plain"],
    ["Content-Length", String(packets.length)],
    ["Connection", "close"],
    ...(token === undefined ? [] : [["Authorization", `Bearer ${token}`]]),
  ] as unknown as (readonly [string, string])[];
  const bytes = await exchange(port, render(`POST ${sessionPath(sid)} HTTP/1.1`, fields) + packets);
  return Number(bytes.slice(9, 12));
};

describe.each([
  ["polling", POLLING],
  ["websocket", WEBSOCKET],
  ["polling and then websocket", {}],
] as const)("a client that uses %s", (name, transports) => {
  it.each<[what: string, outcome: string | number, options: Connecting]>([
    ["a token that has the scope", "hello ada", headers(TOKEN)],
    ["no token", 401, {}],
    ["a token without the scope", 403, headers(WEAK)],
    ["an expired token", 401, headers(EXPIRED)],
    ["a token in `auth`, unless tokenInAuth is set", 401, { auth: { token: TOKEN } }],
  ])("receives for %s an outcome that it can read: %s", async (_, outcome, options) => {
    const { port, events, io } = await start();
    const isRefused = typeof outcome === "number";
    const expected = isRefused && name === "websocket" ? `Unexpected server response: ${outcome}` : outcome;
    expect(await outcomeOf(open(port, { ...transports, ...options }))).toBe(expected);
    expect(events).toEqual(isRefused ? [] : ["/ ada"]);
    if (isRefused) expect(io.engine.clientsCount).toBe(0);
  });
});

it("upgrades a client from polling to WebSocket with its own token", async () => {
  const { port } = await start();
  const client = open(port, headers(TOKEN));
  await new Promise((resolve) => client.io.on("open", () => client.io.engine.on("upgrade", resolve)));
  expect(client.io.engine.transport.name).toBe("websocket");
  expect(await client.emitWithAck("hello")).toBe("hello ada");
});

describe("a request of a session", () => {
  it("accepts the token of the caller who opened it, and also a new one", async () => {
    const { port } = await start();
    const sid = await openSession(port, TOKEN);
    expect(await post(port, sid, "40", TOKEN)).toBe(200);
    const renewed = await issuer.token({ sub: "ada", scopes: ["chat:read"], jti: "2" });
    expect((await ask(port, { path: sessionPath(sid), token: renewed })).text).toMatch(/^40/);
  });

  const anonymousToken = (jti: string) => issuer.token({ sub: undefined, jti, scopes: ["chat:read"] });

  it.each<[what: string, make: () => Promise<string | undefined>, status: number, hasNoUser?: boolean]>([
    ["no token", () => Promise.resolve(undefined), 401],
    ["the token of another user", () => tokenFor("eve", "chat:read"), 400],
    [
      "a token of the user of another issuer",
      () => issuer.token({ sub: "ada", iss: "https://other", scopes: ["chat:read"] }),
      400,
    ],
    ["a token without the scope", () => tokenFor("ada", "other:read"), 403],
    ["an expired token", () => Promise.resolve(EXPIRED), 401],
    ["another token, if neither has a user id", () => anonymousToken("2"), 400, true],
  ])("refuses %s, by polling and by WebSocket", async (_, make, status, hasNoUser = false) => {
    const { port, events } = await start();
    const owner = hasNoUser ? await anonymousToken("1") : TOKEN;
    const sid = await openSession(port, owner);
    const stolen = await make();
    expect((await ask(port, { path: sessionPath(sid), token: stolen })).status).toBe(status);
    expect(await post(port, sid, '40\x1e42["hello"]', stolen)).toBe(status);
    const fields = stolen === undefined ? [] : ([["Authorization", `Bearer ${stolen}`]] as const);
    const upgrade = await exchange(port, renderUpgrade(sessionPath(sid, "websocket"), fields));
    expect(upgrade).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(events).toEqual([]);
    expect(await post(port, sid, "40", owner)).toBe(200);
  });

  it.each(["unknown", "__proto__", "constructor"])("refuses the session %s", async (sid) => {
    const { port } = await start();
    expect(await ask(port, { path: sessionPath(sid), token: TOKEN })).toMatchObject({
      status: 400,
      body: { code: 1, message: "Session ID unknown" },
    });
  });

  it("requires a token again if the session was opened with one on an optional path", async () => {
    const { port } = await start({ scopeMappings: { "GET /socket.io": "optional" } });
    const sid = await openSession(port, await tokenFor("ada"));
    expect((await ask(port, { path: sessionPath(sid) })).status).toBe(400);
    const anonymous = await openSession(port);
    expect(await post(port, anonymous, "40")).toBe(200);
    expect(await post(port, anonymous, "41", await tokenFor("eve"))).toBe(400);
  });

  it("passes without a check if it is a CORS preflight that the engine handles", async () => {
    const { port } = await start({}, undefined, { cors: { origin: "https://app.example" } });
    const preflight = await ask(port, { method: "OPTIONS", path: "/socket.io/" });
    expect(preflight.status).toBe(204);
    const refused = await ask(port, {
      path: "/socket.io/?EIO=4&transport=polling",
      headers: [["origin", "https://app.example"]],
    });
    expect(refused).toMatchObject({ status: 401, body: { code: "credential_missing" } });
    expect(refused.headers["access-control-allow-origin"]).toBe("https://app.example");
    expect(refused.headers["www-authenticate"]).toBe("Bearer");
  });
});

describe("a namespace", () => {
  it.each([
    ["/admin", ["chat:read", "admin:read"], "hello ada"],
    ["/admin", ["chat:read"], { status: 403, code: "scope_insufficient", missing_scopes: ["admin:read"] }],
    ["/admin", ["admin:read"], 403],
    ["/rooms/red", ["chat:read", "rooms:red:read"], "hello ada"],
    ["/rooms/red", ["chat:read", "rooms:blue:read"], { status: 403, code: "scope_insufficient" }],
    ["/rooms/red%3Fx", ["platform:admin"], "hello ada"],
    ["/rooms/münchen", ["chat:read", "rooms:*:read"], "hello ada"],
    ["/rooms/a b", ["platform:admin"], "hello ada"],
    ["/rooms/a/b", ["platform:admin"], { status: 403, code: "route_unmapped" }],
    ["/rooms/../admin", ["platform:admin"], { status: 400, code: "request_ambiguous" }],
  ])("%s with %j gives %j", async (namespace, scopes, expected) => {
    const { port } = await start();
    const outcome = await outcomeOf(open(port, headers(await tokenFor("ada", ...scopes)), namespace));
    expectOutcome(outcome, expected);
  });

  it("checks the caller before the middleware of its pattern runs", async () => {
    const { port, io } = await start();
    const callers: unknown[] = [];
    io.of(/^\/teams\/.+$/).use((socket, next) => {
      callers.push(principalOf(socket)?.userId);
      next();
    });
    const token = await tokenFor("ada", "chat:read", "teams:red:read");
    const client = open(port, headers(token), "/teams/red");
    await new Promise((resolve) => client.on("connect", () => resolve(undefined)));
    expect(callers).toEqual(["ada"]);
  });

  it("uses the rule for its path if its name has a query", async () => {
    const { port } = await start();
    const token = await tokenFor("ada", "chat:read", "rooms:red:read");
    const sid = await openSession(port, token);
    await post(port, sid, "40/rooms/red?x,", token);
    expect((await ask(port, { path: sessionPath(sid), token })).text).toContain("scope_insufficient");
  });

  it("refuses a caller whose token has expired since the session was opened", async () => {
    let now = NOW * 1000;
    const { port } = await start({ now: () => now });
    const token = await issuer.token({ sub: "ada", scopes: ["chat:read", "admin:read"], exp: NOW + 60 });
    const client = open(port, { ...WEBSOCKET, ...headers(token) });
    expect(await outcomeOf(client)).toBe("hello ada");
    now += 60_000;
    expect(await outcomeOf(join(client, "/admin"))).toMatchObject({ status: 401, code: "token_rejected" });
  });
});

describe("tokenInAuth", () => {
  const withAuth = (token: unknown): Connecting => ({ ...WEBSOCKET, auth: { token } });

  it.each<[what: string, expected: object | string | number, options: Connecting, namespace?: string]>([
    ["a token", "hello ada", withAuth(ADMIN)],
    ["a token for a namespace", "hello ada", withAuth(ADMIN), "/admin"],
    ["no token", { status: 401, code: "credential_missing" }, withAuth(undefined)],
    ["something else than a string", { status: 401, code: "credential_missing" }, withAuth({ toString: 1 })],
    ["a bad token", { status: 401, code: "token_rejected" }, withAuth("a.b.c")],
    ["two tokens", { status: 400, code: "credential_malformed" }, withAuth("a.b.c, Bearer a.b.c")],
    ["missing scopes", { status: 403, missing_scopes: ["chat:read"] }, withAuth(WEAK)],
    ["a token next to one in the header", { status: 400 }, { ...withAuth(TOKEN), ...headers(TOKEN) }],
    ["a token of a request by polling", 401, { ...POLLING, auth: { token: TOKEN } }],
  ])(
    "reads the token of a WebSocket from `auth`: %s has the outcome %j",
    async (_, expected, options, namespace) => {
      const { port, events } = await start({}, { tokenInAuth: true });
      const outcome = await outcomeOf(open(port, options, namespace));
      expectOutcome(outcome, expected);
      expect(events).toEqual(expected === "hello ada" ? [`${namespace ?? "/"} ada`] : []);
    },
  );

  it("refuses requests by polling without a token in the header, and a stolen session", async () => {
    const { port } = await start({}, { tokenInAuth: true });
    expect((await ask(port, { path: "/socket.io/?EIO=4&transport=polling" })).status).toBe(401);
    const client = open(port, withAuth(TOKEN));
    expect(await outcomeOf(client)).toBe("hello ada");
    const sid = client.io.engine.id;
    for (const transport of ["polling", "websocket"]) {
      const thief = await tokenFor("eve", "chat:read");
      expect((await ask(port, { path: sessionPath(sid, transport) })).status).toBe(401);
      expect((await ask(port, { path: sessionPath(sid, transport), token: thief })).status).toBe(400);
    }
  });

  it("accepts only one caller for each session", async () => {
    const { port } = await start({}, { tokenInAuth: true });
    const client = open(port, withAuth(TOKEN));
    expect(await outcomeOf(client)).toBe("hello ada");
    const auth = { token: await tokenFor("eve", "admin:read") };
    expect(await outcomeOf(join(client, "/admin", { auth }))).toEqual({
      status: 403,
      code: "session_of_another_caller",
    });
  });
});

describe("protectUpgrade on the server of Socket.IO", () => {
  it.each(["before", "after"])("closes no valid client, registered %s Socket.IO", async (order) => {
    const server = serverWith({ isRevoked: () => Promise.resolve(false) });
    const http = createHttp();
    const mayUpgrade = protectUpgrade(server);
    const answers: Promise<boolean>[] = [];
    const listener = (...given: Parameters<typeof mayUpgrade>) => void answers.push(mayUpgrade(...given));
    if (order === "before") http.on("upgrade", listener);
    const io = new Server(http);
    protect(server)(io);
    if (order === "after") http.on("upgrade", listener);
    io.on("connection", (socket) =>
      socket.on("hello", (reply: (text?: string) => void) => reply(principalOf(socket)?.userId)),
    );
    const { port } = await listen(http);
    onTestFinished(() => io.close());
    expect(await outcomeOf(open(port, { ...WEBSOCKET, ...headers(TOKEN) }))).toBe("ada");
    expect(await outcomeOf(open(port, WEBSOCKET))).toBe("Unexpected server response: 401");
    expect(await Promise.all(answers)).toEqual([false, false]);
  });
});

describe("protect of Socket.IO", () => {
  it("closes WebTransport sessions, which no middleware can check", async () => {
    const { io } = await start({}, undefined, { transports: ["polling", "websocket", "webtransport"] });
    const closed = new Promise(
      (resolve) => void io.engine.onWebTransportSession({ close: () => resolve("closed") }),
    );
    expect(await closed).toBe("closed");
  });

  it("refuses a public rule for its path: a session without a caller could be joined by anyone", async () => {
    const options = { scopeMappings: { "GET /socket.io": "public" } } as const;
    await expect(start(options)).rejects.toThrow('Write "optional"');
  });

  it("decides by the path of the server", async () => {
    const options = { scopeMappings: { "GET /chat/live": ["chat:read"] } };
    const { port } = await start(options, undefined, { path: "/chat/live" });
    expect(await outcomeOf(open(port, { path: "/chat/live", ...headers(TOKEN) }))).toBe("hello ada");
    expect(await outcomeOf(open(port, { path: "/chat/live", ...POLLING }))).toBe(401);
  });

  it("responds to an error with 500, refuses the socket and reports both", async () => {
    const now = vi.fn(() => NOW * 1000);
    const { port } = await start({ now, tokenCache: false });
    const client = open(port, { ...WEBSOCKET, ...headers(TOKEN) });
    expect(await outcomeOf(client)).toBe("hello ada");
    now.mockReturnValue(Number.NaN);
    const warned = once(process, "warning");
    const polled = await ask(port, { path: "/socket.io/?EIO=4&transport=polling", token: TOKEN });
    expect(polled).toMatchObject({ status: 500, text: "" });
    expect(((await warned) as [Error])[0].message).toContain("Socket.IO request");
    expect(await outcomeOf(join(client, "/admin"))).toEqual({ status: 500, code: "fault" });
  });

  it("refuses sockets of an engine that was attached later", async () => {
    const { io } = await start();
    const other = createHttp();
    io.attach(other);
    const { port } = await listen(other);
    onTestFinished(() => void other.close());
    expect(await outcomeOf(open(port, headers(await tokenFor("ada", "platform:admin"))))).toEqual({
      status: 500,
      code: "fault",
    });
  });

  it("keeps running if a client disconnects while its upgrade is checked", async () => {
    const { isRevoked, whenAsked, answer } = slowCheck();
    const { port, http } = await start({ isRevoked });
    const upgraded = once(http, "upgrade") as Promise<[unknown, NetSocket]>;
    const { socket } = await openRaw(port);
    const authorization = `Bearer ${TOKEN}`;
    const target = "/socket.io/?EIO=4&transport=websocket";
    socket.write(renderUpgrade(target, [["Authorization", authorization]]));
    await whenAsked();
    const [, connection] = await upgraded;
    const gone = new Promise((resolve) => connection.once("close", resolve));
    socket.resetAndDestroy();
    await gone;
    answer(true);
    expect(connection.errored).not.toBeNull();
  });

  it("accepts a server whose recovered connections pass the middleware", () => {
    const settings = { connectionStateRecovery: { skipMiddlewares: false } };
    expect(() => protect(serverWith())(new Server(createHttp(), settings))).not.toThrow();
  });

  it("throws with the line to write if it is passed to `io.use`, which calls it with a socket", () => {
    const { sockets } = new Server(createHttp()).use(protect(serverWith()) as never);
    const [check] = (sockets as unknown as { readonly _fns: readonly ((...given: object[]) => void)[] })._fns;
    expect(() => check?.({ nsp: sockets, conn: {} }, () => undefined)).toThrow(
      "protect(server)(io);`. Do not pass it to `io.use`.",
    );
  });

  it("adds its check by `use` if a namespace stores its middleware elsewhere", () => {
    const added: unknown[] = [];
    const namespace = { use: (check: unknown) => added.push(check) };
    const io = {
      engine: { use: () => undefined },
      _nsps: new Map([["/", namespace]]),
      path: () => "/x",
      on: () => io,
    };
    protect(serverWith())(io);
    expect(added.length).toBe(1);
  });
});
