/** `protect` and `withScopes` of scopegate/fetch. `test/conformance` has what every adapter does. */
import { runInNewContext } from "node:vm";
import { H3 } from "h3";
import { describe, expect, it } from "vitest";
import type { Decision, ResourceServer } from "scopegate";
import { type Access, principalOf, protect, requireScopes, withScopes } from "scopegate/fetch";
import { readWebRequest, targetOf, toResponse } from "../../src/adapters/shared/web-request.ts";
import { createServer, issuer, thrownBy } from "../support/resource-servers.ts";
import type { ResourceServerOptions } from "../support/server.ts";
import { withPollution } from "../support/polluted-prototype.ts";

/** The host rewrites `/teams/:teamId/:path*` to `/:path*`: the public rule for pages covers every handler. */
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
async function outcomeOf(pending: unknown): Promise<unknown> {
  const answer = (await pending) as Access | Response;
  if ("decision" in answer) return "ran";
  return answer.ok ? answer.text() : ((await answer.json()) as { readonly code: string }).code;
}

const GOOD = await bearer("agents:read");
const REWRITTEN = "/teams/7/api/admin/users";

describe("protect for fetch", () => {
  it("returns the caller and the decision of an allowed request", async () => {
    const result = await protect(serverWith())(requestOf("/docs", await bearer("docs:read")));
    expect(result).toMatchObject({ principal: { userId: "user-1" } });
    const { principal, decision } = result as Access;
    expect(decision).toMatchObject({ allowed: true, required: ["docs:read"] });
    expect(decision.principal).toBe(principal);
  });

  it("reads nothing of a request from a polluted prototype", async () => {
    const observed: unknown[] = [];
    const guard = protect(serverWith({ onDecision: (_, request) => observed.push(request) }));
    const request = requestOf("/docs", await bearer("docs:read"));
    const polluted = { params: { id: 5 }, matchedPattern: "/polluted" };
    expect(await withPollution(polluted, () => outcomeOf(guard(request)))).toBe("ran");
    expect(observed).toHaveLength(1);
    expect(Object.keys(observed[0] as object)).not.toContain("params");
  });

  it("refuses a request whose URL is no string, and reads an object with the URL", () => {
    expect(targetOf(new URL("http://127.0.0.1/docs?a=b") as never)).toBe("/docs?a=b");
    expect(targetOf(undefined as never)).toBe("");
  });

  it("accepts a request of another realm", async () => {
    const request = runInNewContext(
      "({ method: 'GET', url: 'http://127.0.0.1/any', headers: { get: (name) => headers[name] ?? null } })",
      { headers: { authorization: await bearer() } },
    ) as Request;
    expect(await outcomeOf(protect(serverWith())(request))).toBe("ran");
    expect(principalOf(Object.assign(request, { bodyUsed: false }))?.userId).toBe("user-1");
  });

  it("rejects after an error, and returns no caller", async () => {
    const server = serverWith({ now: () => Number.NaN });
    const request = requestOf("/any", await bearer());
    await expect(protect(server)(request)).rejects.toThrow("`now`");
    expect(principalOf(request)).toBeUndefined();
  });

  it.each<[string, readonly string[] | undefined, string | undefined]>([
    ["/notes/7", [], undefined],
    ["/maybe", undefined, undefined],
    ["/maybe", [], "user-1"],
    ["/docs", ["docs:read"], "user-1"],
    ["/docs", ["other:read"], undefined],
    ["/docs", undefined, undefined],
  ])("finds the allowed caller only: %s with %j gives %s", async (path, scopes, userId) => {
    const request = requestOf(path, scopes && (await bearer(...scopes)));
    expect(principalOf(request)).toBeUndefined();
    await protect(serverWith())(request);
    expect(principalOf(request)?.userId).toBe(userId);
    expect(principalOf(new Proxy(request, {}))?.userId).toBe(userId);
    expect(principalOf(request.clone())).toBeUndefined();
  });

  it("makes requireScopes throw for a clone of the request", async () => {
    const mayUse = requireScopes("extra:<id>:use");
    const request = requestOf("/any", await bearer("extra:7:use"));
    await protect(serverWith())(request);
    expect(mayUse(request, { id: "7" })).toBeUndefined();
    expect(() => mayUse(request.clone(), { id: "7" })).toThrow("a clone is another request");
  });
});

