/** Handlers of the Fetch standard whose route is known: the rule for the route must be satisfied too. */
import { H3 } from "h3";
import { describe, expect, it } from "vitest";
import type { Decision, ResourceServer } from "scopegate";
import { type Access, principalOf, protect, withScopes } from "scopegate/fetch";
import { createServer, issuer, thrownBy } from "../support/resource-servers.ts";
import type { ResourceServerOptions } from "../support/server.ts";

/** The host rewrites `/teams/:teamId/:path*` to `/:path*`, so the public rule for pages covers every handler. */
const serverWith = (options: Partial<ResourceServerOptions> = {}): ResourceServer =>
  createServer({
    scopeMappings: {
      "GET /teams{/*path}": "public",
      "GET /maybe{/*path}": "optional",
      "GET /notes/:id": "public",
      "* /any{/*path}": [],
      "GET /api/admin/users": ["admin:read"],
      "GET /api/agents/:agent_id": ["agents:<agent_id>:read"],
      "DELETE /api/agents/:agent_id": ["agents:<agent_id>:delete"],
      "GET /docs{/*path}": ["docs:read"],
      "GET /docs/private{/*path}": ["docs:private"],
      "GET /files/:name.json": ["files:<name>:read"],
    },
    ...options,
  });

const bearer = async (...scopes: readonly string[]): Promise<string> =>
  `Bearer ${await issuer.token({ scopes })}`;

const requestOf = (path: string, authorization?: string, method = "GET"): Request =>
  new Request(`http://127.0.0.1${path}`, { method, headers: authorization ? { authorization } : {} });

/** Hosts pass a context after the request. */
const run = (_request: Request, _access: Access, _context?: object): Response => new Response("ran");

/** `ran`, or the code of the refusal. */
async function outcomeOf(response: Response | Promise<Response>): Promise<unknown> {
  const answer = await response;
  return answer.ok ? answer.text() : ((await answer.json()) as { readonly code: string }).code;
}

const REWRITTEN = "/teams/7/api/admin/users";

