/** WebSocket libraries, set up as docs/guides/sockets.md shows. */
import { once } from "node:events";
import { createServer as createHttp, type Server as HttpServer } from "node:http";
import { createRequire } from "node:module";
import websocket from "@fastify/websocket";
import express from "express";
import fastify from "fastify";
import { createProxyMiddleware } from "http-proxy-middleware";
import { describe, expect, it } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import { guardUpgrades, principalOf, protectUpgrade } from "scopegate/node";
import { serveFastify, serveHttp } from "../support/frameworks.ts";
import { ask } from "../support/http.ts";
import { createServer, issuer } from "../support/resource-servers.ts";
import type { ResourceServerOptions } from "../support/server.ts";

/** By its own types, because those of the package change the types of Express for all files. */
const expressWs = createRequire(import.meta.url)("express-ws") as (
  app: express.Express,
  http: HttpServer,
) => { readonly app: { ws(path: string, handler: (socket: WebSocket, request: object) => void): void } };

const serverWith = (options: Partial<ResourceServerOptions> = {}) =>
  createServer({
    scopeMappings: { "GET /events": ["events:read"], "GET /events/.websocket": ["events:read"] },
    ...options,
  });

const TOKEN = await issuer.token({ sub: "ada", scopes: ["events:read"] });

const connect = (port: number, token?: string): WebSocket =>
  new WebSocket(`ws://127.0.0.1:${port}/events`, {
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
  });

/** The first message of a WebSocket, or the status of its refusal, or the code that it was closed with. */
async function outcomeOf(port: number, token?: string): Promise<unknown> {
  const client = connect(port, token);
  const outcome = await new Promise((resolve) => {
    client.on("message", (data: Buffer) => resolve(data.toString()));
    client.on("unexpected-response", (_request, { statusCode }) => resolve(statusCode));
    client.on("close", resolve);
    client.on("error", () => undefined);
  });
  client.terminate();
  return outcome;
}

/** What a caller without a token, without the scope and with the scope gets. */
const outcomes = async (port: number): Promise<unknown> => [
  await outcomeOf(port),
  await outcomeOf(port, await issuer.token({ sub: "ada", scopes: ["other:read"] })),
  await outcomeOf(port, TOKEN),
];

describe("guardUpgrades", () => {
  it.each(["before", "after"])(
    "upgrades only allowed requests, called %s the server of ws is created",
    async (order) => {
      const http = createHttp();
      if (order === "before") guardUpgrades(http, serverWith());
      const opened: string[] = [];
      new WebSocketServer({ server: http }).on("connection", (client, request) => {
        opened.push(request.url ?? "");
        client.send(`hello ${principalOf(request)?.userId}`);
      });
      if (order === "after") guardUpgrades(http, serverWith());
      expect(await outcomes(await serveHttp(http))).toEqual([401, 403, "hello ada"]);
      expect(opened).toEqual(["/events"]);
    },
  );

  it.each<[expected: readonly unknown[], options: Partial<ResourceServerOptions>]>([
    // A rule for a single-page application would open every WebSocket.
    [[403, 403, 403], { scopeMappings: { "GET /{*path}": "public" } }],
    [[403, 403, 403], { scopeMappings: { "GET /events{/*path}": "public" } }],
    [[401, 403, "welcome"], { scopeMappings: { "GET /{*path}": "public", "GET /events": ["events:read"] } }],
    [
      [401, "welcome", "welcome"],
      { scopeMappings: { "GET /{*path}": "public" }, unmappedRoutes: "authenticated" },
    ],
    [["welcome", "welcome", "welcome"], { scopeMappings: { "GET /events": "public" } }],
  ])("opens no upgrade by a public rule with a wildcard: %j with %j", async (expected, options) => {
    const http = createHttp((_request, response) => response.end());
    new WebSocketServer({ server: http }).on("connection", (client) => client.send("welcome"));
    guardUpgrades(http, createServer(options));
    expect(await outcomes(await serveHttp(http))).toEqual(expected);
  });

  it("changes no other event", () => {
    const http = createHttp();
    guardUpgrades(http, serverWith());
    const seen: unknown[] = [];
    http.on("custom", (...values: unknown[]) => seen.push(values));
    expect([http.emit("custom", 1, 2), http.emit("nothing"), seen]).toEqual([true, false, [[1, 2]]]);
  });
});