describe("a polluted prototype", () => {
  it("does not turn a refusal into access", async () => {
    const handler = withScopes(serverWith(), run);
    const polluted = { decision: { allowed: true }, authorization: await bearer() };
    const { status } = await withPollution(polluted, async () => handler(requestOf("/any")));
    expect(status).toBe(401);
  });
});

describe("withScopes without a route", () => {
  const seen: Decision[] = [];
  const handler = withScopes(serverWith({ onDecision: (decision) => seen.push(decision) }), run);

  it.each([REWRITTEN, "/maybe/x", "/teams"])(
    "isn't opened by an open rule with a wildcard: %s",
    async (path) => {
      for (const token of [undefined, await bearer("admin:read")]) {
        seen.length = 0;
        expect(await outcomeOf(handler(requestOf(path, token)))).toBe("route_unmapped");
        expect(seen).toMatchObject([
          { allowed: false, cause: expect.stringContaining("{ route }") as string },
        ]);
        expect(await outcomeOf(protect(serverWith())(requestOf(path, token)))).toBe("ran");
      }
    },
  );

  it("is opened by any other rule, and by a token where routes without a rule are", async () => {
    const lenient = withScopes(serverWith({ unmappedRoutes: "authenticated" }), run);
    expect(await outcomeOf(lenient(requestOf(REWRITTEN, await bearer())))).toBe("route_unmapped");
    expect(await outcomeOf(lenient(requestOf("/elsewhere", await bearer())))).toBe("ran");
    expect(await outcomeOf(handler(requestOf("/notes/7")))).toBe("ran");
    expect(await outcomeOf(handler(requestOf("/any/thing", await bearer())))).toBe("ran");
  });

  it("passes the caller, followed by the arguments of the framework", async () => {
    const passing = withScopes(
      serverWith(),
      ({ url }: Request, { principal }, env: { readonly region: string }, context: object) =>
        Response.json([url, principal?.userId, env, context]),
    );
    const response = await passing(requestOf("/any", await bearer()), { region: "eu" }, { waitUntil: 1 });
    expect(await response.json()).toEqual([
      "http://127.0.0.1/any",
      "user-1",
      { region: "eu" },
      { waitUntil: 1 },
    ]);
  });
});

