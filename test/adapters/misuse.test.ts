/** Mistakes that would leave an application without a guard: each fails at boot, with the line to write. */
import { createServer } from "node:http";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forFetch from "scopegate/fetch";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import { protectMcp } from "scopegate/mcp";
import * as forNest from "scopegate/nest";
import * as forNode from "scopegate/node";
import * as forSocketIo from "scopegate/socketio";
import * as forTrpc from "scopegate/trpc";
import { misplaced } from "../../src/adapters/shared/misuse.ts";
import { createIssuer } from "../support/issuer.ts";
import { ConfigurationError } from "../../src/core/errors.ts";
import { createResourceServer } from "../support/server.ts";

const issuer = createIssuer();
const adapters = [
  ["express", forExpress],
  ["koa", forKoa],
  ["fastify", forFastify],
  ["fetch", forFetch],
  ["hono", forHono],
  ["node", forNode],
] as const;

const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [issuer.publicPem],
  scopeMappings: { "GET /open": "public", "GET /agents/:agent_id": ["agents:<agent_id>:read"] },
});

describe.each([
  ...adapters.map(([name, { protect }]) => [`protect of ${name}`, protect] as const),
  ["protectUpgrade of node", forNode.protectUpgrade] as const,
])("%s", (name, protect) => {
  it.each([[{}], [{ serviceId: "agents-prod" }], ["server"], [() => undefined], [createServer()]])(
    "refuses %j as a resource server",
    (value) => {
      const call = name.split(" ")[0];
      expect(() => protect(value as never)).toThrow(`write ${call}(createResourceServer({ ... }))`);
    },
  );

  it("refuses a copy of a resource server, which lacks the rules", () => {
    expect(() => protect({ ...server })).toThrow("takes the resource server itself, not a copy of it");
  });
});

describe("a guard without a server", () => {
  it.each([
    ...adapters.map(([name, { protect }]) => [name, "protect", protect] as const),
    ["trpc", "protect", forTrpc.protect],
    ["nest", "protect", forNest.protect],
    ["socketio", "protect", forSocketIo.protect],
    ["mcp", "protectMcp", protectMcp],
    ["nest", "ScopegateModule.forRoot", (value: never) => forNest.ScopegateModule.forRoot(value)],
    ["fetch", "withScopes", forFetch.withScopes],
    ["node", "protectUpgrade", forNode.protectUpgrade],
    ["express", "metadata", forExpress.metadata],
  ] as const)("says what it needs, in the adapter %s: %s", (_, name, protect) => {
    const text = `${name} needs a resource server: write ${name}(createResourceServer({ ... })).`;
    for (const missing of [undefined, null])
      expect(() => protect(missing as never, undefined as never)).toThrow(new TypeError(text));
  });
});

describe.each(adapters)("%s", (_, adapter) => {
  it.each([[[]], [["agents:"]], [["a b"]], [[["agents:read"]]], [["agents:{id}:read"]]])(
    "refuses requireScopes(...%j)",
    (scopes) => {
      expect(() => adapter.requireScopes(...(scopes as string[]))).toThrow(
        /agents:read|resource:<parameter>:action|string for each scope/,
      );
    },
  );
});

describe.each([
  ["express", forExpress.protect],
  ["koa", forKoa.protect],
  ["fastify", forFastify.protect],
])("protect of %s", (_, protect) => {
  it.each(["unknown", "caseSensitive", "strict", "router"])("refuses the option %s", (name) => {
    expect(() => protect(server, { [name]: 1 } as never)).toThrow(
      new ConfigurationError([
        {
          code: "option_unknown",
          path: ["protect", name],
          message: `received unknown option \`${name}\`.`,
          hint: "It takes no options.",
        },
      ]),
    );
  });
});

describe("a request of Hono", () => {
  const create = () => new Hono().onError(({ message }, c) => c.text(message, 500));

  it("makes the guard of Koa name the adapter for Hono", async () => {
    const app = create().use(forKoa.protect(server) as never);
    expect(await (await app.request("/")).text()).toContain(
      '"scopegate/hono", and write app.use(protect(server)).',
    );
  });

  it("makes principalOf of scopegate/hono name the context to pass", async () => {
    const app = create().get("/", (c) => c.text(forHono.principalOf(c.req.raw as never)?.userId ?? ""));
    expect(await (await app.request("/")).text()).toBe(
      'principalOf of "scopegate/hono" takes the context of Hono. Write principalOf(context) in a handler.',
    );
  });
});

describe("the error of a guard that another framework calls", () => {
  const next = () => undefined;
  it.each([
    ["koa", [{ addHook: next, register: next }], /was called by Fastify/],
    ["fastify", [{ headers: {}, rawHeaders: [] }, {}], /was called by Node.js: .*"scopegate\/node"/],
    ["node", [{ headers: {}, rawHeaders: [] }, {}], /called by Node.js in the wrong place: write await/],
    ["koa", [new Request("http://127.0.0.1/"), {}, next], /was called by Fetch: .*"scopegate\/fetch"/],
    [
      "fetch",
      [{ request: new Request("http://127.0.0.1/") }],
      /pass it first, as in guard\(event\.request\)/,
    ],
    ["node", [undefined], /was called by another framework: import it from the adapter of that framework\./],
  ] as const)("names the framework and the line to write for the guard of %s: %#", (adapter, given, text) => {
    const fault = misplaced(adapter, ...given);
    expect(fault).toBeInstanceOf(TypeError);
    expect(fault.message).toMatch(text);
  });
});
