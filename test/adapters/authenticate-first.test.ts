import { once } from "node:events";
import type { Socket as NetSocket } from "node:net";
import { createServer as createHttp } from "node:http";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, describe, expect, it, vi } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import type { Principal } from "scopegate";
import { authenticateFirst, type AuthenticateFirstOptions } from "scopegate/node";
import { serveHttp } from "../support/frameworks.ts";
import { createServer, issuer } from "../support/resource-servers.ts";
import type { ResourceServerOptions } from "../support/server.ts";
import { slowCheck } from "../support/slow-check.ts";
import { until } from "../support/until.ts";

afterEach(() => void vi.useRealTimers());

const serverWith = (options: Partial<ResourceServerOptions> = {}) =>
  createServer({
    scopeMappings: { "GET /live": ["events:read"], "GET /open": "public", "GET /maybe": "optional" },
    ...options,
  });

/** A WebSocket server that sends back messages with the name of the caller. */
async function start(
  options: Partial<ResourceServerOptions> = {},
  settings: Partial<AuthenticateFirstOptions> = {},
  beforeListening: () => Promise<unknown> = () => Promise.resolve(),
) {
  const http = createHttp();
  const server = serverWith(options);
  const results: (Principal | undefined)[] = [];
  const processed: string[] = [];
  new WebSocketServer({ server: http }).on("connection", (socket) => {
    void authenticateFirst(socket, { server, path: "/live", ...settings }).then(async (principal) => {
      results.push(principal);
      if (!principal) return;
      await beforeListening();
      socket.on("message", (data: Buffer) => {
        processed.push(data.toString());
        socket.send(`${principal.userId}: ${data.toString()}`);
      });
      socket.send("welcome");
    });
  });
  return { port: await serveHttp(http), results, processed };
}

async function open(port: number): Promise<WebSocket> {
  const client = new WebSocket(`ws://127.0.0.1:${port}`);
  client.on("error", () => undefined);
  await once(client, "open");
  return client;
}

const tokenWith = (...scopes: string[]) => issuer.token({ sub: "ada", scopes });
const WEAK = await tokenWith("other:read");
const first = (token: unknown): string => JSON.stringify({ type: "authenticate", token });
const GOOD = first(await tokenWith("events:read"));

/** The code and reason that a connection closes with after some messages. */
async function closeOf(port: number, ...messages: (string | Buffer)[]): Promise<readonly unknown[]> {
  const client = await open(port);
  const closed = once(client, "close");
  for (const message of messages) client.send(message);
  const [code, reason] = (await closed) as [number, Buffer];
  return [code, reason.toString()];
}

/** The next messages of a client. */
async function receive(client: WebSocket, count: number): Promise<readonly string[]> {
  const received: string[] = [];
  await new Promise<void>((resolve) => {
    client.on("message", (data: Buffer) => {
      received.push(data.toString());
      if (received.length === count) resolve();
    });
  });
  return received;
}

