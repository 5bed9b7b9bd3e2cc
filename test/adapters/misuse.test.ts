/** The mistakes that would leave an application without a guard: each fails at boot, and says what to write. */
import { createServer } from "node:http";
import fastify from "fastify";
import fastify4 from "fastify4";
import { describe, expect, it } from "vitest";
import { createResourceServer } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forKoa from "scopegate/koa";
import * as forNode from "scopegate/node";
import { misplaced } from "../../src/adapters/misuse.ts";
import { createIssuer } from "../support/issuer.ts";

const issuer = createIssuer();
const adapters = [
  ["express", forExpress],
  ["koa", forKoa],
  ["fastify", forFastify],
  ["node", forNode],
] as const;

describe.each(adapters)("protect of %s", (_, adapter) => {
  it.each([[undefined], [null], [{}], [{ serviceId: "agents-prod" }], ["server"], [() => undefined]])(
    "takes no %j for a resource server",
    (value) => {
      expect(() => adapter.protect(value as never)).toThrow("write protect(createResourceServer({ ... }))");
    },
  );

  it.each([[[]], [["agents:"]], [["a b"]], [[["agents:read"]]], [["agents:{id}:read"]]])(
    "has no requireScopes(...%j)",
    (scopes) => {
      expect(() => adapter.requireScopes(...(scopes as string[]))).toThrow(
        /agents:read|resource:<parameter>|<parameter>/,
      );
    },
  );
});

describe("protectUpgrade of node", () => {
  it.each([[undefined], [null], [{}], [{ serviceId: "agents-prod" }], [createServer()]])(
    "takes no %j for a resource server",
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
])("protect of %s", (_, protect) => {
  it("takes no option that it does not know", () => {
    const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem] });
    expect(() => protect(server, { casesensitive: true } as never)).toThrow("Did you mean `caseSensitive`?");
  });
});

it("tells a program that uses the guard of Koa in Express, and lets nobody in", async () => {
  const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem] });
  const request = { method: "GET", url: "/agents", originalUrl: "/agents", path: "/agents", headers: {} };
  const guarded = forKoa.protect(server)(request as never, () => Promise.reject(new Error("passed on")));
  await expect(guarded).rejects.toThrow("import it from the adapter of this one");
});

describe.each([
  ["Fastify 4", fastify4 as unknown as typeof fastify],
  ["Fastify 5", fastify],
])("%s", (_, create) => {
  it("ends the boot when protect itself is registered, which Fastify calls with its own instance", () => {
    expect(() => forFastify.protect(create() as never)).toThrow(
      "write protect(createResourceServer({ ... }))",
    );
  });

  it("fails where requireScopes stands on a public route, rather than asking for a token that is not read", async () => {
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

  it("fails where requireScopes names a parameter that the route does not have", async () => {
    const app = create();
    app.register(
      forFastify.protect(
        createResourceServer({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem] }),
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

describe("a guard that is called by another framework", () => {
  const next = () => undefined;
  it.each([
    ["koa", [{ headers: {}, originalUrl: "/" }, {}, next], /was called by Express: .*"scopegate\/express"/],
    ["koa", [{ headers: {} }, {}, next], /was called by Express/],
    ["express", [{ req: {}, res: {}, originalUrl: "/" }, next], /was called by Koa: .*"scopegate\/koa"/],
    ["express", [{ raw: {}, routeOptions: {} }, {}], /was called by Fastify: .*"scopegate\/fastify"/],
    ["koa", [{ addHook: next, register: next }], /was called by Fastify/],
    ["fastify", [{ headers: {}, rawHeaders: [] }, {}], /was called by Node.js: .*"scopegate\/node"/],
    [
      "node",
      [{ headers: {}, rawHeaders: [] }, {}],
      /called by Node.js in a place that it is not for: write await/,
    ],
    ["node", [undefined], /was called by another framework: import it from the adapter of this one\./],
  ] as const)("of %s tells whose it is, and what to write: %#", (adapter, given, text) => {
    const fault = misplaced(adapter, ...given);
    expect(fault).toBeInstanceOf(TypeError);
    expect(fault.message).toMatch(text);
  });
});
