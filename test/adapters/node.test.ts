import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import { type AddressInfo, connect, type Socket } from "node:net";
import { inspect } from "node:util";
import express from "express";
import { afterEach, describe, expect, it, vi } from "vitest";
import { WebSocketServer } from "ws";
import * as forExpress from "scopegate/express";
import { principalOf, protect, protectUpgrade } from "scopegate/node";
import { serveHttp, statusWith } from "../support/frameworks.ts";
import { ask } from "../support/http.ts";
import { exchange, openRaw, render, renderUpgrade as handshake } from "../support/raw-http.ts";
import { createServer as createResourceServer, issuer } from "../support/resource-servers.ts";
import type { ResourceServerOptions } from "../support/server.ts";
import { slowCheck } from "../support/slow-check.ts";
import { until } from "../support/until.ts";

const EVENTS = "/agents/web/events";

afterEach(() => void vi.useRealTimers());

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
  it.each([
    [EVENTS, ["agents:web:read"], "101"],
    [EVENTS, ["agents:api:read"], "403"],
    [`${EVENTS}?since=7`, ["agents:web:read"], "101"],
    ["/unmapped", ["platform:admin"], "403"],
    ["/agents//events", ["platform:admin"], "400"],
    ["/agents/web/EVENTS", ["platform:admin"], "400"],
    [`http://agents.example${EVENTS}`, ["agents:web:read"], "101"],
    [`http://agents.example${EVENTS}`, ["agents:api:read"], "403"],
    ["*", ["platform:admin"], "400"],
  ])("responds to an upgrade of %s with %j by %s", async (target, scopes, status) => {
    const { port, upgraded } = await startUpgrading();
    expect(await lineOf(port, handshake(target, [["Authorization", await bearer(...scopes)]]))).toBe(status);
    expect(upgraded).toEqual(status === "101" ? [target] : []);
  });

  it.each<[string, string, Fields, string?]>([
    ["two fields, the second good", "400", [["Authorization", "Basic eDp5"], ...GOOD]],
    // Where WebSocket clients in browsers often put a token.
    ["a token in the query", "401", [], `?${COOKIE}`],
    ["a token as subprotocol", "401", [["Sec-WebSocket-Protocol", TOKEN]]],
    ["a token in a cookie that is no source", "401", [["Cookie", COOKIE]]],
  ])("responds to a handshake with %s by %s", async (_, status, fields, query = "") => {
    const { port, upgraded } = await startUpgrading();
    expect(await lineOf(port, handshake(EVENTS + query, fields))).toBe(status);
    expect(upgraded).toEqual([]);
  });

  it("reads the token from a configured cookie, and refuses several cookies with its name", async () => {
    const { port } = await startUpgrading({ tokenSources: [{ cookie: "access_token" }] });
    const cookie: Fields = [["Cookie", `theme=dark; ${COOKIE}`]];
    expect(await lineOf(port, handshake(EVENTS, cookie))).toBe("101");
    expect(await lineOf(port, handshake(EVENTS, [...cookie, ...cookie]))).toBe("400");
    expect(await lineOf(port, handshake(EVENTS, GOOD))).toBe("401");
  });

  it.each([
    ["h2c", [["HTTP2-Settings", "AAMAAABkAAQCAAAAAAIAAAAA"]]],
    ["TLS/1.2, HTTP/1.1", []],
    ["anything/7", []],
    ["websocket, h2c", []],
  ] as const)("checks an upgrade to %s like an upgrade to a WebSocket", async (protocol, fields) => {
    const { port, seen } = await startUpgrading();
    const ask = (credential: Fields) =>
      render(`GET ${EVENTS} HTTP/1.1`, [
        ["Host", "agents.example"],
        ["Connection", "upgrade, http2-settings"],
        ["Upgrade", protocol],
        ...credential,
        ...fields,
      ]);
    expect(await lineOf(port, ask([["Authorization", "Basic eDp5"]]))).toBe("401");
    expect(await lineOf(port, ask(OTHER))).toBe("403");
    const allowed = await openRaw(port);
    allowed.socket.write(ask(GOOD));
    await until(() => seen.length === 3);
    expect(await seen[2]?.answer).toBe(true);
    allowed.socket.destroy();
  });

  it.each([
    ["POST", ["agents:web:read"], false],
    ["POST", ["agents:web:write"], true],
    ["HEAD", ["agents:web:read"], true],
    ["HEAD", ["agents:web:write"], false],
    ["OPTIONS", ["agents:read", "agents:write"], false],
    ["CONNECT", ["platform:admin"], false],
  ])(
    "checks an upgrade by %s with the scopes %j by the rule for that method: allowed %s",
    async (method, scopes, isAllowed) => {
      const http = createServer();
      http.on("connect", (...handed: unknown[]) => http.emit("upgrade", ...handed));
      const { port, seen } = await startUpgrading({}, http);
      const { socket } = await openRaw(port);
      socket.write(handshake(EVENTS, [["Authorization", await bearer(...scopes)]], method));
      await until(() => seen.length === 1);
      expect(await seen[0]?.answer).toBe(isAllowed);
      socket.destroy();
    },
  );

  it("responds to a refusal with a whole response, and without content for HEAD", async () => {
    const { port } = await startUpgrading();
    const [head = "", content = ""] = (await exchange(port, handshake(EVENTS, OTHER))).split("\r\n\r\n");
    expect(head).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n/);
    expect(head).toMatch(/\r\nWWW-Authenticate: Bearer error="insufficient_scope", .*"agents:web:read"\r\n/);
    const [, date = ""] = /\r\nDate: (.+)\r\n/.exec(head) ?? [];
    expect(new Date(date).toUTCString()).toBe(date);
    expect(JSON.parse(content)).toMatchObject({ status: 403, code: "scope_insufficient" });
    expect(await exchange(port, handshake(EVENTS, [], "HEAD"))).toMatch(
      /^HTTP\/1\.1 401 Unauthorized\r\n[^]*\r\n\r\n$/,
    );
  });

  it("responds to an error with an empty 500 and a process warning, and does not reject", async () => {
    const { port, upgraded, seen } = await startUpgrading({ now: () => Number.NaN });
    const warned = once(process, "warning");
    expect(await exchange(port, handshake(EVENTS, GOOD))).toMatch(
      /^HTTP\/1\.1 500 Internal Server Error\r\nContent-Length: 0\r\n[^]*\r\n\r\n$/,
    );
    expect(await seen[0]?.answer).toBe(false);
    expect(upgraded).toEqual([]);
    const [warning] = (await warned) as [Error & { readonly detail?: string }];
    expect(warning).toMatchObject({
      name: "ScopegateWarning",
      message: expect.stringContaining("upgrade") as string,
    });
    expect(warning.detail).toContain("Error");
  });
});

