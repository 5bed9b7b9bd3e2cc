/**
 * The first audit of three applications with the packages that many of them have. With a reasonable table, it
 * has nothing to report but notes; with one mistake, it reports that mistake.
 */
import fastifyCors from "@fastify/cors";
import fastifySwagger from "@fastify/swagger";
import { mcpAuthRouter } from "@modelcontextprotocol/sdk/server/auth/router.js";
import type { OAuthServerProvider } from "@modelcontextprotocol/sdk/server/auth/provider.js";
import { initTRPC } from "@trpc/server";
import { fastifyTRPCPlugin } from "@trpc/server/adapters/fastify";
import type { Express, RequestHandler } from "express";
import fastify, { type FastifyPluginCallback } from "fastify";
import { describe, expect, it } from "vitest";
import type { ResourceServer, ScopeMappings } from "scopegate";
import { audit, type ListedRoute, routesOf } from "scopegate/audit";
import { protect as protectExpress } from "scopegate/express";
import { protect as protectFastify } from "scopegate/fastify";
import { protectMcp } from "scopegate/mcp";
import * as trpc from "scopegate/trpc";
import { EXPRESS_VERSIONS, serve, serveFastify, serverFor, statusWith } from "../../support/frameworks.ts";
import { written } from "./routes/support.ts";

const handler: RequestHandler = (_request, response) => void response.end();

/** Everything in a report except notes, and except a second finding about the same route. */
const errorsOf = (server: ResourceServer, routes: Iterable<ListedRoute>): readonly string[] =>
  audit(server, routes)
    .findings.filter(({ severity }) => severity !== "note")
    .map(({ kind, message, hint }) => `${kind}: ${message} ${hint}`);

describe("a Fastify application with CORS, Swagger UI and tRPC", () => {
  const t = initTRPC.context<trpc.TrpcContext>().create();
  const router = t.router({
    health: t.procedure.query(() => "ok"),
    note: { add: t.procedure.mutation(() => 1) },
  });
  const TABLE: ScopeMappings = {
    "GET /agents": ["agents:read"],
    "* /admin{/*path}": ["admin:all"],
    "GET /docs{/*path}": "public",
    "GET /trpc/health": "public",
    "POST /trpc/note.add": ["notes:write"],
  };

  /** Registers the same routes as `@fastify/swagger-ui`. */
  const swaggerUi: FastifyPluginCallback = (app, _options, done) => {
    const files = ["/static/index.html", "/static/swagger-initializer.js", "/json", "/yaml", "/static/*"];
    for (const path of ["/", ...files]) app.get(path, () => "");
    done();
  };

  async function create(table: ScopeMappings = TABLE, prefix = "/trpc") {
    const server = serverFor(table);
    const app = fastify();
    const routes = routesOf(app);
    await app.register(fastifyCors, { origin: "https://app.example" });
    await app.register(protectFastify(server));
    await app.register(fastifySwagger);
    await app.register(swaggerUi, { prefix: "/docs" });
    const trpcOptions = { router, createContext: trpc.protect(server, { prefix }) };
    await app.register(fastifyTRPCPlugin, { prefix, trpcOptions });
    app.get("/agents", () => []);
    app.get("/admin/users", () => []);
    await app.ready();
    return { server, app, routes: [...routes] };
  }

  it("has no error, and a note about the preflights of CORS next to a rule for every method", async () => {
    const { server, routes } = await create();
    expect(written(routes)).toContain("* /trpc/:path");
    const report = audit(server, [...routes, ...(await routesOf(router, { prefix: "/trpc" }))]);
    expect(report.orThrow({ warnings: true }).summary).toBe("11 routes, 10 with a rule");
    expect(report.findings).toMatchObject([
      { kind: "route_unmapped", severity: "note", route: { method: "OPTIONS", pattern: "/*path" } },
    ]);
  });

  it("responds as the table says", async () => {
    const { app } = await create();
    const port = await serveFastify(app);
    expect(await statusWith(port, "/docs/json")).toBe(200);
    expect(await statusWith(port, "/trpc/health")).toBe(200);
    expect(await statusWith(port, "/trpc/note.add", [], { method: "POST" })).toBe(403);
    expect(await statusWith(port, "/trpc/unknown", [])).toBe(403);
  });

  it("reports a procedure without a rule, and a rule without a procedure", async () => {
    const { "POST /trpc/note.add": scopes, ...rest } = TABLE;
    const { server, routes } = await create({ ...rest, "POST /trpc/note.ad": scopes ?? [] });
    expect(errorsOf(server, [...routes, ...(await routesOf(router, { prefix: "/trpc" }))])).toEqual([
      'route_unmapped: `POST /trpc/note.add` (a tRPC procedure) has no rule: every request for it is refused. Add to scopeMappings: "POST /trpc/note.add": ["resource:action"]',
      expect.stringMatching(/^rule_unreached: .*Did you mean `POST \/trpc\/note\.add`\?/) as string,
    ]);
  });

  it.each<[string, ScopeMappings, string]>([
    ["some of them have rules", { "GET /api/trpc/health": "public" }, "route_partly_mapped"],
    ["none of them has a rule", {}, "route_unmapped"],
  ])("asks for the procedures, not for a rule for all of them, if %s", async (_, rules, kind) => {
    const { server, routes } = await create({ ...TABLE, ...rules }, "/api/trpc");
    const [finding] = errorsOf(server, [...routes, ...(await routesOf(router, { prefix: "/trpc" }))]);
    expect(finding).toMatch(new RegExp(`^${kind}: .* \\(tRPC procedures\\)`));
    expect(finding).toContain(
      ' List the procedures: audit(server, [...routes, ...(await routesOf(router, { prefix: "/api/trpc" }))]).',
    );
  });

  it("suggests no public rule for all procedures if their plugin isn't guarded", async () => {
    const app = fastify();
    const routes = routesOf(app);
    const server = serverFor(TABLE);
    await app.register(fastifyTRPCPlugin, { prefix: "/trpc", trpcOptions: { router } });
    app.register((inner, _options, done) => done(void inner.register(protectFastify(server))));
    await app.ready();
    const listed = [...routes, ...(await routesOf(router, { prefix: "/trpc" }))];
    const { message, hint } = audit(server, listed).findings[0] ?? {};
    expect(message).toMatch(
      /^`\* \/trpc\/:path` \(the listed tRPC procedures\) is outside the plugin of protect/,
    );
    expect(hint).toBe("Register protect on the instance that holds every route.");
    const open = serverFor({ "GET /trpc/health": "public", "POST /trpc/note.add": "public" });
    expect(
      errorsOf(
        open,
        listed.map((route) => ({ ...route })),
      ),
    ).toEqual([]);
  });
});

