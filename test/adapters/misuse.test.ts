/**
 * Mistakes that would leave an application without a guard, or without a caller: each fails, with the line to
 * write.
 */
import { createServer, IncomingMessage, type RequestListener } from "node:http";
import { Socket } from "node:net";
import { initTRPC } from "@trpc/server";
import { createExpressMiddleware } from "@trpc/server/adapters/express";
import express from "express";
import fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { Server as SocketIoServer } from "socket.io";
import { describe, expect, it, vi } from "vitest";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forFetch from "scopegate/fetch";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import { protectMcp, withMcp } from "scopegate/mcp";
import * as forNest from "scopegate/nest";
import * as forNode from "scopegate/node";
import * as forSocketIo from "scopegate/socketio";
import * as forTrpc from "scopegate/trpc";
import { misplaced } from "../../src/adapters/shared/misuse.ts";
import { askWith, FASTIFY_VERSIONS, koaListener, serve, serverFor } from "../support/frameworks.ts";

const server = serverFor({ "GET /open": "public", "GET /agents/:agent_id": ["agents:<agent_id>:read"] });
const adapters = {
  express: forExpress,
  koa: forKoa,
  fastify: forFastify,
  fetch: forFetch,
  hono: forHono,
  node: forNode,
} as const;
type Adapter = keyof typeof adapters;
const NAMES = Object.keys(adapters) as readonly Adapter[];
const protectOf = (name: Adapter) => adapters[name].protect as (value: unknown, options?: unknown) => never;

/** Every function that takes a resource server first. */
const TAKING: readonly (readonly [string, string, (...values: never[]) => unknown])[] = [
  ...NAMES.map((name) => [name, "protect", adapters[name].protect] as const),
  ["trpc", "protect", forTrpc.protect],
  ["nest", "protect", forNest.protect],
  ["socketio", "protect", forSocketIo.protect],
  ["mcp", "protectMcp", protectMcp],
  ["mcp", "withMcp", withMcp],
  ["nest", "ScopegateModule.forRoot", (value: never) => forNest.ScopegateModule.forRoot(value)],
  ["fetch", "withScopes", forFetch.withScopes],
  ["node", "protectUpgrade", forNode.protectUpgrade],
  ["node", "guardUpgrades", (value: never) => forNode.guardUpgrades(createServer(), value)],
  ["express", "metadata", forExpress.metadata],
];

describe.each(TAKING)("the adapter %s: %s", (_, name, call) => {
  it.each<[value: unknown, problem: string]>([
    [undefined, "needs a resource server"],
    [null, "needs a resource server"],
    ...[{}, "server", () => undefined, { ...server }].map((value): [unknown, string] => [
      value,
      "takes the resource server itself, not a copy of it",
    ]),
  ])("refuses %j as a resource server", (value, problem) => {
    expect(() => call(value as never, undefined as never)).toThrow(
      new TypeError(`${name} ${problem}: write ${name}(createResourceServer({ ... })).`),
    );
  });
});

describe.each(NAMES)("the adapter %s", (name) => {
  it.each([[[]], [["agents:"]], [["a b"]], [[["agents:read"]]], [["agents:{id}:read"]]])(
    "refuses requireScopes(...%j)",
    (scopes) => {
      for (const { requireScopes } of [adapters[name], forNest])
        expect(() => requireScopes(...(scopes as string[]))).toThrow(
          /agents:read|resource:<parameter>:action|string for each scope/,
        );
    },
  );

  // The guard of plain Node has no second parameter.
  it.runIf(name !== "node").each([
    [{ caseSensitive: true }, "protect.caseSensitive: received unknown option `caseSensitive`."],
    [null, "It takes no options."],
    [["strict"], "It takes no options."],
  ])("refuses the options %j", (options, message) => {
    expect(() => protectOf(name)(server, options)).toThrow(message);
  });
});