/** A client whose token is being checked: it has written its request, or has also ended its side. */
async function startPending(action: "write" | "end" = "write") {
  const { isRevoked, whenAsked, answer } = slowCheck();
  const upgrading = await startUpgrading({ isRevoked });
  const client = await openRaw(upgrading.port);
  client.socket[action](handshake(EVENTS, GOOD));
  await whenAsked();
  return { ...upgrading, client, answer };
}

describe("the bytes of an upgraded connection", () => {
  it("reach the WebSocket library, including those that arrive with the handshake", async () => {
    const { port } = await startUpgrading();
    const client = await openRaw(port);
    const first = handshake(EVENTS, GOOD);
    client.socket.write(Buffer.concat([Buffer.from(first), frame("at once")]));
    expect(await client.receives(/at once/)).toMatch(/^HTTP\/1\.1 101 .*user-1: at once$/s);
    client.socket.destroy();
  });

  it.each([
    ["a few", "while pending"],
    // More than a socket holds: the rest waits in the system.
    ["many", `${"x".repeat(300_000)} while pending`],
  ])("reach the WebSocket library if %s of them arrive during the check", async (_, text) => {
    const { isRevoked, whenAsked, answer } = slowCheck();
    const { port, seen } = await startUpgrading({ isRevoked });
    const client = await openRaw(port);
    const first = handshake(EVENTS, GOOD);
    client.socket.write(Buffer.concat([Buffer.from(first), frame("first")]));
    await whenAsked();
    client.socket.write(frame(text));
    await until(() => (seen[0]?.socket.readableLength ?? 0) > 0);
    expect(client.received()).toBe("");
    answer(false);
    const received = await client.receives(/while pending/);
    expect(received.indexOf("user-1: first")).toBeLessThan(received.indexOf(text.slice(0, 100)));
    expect(received).toContain(`user-1: ${text}`);
    client.socket.destroy();
  });

  it("come from a socket on which the guard has left no listener and written nothing", async () => {
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
    const port = await serveHttp(http);
    const answered = exchange(port, handshake(EVENTS, GOOD));
    await whenAsked();
    answer(false);
    const [before, after] = await states.promise;
    expect(after).toEqual(before);
    await answered;
  });
});

