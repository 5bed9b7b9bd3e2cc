import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect, type Socket } from "node:net";
import { inspect } from "node:util";
import { afterEach, describe, expect, it, vi } from "vitest";
import { WebSocketServer } from "ws";
import { principalOf, protect, protectUpgrade } from "scopegate/node";
import { askWith, serveHttp } from "../support/frameworks.ts";
import { ask } from "../support/http.ts";
import { exchange, openRaw, renderUpgrade as handshake } from "../support/raw-http.ts";
import { createServer as createResourceServer, issuer } from "../support/resource-servers.ts";
import type { ResourceServerOptions } from "../support/server.ts";
import { slowCheck } from "../support/slow-check.ts";
import { until } from "../support/until.ts";

const EVENTS = "/agents/web/events";

afterEach(() => void vi.useRealTimers());

const spyOnWarnings = () => vi.spyOn(process, "emitWarning").mockReturnValue();
/** Expects one warning of the process, and no other. */
const expectWarning = (warnings: ReturnType<typeof spyOnWarnings>, text: string, detail: unknown) =>
  expect(warnings.mock.calls).toEqual([[text, { type: "ScopegateWarning", detail }]]);

const serverWith = (options: Partial<ResourceServerOptions> = {}) =>
  createResourceServer({
    adminScope: "platform:admin",
    scopeMappings: {
      "GET /agents/:agent_id": ["agents:<agent_id>:read"],
      "GET /agents/:agent_id/events": ["agents:<agent_id>:read"],
      "POST /agents/:agent_id/events": ["agents:<agent_id>:write"],
      "GET /items/:id": ["items:<id>:read"],
      "GET /open": "public",
      "GET /maybe": "optional",
    },
    ...options,
  });

type Fields = readonly (readonly [string, string])[];

const bearer = async (...scopes: string[]): Promise<string> => `Bearer ${await issuer.token({ scopes })}`;

const TOKEN = await issuer.token({ scopes: ["agents:web:read"] });
const COOKIE = `access_token=${TOKEN}`;
const GOOD: Fields = [["Authorization", `Bearer ${TOKEN}`]];
/** The credential of a caller who may read the events of another agent. */
const OTHER: Fields = [["Authorization", await bearer("agents:api:read")]];

/** Something that one side waits for and the other side gives. */
function deferred<T>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => (resolve = settle));
  return { promise, resolve };
}

interface Upgrading {
  readonly port: number;
  /** Every socket that Node handed over, and what the guard said of it. */
  readonly seen: {
    readonly request: IncomingMessage;
    readonly socket: Socket;
    readonly answer: Promise<boolean>;
  }[];
  /** The targets that were upgraded. */
  readonly upgraded: string[];
  readonly sockets: WebSocketServer;
}

/** A server whose WebSockets send back what they receive. */
async function startUpgrading(
  options: Partial<ResourceServerOptions> = {},
  http: Server = createServer(),
): Promise<Upgrading> {
  const mayUpgrade = protectUpgrade(serverWith(options));
  const sockets = new WebSocketServer({ noServer: true });
  sockets.on("connection", (client, request) => {
    client.on("message", (data, isBinary) =>
      client.send(
        isBinary ? data : `${principalOf(request)?.userId ?? "nobody"}: ${(data as Buffer).toString()}`,
      ),
    );
  });
  const seen: Upgrading["seen"] = [];
  const upgraded: string[] = [];
  http.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
    const answer = mayUpgrade(request, socket, head);
    seen.push({ request, socket, answer });
    void answer.then((isAllowed) => {
      if (!isAllowed) return;
      upgraded.push(request.url ?? "");
      sockets.handleUpgrade(request, socket, head, (client) => sockets.emit("connection", client, request));
    });
  });
  return { port: await serveHttp(http), seen, upgraded, sockets };
}

/** A masked frame of a client (RFC 6455 section 5.2). The mask is zero, and the length has eight bytes. */
function frame(text: string): Buffer {
  const payload = Buffer.from(text);
  const length = Buffer.alloc(9, 0x80 | 127);
  length.writeBigUInt64BE(BigInt(payload.length), 1);
  return Buffer.concat([Buffer.from([0x81]), length, Buffer.alloc(4), payload]);
}