describe("withScopes with a route", () => {
  const handler = withScopes(serverWith(), { route: "GET /api/admin/users" }, run);

  it("requires the rule of the route for the path of a public rule", async () => {
    expect(await outcomeOf(handler(requestOf(REWRITTEN)))).toBe("credential_missing");
    expect(await outcomeOf(handler(requestOf(REWRITTEN, await bearer())))).toBe("scope_insufficient");
    expect(await outcomeOf(handler(requestOf(REWRITTEN, await bearer("admin:read"))))).toBe("ran");
  });

  it("requires the rule of the client's path too", async () => {
    const token = await bearer("admin:read");
    expect(await outcomeOf(handler(requestOf("/elsewhere", token)))).toBe("route_unmapped");
    expect(await outcomeOf(handler(requestOf("/docs", token)))).toBe("scope_insufficient");
    expect(await outcomeOf(handler(requestOf("/teams//api", token)))).toBe("request_ambiguous");
  });

  it("passes the caller that the route needs, and its decision", async () => {
    const server = serverWith();
    const seen = withScopes(server, { route: "/api/admin/users" }, (request, { principal, decision }) =>
      Response.json([principal?.userId, decision.rule?.key, principalOf(request) === principal]),
    );
    const response = await seen(requestOf(REWRITTEN, await bearer("admin:read")));
    expect(await response.json()).toEqual(["user-1", "GET /api/admin/users", true]);
  });

  it("refuses another method than that of the route, but runs GET for HEAD", async () => {
    const token = await bearer("admin:read");
    expect(await outcomeOf(handler(requestOf("/api/admin/users", token)))).toBe("ran");
    expect(await outcomeOf(handler(requestOf("/api/admin/users", token, "HEAD")))).toBe("ran");
    expect(await outcomeOf(handler(requestOf("/any/thing", token, "POST")))).toBe("request_ambiguous");
  });

  it("decides by the method of the request if the route has none", async () => {
    const every = withScopes(serverWith(), { route: "/api/agents/:agent_id" }, run);
    const params = { params: { agent_id: "web" } };
    const token = await bearer("agents:web:read");
    expect(await outcomeOf(every(requestOf("/api/agents/web", token), params))).toBe("ran");
    const refused = every(requestOf("/api/agents/web", token, "DELETE"), params);
    expect(await outcomeOf(refused)).toBe("scope_insufficient");
    expect(await outcomeOf(every(requestOf("/any/thing", token, "PUT"), params))).toBe("route_unmapped");
  });

  it("decides by the URL that the client sent, below the `basePath` that the host removed", async () => {
    const below = withScopes(
      serverWith({
        scopeMappings: {
          "GET /base": ["home:read"],
          "GET /base/agents/:id": ["agents:<id>:read"],
          "GET /agents/:id": "public",
        },
      }),
      { route: "GET /base/agents/:id", basePath: "/base" },
      run,
    );
    const context = { params: { id: "web" } };
    expect(await outcomeOf(below(requestOf("/agents/web?x=/base"), context))).toBe("credential_missing");
    const token = await bearer("agents:web:read", "home:read");
    expect(await outcomeOf(below(requestOf("/agents/web?x=/base", token), context))).toBe("ran");
    for (const home of ["/", "/?x"])
      expect(await outcomeOf(below(requestOf(home, token), context))).toBe("ran");
    expect(await outcomeOf(below(requestOf("/base/agents/web", token), context))).toBe("route_unmapped");
    const unreadable = { ...requestOf("/"), method: "GET", headers: new Headers(), url: "http://a\\b/x" };
    expect(await outcomeOf(below(unreadable, context))).toBe("request_ambiguous");
  });

  it("verifies a token once, and reports a request of its own path once", async () => {
    let verified = 0;
    const decisions: Decision[] = [];
    const server = serverWith({
      isRevoked: () => (verified += 1) < 0,
      onDecision: (decision) => decisions.push(decision),
    });
    const agent = withScopes(server, { route: "GET /api/agents/:agent_id" }, run);
    const paths: readonly (readonly [string, string, number])[] = [
      ["/api/agents/web?full=1", "web", 1],
      ["/api/agents/a%40b", "a@b", 1],
      ["/api/agents/a@b", "a@b", 1],
      ["/any/agents", "web", 2],
    ];
    for (const [path, agent_id, reported] of paths) {
      verified = 0;
      decisions.length = 0;
      const response = agent(requestOf(path, await bearer("agents:read")), { params: { agent_id } });
      expect(await outcomeOf(response)).toBe("ran");
      expect([path, verified, decisions.length]).toEqual([path, 1, reported]);
    }
  });

  it("reports the request of the client, without what only the adapter needs", async () => {
    const seen: object[] = [];
    const server = serverWith({ onDecision: (_, request) => seen.push(request) });
    await withScopes(server, { route: "GET /api/admin/users" }, run)(requestOf("/api/admin/users?token=1"));
    expect(seen).toEqual([{ method: "GET", target: "/api/admin/users" }]);
  });

  it("finds no caller before the route is decided, nor after an error of that decision", async () => {
    const server = serverWith();
    const found: unknown[] = [];
    const request = requestOf("/any/agents", await bearer());
    const faulty = withScopes(
      server,
      {
        route: "GET /api/agents/:agent_id",
        params: async () => {
          await Promise.resolve();
          found.push(principalOf(request));
          return {};
        },
      },
      run,
    );
    await expect(faulty(request)).rejects.toThrow("parameters");
    expect([...found, principalOf(request)]).toEqual([undefined, undefined]);
  });

  it("names the route in the refusal of a handler that another handler calls", async () => {
    const seen: unknown[] = [];
    const server = serverWith({
      onDecision: (decision, { target, matchedPattern }) => {
        if (!decision.allowed) seen.push([target, matchedPattern, decision.reason]);
      },
    });
    const inner = withScopes(server, { route: "GET /api/admin/users" }, run);
    const outer = withScopes(server, { route: "GET /docs{/*path}" }, (request, _access, _context?: object) =>
      inner(request),
    );
    const request = requestOf("/docs", await bearer("docs:read"));
    expect(await outcomeOf(outer(request, { params: {} }))).toBe("scope_insufficient");
    expect(seen).toEqual([["/api/admin/users", "/api/admin/users", "scope_insufficient"]]);
  });
});

describe("withScopes with a handler for each method", () => {
  interface Context {
    readonly params: Promise<{ readonly agent_id: string }>;
  }
  const handlers = withScopes(
    serverWith(),
    { route: "/api/agents/:agent_id" },
    {
      GET: async (_request: Request, { principal }, { params }: Context) =>
        Response.json([(await params).agent_id, principal?.userId]),
      DELETE: run,
    },
  );
  const context = { params: Promise.resolve({ agent_id: "web" }) };

  it("returns the same names, and decides each by its own method", async () => {
    expect(Object.keys(handlers)).toEqual(["GET", "DELETE"]);
    const token = await bearer("agents:web:read");
    const allowed = await handlers.GET(requestOf("/api/agents/web", token), context);
    expect(await allowed.json()).toEqual(["web", "user-1"]);
    const removal = requestOf("/api/agents/web", token, "DELETE");
    expect(await outcomeOf(handlers.DELETE(removal, context))).toBe("scope_insufficient");
    expect(await outcomeOf(handlers.GET(removal, context))).toBe("scope_insufficient");
  });
});

