/** One proof is for one request, however many guards, routes and messages the request has. */
import { once } from "node:events";
import { createServer as createHttp } from "node:http";
import {
  connect as connectHttp2,
  createServer as createHttp2,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from "node:http2";
import type { AddressInfo } from "node:net";
import Router from "@koa/router";
import express from "express";
import { Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { Server as SocketServer } from "socket.io";
import { io as connectSocket, type ManagerOptions, type SocketOptions } from "socket.io-client";
import { describe, expect, it, onTestFinished } from "vitest";
import { WebSocket, WebSocketServer } from "ws";
import type { ResourceServer, ScopeMappings } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forFetch from "scopegate/fetch";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import { protectMcp } from "scopegate/mcp";
import { guardUpgrades, protect as protectNode, protectUpgrade } from "scopegate/node";
import * as forSocketIo from "scopegate/socketio";
import { memoryStore } from "scopegate/store";
import * as trpc from "scopegate/trpc";
import { applications } from "../../conformance/applications.ts";
import { HOSTS, startHost } from "../../adapters/trpc/hosts.ts";
import {
  EXPRESS_VERSIONS,
  FASTIFY_VERSIONS,
  KOA_VERSIONS,
  koaListener,
  serve,
  serveFastify,
  serveHttp,
} from "../../support/frameworks.ts";
import { listenerOf } from "../../support/hosts.ts";
import { exchange, openRaw, render } from "../../support/raw-http.ts";
import { NONCE_SECRET, NOW, ORIGIN, type ProofOptions, type Sent, sentBy } from "./forge.ts";
import { createService, sendTo } from "./service.ts";

const RULE = ["agents:read"];

const serverWith = (scopeMappings: ScopeMappings = { "GET /agents/:id": RULE }): ResourceServer =>
  createService({}, { scopeMappings }).server;

/** A request with a fresh proof for this path and method. */
const requestFor = (path: string, method = "GET", claims: ProofOptions["claims"] = {}): Sent =>
  sentBy({ claims: { htm: method, htu: ORIGIN + path, ...claims } }, { target: path, method });

const statusOf = async (port: number, request: Sent): Promise<number> => (await sendTo(port, request)).status;

/** Sends a request twice, and another one with a proof of its own. */
async function statusesOf(port: number, request: Sent, fresh: Sent): Promise<readonly number[]> {
  const statuses: number[] = [];
  for (const each of [request, request, fresh]) statuses.push(await statusOf(port, each));
  return statuses;
}

/** Expects that each proof is accepted once. */
async function expectOnce(port: number, path: string, method = "GET", status = 200): Promise<void> {
  const statuses = await statusesOf(port, requestFor(path, method), requestFor(path, method));
  expect(statuses).toEqual([status, 401, status]);
}

describe.each(applications)("a proof in $name", (application) => {
  it("counts once, also at a mounted route with requireScopes and for HEAD", async () => {
    const server = serverWith({ "GET /agents/:id": RULE, "GET /mounted/agents/:id": RULE });
    const route = { method: "GET", path: "/agents/:id", handle: () => "done" } as const;
    const mounted = [{ ...route, requires: ["agents:<id>:read"] }];
    const { port, close } = await application.start({ server, routes: [route], mounted });
    onTestFinished(close);
    await expectOnce(port, "/agents/7");
    await expectOnce(port, "/mounted/agents/7");
    await expectOnce(port, "/agents/7", "HEAD");
  });
});

const done = (_request: unknown, response: { send(text: string): unknown }) => void response.send("done");

type Open = (server: ResourceServer) => Promise<number>;

/** Each has several guards of one server in front of one route, and `requireScopes` at it. */
const GUARDED_TWICE: readonly (readonly [name: string, open: Open])[] = [
  ...EXPRESS_VERSIONS.map(([name, create]): readonly [string, Open] => [
    name,
    (server) => {
      const guard = forExpress.protect(server);
      const router = create.Router();
      router.get("/agents/:id", guard, forExpress.requireScopes("agents:<id>:read"), done);
      const inner = create().use(guard).use("/", router);
      return serve(create().use(guard).use(guard).use("/v1", guard, inner));
    },
  ]),
  ...FASTIFY_VERSIONS.map(([name, create]): readonly [string, Open] => [
    name,
    async (server) => {
      const app = create();
      await app.register(forFastify.protect(server));
      const requires = { preHandler: forFastify.requireScopes("agents:<id>:read") };
      await app.register(
        async (inner) => {
          await inner.register(forFastify.protect(server));
          inner.get("/agents/:id", requires, () => "done");
        },
        { prefix: "/v1" },
      );
      return serveFastify(app);
    },
  ]),
  ...KOA_VERSIONS.map(([name, Application]): readonly [string, Open] => [
    name,
    (server) => {
      const guard = forKoa.protect(server);
      const router = new Router();
      const requires = forKoa.requireScopes("agents:<id>:read") as never;
      router.get("/v1/agents/:id", requires, (context) => void (context.body = "done"));
      const routed = router.routes() as never;
      return serve(koaListener(new Application().use(guard).use(guard).use(routed)));
    },
  ]),
  [
    "Hono",
    (server) => {
      const inner = new Hono().use(forHono.protect(server));
      const requires = forHono.requireScopes("agents:<id>:read");
      inner.get("/agents/:id", requires, (context) => context.text("done"));
      return serve(listenerOf(new Hono().use(forHono.protect(server)).route("/v1", inner).fetch));
    },
  ],
];

it.each(GUARDED_TWICE)("a proof counts once in %s for several guards of one server", async (_, open) => {
  const port = await open(serverWith({ "GET /v1/agents/:id": RULE }));
  await expectOnce(port, "/v1/agents/7");
  await expectOnce(port, "/v1/agents/7", "HEAD");
});

describe.each(EXPRESS_VERSIONS)("a proof in %s", (_, create) => {
  // The second is rewritten. The proof is about the URL that the client has sent.
  it.each(["/AGENTS/7", "/old/7"])(
    "counts once at a protected route whose path %s is public",
    async (path) => {
      const server = serverWith({ "GET /{*path}": "public", "GET /agents/:id": RULE });
      const app = create().use(forExpress.protect(server));
      app.use((request, __, next) => {
        request.url = request.url.replace("/old/", "/agents/");
        next();
      });
      app.get("/agents/:id", done);
      const port = await serve(app);
      await expectOnce(port, path);
      expect(await statusOf(port, { target: path, fields: [] })).toBe(401);
      const elsewhere = path === "/old/7" ? "/agents/7" : "/AGENTS/8";
      expect(await statusOf(port, requestFor(path, "GET", { htu: ORIGIN + elsewhere }))).toBe(401);
    },
  );

  it("is for the method that was sent, whatever middleware makes of it later", async () => {
    const server = serverWith({ "POST /agents/:id": RULE, "DELETE /agents/:id": RULE });
    const app = create().use(forExpress.protect(server));
    app.use((request, __, next) => {
      request.method = "DELETE";
      next();
    });
    app.delete("/agents/:id", done);
    const port = await serve(app);
    await expectOnce(port, "/agents/7", "POST");
    expect(await statusOf(port, requestFor("/agents/7", "POST", { htm: "DELETE" }))).toBe(401);
  });
});

it("a proof counts once for two guards of Hono with a limit of the body between them", async () => {
  const server = serverWith({ "POST /agents/:id": RULE });
  const app = new Hono().use(forHono.protect(server));
  app.use(bodyLimit({ maxSize: 1_000 }), forHono.protect(server));
  app.post("/agents/:id", async (context) => context.text(await context.req.text()));
  const port = await serve(listenerOf(app.fetch));
  await expectOnce(port, "/agents/7", "POST");
  // The limit reads a body without a length, and replaces the request by one with the body that it has read.
  const lines = [
    ["Host", "api.example"],
    ["Connection", "close"],
    ["Transfer-Encoding", "chunked"],
  ] as const;
  const postChunked = async ({ fields }: Sent): Promise<string> =>
    exchange(port, render("POST /agents/7 HTTP/1.1", [...lines, ...fields], "4\r\nbody\r\n0\r\n\r\n"));
  const request = requestFor("/agents/7", "POST");
  expect(await postChunked(request)).toMatch(/^HTTP\/1\.1 200 [^]*body/);
  expect(await postChunked(request)).toMatch(/^HTTP\/1\.1 401 /);
});

describe.each(HOSTS)("a proof for procedures of tRPC on %s", (name) => {
  it.each(["/trpc/list", "/trpc/list,user.list"])("accepts it once: %s", async (path) => {
    const server = serverWith({ "* /trpc/list": RULE, "* /trpc/user.list": RULE });
    const createContext = trpc.protect(server, { prefix: "/trpc" });
    const { port, close } = await startHost(name, { server, createContext });
    onTestFinished(close);
    const withQuery = (): Sent => ({
      ...requestFor(path),
      target: path.includes(",") ? `${path}?batch=1` : path,
    });
    expect(await statusesOf(port, withQuery(), withQuery())).toEqual([200, 401, 200]);
  });
});

describe("a proof over HTTP/2", () => {
  const openHttp2 = async () => {
    const guard = protectNode(serverWith());
    const http = createHttp2();
    http.on("request", (request, response) => {
      const { req, res } = { req: request as never, res: response as never };
      void guard(req, res).then((isAllowed) => isAllowed && response.end("done"));
    });
    http.listen(0, "127.0.0.1");
    await once(http, "listening");
    const client = connectHttp2(`http://127.0.0.1:${(http.address() as AddressInfo).port}`);
    onTestFinished(async () => {
      client.destroy();
      http.close();
      await once(http, "close");
    });
    return async (headers: OutgoingHttpHeaders): Promise<unknown> => {
      const stream = client.request({ ":path": "/agents/7", ...headers });
      stream.resume().end();
      const [{ ":status": status }] = (await once(stream, "response")) as [IncomingHttpHeaders];
      return status;
    };
  };

  const headersOf = () =>
    Object.fromEntries(requestFor("/agents/7").fields.map(([name, value]) => [name.toLowerCase(), value]));

  it("is accepted once on one connection", async () => {
    const send = await openHttp2();
    const headers = headersOf();
    expect([await send(headers), await send(headers)]).toEqual([200, 401]);
  });

  it("is refused next to another one, and if it is empty", async () => {
    const send = await openHttp2();
    const [{ dpop: first = "" }, { dpop: second = "" }] = [headersOf(), headersOf()];
    expect(await send({ ...headersOf(), dpop: [first, second] })).toBe(401);
    expect(await send({ ...headersOf(), dpop: "" })).toBe(401);
  });

  it("is compared with the configured origin, whatever `:authority` is", async () => {
    const send = await openHttp2();
    expect(await send({ ...headersOf(), ":authority": "evil.example" })).toBe(200);
  });
});

describe("a proof in front of the application and at the handler", () => {
  const RULES = { "GET /agents/:id": RULE, "GET /teams{/*path}": "public" } as const;

  /** Two instances of one module with one store, as for `proxy.ts` and a route handler of Next.js. */
  const guards = () => {
    const replay = memoryStore({ now: () => NOW * 1_000 });
    const front = createService({ replay }, { scopeMappings: RULES });
    const back = createService({ replay }, { scopeMappings: RULES });
    const guard = forFetch.protect(front.server);
    const params = () => ({ id: "7" });
    const handler = forFetch.withScopes(
      back.server,
      { route: "GET /agents/:id", params },
      () => new Response(),
    );
    return {
      atFront: async (sent: Sent) => {
        const access = await guard(toRequest(sent));
        return "decision" in access ? 200 : access.status;
      },
      atHandler: async (sent: Sent) => (await handler(toRequest(sent))).status,
    };
  };

  /** Each process creates its own object for a request. */
  const toRequest = ({ target = "", method = "GET", fields }: Sent): Request =>
    new Request(ORIGIN + target, { method, headers: fields.map(([name, value]) => [name, value]) });

  it("counts once for each of them", async () => {
    const { atFront, atHandler } = guards();
    const request = requestFor("/agents/7");
    expect([await atFront(request), await atHandler(request)]).toEqual([200, 200]);
    expect([await atFront(request), await atHandler(request)]).toEqual([401, 401]);
    const another = requestFor("/agents/7");
    expect([await atHandler(another), await atHandler(another), await atFront(another)]).toEqual([
      200, 401, 200,
    ]);
  });

  it("counts once at the handler if the path in front is public", async () => {
    const { atFront, atHandler } = guards();
    const request = requestFor("/teams/7/agents/7");
    expect([await atFront(request), await atHandler(request)]).toEqual([200, 200]);
    expect([await atFront(request), await atHandler(request)]).toEqual([200, 401]);
  });

  it("counts once for a handler that calls another one with the same request", async () => {
    const { server } = createService({}, { scopeMappings: RULES });
    const params = () => ({ id: "7" });
    const inner = forFetch.withScopes(server, { route: "GET /agents/:id", params }, () => new Response());
    const outer = forFetch.withScopes(server, { route: "/agents/:id", params }, (request) => inner(request));
    const guard = forFetch.protect(server);
    const handle = async (request: Request): Promise<Response> => {
      const access = await guard(request);
      return "decision" in access ? outer(request) : access;
    };
    const sent = requestFor("/agents/7");
    expect((await handle(toRequest(sent))).status).toBe(200);
    expect((await handle(toRequest(sent))).status).toBe(401);
  });

  it("gets the new nonce of the check of its path, after which that of the route is checked", async () => {
    let now = NOW;
    const { server } = createService(
      { nonce: { secret: NONCE_SECRET, lifetimeSeconds: 60 }, windowSeconds: 300 },
      { scopeMappings: RULES, now: () => now * 1_000 },
    );
    // Another id than that of the path, so that the second check isn't left out.
    const params = () => ({ id: "8" });
    const handler = forFetch.withScopes(server, { route: "GET /agents/:id", params }, () => new Response());
    const asked = await handler(toRequest(requestFor("/agents/7")));
    const nonce = asked.headers.get("dpop-nonce");
    expect([asked.status, nonce]).toEqual([401, expect.any(String)]);
    now += 60;
    const answer = await handler(toRequest(requestFor("/agents/7", "GET", { nonce, iat: now })));
    expect(answer.status).toBe(200);
    expect(answer.headers.get("dpop-nonce")).not.toBe(nonce);
    expect(answer.headers.get("dpop-nonce")).toEqual(expect.any(String));
  });
});

/** What becomes of a WebSocket: its first message, or the status of the refusal. */
async function socketOutcome(port: number, request: Sent): Promise<unknown> {
  const headers = Object.fromEntries(request.fields);
  const client = new WebSocket(`ws://127.0.0.1:${port}${request.target}`, { headers });
  const outcome = await new Promise((resolve) => {
    client.on("message", (data: Buffer) => resolve(data.toString()));
    client.on("unexpected-response", (_request, { statusCode }) => resolve(statusCode));
    client.on("close", resolve);
    client.on("error", () => undefined);
  });
  client.terminate();
  return outcome;
}

describe("a proof for a WebSocket", () => {
  const events = { "GET /events": RULE };

  it.each(["guardUpgrades", "protectUpgrade", "both", "two listeners"])(
    "accepts it once with %s",
    async (kind) => {
      const server = serverWith(events);
      const http = createHttp();
      const sockets = new WebSocketServer({ noServer: true });
      const welcome = (client: WebSocket) => client.send("welcome");
      if (kind === "guardUpgrades" || kind === "both") guardUpgrades(http, server);
      const mayUpgrade = protectUpgrade(server);
      if (kind === "two listeners") http.on("upgrade", () => undefined);
      http.on("upgrade", (request, socket, head) => {
        const check = kind === "guardUpgrades" ? Promise.resolve(true) : mayUpgrade(request, socket, head);
        void check.then((isAllowed) => {
          if (isAllowed) sockets.handleUpgrade(request, socket, head, welcome);
        });
      });
      const port = await serveHttp(http);
      const request = requestFor("/events");
      expect(await socketOutcome(port, request)).toBe("welcome");
      expect(await socketOutcome(port, request)).toBe(401);
      expect(await socketOutcome(port, requestFor("/events"))).toBe("welcome");
    },
  );
});

describe("a proof in Socket.IO", () => {
  const start = async () => {
    const server = serverWith({ "GET /socket.io": RULE, "GET /socket.io/admin": RULE });
    const http = createHttp();
    const io = new SocketServer(http);
    forSocketIo.protect(server)(io);
    io.on("connection", (socket) => socket.emit("welcome", forSocketIo.principalOf(socket)?.userId));
    io.of("/admin").on("connection", (socket) => socket.emit("welcome", "admin"));
    const port = await serveHttp(http);
    onTestFinished(() => io.close());
    return port;
  };

  type Options = Partial<ManagerOptions & SocketOptions>;
  const outcomeOf = (port: number, request: Sent, options: Options, namespace = "") =>
    new Promise((resolve) => {
      const client = connectSocket(`http://127.0.0.1:${port}${namespace}`, {
        reconnection: false,
        forceNew: true,
        extraHeaders: Object.fromEntries(request.fields),
        ...options,
      });
      onTestFinished(() => void client.disconnect());
      client.on("welcome", resolve);
      client.on("connect_error", () => resolve("refused"));
    });

  it.each(["", "/admin"])("opens one WebSocket, in the namespace %j", async (namespace) => {
    const port = await start();
    const options: Options = { transports: ["websocket"] };
    const request = requestFor("/socket.io/");
    expect(await outcomeOf(port, request, options, namespace)).toBe(namespace ? "admin" : "user-1");
    expect(await outcomeOf(port, request, options, namespace)).toBe("refused");
  });

  it("opens one session of polling, whose later requests need proofs of their own", async () => {
    const port = await start();
    const target = "/socket.io/?EIO=4&transport=polling";
    const open = (): Sent => ({ ...requestFor("/socket.io/"), target });
    const request = open();
    const opened = await sendTo(port, request);
    expect(opened.status).toBe(200);
    const { sid } = JSON.parse(opened.body.slice(1)) as { readonly sid: string };
    const post = { ...requestFor("/socket.io/", "POST"), target: `${target}&sid=${sid}` };
    for (const used of [request, { ...request, target: post.target }, { ...post, method: "GET" }])
      expect(await statusOf(port, used)).toBe(401);
    expect(await statusOf(port, post)).not.toBe(401);
  });
});

describe("a proof for server-sent events", () => {
  it("refuses it while its stream is open, and afterwards", async () => {
    const guard = protectNode(serverWith({ "GET /events": RULE }));
    const port = await serve((request, response) => {
      void guard(request, response).then((isAllowed) => {
        if (!isAllowed) return;
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write("data: first\n\n");
      });
    });
    const request = requestFor("/events");
    const stream = await openRaw(port);
    stream.socket.write(render("GET /events HTTP/1.1", [["Host", "api.example"], ...request.fields]));
    await stream.receives(/data: first/);
    expect(await statusOf(port, request)).toBe(401);
    stream.socket.destroy();
    await stream.closed;
    expect(await statusOf(port, request)).toBe(401);
  });
});

describe("a proof for a message of MCP", () => {
  const server = createService(
    {},
    {
      scopeMappings: {
        "* /mcp": [],
        "MCP tools/call search": RULE,
        "MCP tools/call remove": ["agents:remove"],
      },
    },
  ).server;

  const call = (name: string) => ({
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name, arguments: {} },
  });

  it("accepts it once, also for a batch of messages", async () => {
    const ran: unknown[] = [];
    const app = express().use(protectMcp(server));
    app.post("/mcp", (request, response) => {
      ran.push(request.body);
      response.json({ jsonrpc: "2.0", id: 1, result: {} });
    });
    const port = await serve(app);
    const post = async (body: unknown, { fields }: Sent) => {
      const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
        method: "POST",
        headers: {
          ...Object.fromEntries(fields),
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify(body),
      });
      await response.text();
      return response.status;
    };
    const request = requestFor("/mcp", "POST");
    expect(await post(call("search"), request)).toBe(200);
    expect(await post(call("search"), request)).toBe(401);
    expect(await post([call("search"), call("search")], requestFor("/mcp", "POST"))).toBe(200);
    // A proof is used up by a request that is refused afterwards, for its operation.
    const remove = requestFor("/mcp", "POST");
    expect(await post(call("remove"), remove)).toBe(403);
    expect(await post(call("search"), remove)).toBe(401);
    expect(ran).toHaveLength(2);
  });
});