describe.each(EXPRESS_VERSIONS)("an %s application with static folders and Swagger UI", (_, express) => {
  const TABLE: ScopeMappings = {
    "GET /agents": ["agents:read"],
    "GET /docs{/*path}": "public",
    "GET /manuals{/*path}": ["manuals:read"],
    "GET /index.html": "public",
  };

  /** The function names of `swagger-ui-express`, whose `serve` is an array of these two. */
  function swaggerInitFn(...[, , next]: Parameters<RequestHandler>): void {
    next();
  }
  const swaggerUi = [swaggerInitFn, express.static("docs/pictures")];

  function create(table: ScopeMappings, register: (app: Express) => unknown = () => undefined) {
    const server = serverFor(table);
    const app = express();
    app.use("/brand", express.static("docs/pictures"));
    app.use(protectExpress(server));
    app.use("/docs", swaggerUi, (_request: unknown, response: { end(): void }) => response.end());
    app.use("/manuals", express.static("docs/guides"));
    app.use(express.static("docs/pictures"));
    app.get("/agents", handler);
    register(app);
    return { server, app, routes: routesOf(app) };
  }

  it("has no finding, without a list of the folders by hand", () => {
    const { server, routes } = create(TABLE);
    expect(audit(server, routes)).toMatchObject({
      ok: true,
      findings: [],
      summary: "3 routes, each with a rule",
    });
  });

  it("lists the folders of an application that a gateway guards", () => {
    const server = serverFor({ "GET /docs{/*path}": "public", "GET /manuals{/*path}": ["manuals:read"] });
    const app = express();
    app.use("/docs", swaggerUi).use("/manuals", express.static("docs/guides"));
    const kinds = audit(server, routesOf(app)).findings.map(({ kind }) => kind);
    expect(kinds).toEqual(["guard_missing"]);
    const options = { guardedElsewhere: ["/{*path}"] };
    expect(audit(server, routesOf(app), options)).toMatchObject({ ok: true, findings: [] });
  });

  it("accepts the same folders in a list by hand, and rules for single files", () => {
    const { server, routes } = create({ ...TABLE, "GET /docs/private.json": ["docs:read"] });
    expect(errorsOf(server, [...routes, { method: "GET", pattern: "/docs{/*path}" }])).toEqual([]);
  });

  it("names a folder behind protect that no rule covers", () => {
    const { "GET /docs{/*path}": _docs, "GET /manuals{/*path}": _manuals, ...rest } = TABLE;
    const { server, routes } = create(rest);
    expect(errorsOf(server, routes)).toEqual([
      'route_unmapped: `GET /docs{/*path}` (Swagger UI) has no rule: every request for it is refused. Add to scopeMappings: "GET /docs{/*path}": ["resource:action"]',
      'route_unmapped: `GET /manuals{/*path}` (static files) has no rule: every request for it is refused. Add to scopeMappings: "GET /manuals{/*path}": ["resource:action"]',
    ]);
  });

  it("reports a misspelled rule, although files at the root may have any path", () => {
    const { server, routes } = create({ ...TABLE, "GET /manual{/*path}": ["manuals:read"] });
    expect(errorsOf(server, routes)).toEqual([expect.stringMatching(/^rule_unreached: .*`GET \/manual\{/)]);
  });

  it("reports a rule for a folder that is registered before protect", () => {
    const { server, routes } = create({ ...TABLE, "GET /brand{/*path}": ["brand:read"] });
    expect(errorsOf(server, routes)).toEqual([expect.stringMatching(/^rule_unreached: .*`GET \/brand\{/)]);
  });

  it("reports no route below a folder as hidden: it runs if there is no such file", () => {
    const { server, routes } = create({ ...TABLE, "GET /manuals/search": ["manuals:read"] }, (app) =>
      app.get("/manuals/search", handler),
    );
    expect(audit(server, routes).findings).toEqual([]);
  });
});

describe.each(EXPRESS_VERSIONS)("an MCP server in %s with the OAuth router of the SDK", (_, express) => {
  const provider = { clientsStore: { getClient: () => undefined, registerClient: (x: never) => x } };
  const issuerUrl = new URL("https://api.example/");
  const PUBLIC: ScopeMappings = {
    "* /authorize": "public",
    "POST /token": "public",
    "POST /register": "public",
    "GET /.well-known/oauth-authorization-server": "public",
    "GET /.well-known/oauth-protected-resource/mcp": "public",
  };
  const TABLE: ScopeMappings = { ...PUBLIC, "* /mcp": [], "GET /agents": ["agents:read"] };

  /** The SDK may have an Express of its own, and 5.0 to 5.2 keep no path of a mount. */
  function forgetPaths({ stack }: { readonly stack: readonly object[] }): void {
    for (const layer of stack) {
      Object.assign(layer, { rawPath: undefined });
      const { handle } = layer as { readonly handle: object };
      if ("stack" in handle) forgetPaths(handle as { readonly stack: readonly object[] });
    }
  }

  function create(table: ScopeMappings, isOldSdk: boolean) {
    const server = serverFor(table);
    const resourceServerUrl = new URL("https://api.example/mcp");
    const options = { provider: provider as unknown as OAuthServerProvider, issuerUrl, resourceServerUrl };
    const oauth = mcpAuthRouter(options) as RequestHandler & { readonly stack: readonly object[] };
    if (isOldSdk) forgetPaths(oauth);
    const app = express();
    app.use(oauth);
    app.use("/mcp", protectMcp(server));
    app.all("/mcp", handler);
    app.use(protectExpress(server));
    app.get("/agents", handler);
    return { server, app, routes: routesOf(app) };
  }

  it.each([
    ["reports its mounts", false],
    ["doesn't report its mounts", true],
  ])(
    "has no finding, and names each endpoint without a rule, if the Express of the SDK %s",
    (__, isOldSdk) => {
      const { server, routes } = create(TABLE, isOldSdk);
      const report = audit(server, routes);
      expect(report).toMatchObject({ ok: true, findings: [], summary: "7 routes, each with a rule" });
      const closed = create({ "* /mcp": [], "GET /agents": ["agents:read"] }, isOldSdk);
      const hints = Object.keys(PUBLIC).map((key) => `If anyone may call it, write "${key}": "public"`);
      const errors = errorsOf(closed.server, closed.routes);
      for (const hint of hints) expect(errors.join()).toContain(hint);
      expect(errors.join()).not.toContain("unknown mount");
    },
  );

  it("responds as the table says", async () => {
    const { app } = create(TABLE, false);
    const port = await serve(app);
    expect(await statusWith(port, "/.well-known/oauth-authorization-server")).toBe(200);
    expect(await statusWith(port, "/agents")).toBe(401);
  });
});
