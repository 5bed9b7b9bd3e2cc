/**
 * The first audit of three applications with the packages that many of them have. With a reasonable table, it
 * has nothing to report but notes; with one mistake, it reports that mistake.
 */
import fastifyCors from "@fastify/cors";
import fastifySwagger from "@fastify/swagger";
import { mcpAuthRouter } from "@modelcontextprotocol/sdk/server/auth/router.js";
import type { OAuthServerProvider } from "@modelcontextprotocol/sdk/server/auth/provider.js";
import { initTRPC } from "@trpc/server";
import { createExpressMiddleware } from "@trpc/server/adapters/express";
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
  const file = "/app/node_modules/@fastify/swagger-ui/lib/routes.js";
  Object.assign(swaggerUi, { [Symbol.for("fastify.display-name")]: file });

  async function create(table: ScopeMappings = TABLE, prefix = "/trpc", isCorsLate = false) {
    const server = serverFor(table);
    const app = fastify();
    const routes = routesOf(app);
    const cors = { origin: "https://app.example" };
    if (!isCorsLate) await app.register(fastifyCors, cors);
    await app.register(protectFastify(server));
    if (isCorsLate) await app.register(fastifyCors, cors);
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
    expect(report.orThrow({ warnings: true }).summary).toBe("6 routes, 5 with a rule");
    expect(report.findings).toMatchObject([
      { kind: "route_unmapped", severity: "note", route: { method: "OPTIONS", pattern: "/*path" } },
    ]);
  });

  it.each<[string, ScopeMappings]>([
    ["none", {}],
    ["a rule for the page only", { "GET /docs": "public" }],
  ])("reports one missing rule for Swagger UI if it has %s", async (_, rules) => {
    const { "GET /docs{/*path}": _docs, ...rest } = TABLE;
    const { server, routes } = await create({ ...rest, ...rules });
    const findings = errorsOf(server, [...routes, ...(await routesOf(router, { prefix: "/trpc" }))]);
    expect(findings).toEqual([expect.stringContaining("`GET /docs{/*path}` (Swagger UI) has ")]);
    expect(findings[0]).toMatch(/Add to scopeMappings: "GET \/docs(?:\{\/\*path\}|\/\*path)": /);
  });

  it("lists each route of Swagger UI at the root, where other routes may have any path", async () => {
    const app = fastify();
    const routes = routesOf(app);
    await app.register(swaggerUi, { prefix: "/" });
    await app.ready();
    expect(written(routes)).toContain("GET /json");
  });

  it("reports CORS that is registered after protect, which refuses preflights without a public rule", async () => {
    const { server, app, routes } = await create(TABLE, "/trpc", true);
    const procedures = await routesOf(router, { prefix: "/trpc" });
    expect(errorsOf(server, [...routes, ...procedures])).toEqual([
      expect.stringMatching(
        /^cors_after_guard: protect runs before CORS.* Register CORS middleware before pr/,
      ),
    ]);
    const headers: [string, string][] = [
      ["Origin", "https://app.example"],
      ["Access-Control-Request-Method", "GET"],
    ];
    const port = await serveFastify(app);
    expect(await statusWith(port, "/agents", undefined, { method: "OPTIONS", headers })).toBe(403);
    const open = await create({ ...TABLE, "OPTIONS /{*path}": "public" }, "/trpc", true);
    expect(errorsOf(open.server, [...open.routes, ...procedures])).toEqual([]);
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
    const ofAnyServer = listed.map((route) => ({ ...route }));
    expect(errorsOf(open, ofAnyServer)).toEqual([]);
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

  it("warns of files at the root, if all rules are for other routes", () => {
    const { "GET /index.html": _page, ...others } = TABLE;
    const { server, routes } = create(others);
    const { ok, findings } = audit(server, routes);
    expect(ok).toBe(true);
    expect(findings).toEqual([
      {
        kind: "route_unmapped",
        severity: "warning",
        route: { method: "GET", pattern: "/{*path}", serves: "static files" },
        message:
          "`GET /{*path}` (static files) has no rules for its files: every request for them is refused.",
        hint: 'Add one for each folder or file, such as "GET /assets{/*path}": "public". If anyone may read all files, register them before protect.',
      },
    ]);
    const accepted = create({ ...others, "GET /assets{/*path}": "public" });
    expect(audit(accepted.server, accepted.routes).findings).toEqual([]);
    const any = (_request: unknown, _response: unknown, next: () => void) => next();
    const ordinary = express().use(protectExpress(server)).use(any).get("/agents", handler);
    expect(audit(server, routesOf(ordinary)).findings.map(({ kind }) => kind)).toEqual([
      "rule_unreached",
      "rule_unreached",
    ]);
  });

  it("accepts the same folders in a list by hand, and rules and routes for single files", () => {
    const rules: ScopeMappings = { "GET /docs/private.json": ["docs:read"], "GET /manuals/search": [] };
    // Such a route runs if there is no such file: it isn't hidden.
    const { server, routes } = create({ ...TABLE, ...rules }, (app) => app.get("/manuals/search", handler));
    const { findings } = audit(server, [...routes, { method: "GET", pattern: "/docs{/*path}" }]);
    expect(findings).toEqual([]);
  });

  it.each<[string, ScopeMappings, string, string]>([
    [
      "no rule",
      {},
      "route_unmapped",
      'has no rule: every request for it is refused. Add to scopeMappings: "GET /docs{/*path}"',
    ],
    [
      "a rule for the page of Swagger UI, which needs its scripts",
      { "GET /docs": "public" },
      "route_partly_mapped",
      'has rules for only some of its requests (`GET /docs`), and no rule covers all of them. Add to scopeMappings: "GET /docs/*path"',
    ],
  ])("names a folder behind protect that has %s", (_rules, rules, kind, text) => {
    const { "GET /docs{/*path}": _docs, "GET /manuals{/*path}": _manuals, ...rest } = TABLE;
    const { server, routes } = create({ ...rest, ...rules });
    expect(errorsOf(server, routes)).toEqual([
      `${kind}: \`GET /docs{/*path}\` (Swagger UI) ${text}: ["resource:action"]`,
      'route_unmapped: `GET /manuals{/*path}` (static files) has no rule: every request for it is refused. Add to scopeMappings: "GET /manuals{/*path}": ["resource:action"]',
    ]);
  });

  it("reports a misspelled rule, although files at the root may have any path", () => {
    const { server, routes } = create({ ...TABLE, "GET /manual{/*path}": ["manuals:read"] });
    expect(errorsOf(server, routes)).toEqual([expect.stringMatching(/^rule_unreached: .*`GET \/manual\{/)]);
  });

  it.each(["GET /brand{/*path}", "GET /brand/logo.svg"])(
    "reports a folder before protect as unguarded, once, unless its rule is public: %s",
    (key) => {
      const { server, routes } = create({ ...TABLE, [key]: ["brand:read"], "GET /brand/other.svg": [] });
      expect(errorsOf(server, routes)).toEqual([
        'route_unguarded: `GET /brand{/*path}` (static files) is registered before protect: its handler runs without any check. Move app.use(protect(server)) before it. If anyone may call it, write "GET /brand{/*path}": "public" in scopeMappings.',
      ]);
      const options = { guardedElsewhere: ["/brand{/*path}"] };
      expect(audit(server, routes, options).findings).toEqual([]);
      const open = create({ ...TABLE, [key]: "public" });
      expect(audit(open.server, open.routes).findings).toEqual([]);
    },
  );

  it("reports procedures of tRPC that run before protect", async () => {
    const t = initTRPC.create();
    const router = t.router({ health: t.procedure.query(() => "ok") });
    const server = serverFor({ "GET /trpc/health": ["health:read"] });
    const app = express().use("/trpc", createExpressMiddleware({ router })).use(protectExpress(server));
    expect(await statusWith(await serve(app), "/trpc/health")).toBe(200);
    const listed = [...routesOf(app), ...(await routesOf(router, { prefix: "/trpc" }))];
    expect(errorsOf(server, listed)).toEqual([
      "route_unguarded: `* /trpc{/*path}` (the listed tRPC procedures) is registered before protect: its handler runs without any check. Move app.use(protect(server)) before it.",
    ]);
  });

  it("reports a handler before protect as unguarded if a rule is meant for it", async () => {
    const server = serverFor({ "POST /graphql": ["graph:query"], "GET /agents": ["agents:read"] });
    const app = express()
      .use("/graphql", handler)
      .use("/agents", (_request, _response, next) => next());
    app.use(protectExpress(server)).get("/agents", handler);
    expect(await statusWith(await serve(app), "/graphql", undefined, { method: "POST" })).toBe(200);
    expect(errorsOf(server, routesOf(app))).toEqual([
      expect.stringMatching(/^route_unguarded: `\* \/graphql\{\/\*path\}` \(app\.use\) is registered before/),
    ]);
  });

  it("accepts a handler after protect that is listed by hand, whatever middleware before protect has its path", () => {
    const server = serverFor({ "* /graphql{/*path}": ["graph:query"] });
    const app = express().use("/graphql", (_request, _response, next) => next());
    app.use(protectExpress(server)).use("/graphql", handler);
    expect(errorsOf(server, [...routesOf(app), { method: "*", pattern: "/graphql{/*path}" }])).toEqual([]);
  });

  it("doesn't take middleware before protect for the target of a misspelled rule", () => {
    const server = serverFor({ "GET /api/agnts": [], "GET /api/agents": [] });
    const app = express().use("/api", (_request, _response, next) => next());
    app.use(protectExpress(server)).get("/api/agents", handler);
    expect(errorsOf(server, routesOf(app))).toEqual([expect.stringMatching(/^rule_unreached: /)]);
  });

  it("has no finding about a public folder if protect is a handler of each route", () => {
    const server = serverFor({ "GET /agents": ["agents:read"] });
    const app = express().use(express.static("docs/pictures")).use("/brand", express.static("docs/pictures"));
    app.get("/agents", protectExpress(server), handler);
    expect(errorsOf(server, routesOf(app))).toEqual([]);
  });

  it("reports CORS middleware after protect, unless other CORS middleware comes first", () => {
    function corsMiddleware(...[, , next]: Parameters<RequestHandler>): void {
      next();
    }
    const late = create({ ...TABLE, "* /agnts": [] }, (app) => app.use(corsMiddleware));
    expect(errorsOf(late.server, late.routes)).toEqual([
      expect.stringMatching(/^rule_unreached: .*`\* \/agnts`/),
      expect.stringMatching(/^cors_after_guard: .* Register CORS middleware before protect\.$/),
    ]);
    const server = serverFor({ "GET /agents": [], "GET /x/agents": [] });
    const app = express().use("/mcp", protectExpress(server)).use(corsMiddleware).use(protectExpress(server));
    app.use("/x", corsMiddleware).get("/agents", handler).get("/x/agents", handler);
    expect(errorsOf(server, routesOf(app))).toEqual([]);
    expect([...routesOf(express.Router().use(corsMiddleware).get("/agents", handler))]).toHaveLength(1);
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

  function create(table: ScopeMappings) {
    const server = serverFor(table);
    const resourceServerUrl = new URL("https://api.example/mcp");
    const options = { provider: provider as unknown as OAuthServerProvider, issuerUrl, resourceServerUrl };
    const app = express();
    app.use(mcpAuthRouter(options));
    app.use("/mcp", protectMcp(server));
    app.all("/mcp", handler);
    app.use(protectExpress(server));
    app.get("/agents", handler);
    return { server, app, routes: routesOf(app) };
  }

  it("has no finding", () => {
    const { server, routes } = create(TABLE);
    const report = audit(server, routes);
    expect(report).toMatchObject({ ok: true, findings: [], summary: "7 routes, each with a rule" });
  });

  it("asks once for a public rule for each endpoint", () => {
    const { server, routes } = create({ "* /mcp": [], "GET /agents": ["agents:read"] });
    expect(errorsOf(server, routes).toSorted()).toEqual(
      Object.keys(PUBLIC)
        .toSorted()
        .map((key) => {
          const start = `route_unguarded: \`${key}\` is registered before protect: its handler runs without any check. `;
          const hint = `If OAuth clients call it before they have a token, write "${key}": "public" in scopeMappings. `;
          return `${start}${hint}Otherwise: Move app.use(protect(server)) before it.`;
        }),
    );
  });

  it("asks to remove the rule for an endpoint that the provider doesn't have", () => {
    const { server, routes } = create({ ...TABLE, "POST /revoke": "public" });
    expect(errorsOf(server, routes)).toEqual([
      "rule_unreached: no route reaches the rule `POST /revoke` (custom). If the OAuth provider doesn't have this endpoint, remove the rule.",
    ]);
  });

  it("asks for protectMcp, not only for protect, if the MCP server is unguarded", () => {
    const server = serverFor({ "* /mcp": [], "MCP tools/call search": ["docs:read"] });
    const FOR_MCP =
      "If it's an MCP server, write protectMcp(server) instead of protect(server), which doesn't check tools.";
    const early = express().all("/mcp", handler).use(protectExpress(server));
    const none = express().all("/mcp", handler);
    for (const [app, kind] of [
      [early, "route_unguarded"],
      [none, "guard_missing"],
    ] as const)
      expect(audit(server, routesOf(app)).findings[0]).toMatchObject({
        kind,
        hint: expect.stringContaining(FOR_MCP) as string,
      });
  });
});