const tRPC = (options: unknown) => () => forTrpc.protect(server, options as never);
const PREFIX = 'is served at: { prefix: "/trpc" }.';
const socketIo = (io: unknown) => () => forSocketIo.protect(server)(io as never);
const wrap = (...values: readonly unknown[]) => [
  () => Reflect.apply(forFetch.withScopes, undefined, [server, ...values]) as unknown,
];
const first =
  (options: unknown, socket: unknown = { close: vi.fn(), listenerCount: () => 0 }) =>
  () =>
    forNode.authenticateFirst(socket as never, options as never);
const live = { server, path: "/live" };
const USAGE = 'write authenticateFirst(socket, { server, path: "/live" })';
const HANDLER = "withScopes takes a handler: write withScopes(server, { route }, (request) => ...).";

it.each<[message: string, calls: readonly (() => unknown)[]]>([
  [
    "protect takes no handler: write withScopes(server, handler).",
    [() => protectOf("fetch")(server, vi.fn())],
  ],
  [HANDLER, [undefined, null, {}, "handler"].flatMap((handler) => wrap(handler))],
  [HANDLER, [undefined, null, "run", { GET: {} }].flatMap((handler) => wrap({ route: "/agents" }, handler))],
  ["withScopes: takes its options as an object.", wrap(vi.fn(), { route: "/agents" })],
  ["Did you mean `route`?", wrap({ rout: "/agents" }, vi.fn())],
  ["Write a function.", wrap({ route: "/agents", params: {} }, vi.fn())],
  [
    "Write it with its first slash",
    ["", "/", "base", "/base/", "/base?", 7].flatMap((basePath) =>
      wrap({ route: "/agents", basePath }, vi.fn()),
    ),
  ],
  [
    "Fetch calls withScopes itself: write withScopes(server, handler), with the parentheses.",
    [() => Reflect.apply(forFetch.withScopes, undefined, [new Request("http://127.0.0.1/open")]) as unknown],
  ],
  [
    "guardUpgrades(http, server)",
    [undefined, server, express(), new Koa()].map(
      (http) => () => forNode.guardUpgrades(http as never, server),
    ),
  ],
  [USAGE, [undefined, "", "live", 7].map((path) => first({ server, path }))],
  [
    USAGE,
    [undefined, null, new IncomingMessage(new Socket()), new EventTarget(), { close: vi.fn() }].map(
      (socket) => first(live, socket ?? {}),
    ),
  ],
  ["authenticateFirst needs a resource server", [undefined, null, {}].map((options) => first(options))],
  [PREFIX, [undefined, "", "trpc", "/trpc/", "/trpc?a", "/%74rpc"].map((prefix) => tRPC({ prefix }))],
  [PREFIX, ["/:tenant/trpc", "/a,b", "/{trpc}"].map((prefix) => tRPC({ prefix }))],
  ["takes its options as an object", [tRPC(undefined)]],
  ["protect.pathSeparator", [tRPC({ prefix: "/trpc", pathSeparator: "/" })]],
  ["The options are prefix, pathSeparator.", [tRPC({ prefix: "/trpc", allowMethodOverride: true })]],
  ["attached to an HTTP server", [socketIo(new SocketIoServer()), socketIo(undefined)]],
  ["4.6 or later", [socketIo({ engine: { use: () => undefined } })]],
  ["skipMiddlewares: false", [socketIo(new SocketIoServer(createServer(), { connectionStateRecovery: {} }))]],
  ["unknown option `tokenInAut`", [() => forSocketIo.protect(server, { tokenInAut: true } as never)]],
  [
    "protect.tokenInAuth: has an invalid value. Write true or false.",
    ["yes", 1, null].map((tokenInAuth) => () => forSocketIo.protect(server, { tokenInAuth } as never)),
  ],
  ["write principalOf(socket)", [() => forSocketIo.principalOf({} as never)]],
  ['principalOf of "scopegate/nest" takes the request of NestJS', [() => forNest.principalOf({})]],
  ["Write principalOf(request) in a handler.", [() => forFastify.principalOf(fastify() as never)]],
  [
    "Write principalOf(request) in a handler.",
    [() => forExpress.principalOf({ req: {}, res: {}, info: { calls: [] } })],
  ],
])("throws an error with the text %j", (message, calls) => {
  for (const call of calls) expect(call).toThrow(message);
});

