/** Mistakes that would leave an application without a guard: each fails at boot, with the line to write. */
import { createServer } from "node:http";
import fastify from "fastify";
import fastify4 from "fastify4";
import { Hono } from "hono";
import { describe, expect, it } from "vitest";
import { createResourceServer } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forFetch from "scopegate/fetch";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import * as forNode from "scopegate/node";
import { misplaced } from "../../src/adapters/shared/misuse.ts";
import { createIssuer } from "../support/issuer.ts";
import { ConfigurationError } from "../../src/core/errors.ts";

const issuer = createIssuer();
const adapters = [
  ["express", forExpress],
  ["koa", forKoa],
  ["fastify", forFastify],
  ["fetch", forFetch],
  ["hono", forHono],
  ["node", forNode],
] as const;

describe.each(adapters)("protect of %s", (_, adapter) => {
  it.each([[undefined], [null], [{}], [{ serviceId: "agents-prod" }], ["server"], [() => undefined]])(
    "refuses %j as a resource server",
    (value) => {
      expect(() => adapter.protect(value as never)).toThrow("write protect(createResourceServer({ ... }))");
    },
  );

  it.each([[[]], [["agents:"]], [["a b"]], [[["agents:read"]]], [["agents:{id}:read"]]])(
    "refuses requireScopes(...%j)",
    (scopes) => {
      expect(() => adapter.requireScopes(...(scopes as string[]))).toThrow(
        /agents:read|resource:<parameter>|<parameter>/,
      );
    },
  );
});

describe("protectUpgrade of node", () => {
  it.each([[undefined], [null], [{}], [{ serviceId: "agents-prod" }], [createServer()]])(
    "refuses %j as a resource server",
    (value) => {
      expect(() => forNode.protectUpgrade(value as never)).toThrow(
        "write protectUpgrade(createResourceServer({ ... }))",
      );
    },
  );
});

describe.each([
  ["express", forExpress.protect],
  ["koa", forKoa.protect],
  ["fastify", forFastify.protect],
])("protect of %s", (_, protect) => {
  const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem] });

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

it("refuses the request of Express in the guard for Koa", () => {
  const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem] });
  const request = { method: "GET", url: "/agents", originalUrl: "/agents", path: "/agents", headers: {} };
  expect(() => {
    void forKoa.protect(server)(request as never, () => Promise.reject(new Error("passed on")));
  }).toThrow("import it from the adapter of that framework");
});

describe.each([
  ["Fastify 4", fastify4 as unknown as typeof fastify],
  ["Fastify 5", fastify],
])("%s", (_, create) => {
  it("fails at boot when protect is registered without being called", () => {
    expect(() => forFastify.protect(create() as never)).toThrow(
      "write protect(createResourceServer({ ... }))",
    );
  });

  it("fails a request at requireScopes on a public route, where no token is read", async () => {
    const app = create();
    const server = createResourceServer({
      serviceId: "agents-prod",
      verificationKeys: [issuer.publicPem],
      scopeMappings: { "GET /open": "public" },
    });
    app.register(forFastify.protect(server));
    app.get("/open", { onRequest: forFastify.requireScopes("agents:read") }, () => "ran");
    const headers = { authorization: `Bearer ${await issuer.token({ scopes: ["agents:read"] })}` };
    const answer = await app.inject({ url: "/open", headers });
    expect(answer.statusCode).toBe(500);
    expect(answer.json<{ message: string }>().message).toContain("`GET /open` is public");
  });

  it("fails a request at requireScopes with a parameter that the route does not have", async () => {
    const app = create();
    app.register(
      forFastify.protect(
        createResourceServer({
          serviceId: "agents-prod",
          verificationKeys: [issuer.publicPem],
          scopeMappings: { "GET /agents/:agent_id": ["agents:<agent_id>:read"] },
        }),
      ),
    );
    app.get("/agents/:agent_id", { onRequest: forFastify.requireScopes("logs:<team_id>:read") }, () => "ran");
    const headers = {
      authorization: `Bearer ${await issuer.token({ scopes: ["agents:read", "logs:read"] })}`,
    };
    const answer = await app.inject({ url: "/agents/web", headers });
    expect(answer.statusCode).toBe(500);
    expect(answer.json<{ message: string }>().message).toContain("<team_id>");
  });
});

describe("a request of Hono", () => {
  const create = () => new Hono().onError(({ message }, c) => c.text(message, 500));

  it("makes the guard of Koa name the adapter for Hono", async () => {
    const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem] });
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

it("throws in requireScopes of scopegate/fetch for a request that passed no guard, and explains that a clone is another request", () => {
  const request = new Request("http://127.0.0.1/");
  expect(() => forFetch.requireScopes("agents:read")(request)).toThrow("a clone is another request");
});

describe("the error of a guard that another framework calls", () => {
  const next = () => undefined;
  it.each([
    ["koa", [{ headers: {}, originalUrl: "/" }, {}, next], /was called by Express: .*"scopegate\/express"/],
    ["koa", [{ headers: {} }, {}, next], /was called by Express/],
    ["express", [{ req: {}, res: {}, originalUrl: "/" }, next], /was called by Koa: .*"scopegate\/koa"/],
    ["express", [{ raw: {}, routeOptions: {} }, {}], /was called by Fastify: .*"scopegate\/fastify"/],
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

describe.each([
  ...adapters.map(([name, { protect }]) => [`protect of ${name}`, protect] as const),
  ["protectUpgrade of node", forNode.protectUpgrade] as const,
])("%s", (_, protect) => {
  it("refuses a copy of a resource server, which lacks the rules", () => {
    const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem] });
    expect(() => protect({ ...server })).toThrow("takes the resource server itself, not a copy of it");
  });
});