describe("the parameters of a route", () => {
  const agent = withScopes(serverWith(), { route: "GET /api/agents/:agent_id" }, run);
  const docs = withScopes(serverWith(), { route: "GET /docs{/*path}" }, run);

  it.each([
    ["the context of Next.js 15 and later", { params: Promise.resolve({ agent_id: "web" }) }],
    ["the context of Next.js 14", { params: { agent_id: "web" } }],
  ])("are read from %s", async (_, context) => {
    const request = requestOf("/teams/7", await bearer("agents:web:read"));
    expect(await outcomeOf(agent(request, context))).toBe("ran");
    const other = requestOf("/teams/7", await bearer("agents:api:read"));
    expect(await outcomeOf(agent(other, context))).toBe("scope_insufficient");
  });

  it("are read from the request, as in Bun", async () => {
    const request = requestOf("/teams/7", await bearer("agents:web:read"));
    const withParams = (agent_id: string) => Object.assign(request.clone(), { params: { agent_id } });
    expect(await outcomeOf(agent(withParams("web")))).toBe("ran");
    expect(await outcomeOf(agent(withParams("api"), { env: "of a server" }))).toBe("scope_insufficient");
  });

  it("are read by `params`, which receives what the handler does", async () => {
    const custom = withScopes(
      serverWith(),
      {
        route: "GET /api/agents/:agent_id",
        params: (request: Request, id: string) => ({ agent_id: `${id}-${new URL(request.url).hash}` }),
      },
      (_request, _access, id: string) => new Response(id),
    );
    expect(await outcomeOf(custom(requestOf("/teams/7", await bearer("agents:web-:read")), "web"))).toBe(
      "web",
    );
  });

  it.each([
    ["nothing", undefined],
    ["no parameters", {}],
    ["another parameter", { params: { id: "web" } }],
    ["an inherited parameter", { params: Object.create({ agent_id: "web" }) as object }],
    ["a number", { params: { agent_id: 7 } }],
    ["an array for one segment", { params: { agent_id: ["web"] } }],
    ["null", { params: null }],
  ])("throws if the host reports %s", async (_, context) => {
    const request = requestOf("/api/agents/web", await bearer("agents:web:read"));
    expect(() => agent(request, context)).toThrow(
      "write withScopes(server, { route, params:".replace("w", "W"),
    );
  });

  it.each([
    ["a/b", "request_ambiguous"],
    ["..", "request_ambiguous"],
    [".", "request_ambiguous"],
    ["a\\b", "request_ambiguous"],
    ["a\0", "request_ambiguous"],
    ["\ud800", "request_ambiguous"],
    ["a?b", "ran"],
    ["a#b", "ran"],
    ["ä b", "ran"],
    ["a%2Fb", "ran"],
    ["a:b", "ran"],
    ["web/../api", "request_ambiguous"],
  ])("stay one segment: %j is %s", async (agent_id, outcome) => {
    const request = requestOf("/teams/7", await bearer("agents:read"));
    expect(await outcomeOf(agent(request, { params: { agent_id } }))).toBe(outcome);
  });

  it("are those that the rule reads, and not those of the client's path", async () => {
    const request = requestOf("/api/agents/web", await bearer("agents:web:read"));
    expect(await outcomeOf(agent(request, { params: { agent_id: "api" } }))).toBe("scope_insufficient");
    const encoded = requestOf("/api/agents/a%2540b", await bearer("agents:a%40b:read"));
    expect(await outcomeOf(agent(encoded, { params: { agent_id: "a%40b" } }))).toBe("ran");
    expect(await outcomeOf(agent(encoded, { params: { agent_id: "a@b" } }))).toBe("scope_insufficient");
  });

  it.each([
    [["a", "b c"], ["docs:read"], "ran"],
    [["private", "x"], ["docs:read"], "scope_insufficient"],
    ["private/x", ["docs:read"], "scope_insufficient"],
    ["private/x", ["docs:private", "docs:read"], "ran"],
    [undefined, ["docs:read"], "ran"],
    ["", ["docs:read"], "ran"],
    [[], ["docs:read"], "ran"],
    [["a/b"], ["docs:read"], "request_ambiguous"],
    [["private/x"], ["docs:read"], "request_ambiguous"],
    [["a", "..", "private"], ["docs:read"], "request_ambiguous"],
    ["a//b", ["docs:read"], "request_ambiguous"],
  ])("join the segments of a wildcard: %j with %j is %s", async (path, scopes, outcome) => {
    const request = requestOf("/teams/7", await bearer(...scopes));
    expect(await outcomeOf(docs(request, { params: { path } }))).toBe(outcome);
  });

  it.each([[["a", 1]], [["a", undefined]], [{}], [7]])("throws for %j as a wildcard", async (path) => {
    const request = requestOf("/teams/7", await bearer("docs:read"));
    expect(() => docs(request, { params: { path } })).toThrow("`path` as a string");
  });

  it("throws for a wildcard without a segment where the route needs one", async () => {
    const needed = withScopes(serverWith(), { route: "GET /docs/*path" }, run);
    const request = requestOf("/docs", await bearer("docs:read"));
    expect(() => needed(request, { params: { path: [] } })).toThrow("`/docs/*path`");
  });

  it("keep the text of their segment", async () => {
    const file = withScopes(serverWith(), { route: "GET /files/:name.json" }, run);
    const request = requestOf("/teams/7", await bearer("files:a:read"));
    expect(await outcomeOf(file(request, { params: { name: "a" } }))).toBe("ran");
    expect(await outcomeOf(file(request, { params: { name: "a.json" } }))).toBe("scope_insufficient");
  });
});