/** The status of the response, and every text that reports the error. */
interface Outcome {
  readonly status: number;
  readonly text: string;
}

async function outcomeOf(listener: RequestListener, faults: readonly unknown[] = []): Promise<Outcome> {
  const warnings = vi.spyOn(process, "emitWarning").mockReturnValue(undefined);
  const { status, text } = await askWith(await serve(listener), "/open");
  return {
    status,
    text: [text, ...faults, JSON.stringify(warnings.mock.calls)].join().replaceAll('\\"', '"'),
  };
}

/** Runs one middleware, plugin or function in each framework. */
const HOSTS: Readonly<
  Record<string, readonly [own: Adapter | "trpc", run: (value: never) => Promise<Outcome>]>
> = {
  Express: [
    "express",
    (middleware) => {
      const faults: string[] = [];
      const onFault: express.ErrorRequestHandler = (error, _request, response, _next) => {
        faults.push(String(error));
        response.status(500).end();
      };
      const app = express().use(middleware);
      return outcomeOf(
        app.get("/open", (_request, response) => void response.end("ran")).use(onFault),
        faults,
      );
    },
  ],
  Koa: [
    "koa",
    (middleware) => {
      const faults: string[] = [];
      const app = new Koa().use(middleware);
      app.on("error", (error) => faults.push(String(error)));
      return outcomeOf(koaListener(app), faults);
    },
  ],
  Fastify: [
    "fastify",
    async (hook) => {
      const app = fastify();
      app.addHook("onRequest", hook).get("/open", () => "ran");
      const { statusCode, body } = await app.inject("/open");
      return { status: statusCode, text: body.replaceAll('\\"', '"') };
    },
  ],
  Hono: [
    "hono",
    async (middleware) => {
      const app = new Hono().onError(({ message }, context) => context.text(message, 500)).use(middleware);
      const response = await app.get("/open", (context) => context.text("ran")).request("/open");
      return { status: response.status, text: await response.text() };
    },
  ],
  tRPC: [
    "trpc",
    (createContext) => {
      const t = initTRPC.create();
      const router = t.router({ open: t.procedure.query(() => "ran") });
      return outcomeOf(express().use(createExpressMiddleware({ router, createContext })));
    },
  ],
};

const LINES: Readonly<Record<string, string>> = {
  Fastify: "app.register(protect(server))",
  tRPC: 'createContext: protect(server, { prefix: "/trpc" })',
};

describe.each(Object.entries(HOSTS))("%s", (host, [own, run]) => {
  const line = LINES[host] ?? "app.use(protect(server))";

  // Hono calls middleware with its context first, as Koa does, and with a function second.
  const others = NAMES.filter((name) => name !== own && (host !== "Hono" || name === "koa"));

  it.each(others)(
    "fails every request, and names its adapter, when it calls the guard for %s",
    async (name) => {
      const { status, text } = await run(protectOf(name)(server));
      expect(status).toBe(500);
      expect(text).toContain(
        `protect of "scopegate/${name}" was called by ${host}: import it from the adapter of that framework, "scopegate/${own}", and write ${line}.`,
      );
    },
  );

  it.runIf(["express", "koa", "trpc"].includes(own))(
    "fails every request if protect was not called",
    async () => {
      const { status, text } = await run((own === "trpc" ? forTrpc : adapters[own]).protect as never);
      expect(status).toBe(500);
      expect(text).toContain(`${host} calls protect itself: write ${line}, with the parentheses.`);
    },
  );
});

describe.each(FASTIFY_VERSIONS)("%s", (_, create) => {
  it("fails when a guard of another adapter is a plugin, and when its own is a hook or was not called", async () => {
    await expect(create().register(forNode.protect(server) as never)).rejects.toThrow('"scopegate/fastify"');
    for (const guard of [forExpress.protect(server), forKoa.protect(server)])
      expect(() => void guard(create() as never, {} as never, () => undefined)).toThrow(
        '"scopegate/fastify"',
      );
    const app = create();
    app.addHook("onRequest", forFastify.protect(server) as never).get("/open", () => "ran");
    const answer = await app.inject("/open");
    expect(answer.statusCode).toBe(500);
    expect(answer.json<{ message: string }>().message).toBe(
      'protect of "scopegate/fastify" was called by Fastify in the wrong place: write app.register(protect(server)).',
    );
    expect(() => forFastify.protect(create() as never)).toThrow(
      "Fastify calls protect itself: write app.register(protect(server)), with the parentheses.",
    );
  });
});