describe("authenticateFirst", () => {
  it("resolves with the principal of the token in the first message", async () => {
    const { port, results } = await start();
    const client = await open(port);
    client.send(GOOD);
    client.send("hello");
    expect(await receive(client, 2)).toEqual(["welcome", "ada: hello"]);
    expect(results).toMatchObject([{ userId: "ada" }]);
  });

  it.each<[string, (token: string) => string | Buffer, string?]>([
    ["a rejected token", () => first("a.b.c"), "4401 token_rejected"],
    ["a token without the scope", () => first(WEAK), "4403 scope_insufficient"],
    ["an empty token", () => first("")],
    ["two tokens", () => first("a.b.c a.b.c")],
    ["a token that is no string", () => first(1)],
    ["another type", (token) => JSON.stringify({ type: "auth", token })],
    ["an array", () => "[]"],
    ["null", () => "null"],
    ["no JSON", (token) => `Bearer ${token}`],
    ["binary data", (token) => Buffer.from(first(token))],
    ["20,001 bytes", (token) => first(token).padEnd(20_001)],
  ])("closes the connection for %s", async (_, render, expected = "4400 credential_malformed") => {
    const { port, results, processed } = await start();
    const closed = await closeOf(port, render(await tokenWith("events:read")), "hello");
    expect(closed.join(" ")).toBe(expected);
    expect(results).toEqual([undefined]);
    expect(processed).toEqual([]);
  });

  it("accepts a first message of exactly the maximum length", async () => {
    const long = await start({}, { maxMessageLength: GOOD.length });
    const client = await open(long.port);
    client.send(GOOD);
    expect(await receive(client, 1)).toEqual(["welcome"]);
    const short = await start({}, { maxMessageLength: GOOD.length - 1 });
    expect(await closeOf(short.port, GOOD)).toEqual([4400, "credential_malformed"]);
  });

  it("closes with 4500 and a warning after an error", async () => {
    const warnings = vi.spyOn(process, "emitWarning").mockReturnValue();
    expect(await closeOf((await start({ now: () => Number.NaN })).port, GOOD)).toEqual([4500, "fault"]);
    expect(warnings.mock.calls.map(([text]) => text)).toEqual([
      "The check of a first message failed; the socket is closed.",
    ]);
  });

  it.each(["/live", "/open", "/maybe"])("requires a valid token that can be checked, on %s", async (path) => {
    const { port } = await start({}, { path });
    const client = await open(port);
    client.send(path === "/live" ? GOOD : first(WEAK));
    expect(await receive(client, 1)).toEqual(["welcome"]);
    expect(await closeOf(port, first("a.b.c"))).toEqual([4401, "token_rejected"]);
    const failing = await start({ isRevoked: () => Promise.reject(new Error("down")) }, { path });
    expect(await closeOf(failing.port, GOOD)).toEqual([4503, "keys_unavailable"]);
  });

  it.each([[undefined], [3_000]])("closes with 4408 if no message arrives in time: %s", async (timeoutMs) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { port, results } = await start({}, { timeoutMs });
    const client = await open(port);
    await until(() => vi.getTimerCount() > 0);
    const closed = once(client, "close");
    await vi.advanceTimersByTimeAsync((timeoutMs ?? 10_000) - 1);
    expect(results).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(((await closed) as [number])[0]).toBe(4408);
    expect(results).toEqual([undefined]);
  });

  it("leaves no timer after the check", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { isRevoked, whenAsked, answer } = slowCheck();
    const { port } = await start({ isRevoked, tokenCache: false });
    const client = await open(port);
    client.send(GOOD);
    await whenAsked();
    answer(false);
    expect(await receive(client, 1)).toEqual(["welcome"]);
    await vi.advanceTimersByTimeAsync(60_000);
    client.send("hello");
    expect(await receive(client, 1)).toEqual(["ada: hello"]);
  });

  it("ignores a decision that is made after the client has disconnected, and leaves no timer", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { isRevoked, whenAsked, answer } = slowCheck();
    const { port, results } = await start({ isRevoked });
    const client = await open(port);
    client.send(GOOD);
    await whenAsked();
    client.terminate();
    await until(() => results.length > 0);
    answer(false);
    await turn();
    expect(results).toEqual([undefined]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

it.each(["before", "after"])(
  "closes the socket for an invalid frame that is sent %s the token",
  async (when) => {
    const { port, results } = await start();
    const client = await open(port);
    const closed = once(client, "close");
    if (when === "after") {
      const welcomed = once(client, "message");
      client.send(GOOD);
      await welcomed;
    }
    // Reserved bits: without a listener for errors, `ws` would end the process.
    (client as unknown as { _socket: NetSocket })._socket.write(Buffer.from("ff8000000000", "hex"));
    expect((await closed)[0]).toBe(1002);
    expect(results.at(-1)?.userId).toBe(when === "after" ? "ada" : undefined);
  },
);

describe("messages that follow the first one", () => {
  it.each([
    ["at once", () => Promise.resolve()],
    ["later", () => turn().then(() => turn())],
  ])("wait until the program listens %s, and keep their order", async (_, beforeListening) => {
    const { isRevoked, whenAsked, answer } = slowCheck();
    const { port, processed } = await start({ isRevoked }, {}, beforeListening);
    const client = await open(port);
    client.send(GOOD);
    for (const text of ["1", "2", "3"]) client.send(text);
    await whenAsked();
    expect(processed).toEqual([]);
    const received = receive(client, 5);
    answer(false);
    client.send("4");
    expect(await received).toEqual(["welcome", "ada: 1", "ada: 2", "ada: 3", "ada: 4"]);
  });

  it("close the connection if they are too many or too large", async () => {
    for (const messages of [["x".repeat(1_000_000)], Array<string>(10_001).fill("")]) {
      const { isRevoked } = slowCheck();
      const { port } = await start({ isRevoked });
      expect(await closeOf(port, GOOD, ...messages)).toEqual([1009, "too_many_messages"]);
    }
  });
});

describe("a listener for messages that is added before the decision", () => {
  it("causes an error, before and during authenticateFirst, because it would receive messages of unknown clients", async () => {
    const http = createHttp();
    const errors: unknown[] = [];
    const attempt = (run: () => unknown): void => {
      try {
        run();
      } catch (error) {
        errors.push((error as Error).message);
      }
    };
    const listening = new Promise<void>((resolve) => {
      new WebSocketServer({ server: http }).on("connection", (socket) => {
        const listener = () => undefined;
        socket.on("message", listener);
        attempt(() => void authenticateFirst(socket, { server: serverWith(), path: "/live" }));
        socket.off("message", listener);
        void authenticateFirst(socket, { server: serverWith(), path: "/live" });
        attempt(() => socket.on("message", listener));
        attempt(() => socket.on("pong", listener));
        socket.terminate();
        resolve();
      });
    });
    await open(await serveHttp(http));
    await listening;
    const misuse = "Await authenticateFirst before the first listener for messages.";
    expect(errors).toEqual([misuse, misuse]);
  });
});