describe("withScopes with a route", () => {
  const handler = withScopes(serverWith(), { route: "GET /api/admin/users" }, run);

  it.each<[outcome: string, path: string, scopes: readonly string[] | undefined, method?: string]>([
    ["credential_missing", REWRITTEN, undefined],
    ["scope_insufficient", REWRITTEN, []],
    ["ran", REWRITTEN, ["admin:read"]],
    ["route_unmapped", "/elsewhere", ["admin:read"]],
    ["scope_insufficient", "/docs", ["admin:read"]],
    ["request_ambiguous", "/teams//api", ["admin:read"]],
    ["ran", "/api/admin/users", ["admin:read"], "HEAD"],
    ["request_ambiguous", "/any/thing", ["admin:read"], "POST"],
  ])(
    "requires its rule, and that of the client's path: %s for %s with %j",
    async (outcome, path, scopes, method) => {
      const request = requestOf(path, scopes && (await bearer(...scopes)), method);
      expect(await outcomeOf(handler(request))).toBe(outcome);
    },
  );

  it("passes the caller that the route needs, and its decision", async () => {
    const seen = withScopes(serverWith(), { route: "/api/admin/users" }, (request, { principal, decision }) =>
      Response.json([principal?.userId, decision.rule?.key, principalOf(request) === principal]),
    );
    const response = await seen(requestOf(REWRITTEN, await bearer("admin:read")));
    expect(await response.json()).toEqual(["user-1", "GET /api/admin/users", true]);
  });

  it("decides by the method of the request if the route has none, and otherwise by its own", async () => {
    const route = "/api/agents/:agent_id";
    const every = withScopes(serverWith(), { route }, run);
    const each = withScopes(serverWith(), { route }, { GET: run, DELETE: run });
    expect(Object.keys(each)).toEqual(["GET", "DELETE"]);
    const params = { params: { agent_id: "web" } };
    const token = await bearer("agents:web:read");
    for (const get of [every, each.GET])
      expect(await outcomeOf(get(requestOf("/api/agents/web", token), params))).toBe("ran");
    const removal = () => requestOf("/api/agents/web", token, "DELETE");
    for (const remove of [every, each.DELETE, each.GET])
      expect(await outcomeOf(remove(removal(), params))).toBe("scope_insufficient");
    expect(await outcomeOf(every(requestOf("/any/thing", token, "PUT"), params))).toBe("route_unmapped");
  });

  it("decides by the URL that the client sent, below the `basePath` that the host removed", async () => {
    const scopeMappings = {
      "GET /base": ["home:read"],
      "GET /base/agents/:id": ["agents:<id>:read"],
      "GET /agents/:id": "public",
    } as const;
    const route = { route: "GET /base/agents/:id", basePath: "/base" };
    const below = withScopes(serverWith({ scopeMappings }), route, run);
    const ask = (request: object) => outcomeOf(below(request as Request, { params: { id: "web" } }));
    const token = await bearer("agents:web:read", "home:read");
    expect(await ask(requestOf("/agents/web?x=/base"))).toBe("credential_missing");
    for (const path of ["/agents/web?x=/base", "/", "/?x"])
      expect(await ask(requestOf(path, token))).toBe("ran");
    expect(await ask(requestOf("/base/agents/web", token))).toBe("route_unmapped");
    const unreadable = { method: "GET", headers: new Headers(), url: "http://a\\b/x" };
    expect(await ask(unreadable)).toBe("request_ambiguous");
  });

  it.each([
    ["/api/agents/web?full=1", "web", 1],
    ["/api/agents/a%40b", "a@b", 1],
    ["/api/agents/a@b", "a@b", 1],
    ["/any/agents", "web", 2],
  ])("verifies a token once, and reports it as sent: %s", async (path, agent_id, reported) => {
    let verified = 0;
    const requests: object[] = [];
    const agent = withScopes(
      serverWith({
        isRevoked: () => (verified += 1) < 0,
        onDecision: (_, request) => requests.push(request),
      }),
      { route: "GET /api/agents/:agent_id" },
      run,
    );
    const response = agent(requestOf(path, await bearer("agents:read")), { params: { agent_id } });
    expect(await outcomeOf(response)).toBe("ran");
    expect([verified, requests.length]).toEqual([1, reported]);
    // Without what only the adapter needs.
    if (reported === 1) expect(requests).toEqual([{ method: "GET", target: path.replace("?full=1", "") }]);
  });

  it("finds no caller before the route is decided, nor after an error of that decision", async () => {
    const found: unknown[] = [];
    const request = requestOf("/any/agents", await bearer());
    const params = async () => {
      await Promise.resolve();
      found.push(principalOf(request));
      return {};
    };
    const faulty = withScopes(serverWith(), { route: "GET /api/agents/:agent_id", params }, run);
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

describe("the parameters of a route", () => {
  const agent = withScopes(serverWith(), { route: "GET /api/agents/:agent_id" }, run);
  const ask = async (handler: typeof agent, scopes: readonly string[], params: object, path = "/teams/7") =>
    outcomeOf(handler(requestOf(path, await bearer(...scopes)), { params }));

  it.each<[from: string, call: (request: Request, agent_id: string) => unknown]>([
    [
      "the context of Next.js",
      (request, agent_id) => agent(request, { params: Promise.resolve({ agent_id }) }),
    ],
    ["the context of Next.js 14", (request, agent_id) => agent(request, { params: { agent_id } })],
    [
      "the request of Bun",
      (request, agent_id) => agent(Object.assign(request, { params: { agent_id } }), {}),
    ],
    [
      "the function `params`, which receives what the handler does",
      (request, id) =>
        withScopes(
          serverWith(),
          {
            route: "GET /api/agents/:agent_id",
            params: ({ url }: Request, agent_id: string) => ({ agent_id: agent_id + new URL(url).hash }),
          },
          (_request, _access, _id: string) => new Response("ran"),
        )(request, id),
    ],
  ])("are read from %s", async (_, call) => {
    const request = async () => requestOf("/teams/7", await bearer("agents:web:read"));
    expect(await outcomeOf(call(await request(), "web"))).toBe("ran");
    expect(await outcomeOf(call(await request(), "api"))).toBe("scope_insufficient");
  });

  it.each([
    undefined,
    {},
    { params: { id: "web" } },
    { params: Object.create({ agent_id: "web" }) as object },
    { params: { agent_id: 7 } },
    { params: { agent_id: ["web"] } },
    { params: null },
  ])("throws if the host reports %j", async (context) => {
    const request = requestOf("/api/agents/web", await bearer("agents:web:read"));
    expect(() => agent(request, context)).toThrow("Write withScopes(server, { route, params:");
  });

  it.each([
    ...["a/b", "..", ".", "a\\b", "a\0", "\ud800", "web/../api"].map((id) => [id, "request_ambiguous"]),
    ...["a?b", "a#b", "ä b", "a%2Fb", "a:b"].map((id) => [id, "ran"]),
  ])("stay one segment: %j is %s", async (agent_id, outcome) => {
    expect(await ask(agent, ["agents:read"], { agent_id })).toBe(outcome);
  });

  it.each([
    ["/api/agents/web", "agents:web:read", "api", "scope_insufficient"],
    ["/api/agents/a%2540b", "agents:a%40b:read", "a%40b", "ran"],
    ["/api/agents/a%2540b", "agents:a%40b:read", "a@b", "scope_insufficient"],
  ])("are read, and not the client's path: %s, %s, %s", async (path, scope, agent_id, outcome) => {
    expect(await ask(agent, [scope], { agent_id }, path)).toBe(outcome);
  });

  const docs = withScopes(serverWith(), { route: "GET /docs{/*path}" }, run);

  it.each([
    [["a", "b c"], ["docs:read"], "ran"],
    [["private", "x"], ["docs:read"], "scope_insufficient"],
    ["private/x", ["docs:read"], "scope_insufficient"],
    ["private/x", ["docs:private", "docs:read"], "ran"],
    [undefined, ["docs:read"], "ran"],
    ["", ["docs:read"], "ran"],
    [[], ["docs:read"], "ran"],
    [["private/x"], ["docs:read"], "request_ambiguous"],
    [["a", "..", "private"], ["docs:read"], "request_ambiguous"],
    ["a//b", ["docs:read"], "request_ambiguous"],
  ])("join the segments of a wildcard: %j with %j is %s", async (path, scopes, outcome) => {
    expect(await ask(docs, scopes, { path })).toBe(outcome);
  });

  it.each([[["a", 1]], [["a", undefined]], [{}], [7]])("throws for %j as a wildcard", async (path) => {
    await expect(ask(docs, ["docs:read"], { path })).rejects.toThrow("`path` as a string");
  });

  it("need a segment of `/*path`, and keep text next to a parameter", async () => {
    const needed = withScopes(serverWith(), { route: "GET /docs/*path" }, run);
    await expect(ask(needed, ["docs:read"], { path: [] })).rejects.toThrow("`/docs/*path`");
    const file = withScopes(serverWith(), { route: "GET /files/:name.json" }, run);
    expect(await ask(file, ["files:a:read"], { name: "a" })).toBe("ran");
    expect(await ask(file, ["files:a:read"], { name: "a.json" })).toBe("scope_insufficient");
  });
});

describe("a route that can't be used", () => {
  it.each<[route: unknown, hint: string, handler?: unknown]>([
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
    ["GET /agents", "Write only the path: the names", { GET: run }],
    ["/agents", "Write `GET`: methods are case-sensitive.", { get: run }],
  ])("%j: %s", (route, hint, handler = run) => {
    const wrap = () => withScopes(serverWith(), { route } as never, handler as never);
    expect(thrownBy(wrap).message).toContain(hint);
  });
});

describe("protect with a route that the host reports", () => {
  const guard = protect(serverWith());
  const decide = async (route: string, params?: object, path = "/teams/7", scopes?: readonly string[]) => {
    const request = requestOf(path, scopes && (await bearer(...scopes)));
    return outcomeOf(guard(request, { route, params: params as Record<string, string> }));
  };

  it.each([
    ...["/api/agents/:agent_id", "/(app)/api/agents/[agent_id]", "/api/agents/[agent_id=slug]"],
    ...["GET /api/agents/{agent_id}", "/api/[[lang]]/agents/[agent_id]"],
  ])("requires the rule of %s too", async (route) => {
    const params = { agent_id: "web" };
    expect(await decide(route, params)).toBe("credential_missing");
    expect(await decide(route, params, "/teams/7", ["agents:api:read"])).toBe("scope_insufficient");
    expect(await decide(route, params, "/teams/7", ["agents:web:read"])).toBe("ran");
    expect(await decide(route, params, "/elsewhere", ["agents:web:read"])).toBe("route_unmapped");
  });

  it.each([
    ["the stage of API Gateway", "/prod", "GET /stores/{store_id}"],
    ["the base of SvelteKit", "/shop", "/stores/[store_id]"],
  ])("requires a rule with and without %s, which only the URL has", async (_, prefix, route) => {
    const [outer, inner] = [`GET ${prefix}/stores/:store_id`, "GET /stores/:store_id"];
    const decideBy = async (keys: readonly string[]) => {
      const scopeMappings = Object.fromEntries(keys.map((key) => [key, ["stores:<store_id>:read"]]));
      const request = requestOf(`${prefix}/stores/oslo`, await bearer("stores:oslo:read"));
      const reported = { route, params: { store_id: "oslo" } };
      return outcomeOf(protect(createServer({ scopeMappings }))(request, reported));
    };
    expect(await decideBy([outer])).toBe("route_unmapped");
    expect(await decideBy([inner])).toBe("route_unmapped");
    expect(await decideBy([outer, inner])).toBe("ran");
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

  it.each([
    [{ route: "$default" }, "guard.route: isn't a route key."],
    [{}, "guard.route: isn't a route key."],
    ["/docs", "guard.route: isn't a route key."],
    [{ route: "MCP tools/call search" }, "guard.route: is an MCP operation."],
    [{ route: "/docs/:id" }, "guard(request, { route, params })"],
  ])("rejects %j: %s", async (reported, message) => {
    const request = requestOf("/teams", await bearer());
    await expect(guard(request, reported as never)).rejects.toThrow(message);
    expect(principalOf(request)).toBeUndefined();
  });

  it.each<[path: string, scopes: readonly string[] | undefined, outcome: string]>([
    ["/api/agents/web", undefined, "credential_missing"],
    ["/api/agents/web", ["agents:web:read"], "ran"],
    ["/api/agents/web/", ["agents:web:read"], "ran"],
    ["/docs", ["docs:read"], "ran"],
    ["/docs/private/x", ["docs:read"], "scope_insufficient"],
  ])("guards the route that h3 has found: %s with %j", async (path, scopes, outcome) => {
    const app = new H3();
    app.use(async ({ req, context: { matchedRoute, params } }, next) => {
      const access = await guard(
        req,
        matchedRoute?.route ? { route: matchedRoute.route, params } : undefined,
      );
      return "decision" in access ? next() : access;
    });
    app.get("/api/agents/:agent_id", () => "ran").get("/docs/**", () => "ran");
    expect(await outcomeOf(app.fetch(requestOf(path, scopes && (await bearer(...scopes)))))).toBe(outcome);
  });
});

describe("a request of the Fetch standard", () => {
  const server = createServer({
    scopeMappings: { "GET /agents": ["agents:read"], "GET /maybe": "optional" },
  });
  const reasonFor = async (target: string) => {
    const decision = await server.check({ method: "GET", target });
    return decision.allowed ? "allowed" : decision.reason;
  };

  it.each([
    ["http://127.0.0.1:3000/agents", "/agents", "credential_missing"],
    ["https://a/Agents/%61?next=a/b#part", "/Agents/%61?next=a/b#part", "request_ambiguous"],
    ["http://my_service:8080/agents?a://b/c", "/agents?a://b/c", "credential_missing"],
    ["http://[::1]/agents", "/agents", "credential_missing"],
    ["http://a/agents?/maybe", "/agents?/maybe", "credential_missing"],
    ["http://a/maybe\nagents", "/maybe\nagents", "request_ambiguous"],
    ["http://a/agents/../maybe", "/agents/../maybe", "request_ambiguous"],
    ["http://a/agents\\..\\maybe", "/agents\\..\\maybe", "request_ambiguous"],
    ["http://a//maybe", "//maybe", "request_ambiguous"],
    ["http://a/maybe?a#part", "/maybe?a#part", "request_ambiguous"],
    ["http:///maybe/agents", "", "request_ambiguous"],
    ["data:text/plain,/agents", "", "request_ambiguous"],
    ["/agents", "", "request_ambiguous"],
    ["http://host", "", "request_ambiguous"],
    // What Deno makes of the target `/maybe` and a Host with a path, a query, a fragment or a user.
    ["http://a\\agents?/maybe", "", "request_ambiguous"],
    ["http://a?/maybe", "", "request_ambiguous"],
    ["http://a#/maybe", "", "request_ambiguous"],
    ["http://a@b/maybe", "", "request_ambiguous"],
    ["http://a\t/maybe", "", "request_ambiguous"],
  ])("with the URL %j has the target %j: %s", async (url, target, reason) => {
    expect(targetOf(url)).toBe(target);
    expect(await reasonFor(target)).toBe(reason);
  });

  it.each([
    [["Bearer a.b.c", "Bearer a.b.c"]],
    [["Basic dXNlcjpwYXNz", "Bearer a.b.c"]],
    [["Bearer a.b.c", "Basic dXNlcjpwYXNz"]],
    [["Basic dXNlcjpwYXNz", "bearer"]],
    [['Digest username="a", realm="b"', "Bearer a.b.c"]],
    [["Basic dXNlcjpwYXNz", "Negotiate  abc"]],
    [["Basic dXNlcjpwYXNz", "Bearer\ta.b.c"]],
    [["", GOOD]],
    [["x", GOOD]],
  ])("is refused with the fields %j, even where no token is needed", async (fields) => {
    const headers = fields.map((field): [string, string] => ["authorization", field]);
    const request = new Request("http://127.0.0.1/maybe", { headers });
    expect(await server.check(readWebRequest(request, request))).toMatchObject({
      reason: "credential_malformed",
    });
  });

  it.each([
    'Digest username="a", realm="b", uri="/agents"',
    'Digest username="a",realm = "b"',
    "Signature keyId=a,algorithm=b",
  ])("is read with the one field %j of another scheme as one", async (authorization) => {
    const request = new Request("http://127.0.0.1/maybe", { headers: { authorization } });
    const seen = readWebRequest(request, request);
    expect(seen.authorization).toBe(authorization);
    expect(await server.check(seen)).toMatchObject({ allowed: true });
  });

  it("receives a response of its own, which code after the guard may change", async () => {
    const decision = await server.check({ method: "GET", target: "/agents" });
    if (decision.allowed) throw new Error("expected a refusal");
    const first = toResponse(server.refuse(decision));
    first.headers.set("cache-control", "public");
    expect(toResponse(server.refuse(decision)).headers.get("cache-control")).toBe("no-store");
  });
});