describe("a client that disconnects", () => {
  it.each([
    ["allowed", false],
    ["refused", true],
  ])(
    "does not end the process, and does not upgrade, if it resets during the check: %s",
    async (_, isRefused) => {
      const { client, seen, upgraded, answer } = await startPending();
      client.socket.resetAndDestroy();
      await until(() => seen[0]?.socket.destroyed === true);
      answer(isRefused);
      expect(await seen[0]?.answer).toBe(false);
      expect(upgraded).toEqual([]);
    },
  );

  it("does not upgrade if it ends its side during the check", async () => {
    const { client, seen, upgraded, answer } = await startPending("end");
    await until(() => seen[0]?.socket.readableEnded === true);
    answer(false);
    expect(await seen[0]?.answer).toBe(false);
    expect(await client.closed).toBe("");
    expect(upgraded).toEqual([]);
  });

  it("receives its refusal if it ends only its own side", async () => {
    const { client, seen, answer } = await startPending("end");
    await until(() => seen[0]?.socket.readableEnded === true);
    answer(true);
    expect(await client.closed).toMatch(/^HTTP\/1\.1 401 /);
    await until(() => seen[0]?.socket.destroyed === true);
  });

  it("receives nothing if it disconnects before the check", async () => {
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
});

describe("the end of a refused connection", () => {
  it("does not lose the response if the client has sent more bytes", async () => {
    const { client, seen, answer } = await startPending();
    // No help from the limit: what is left unread keeps nothing open.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    // More than the server has read by the time of its answer.
    client.socket.write(Buffer.alloc(2_000_000));
    await until(() => (seen[0]?.socket.readableLength ?? 0) > 0);
    answer(true);
    expect(await client.closed).toContain("token_rejected");
    await until(() => seen[0]?.socket.destroyed === true);
  });

  it.each([
    ["allowed", false],
    ["refused", true],
  ])("does not change a response that other code has sent during the check: %s", async (_, isRefused) => {
    const { client, seen, upgraded, answer } = await startPending();
    const own = `HTTP/1.1 503 Service Unavailable\r\n\r\n${"x".repeat(5_000_000)}`;
    seen[0]?.socket.end(own);
    answer(isRefused);
    expect(await seen[0]?.answer).toBe(false);
    expect((await client.closed) === own).toBe(true);
    expect(upgraded).toEqual([]);
  });

  it("happens after two seconds for a client that neither reads nor closes", async () => {
    const { port, seen } = await startUpgrading();
    const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => undefined);
    await once(socket, "connect");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    socket.write(handshake(EVENTS));
    await until(() => seen[0]?.socket.writableFinished === true);
    expect(vi.getTimerCount()).toBe(1);
    vi.advanceTimersByTime(1_999);
    expect(seen[0]?.socket.destroyed).toBe(false);
    vi.advanceTimersByTime(1);
    expect(seen[0]?.socket.destroyed).toBe(true);
    socket.destroy();
  });

  it("leaves no timer behind", async () => {
    const { port, seen } = await startUpgrading();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    await exchange(port, handshake(EVENTS));
    await until(() => seen[0]?.socket.closed === true);
    await new Promise(setImmediate);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("an upgrade before a framework", () => {
  it("bypasses protect for every route as soon as there is an upgrade listener", async () => {
    const app = express().use(forExpress.protect(serverWith()));
    const http = createServer(app.get("/agents/:agent_id/events", (_request, response) => response.json("")));
    const sockets = new WebSocketServer({ server: http });
    const port = await serveHttp(http);
    expect((await ask(port, { path: EVENTS })).status).toBe(401);
    expect(await lineOf(port, handshake(EVENTS))).toBe("101");
    expect(await lineOf(port, handshake("/unmapped"))).toBe("101");
    sockets.close();
  });

  it.each([
    ["refused", []],
    ["allowed", GOOD],
  ])("closes with a warning if the WebSocket library has used the socket: %s", async (_, fields) => {
    const http = createServer();
    const guard = protectUpgrade(serverWith());
    const sockets = new WebSocketServer({ server: http });
    const answers: Promise<boolean>[] = [];
    http.on("upgrade", (request, socket, head) => void answers.push(guard(request, socket, head)));
    const port = await serveHttp(http);
    const warned = once(process, "warning");
    const received = await exchange(port, handshake(EVENTS, fields));
    expect(received).not.toContain("problem+json");
    expect(await Promise.all(answers)).toEqual([false]);
    expect((await warned)[0]).toMatchObject({
      detail: expect.stringContaining("noServer: true") as string,
    });
    sockets.close();
  });
});

describe("protect of plain Node", () => {
  const start = async (options: Partial<ResourceServerOptions> = {}) => {
    const guard = protect(serverWith(options));
    const ran: string[] = [];
    const http = createServer((request, response) => {
      void guard(request, response).then((isAllowed) => {
        if (isAllowed) ran.push(request.url ?? "");
      });
    });
    return { port: await serveHttp(http), ran };
  };
  const token = (...scopes: string[]) => issuer.token({ scopes });

  it("responds to an error with an empty 500, and emits a process warning with its message if it has no stack", async () => {
    const fault = Object.assign(new Error("the clock stands still"), { stack: undefined });
    const now = () => {
      throw fault;
    };
    const { port, ran } = await start({ now });
    const warned = once(process, "warning");
    const answer = await ask(port, { path: EVENTS, token: await token("agents:read") });
    expect(answer).toMatchObject({ status: 500, text: "" });
    expect((await warned)[0]).toMatchObject({ name: "ScopegateWarning", detail: "the clock stands still" });
    expect(ran).toEqual([]);
  });

  it.each([["method"], ["url"]])("refuses a request without a %s, which Node's types allow", async (name) => {
    const guard = protect(serverWith());
    const mayUpgrade = protectUpgrade(serverWith());
    const without = (request: IncomingMessage) =>
      Object.create(request, { [name]: { value: undefined } }) as IncomingMessage;
    const http = createServer((request, response) => void guard(without(request), response));
    http.on("upgrade", (request, socket: Socket) => void mayUpgrade(without(request), socket));
    const port = await serveHttp(http);
    const status = name === "url" ? 400 : 403;
    expect((await ask(port, { path: "/open" })).status).toBe(status);
    expect(await exchange(port, handshake("/open"))).toContain(`HTTP/1.1 ${status} `);
  });

  it.each([
    ["a refusal", { isRevoked: () => true }],
    ["a fault", { now: () => Number.NaN }],
  ])("sends nothing if other code has already sent a response, and warns: %s", async (_, options) => {
    const warnings = vi.spyOn(process, "emitWarning").mockReturnValue();
    const guard = protect(serverWith(options));
    const answer = deferred<boolean>();
    const http = createServer((request, response) => {
      void guard(request, response).then(answer.resolve);
      response.writeHead(503).write("time");
      void answer.promise.then(() => response.end("out"));
    });
    const port = await serveHttp(http);
    expect(await ask(port, { path: EVENTS, token: await token("agents:read") })).toMatchObject({
      status: 503,
      text: "timeout",
    });
    expect(await answer.promise).toBe(false);
    expect(warnings).toHaveBeenCalledTimes(1);
  });

  it("warns once if the guard is not awaited, so that every request is allowed", async () => {
    const warnings = vi.spyOn(process, "emitWarning").mockReturnValue();
    const guard = protect(serverWith());
    const answers: Promise<boolean>[] = [];
    const http = createServer((request, response) => {
      const isAllowed = guard(request, response);
      answers.push(isAllowed);
      response.end("served");
    });
    const port = await serveHttp(http);
    expect(await statusWith(port, EVENTS, ["agents:read"])).toBe(200);
    expect(await answers[0]).toBe(true);
    expect(warnings).not.toHaveBeenCalled();
    expect(await ask(port, { path: EVENTS })).toMatchObject({ status: 200, text: "served" });
    expect((await ask(port, { path: EVENTS })).status).toBe(200);
    expect(await Promise.all(answers)).toEqual([true, false, false]);
    expect(warnings).toHaveBeenCalledTimes(1);
    expect(warnings.mock.calls[0]?.[0]).toContain("await guard(request, response)");
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