it("express-ws upgrades only allowed requests with guardUpgrades and a rule that ends with /.websocket", async () => {
  const server = serverWith();
  const app = express();
  const http = createHttp(app);
  guardUpgrades(http, server);
  const { app: withSockets } = expressWs(app, http);
  app.use(forExpress.protect(server));
  withSockets.ws("/events", (socket, request) => {
    socket.send(`hello ${forExpress.principalOf(request)?.userId}`);
  });
  expect(await outcomes(await serveHttp(http))).toEqual([401, 403, "hello ada"]);
});

it("http-proxy-middleware proxies only allowed upgrades with guardUpgrades and ws: true", async () => {
  // A service that trusts its network.
  const behind = createHttp((_request, response) => response.end("behind"));
  new WebSocketServer({ server: behind }).on("connection", (client) => client.send("hello from behind"));
  const target = `http://127.0.0.1:${await serveHttp(behind)}`;
  const server = serverWith();
  const app = express();
  const http = createHttp(app);
  guardUpgrades(http, server);
  app.use(forExpress.protect(server), createProxyMiddleware({ target, ws: true }));
  const port = await serveHttp(http);
  // It begins to listen for upgrades at the first request that passes.
  expect((await ask(port, { path: "/events", token: TOKEN })).text).toBe("behind");
  expect(await outcomes(port)).toEqual([401, 403, "hello from behind"]);
});

describe("@fastify/websocket", () => {
  /** With a slow check, so that the guards do not decide at once. */
  async function startFastify(second: "none" | "before" | "after" | "all" | "other") {
    const server = serverWith({ isRevoked: () => Promise.resolve(false) });
    const app = fastify();
    let open: () => void = () => undefined;
    const opened = new Promise<void>((resolve) => void (open = resolve));
    const slower = serverWith({ isRevoked: () => opened.then(() => false) });
    const mayUpgrade = protectUpgrade(second === "other" ? slower : server);
    const answers: Promise<boolean>[] = [];
    const listener = (...given: Parameters<typeof mayUpgrade>) => void answers.push(mayUpgrade(...given));
    if (second === "before" || second === "other") app.server.on("upgrade", listener);
    if (second === "all") guardUpgrades(app.server, server);
    await app.register(forFastify.protect(server));
    await app.register(websocket);
    if (second === "after") app.server.on("upgrade", listener);
    app.get("/events", { websocket: true }, (socket, request) => {
      open();
      socket.on("message", () => socket.send(`again ${forFastify.principalOf(request)?.userId}`));
      socket.send(`hello ${forFastify.principalOf(request)?.userId}`);
    });
    return { port: await serveFastify(app), answers };
  }

  it.each(["none", "before", "after", "all"] as const)(
    "upgrades only requests that protect of Fastify allows, also with a second guard: %s",
    async (second) => {
      const { port, answers } = await startFastify(second);
      expect(await outcomes(port)).toEqual([401, 403, "hello ada"]);
      expect(await Promise.all(answers)).toEqual(
        second === "before" || second === "after" ? [false, false, false] : [],
      );
      const client = connect(port, TOKEN);
      await once(client, "message");
      client.send("more");
      expect(String((await once(client, "message"))[0])).toBe("again ada");
      client.close(1000);
      expect((await once(client, "close"))[0]).toBe(1000);
    },
  );

  it("opens no upgrade by a public wildcard, and still serves pages that are asked to upgrade", async () => {
    const server = serverWith({ scopeMappings: { "GET /{*path}": "public" } });
    const app = fastify();
    await app.register(forFastify.protect(server));
    await app.register(websocket);
    app.get("/events", { websocket: true }, (socket) => socket.send("open"));
    expect(await outcomeOf(await serveFastify(app))).toBe(403);

    const pages = fastify();
    await pages.register(forFastify.protect(server));
    pages.get("/page", () => "page");
    // Without a listener for upgrades, Node.js ignores the field; some clients always send it.
    const response = await pages.inject({ url: "/page", headers: { upgrade: "h2c", connection: "upgrade" } });
    expect(response.statusCode).toBe(200);
  });

  it("closes if protectUpgrade has another resource server, which Fastify does not use", async () => {
    const warned = once(process, "warning");
    const { port } = await startFastify("other");
    const client = connect(port, TOKEN);
    client.on("error", () => undefined);
    expect((await once(client, "close"))[0]).toBe(1006);
    expect(((await warned) as [Error])[0].message).toContain("An upgrade was used before");
  });
});