it.each([
  ["koa", [new Request("http://127.0.0.1/"), {}, vi.fn()], /called by Fetch: .*"scopegate\/fetch"/],
  ["fastify", [{ headers: {}, rawHeaders: [] }, {}], /called by Node.js: .*"scopegate\/node"/],
  ["node", [{ headers: {}, rawHeaders: [] }, {}], /called by Node.js in the wrong place: write await/],
  ["fetch", [{ request: {} }], /pass it first, as in guard\(event\.request\)/],
  ["node", [undefined], /called by another framework: import it from the adapter of that framework\./],
] as const)(
  "the guard of %s names the framework that called it, and the line to write: %#",
  (adapter, values, text) => {
    expect(misplaced(adapter, ...values)).toBeInstanceOf(TypeError);
    expect(misplaced(adapter, ...values).message).toMatch(text);
  },
);

it.each([undefined, null, {}, { headers: {} }, { headers: { get: "x" } }])(
  "the guard of fetch rejects %j, which is not a request",
  async (value) => {
    await expect(forFetch.protect(server)(value as never)).rejects.toThrow(TypeError);
  },
);

describe("principalOf", () => {
  /** The unguarded object of each framework that its handlers receive. */
  async function collect() {
    const received: Partial<Record<Adapter, unknown>> = { fetch: new Request("http://127.0.0.1/open") };
    const receive = (name: Adapter, value: unknown): string => {
      received[name] = value;
      return "";
    };
    await outcomeOf(express().use((request, response) => response.end(receive("express", request))));
    await outcomeOf((request, response) => response.end(receive("node", request)));
    await outcomeOf(koaListener(new Koa().use((context) => void (context.body = receive("koa", context)))));
    await fastify()
      .get("/open", (request) => receive("fastify", request))
      .inject("/open");
    await new Hono().get("/open", (context) => context.text(receive("hono", context))).request("/open");
    return received;
  }

  const OWN: Readonly<Record<Adapter, string>> = {
    express: "request of Express",
    koa: "context of Koa",
    fastify: "request of Fastify",
    fetch: "request of Fetch",
    hono: "context of Hono",
    node: "request of Node.js",
  };
  const wordOf = (name: Adapter): string => OWN[name].split(" ")[0] ?? "";
  /** Express's request is Node's. */
  const platformOf = (name: Adapter): string => (name === "express" ? "node" : name);

  it.each(NAMES)(
    "of the adapter %s takes only its own object, and names the adapter of any other",
    async (adapter) => {
      const received = await collect();
      for (const given of NAMES) {
        const find = (): unknown => adapters[adapter].principalOf(received[given] as never);
        if (platformOf(adapter) === platformOf(given)) {
          expect(find()).toBeUndefined();
          continue;
        }
        // Hono's guard stores the caller with the context, so that scopegate/fetch would find none.
        const isInContext = adapter === "hono" && given === "fetch";
        const fix = isInContext
          ? "Write principalOf(context) in a handler."
          : `It received the ${OWN[given]}: import it from "scopegate/${given}" and write principalOf(${wordOf(given)}).`;
        expect(find).toThrow(
          new TypeError(`principalOf of "scopegate/${adapter}" takes the ${OWN[adapter]}. ${fix}`),
        );
      }
    },
  );

  it.each([undefined, null, {}, "request", 7, { raw: {} }, { req: {} }, { req: undefined }])(
    "fails for %j in every adapter",
    (value) => {
      for (const { principalOf } of Object.values(adapters))
        expect(() => principalOf(value as never)).toThrow(/takes the \w+ of .*Write principalOf\(/);
    },
  );
});