describe("a route that can't be used", () => {
  const messageOf = (route: unknown, handler: unknown = run): string =>
    thrownBy(() => withScopes(serverWith(), { route } as never, handler as never)).message;

  it.each([
    ["/api/agents/[agent_id]", "Write `/api/agents/:agent_id`."],
    ["GET /docs/[...path]", "Write `/docs/*path`."],
    ["/docs/[[...path]]", "Write `/docs{/*path}`."],
    ["/[[...path]]", "Write `/{*path}`."],
    ["/(admin)/users/[id]", "Write `/users/:id`."],
    ["/agents/{agent_id}", "Write `/agents/:agent_id`."],
    ["/{proxy+}", "Write `/*proxy`."],
    ["get /agents", "Write `GET`: methods are case-sensitive."],
    ["/agents/:id?", "Write `/agents{/:id}`."],
    ["agents", "Write `METHOD /pattern`"],
    ["GET agents", "starting with `/`"],
    ["https://api.example/agents", "Write `METHOD /pattern`"],
    ["/agents{/list}", "Write two routes."],
    ["/agents/../admin", "Write a path without empty or dot segments"],
    ["MCP tools/call search", "is an MCP operation. Write a path: `POST /mcp`."],
    [7, "Write a string."],
  ])("%j: %s", (route, hint) => {
    expect(messageOf(route)).toContain(hint);
  });

  it("has a method, although the handlers have their own", () => {
    expect(messageOf("GET /agents", { GET: run })).toContain("Write only the path: the names");
    expect(messageOf("/agents", { get: run })).toContain("Write `GET`: methods are case-sensitive.");
  });

  it("comes after the handler, or without one", () => {
    const wrap =
      (...given: readonly unknown[]) =>
      (): unknown =>
        Reflect.apply(withScopes, undefined, [serverWith(), ...given]);
    expect(wrap(run, { route: "/agents" })).toThrow("withScopes: takes its options as an object.");
    for (const handler of [undefined, null, "run", { GET: new Response() }])
      expect(wrap({ route: "/agents" }, handler)).toThrow("write withScopes(server, { route }, (request)");
    expect(wrap({ route: "/agents" })).toThrow("write withScopes(server, { route }, (request)");
    expect(wrap({ rout: "/agents" }, run)).toThrow("Did you mean `route`?");
    expect(wrap({ route: "/agents", params: {} }, run)).toThrow("Write a function");
    for (const basePath of ["", "/", "base", "/base/", "/base?", 7])
      expect(wrap({ route: "/agents", basePath }, run)).toThrow("Write it with its first slash");
  });
});

