import middie5 from "@fastify/middie";
import middie4 from "@fastify/middie8";
import express from "express";
import type { FastifyInstance } from "fastify";
import { describe, expect, it, vi } from "vitest";
import type { AccessRequest } from "scopegate";
import { metadata, protect } from "scopegate/fastify";
import { toPattern, toWrittenPattern } from "../../src/adapters/fastify/pattern.ts";
import { isPattern, parsePattern } from "../../src/core/policy/parse-pattern.ts";
import { FASTIFY_VERSIONS, serverFor } from "../support/frameworks.ts";
import { issuer } from "../support/resource-servers.ts";

/** `test/routing` checks paths, routes and plugins. These are other cases. */

/** The answer to GET with a token that has these scopes. Without scopes, it has no token. */
async function get(app: Pick<FastifyInstance, "inject">, url: string, ...scopes: readonly string[]) {
  const authorization = `Bearer ${await issuer.token({ scopes })}`;
  return app.inject({ url, headers: scopes.length > 0 ? { authorization } : {} });
}

const statusOf = async (...asked: Parameters<typeof get>) => (await get(...asked)).statusCode;

describe.each(FASTIFY_VERSIONS)("protect in %s", (name, create) => {
  const middie = name === "Fastify 4" ? middie4 : middie5;

  it("guards only the instance that it is registered on", async () => {
    const app = create();
    app.register(async (inner) => {
      await inner.register(protect(serverFor({ "GET /inside": ["in:use"] })));
      inner.get("/inside", () => "inside");
    });
    app.get("/outside", () => "outside");
    expect((await app.inject("/inside")).statusCode).toBe(401);
    expect((await app.inject("/outside")).body).toBe("outside");
  });

  it("compares the parameters of a rule with those of the route, by their places", async () => {
    const app = create();
    app.addHook("onRequest", (request, _reply, done) => {
      const { written } = request.query as { readonly written?: string };
      if (written !== undefined) Object.assign(request.params as object, { id: written });
      done();
    });
    app.register(
      protect(serverFor({ "GET /orgs/:org/users/:id": ["users:<id>:read"], "GET /open/:id": [] })),
    );
    app.get("/orgs/:id/users/:id", () => "ran").get("/open/:id", () => "ran");
    expect(await statusOf(app, "/orgs/a/users/u+1", "users:u+1:read")).toBe(200);
    expect(await statusOf(app, "/orgs/a/users/u+1?written=u", "users:u+1:read")).toBe(400);
    expect(await statusOf(app, "/open/a?written=b", "users:u+1:read")).toBe(200);
  });

  it("registers plugins under names that other plugins can require", async () => {
    const app = create();
    const resource = { id: "https://api.test/", authorizationServers: ["https://issuer.test"] };
    const server = serverFor({}, { serviceId: "https://api.test", resource });
    app.register(metadata(server)).register(protect(server));
    const dependent = Object.assign(() => Promise.resolve(), {
      [Symbol.for("plugin-meta")]: { dependencies: ["scopegate", "scopegate-metadata"] },
    });
    await app.register(dependent).ready();
    expect([app.hasPlugin("scopegate"), app.hasPlugin("scopegate-metadata")]).toEqual([true, true]);
    expect(app.printPlugins()).toMatch(/ scopegate-metadata \d.* scopegate \d/s);
  });

  it("rejects a version of Fastify that is too old", async () => {
    const app = Object.defineProperty(create(), "version", { value: "4.9.2" });
    app.register(protect(serverFor({})));
    await expect(app.ready()).rejects.toThrow(
      "fastify-plugin: scopegate - expected '>=4.10' fastify version, '4.9.2' is installed",
    );
  });

  it("reports the matched route in the spelling of the table", async () => {
    const onDecision = vi.fn();
    const server = serverFor({ "* /{*path}": "public" }, { onDecision });
    const app = create();
    app.register(protect(server));
    for (const url of ["/agents/:agent_id", "/assets/*", "/in/:path/*"]) app.get(url, () => "ran");
    for (const url of ["/agents/web", "/assets/a/b", "/in/a/b"]) await app.inject(url);
    const patterns = onDecision.mock.calls.map(([, request]) => (request as AccessRequest).matchedPattern);
    expect(patterns).toEqual(["/agents/:agent_id", "/assets/*path", '/in/:path/*"*"']);
  });

  it("decides by the path alone where the route has a wildcard after text", async () => {
    const app = create();
    app.register(
      protect(
        serverFor({ "GET /static/:name": ["static:<name>:read"], "GET /static/*path": ["static:read"] }),
      ),
    );
    app.get("/static/pre*", () => "ran");
    expect(await statusOf(app, "/static/prefix", "static:prefix:read")).toBe(200);
    expect(await statusOf(app, "/static/prefix", "static:other:read")).toBe(403);
  });

  it("refuses another spelling of a path that no route matched", async () => {
    const app = create();
    app.register(protect(serverFor({ "GET /pages": ["pages:read"] })));
    app.setNotFoundHandler(() => "a page");
    expect((await get(app, "/pages", "pages:read")).body).toBe("a page");
    expect(await statusOf(app, "/PAGES", "pages:read")).toBe(400);
  });

  it.each([
    ["before", true],
    ["after", false],
  ])(
    "checks the routes of Express routers when @fastify/middie is registered %s it",
    async (_when, isBefore) => {
      const app = create();
      const guard = protect(serverFor({ "GET /x": [], "GET /:page": ["page:read"] }));
      if (!isBefore) await app.register(guard);
      await app.register(middie);
      if (isBefore) await app.register(guard);
      app.use(express.Router().get("/:page", (_request, response) => void response.end("ran")) as never);
      expect(await statusOf(app, "/x", "x:read")).toBe(403);
      expect((await get(app, "/x", "page:read")).body).toBe("ran");
    },
  );

  it("refuses before the body is read", async () => {
    const app = create();
    let parsed = 0;
    app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, body, done) => {
      parsed += 1;
      done(null, body);
    });
    app.register(protect(serverFor({ "POST /runs": ["runs:write"] })));
    app.post("/runs", () => "ran");
    const answer = await app.inject({ method: "POST", url: "/runs", payload: { a: 1 } });
    expect(answer.statusCode).toBe(401);
    expect(parsed).toBe(0);
  });
});