/** What becomes of a handshake: the status line of the refusal, or of the upgrade. */
async function lineOf(port: number, bytes: string): Promise<string> {
  const client = await openRaw(port);
  client.socket.write(bytes, "latin1");
  const line = (await client.receives(/\r\n/)).split("\r\n")[0] ?? "";
  client.socket.destroy();
  return line.slice("HTTP/1.1 ".length, "HTTP/1.1 ".length + 3);
}

describe("protectUpgrade", () => {
  it.each<[target: string, status: string, scopes: readonly string[], fields?: Fields, method?: string]>([
    [EVENTS, "101", ["agents:web:read"]],
    [EVENTS, "403", ["agents:api:read"]],
    [`${EVENTS}?since=7`, "101", ["agents:web:read"]],
    ["/unmapped", "403", ["platform:admin"]],
    ["/agents//events", "400", ["platform:admin"]],
    ["/agents/web/EVENTS", "400", ["platform:admin"]],
    [`http://agents.example${EVENTS}`, "101", ["agents:web:read"]],
    [`http://agents.example${EVENTS}`, "403", ["agents:api:read"]],
    ["*", "400", ["platform:admin"]],
    [EVENTS, "400", ["agents:web:read"], GOOD],
    // Where WebSocket clients in browsers often put a token.
    [`${EVENTS}?${COOKIE}`, "401", []],
    [EVENTS, "401", [], [["Sec-WebSocket-Protocol", TOKEN]]],
    [EVENTS, "401", [], [["Cookie", COOKIE]]],
    [EVENTS, "403", ["agents:web:read"], [], "POST"],
    // Allowed: the WebSocket library refuses the method.
    [EVENTS, "405", ["agents:web:write"], [], "POST"],
    [EVENTS, "403", ["agents:web:write"], [], "HEAD"],
    [EVENTS, "403", ["platform:admin"], [], "CONNECT"],
  ])(
    "responds to an upgrade of %s by %s with %j, %j, %s",
    async (target, status, scopes, fields = [], method = "GET") => {
      const http = createServer();
      http.on("connect", (...handed: unknown[]) => http.emit("upgrade", ...handed));
      const { port, upgraded } = await startUpgrading({}, http);
      const authorization = scopes.length > 0 ? ([["Authorization", await bearer(...scopes)]] as const) : [];
      expect(await lineOf(port, handshake(target, [...authorization, ...fields], method))).toBe(status);
      expect(upgraded).toEqual(status === "101" || status === "405" ? [target] : []);
    },
  );

  it.each(["h2c", "TLS/1.2, HTTP/1.1", "websocket, h2c"])(
    "checks an upgrade to %s like an upgrade to a WebSocket",
    async (protocol) => {
      const { port, seen } = await startUpgrading();
      const upgradeWith = (credential: Fields) =>
        handshake(EVENTS, credential).replace("Upgrade: websocket", `Upgrade: ${protocol}`);
      expect(await lineOf(port, upgradeWith(OTHER))).toBe("403");
      const { socket } = await openRaw(port);
      socket.write(upgradeWith(GOOD));
      await until(() => seen.length === 2);
      expect(await seen[1]?.answer).toBe(true);
      socket.destroy();
    },
  );

  it("responds to a refusal with a whole response, and without content for HEAD", async () => {
    const { port } = await startUpgrading();
    const [head = "", content = ""] = (await exchange(port, handshake(EVENTS, OTHER))).split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    expect(head).toMatch(/\r\nWWW-Authenticate: Bearer error="insufficient_scope", .*"agents:web:read"\r\n/);
    expect(JSON.parse(content)).toMatchObject({ status: 403, code: "scope_insufficient" });
    expect(await exchange(port, handshake(EVENTS, [], "HEAD"))).toMatch(
      /^HTTP\/1\.1 401 Unauthorized\r\n[^]*\r\n\r\n$/,
    );
  });

  it("responds to an error with an empty 500 and a process warning, and does not reject", async () => {
    const warnings = spyOnWarnings();
    const { port, seen } = await startUpgrading({ now: () => Number.NaN });
    expect(await exchange(port, handshake(EVENTS, GOOD))).toMatch(
      /^HTTP\/1\.1 500 Internal Server Error\r\nContent-Length: 0\r\n[^]*\r\n\r\n$/,
    );
    expect(await seen[0]?.answer).toBe(false);
    expectWarning(
      warnings,
      "The check of an upgrade failed; the response is 500.",
      expect.stringContaining("Error"),
    );
  });
});