describe("withScopes without a route", () => {
  const seen: Decision[] = [];
  const server = serverWith({ onDecision: (decision) => seen.push(decision) });
  const handler = withScopes(server, run);

  it.each([REWRITTEN, "/maybe/x", "/teams"])(
    "isn't opened by an open rule with a wildcard: %s",
    async (path) => {
      for (const token of [undefined, await bearer("admin:read")]) {
        seen.length = 0;
        expect(await outcomeOf(handler(requestOf(path, token)))).toBe("route_unmapped");
        expect(seen).toMatchObject([
          { allowed: false, cause: expect.stringContaining("{ route }") as string },
        ]);
      }
    },
  );

  it("isn't opened by a token where routes without a rule are", async () => {
    const options = { unmappedRoutes: "authenticated" } as const;
    const lenient = withScopes(serverWith(options), run);
    expect(await outcomeOf(lenient(requestOf(REWRITTEN, await bearer())))).toBe("route_unmapped");
    expect(await outcomeOf(lenient(requestOf("/elsewhere", await bearer())))).toBe("ran");
  });

  it("is opened by any other rule", async () => {
    expect(await outcomeOf(handler(requestOf("/notes/7")))).toBe("ran");
    expect(await outcomeOf(handler(requestOf("/any/thing", await bearer())))).toBe("ran");
  });

  it("leaves the guard of programs that route by the URL as it is", async () => {
    expect("decision" in (await protect(server)(requestOf(REWRITTEN)))).toBe(true);
    expect((await server.check({ method: "GET", target: REWRITTEN })).allowed).toBe(true);
  });
});

describe("protect with a route that the host reports", () => {
  const guard = protect(serverWith());
  const decide = async (route: string, params?: object, path = "/teams/7", scopes?: readonly string[]) => {
    const request = requestOf(path, scopes && (await bearer(...scopes)));
    const access = await guard(request, { route, params: params as Record<string, string> });
    return "decision" in access ? "ran" : outcomeOf(access);
  };

  it.each([
    ["/api/agents/:agent_id", { agent_id: "web" }],
    ["/(app)/api/agents/[agent_id]", { agent_id: "web" }],
    ["/api/agents/[agent_id=slug]", { agent_id: "web" }],
    ["GET /api/agents/{agent_id}", { agent_id: "web" }],
    ["/api/[[lang]]/agents/[agent_id]", { agent_id: "web" }],
  ])("requires the rule of %s too", async (route, params) => {
    expect(await decide(route, params)).toBe("credential_missing");
    expect(await decide(route, params, "/teams/7", ["agents:api:read"])).toBe("scope_insufficient");
    expect(await decide(route, params, "/teams/7", ["agents:web:read"])).toBe("ran");
    expect(await decide(route, params, "/elsewhere", ["agents:web:read"])).toBe("route_unmapped");
  });

  it.each(["/docs/[...path]", "/docs/[[...path]]", "ANY /docs/{path+}", "/docs/**:path", "/docs{/*path}"])(
    "reads the wildcard of %s, with and without a segment",
    async (route) => {
      for (const path of ["", "a/b", undefined])
        expect(await decide(route, { path }, "/teams/7", ["docs:read"])).toBe("ran");
      expect(await decide(route, { path: "private/x" }, "/teams/7", ["docs:read"])).toBe(
        "scope_insufficient",
      );
    },
  );

  it("rejects a route that can't be read, and parameters that are missing", async () => {
    await expect(guard(requestOf("/teams"), { route: "$default" })).rejects.toThrow(
      "guard.route: isn't a route key.",
    );
    await expect(guard(requestOf("/teams"), {} as never)).rejects.toThrow("guard.route: isn't a route key.");
    await expect(guard(requestOf("/teams"), { route: "MCP tools/call search" })).rejects.toThrow(
      "guard.route: is an MCP operation.",
    );
    await expect(guard(requestOf("/teams"), "/docs" as never)).rejects.toThrow(
      "guard.route: isn't a route key.",
    );
    const request = requestOf("/teams", await bearer());
    await expect(guard(request, { route: "/docs/:id" })).rejects.toThrow("guard(request, { route, params })");
    expect(principalOf(request)).toBeUndefined();
  });

  it("guards the route that h3 has found, however the URL is spelled", async () => {
    const app = new H3();
    app.use(async (event, next) => {
      const { matchedRoute, params } = event.context;
      const access = await guard(
        event.req,
        matchedRoute?.route ? { route: matchedRoute.route, params } : undefined,
      );
      return "decision" in access ? next() : access;
    });
    app.get("/api/agents/:agent_id", () => "ran");
    app.get("/docs/**", () => "ran");
    const fetched = (path: string, token?: string) => outcomeOf(app.fetch(requestOf(path, token)));
    expect(await fetched("/api/agents/web")).toBe("credential_missing");
    expect(await fetched("/api/agents/web", await bearer("agents:web:read"))).toBe("ran");
    expect(await fetched("/api/agents/web/", await bearer("agents:web:read"))).toBe("ran");
    expect(await fetched("/docs", await bearer("docs:read"))).toBe("ran");
    expect(await fetched("/docs/private/x", await bearer("docs:read"))).toBe("scope_insufficient");
    expect(await fetched("/docs/a/b", await bearer("docs:read"))).toBe("ran");
  });
});