it.each([
  ["/", "/"],
  ["/agents", "/agents"],
  ["/agents/", "/agents/"],
  ["/agents/:agent_id/runs", '/agents/:"agent_id"/runs', "/agents/:agent_id/runs"],
  ["/files/*", '/files/*"*"', "/files/*path"],
  ["/:path/*", '/:"path"/*"*"', '/:path/*"*"'],
  ["*", '/*"*"', "/*path"],
  ["/*", '/*"*"', "/*path"],
  ["/:from-:to", '/:"from"-:"to"', "/:from-:to"],
  ["/:agent-id", '/:"agent"-id', "/:agent-id"],
  ["/at/:hour(^\\d{2})h:minute(^\\d{2})m", '/at/:"hour"h:"minute"m'],
  ["/date/:day(^\\d+/\\d+)", '/date/:"day"', "/date/:day"],
  ["/posts/:id?", '/posts{/:"id"}', "/posts{/:id}"],
  ["/name::verb", "/name\\:verb"],
  ["/file/:name.png", '/file/:"name".png', "/file/:name.png"],
  ["/café", "/caf%C3%A9"],
  ["/a(b)", "/a\\(b\\)"],
])(
  "the Fastify route %s has the pattern %s, in the spelling of the table %s",
  (route, pattern, written = pattern) => {
    expect([toPattern(route), toWrittenPattern(route)]).toEqual([pattern, written]);
    for (const read of [pattern, written]) expect(isPattern(parsePattern(read))).toBe(true);
  },
);