/** A client whose token is being checked: it has written its request, or has also ended its side. */
async function startPending(
  action: "write" | "end" = "write",
  first: string | Buffer = handshake(EVENTS, GOOD),
) {
  const { isRevoked, whenAsked, answer } = slowCheck();
  const upgrading = await startUpgrading({ isRevoked });
  const client = await openRaw(upgrading.port);
  client.socket[action](first);
  await whenAsked();
  const { seen } = upgrading;
  return { ...upgrading, client, answer, onServer: () => seen[0]?.socket, isAllowed: () => seen[0]?.answer };
}

describe("an upgraded connection", () => {
  it("gives the WebSocket library all bytes that arrive with the handshake and during the check", async () => {
    // More than a socket holds: the rest waits in the system.
    const text = `${"x".repeat(300_000)} while pending`;
    const first = Buffer.concat([Buffer.from(handshake(EVENTS, GOOD)), frame("at once")]);
    const { client, onServer, answer } = await startPending("write", first);
    client.socket.write(frame(text));
    await until(() => (onServer()?.readableLength ?? 0) > 0);
    expect(client.received()).toBe("");
    answer(false);
    const received = await client.receives(/while pending/);
    expect(received).toMatch(/^HTTP\/1\.1 101 .*user-1: at once.*user-1: x/s);
    expect(received).toContain(`user-1: ${text}`);
    client.socket.destroy();
  });

  it("has a socket on which the guard has left no listener and written nothing", async () => {
    const { isRevoked, whenAsked, answer } = slowCheck();
    const guard = protectUpgrade(serverWith({ isRevoked }));
    const http = createServer();
    const stateOf = (socket: Socket) => [
      socket.eventNames().map((name) => [name, socket.listenerCount(name as string)]),
      socket.readableFlowing,
      socket.bytesWritten,
      socket.timeout,
    ];
    const states = deferred<unknown[]>();
    http.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) => {
      const before = stateOf(socket);
      void guard(request, socket, head).then(() => {
        states.resolve([before, stateOf(socket)]);
        socket.destroy();
      });
    });
    const answered = exchange(await serveHttp(http), handshake(EVENTS, GOOD));
    await whenAsked();
    answer(false);
    const [before, after] = await states.promise;
    expect(after).toEqual(before);
    await answered;
  });
});

describe.each([
  ["allowed", false],
  ["refused", true],
])("a request that is %s in the end", (_, isRefused) => {
  it("does not end the process, and is not upgraded, if the client resets during the check", async () => {
    const { client, onServer, upgraded, answer, isAllowed } = await startPending();
    client.socket.resetAndDestroy();
    await until(() => onServer()?.destroyed === true);
    answer(isRefused);
    expect(await isAllowed()).toBe(false);
    expect(upgraded).toEqual([]);
  });

  it("is not upgraded if the client ends its side during the check, but gets its refusal", async () => {
    const { client, onServer, upgraded, answer, isAllowed } = await startPending("end");
    await until(() => onServer()?.readableEnded === true);
    answer(isRefused);
    expect(await isAllowed()).toBe(false);
    expect((await client.closed).slice(0, 12)).toBe(isRefused ? "HTTP/1.1 401" : "");
    await until(() => onServer()?.destroyed === true);
    expect(upgraded).toEqual([]);
  });

  it("does not change a response that other code has sent during the check", async () => {
    const { client, onServer, upgraded, answer, isAllowed } = await startPending();
    const own = `HTTP/1.1 503 Service Unavailable\r\n\r\n${"x".repeat(5_000_000)}`;
    onServer()?.end(own);
    answer(isRefused);
    expect(await isAllowed()).toBe(false);
    expect((await client.closed) === own).toBe(true);
    expect(upgraded).toEqual([]);
  });

  it("closes with a warning if the WebSocket library has used the socket during the check", async () => {
    const warnings = spyOnWarnings();
    const http = createServer();
    const guard = protectUpgrade(serverWith());
    const sockets = new WebSocketServer({ server: http });
    const answers: Promise<boolean>[] = [];
    http.on("upgrade", (request, socket, head) => void answers.push(guard(request, socket, head)));
    const received = await exchange(await serveHttp(http), handshake(EVENTS, isRefused ? [] : GOOD));
    expect(received).not.toContain("problem+json");
    expect(await Promise.all(answers)).toEqual([false]);
    expectWarning(
      warnings,
      "An upgrade was used before its check was done; the connection is closed.",
      expect.stringContaining("noServer: true"),
    );
    sockets.close();
  });
});

describe("the end of a refused connection", () => {
  it("sends nothing to a client that disconnected before the check", async () => {
    const guard = protectUpgrade(serverWith());
    const http = createServer();
    const answer = deferred<Promise<boolean>>();
    http.on("upgrade", (request, socket, head) => {
      socket.destroy();
      socket.once("close", () => answer.resolve(guard(request, socket, head)));
    });
    const port = await serveHttp(http);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    expect(await exchange(port, handshake(EVENTS))).toBe("");
    expect(await answer.promise).toBe(false);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("does not lose the response if the client has sent more bytes", async () => {
    const { client, onServer, answer } = await startPending();
    // No help from the limit: what is left unread keeps nothing open.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    // More than the server has read by the time of its answer.
    client.socket.write(Buffer.alloc(2_000_000));
    await until(() => (onServer()?.readableLength ?? 0) > 0);
    answer(true);
    expect(await client.closed).toContain("token_rejected");
    await until(() => onServer()?.destroyed === true);
    await new Promise(setImmediate);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("happens after two seconds for a client that neither reads nor closes", async () => {
    const { port, seen } = await startUpgrading();
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => undefined);
    await once(socket, "connect");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    socket.write(handshake(EVENTS));
    await until(() => seen[0]?.socket.writableFinished === true);
    vi.advanceTimersByTime(1_999);
    expect(seen[0]?.socket.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    expect(seen[0]?.socket.destroyed).toBe(true);
    socket.destroy();
  });
});

describe("protect of plain Node", () => {
  it("responds to an error with an empty 500, and warns with its message if it has no stack", async () => {
    const warnings = spyOnWarnings();
    const now = () => {
      throw Object.assign(new Error("the clock stands still"), { stack: undefined });
    };
    const guard = protect(serverWith({ now }));
    const answers: Promise<boolean>[] = [];
    const port = await serveHttp(createServer((...call) => void answers.push(guard(...call))));
    expect(await askWith(port, EVENTS, ["agents:read"])).toMatchObject({ status: 500, text: "" });
    expect(await Promise.all(answers)).toEqual([false]);
    expectWarning(warnings, "The check of a request failed; the response is 500.", "the clock stands still");
  });

  it.each([
    ["method", 403],
    ["url", 400],
  ])("refuses a request without a %s, which Node's types allow", async (name, status) => {
    const guard = protect(serverWith());
    const mayUpgrade = protectUpgrade(serverWith());
    const without = (request: IncomingMessage) =>
      Object.create(request, { [name]: { value: undefined } }) as IncomingMessage;
    const http = createServer((request, response) => void guard(without(request), response));
    http.on("upgrade", (request, socket: Socket) => void mayUpgrade(without(request), socket));
    const port = await serveHttp(http);
    expect((await ask(port, { path: "/open" })).status).toBe(status);
    expect(await exchange(port, handshake("/open"))).toContain(`HTTP/1.1 ${status} `);
  });

  it.each([
    ["a refusal", { isRevoked: () => true }, "A response was sent before the check refused the request."],
    ["a fault", { now: () => Number.NaN }, "The check of a request failed"],
  ])(
    "sends nothing if other code has already sent a response, and warns: %s",
    async (_, options, warning) => {
      const warnings = spyOnWarnings();
      const guard = protect(serverWith(options));
      const answer = deferred<boolean>();
      const http = createServer((request, response) => {
        void guard(request, response).then(answer.resolve);
        response.writeHead(503).write("time");
        void answer.promise.then(() => response.end("out"));
      });
      const timeout = { status: 503, text: "timeout" };
      expect(await askWith(await serveHttp(http), EVENTS, ["agents:read"])).toMatchObject(timeout);
      expect(await answer.promise).toBe(false);
      expect(warnings.mock.calls.map(([text]) => text)).toEqual([expect.stringContaining(warning)]);
    },
  );

  it("warns once if the guard is not awaited, so that every request is allowed", async () => {
    const warnings = spyOnWarnings();
    const guard = protect(serverWith());
    const answers: Promise<boolean>[] = [];
    const http = createServer((request, response) => {
      answers.push(guard(request, response));
      response.end("served");
    });
    const port = await serveHttp(http);
    const answer = { status: 200, text: "served" };
    expect(await askWith(port, EVENTS, ["agents:read"])).toMatchObject(answer);
    expect(await answers[0]).toBe(true);
    expect(warnings).not.toHaveBeenCalled();
    for (let turn = 0; turn < 2; turn += 1) expect(await ask(port, { path: EVENTS })).toMatchObject(answer);
    expect(await Promise.all(answers)).toEqual([true, false, false]);
    expect(warnings.mock.calls).toEqual([
      [expect.stringContaining("await guard(request, response)"), "ScopegateWarning"],
    ]);
  });

  it("keeps a challenge of other code in a refusal of HTTP/2", async () => {
    const guard = protect(serverWith());
    const http2 = createHttp2Server((request, response) => {
      response.setHeader("www-authenticate", "Negotiate");
      void guard(request, response);
    }).listen(0, "127.0.0.1");
    await once(http2, "listening");
    const client = connectHttp2(`http://127.0.0.1:${(http2.address() as AddressInfo).port}`);
    const [headers] = (await once(client.request({ ":path": EVENTS }), "response")) as [
      Readonly<Record<string, unknown>>,
    ];
    client.close();
    http2.close();
    expect([headers[":status"], headers["www-authenticate"]]).toEqual([401, "Negotiate, Bearer"]);
  });

  it("reads no header field from a prototype", async () => {
    const tokenSources = [{ header: "authorization" }, { header: "x-token", scheme: null }, { cookie: "c" }];
    const guard = protect(serverWith({ tokenSources }));
    for (const fields of [
      { authorization: `Bearer ${TOKEN}` },
      { "x-token": TOKEN },
      { cookie: `c=${TOKEN}` },
    ]) {
      const response = { statusCode: 200, headersSent: false, setHeader: vi.fn(), end: vi.fn() };
      const call = (headers: object) =>
        guard({ method: "GET", url: EVENTS, headers: headers as never }, response);
      expect(await call(fields)).toBe(true);
      expect(await call(Object.create(fields) as object)).toBe(false);
    }
  });

  it("shows neither caller nor token in a log of a request, and returns the caller for an object created from it", async () => {
    const response = {
      statusCode: 200,
      headersSent: false,
      setHeader: () => undefined,
      appendHeader: () => undefined,
      end: () => undefined,
    };
    const request = {
      method: "GET",
      url: "/items/1",
      headers: { authorization: await bearer("items:1:read") },
    };
    expect(await protect(serverWith())(request, response)).toBe(true);
    const caller = principalOf(request);
    expect(caller?.scopes).toEqual(["items:1:read"]);
    expect(Object.keys(request)).toEqual(["method", "url", "headers"]);
    expect(JSON.stringify(request)).not.toContain("items:1:read");
    expect(inspect({ ...request, headers: {} }, { depth: null })).not.toContain("items:1:read");
    expect(inspect(request, { depth: null }).replace(request.headers.authorization, "")).not.toContain(
      "items:1:read",
    );
    expect(principalOf({ ...request })).toBe(caller);
    expect(principalOf(Object.create(request) as object)).toBe(caller);
  });
});
