import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { Conditions, ScopeMappings } from "scopegate";
import { explain } from "scopegate/explain";
import * as findRules from "../../../src/core/policy/find-rules.ts";
import { decideAnonymous } from "../../../src/core/policy/policy.ts";
import {
  addDeciding,
  divideRestrictions,
  joinRestrictions,
  lookUpOnce,
  UNRESTRICTED,
} from "../../../src/core/policy/restrictions.ts";
import { pipelineOf } from "../../../src/core/port.ts";

import { type Claims, decide, resultOf } from "../../support/conditions.ts";
import { PROPERTY, tableOf } from "../../support/policy.ts";
import { createServer, issuer, issuesOf, mistakesOf, NOW } from "../../support/resource-servers.ts";

const TENANT = { scopes: [], where: { org: { claim: "org_id" } } } as const;
const TENANT_OF_NOBODY = { scopes: [], actors: "none" } as const;
const WHERE = "caller_not_allowed where";
const ACME = { org_id: "acme" };

describe("the conditions of a rule", () => {
  const table: ScopeMappings = {
    "* /orgs/:org{/*path}": TENANT,
    "GET /orgs/:org": ["orgs:read"],
    "GET /orgs/:org/users/:user": ["users:read"],
    "POST /orgs/:org/users": { scopes: ["users:write"], actors: "none" },
    "GET /orgs/globex/status": ["status:read"],
  };
  const scopes = ["orgs:read", "users:read", "users:write", "status:read"];
  const resultAt = (route: string, claims: Claims) => resultOf(decide(table, route, claims, scopes));

  it.each([
    "GET /orgs/globex",
    "HEAD /orgs/globex",
    "DELETE /orgs/globex",
    "GET /orgs/globex/users/u1",
    "POST /orgs/globex/users",
    "GET /orgs/globex/status",
    "PATCH /orgs/globex/a/b/c",
  ])("hold at %s, whichever rule decides the scopes", (route) => {
    expect(resultAt(route, ACME)).toBe(WHERE);
    expect(resultAt(route, { org_id: "globex" })).toBe("allowed");
  });

  it("add up with those of the narrower rule", () => {
    const act = { sub: "agent-1" };
    expect(resultAt("POST /orgs/acme/users", { ...ACME, act })).toBe("caller_not_allowed actors");
    expect(resultAt("POST /orgs/globex/users", ACME)).toBe(WHERE);
    expect(resultAt("POST /orgs/acme/users", ACME)).toBe("allowed");
  });

  it("checks them after the scopes of all rules", () => {
    expect(resultOf(decide(table, "GET /orgs/globex", ACME, []))).toBe("scope_insufficient");
  });

  it("refuse 403 before 401", () => {
    const steps = { "GET /orgs/:org": { ...TENANT, acr: { anyOf: ["urn:mfa"] } } };
    expect(resultOf(decide(steps, "GET /orgs/globex", { ...ACME, sub: "u1" }))).toBe(WHERE);
    expect(resultOf(decide(steps, "GET /orgs/acme", { ...ACME, sub: "u1" }))).toBe(
      "authentication_insufficient acr",
    );
  });

  it("refuse 403 before 401, whichever rule has which condition", () => {
    const acr = { scopes: [], acr: { anyOf: ["urn:mfa"] } };
    const wide = "* /orgs/:org{/*path}";
    const tables = [
      { [wide]: acr, "GET /orgs/:org": TENANT },
      { [wide]: TENANT, "GET /orgs/:org": acr },
    ];
    for (const steps of tables) {
      const refused = decide(steps, "GET /orgs/globex", { ...ACME, sub: "u1" });
      expect(resultOf(refused)).toBe(WHERE);
      expect(refused).not.toHaveProperty("acrValues");
      expect(refused).not.toHaveProperty("maxAgeSeconds");
    }
  });

  it("report a missing proof as such, whether the caller is a user or a client", () => {
    const server = createServer({
      senderConstraint: { dpop: { origins: ["https://api.example"] } },
      scopeMappings: { "GET /a": { scopes: [], senderConstrained: true, acr: { anyOf: ["urn:mfa"] } } },
    });
    for (const claims of [{ sub: "u1" }, { sub: "c1", client_id: "c1" }, {}])
      expect(resultOf(explain(server, { method: "GET", path: "/a", scopes: [], claims }).decision)).toBe(
        "proof_missing senderConstrained",
      );
  });

  it("applies to the admin scope", () => {
    expect(resultOf(decide(table, "GET /orgs/globex", ACME, ["platform:admin"]))).toBe(WHERE);
  });

  it("lists them in the rules of the decision, which names the rule that refuses", () => {
    const decision = decide(table, "GET /orgs/globex", ACME, scopes);
    expect(decision.rules.map(({ key }) => key)).toEqual(["GET /orgs/:org", "* /orgs/:org{/*path}"]);
    expect(decision.rule?.key).toBe("* /orgs/:org{/*path}");
    expect(decision.rule?.conditions).toEqual({ where: TENANT.where });
  });

  it("never reach the client", () => {
    const server = createServer({ scopeMappings: table });
    const { decision } = explain(server, { method: "GET", path: "/orgs/globex", scopes, claims: ACME });
    if (decision.allowed) throw new Error("The request is allowed.");
    const { status, headers, body } = server.refuse(decision);
    expect(status).toBe(403);
    expect(headers).not.toHaveProperty("WWW-Authenticate");
    expect(JSON.stringify(body)).not.toMatch(/org|acme|globex|where/);
  });

  it("hold for the rules of the base table", () => {
    const server = createServer({
      defaultScopeMappings: { "* /orgs/:org{/*path}": TENANT },
      scopeMappings: { "GET /orgs/:org/logo": [] },
    });
    const query = { method: "GET", path: "/orgs/globex/logo", scopes: [], claims: ACME };
    expect(resultOf(explain(server, query).decision)).toBe(WHERE);
  });

  it("rejects a rule for the same route that drops them without `override`", () => {
    const defaultScopeMappings = { "* /orgs/:org{/*path}": TENANT };
    const options = { serviceId: "a", verificationKeys: [issuer.publicPem], defaultScopeMappings };
    const key = "* /orgs/:id{/*path}";
    expect(issuesOf({ ...options, scopeMappings: { [key]: ["orgs:read"] } })).toMatchObject([
      { code: "override_weaker", path: ["scopeMappings", key] },
    ]);
    const server = createServer({ ...options, scopeMappings: { [key]: { override: ["orgs:read"] } } });
    expect(server.routes.map(({ conditions }) => conditions)).toEqual([undefined]);
  });

  it.each<[string, Conditions, Conditions, boolean]>([
    ["a shorter age", { maxAuthAgeSeconds: 300 }, { maxAuthAgeSeconds: 60 }, true],
    ["a longer age", { maxAuthAgeSeconds: 60 }, { maxAuthAgeSeconds: 300 }, false],
    ["a further condition", { actors: "none" }, { actors: "none", clients: ["a"] }, true],
    ["another condition", { actors: "none" }, { clients: ["a"] }, false],
    ["a new exception by scopes", { actors: "none" }, { actors: "none", unless: ["a:b"] }, false],
    ["a dropped exception by scopes", { actors: "none", unless: ["a:b"] }, { actors: "none" }, true],
    ["another parameter", { where: { a: { claim: "c" } } }, { where: { b: { claim: "c" } } }, false],
  ])("of the base table can be replaced by %s without `override`, or not", (_, base, custom, isAllowed) => {
    const create = (key: string) => () =>
      createServer({
        defaultScopeMappings: { "GET /o/:a/:b": { scopes: [], ...base } },
        scopeMappings: { [key]: { scopes: [], ...custom } },
      });
    if (isAllowed) expect(create("GET /o/:a/:b")).not.toThrow();
    else expect(mistakesOf(create("GET /o/:a/:b"))).toMatchObject([{ 0: "override_weaker" }]);
  });

  it("of the base table follow a parameter that is renamed, and not its name", () => {
    const where = (name: string) => ({ scopes: [], where: { [name]: { claim: "c" } } });
    const defaultScopeMappings = { "GET /o/:a/:b": where("a") };
    expect(() =>
      createServer({ defaultScopeMappings, scopeMappings: { "GET /o/:x/:y": where("x") } }),
    ).not.toThrow();
    expect(
      mistakesOf(() => createServer({ defaultScopeMappings, scopeMappings: { "GET /o/:b/:a": where("a") } })),
    ).toMatchObject([{ 0: "override_weaker" }]);
  });

  it("checks them for a token that is remembered, by the clock of each request", async () => {
    let now = NOW;
    const server = createServer({
      now: () => now * 1000,
      scopeMappings: { "GET /x": { scopes: [], maxAuthAgeSeconds: 60 } },
    });
    const claims = { aud: "agents-prod", scopes: [], sub: "u1", exp: NOW + 3600, auth_time: NOW };
    const authorization = `Bearer ${await issuer.token(claims)}`;
    const results: string[] = [];
    for (now of [NOW, NOW + 60, NOW + 60.5, NOW + 61])
      results.push(resultOf(await server.check({ method: "GET", target: "/x", authorization })));
    const refused = "authentication_insufficient maxAuthAgeSeconds";
    expect(results).toEqual(["allowed", "allowed", refused, refused]);
    expect(server.health().cache?.entries).toBe(1);
  });
});

describe("the spelling of a path", () => {
  const table: ScopeMappings = {
    "* /orgs/:org{/*path}": TENANT,
    "GET /orgs/:org/users": [],
    "GET /teams/:org/members": { scopes: [], where: { org: { claim: "team" } } },
  };
  const server = createServer({ scopeMappings: table });

  const verdictOf = async (target: string, patterns: readonly string[], claims: Claims) => {
    const { pipeline, authorization } = await signedFor(claims);
    const verdict = await pipeline.decide({ method: "GET", target, authorization }, true);
    if (!verdict.isAllowed) return resultOf(verdict.decision());
    const atRoute = await pipeline.decideRoute(verdict, { method: "GET", target, patterns });
    return resultOf(atRoute.decision());
  };
  const signedFor = async (claims: Claims) => {
    const token = await issuer.token({ aud: "agents-prod", scopes: [], sub: "u1", exp: NOW + 60, ...claims });
    return { pipeline: pipelineOf(server), authorization: `Bearer ${token}` };
  };

  it.each(["/ORGS/globex/users", "/orgs/globex/Users", "/orgs/globex/users/", "/%6Frgs/globex/users"])(
    "makes no difference for conditions: %s",
    async (target) => {
      expect(await verdictOf(target, ["/orgs/:org/users"], ACME)).toMatch(/where|ambiguous/);
      expect(await verdictOf(target, ["/orgs/:org/users"], { org_id: "globex" })).toMatch(
        /allowed|ambiguous/,
      );
    },
  );

  it("adds the conditions of an empty last segment, which some routers match", async () => {
    const strict = createServer({
      scopeMappings: {
        "GET /a/:x": [],
        "GET /a/:x/:org": { scopes: [], where: { org: { claim: "org_id" } } },
      },
    });
    const token = await issuer.token({ aud: "agents-prod", scopes: [], exp: NOW + 60, ...ACME });
    const request = { method: "GET", target: "/a/b/", authorization: `Bearer ${token}` };
    const decision = await strict.check({ ...request, matchedPattern: "/a/:x/:org" });
    expect(resultOf(decision)).toBe(WHERE);
  });
});

describe("a batch of tRPC", () => {
  it("needs the conditions of each of its procedures", async () => {
    const server = createServer({
      scopeMappings: { "* /trpc{/*path}": [], "GET /trpc/b": { scopes: [], actors: "none" } },
    });
    const authorization = `Bearer ${await issuer.token({ aud: "agents-prod", scopes: [], act: { sub: "x" } })}`;
    const resultAt = async (target: string) =>
      resultOf(await server.check({ method: "GET", target, authorization }));
    expect(await resultAt("/trpc/a,c?batch=1")).toBe("allowed");
    expect(await resultAt("/trpc/a,b?batch=1")).toBe("caller_not_allowed actors");
  });

  it("needs those of a procedure that the adapter adds, even if it adds no rule", () => {
    const { table } = pipelineOf(
      createServer({
        scopeMappings: { "* /trpc{/*path}": [], "* /:svc/b": { scopes: [], clients: ["c1"] } },
      }),
    );
    const path = table.forTarget("GET", "/trpc/x/b", true);
    expect(path.restrictions().active).toEqual([]);
    expect(table.forOperations(path, "GET", ["/trpc/b"]).restrictions().active).toHaveLength(1);
    expect(table.forOperations(path, "GET", ["/trpc/c"])).toBe(path);
  });

  it("allows several tenants of the caller, one in each procedure", async () => {
    const where = { org: { claim: "orgs" } };
    const server = createServer({ scopeMappings: { "GET /trpc/:org": { scopes: [], where } } });
    const authorization = `Bearer ${await issuer.token({ aud: "agents-prod", scopes: [], orgs: ["a", "b", "a,b"] })}`;
    const request = { method: "GET", target: "/trpc/a,b?batch=1", authorization };
    expect(resultOf(await server.check(request))).toBe("allowed");
  });
});

describe("a request without a token", () => {
  it("refuses it if conditions hold for it, even if each rule is public", () => {
    const server = createServer({ scopeMappings: { "GET /a": "public", "GET /b": TENANT_OF_NOBODY } });
    const { table } = pipelineOf(server);
    const restrictions = table.forTarget("GET", "/b", false).restrictions;
    const open = table.forTarget("GET", "/a", false);
    expect(decideAnonymous(open).allowed).toBe(true);
    expect(decideAnonymous({ ...open, restrictions })).toMatchObject({ reason: "credential_missing" });
  });
});

describe("the search for conditions", () => {
  const server = createServer({
    scopeMappings: { "GET /public": "public", "GET /optional": "optional", "GET /closed": [] },
  });
  const valid = issuer.token({ aud: "agents-prod", scopes: [], exp: NOW + 60 });

  it.each([
    ["/public", "none", 1],
    ["/public", "invalid", 1],
    ["/optional", "none", 1],
    ["/optional", "invalid", 0],
    ["/optional", "valid", 1],
    ["/closed", "none", 0],
    ["/closed", "invalid", 0],
    ["/closed", "valid", 1],
  ])("runs only if they can decide, and once: %s, token: %s", async (target, token, searches) => {
    const pipeline = pipelineOf(server);
    const credential = { none: undefined, invalid: "Bearer a.b.c", valid: `Bearer ${await valid}` }[token];
    const request = { method: "GET", target, ...(credential && { authorization: credential }) };
    const search = vi.fn(UNRESTRICTED);
    const restrictions = lookUpOnce(search);
    const governing = { ...pipeline.policy.find(request, true), restrictions };
    const verdict = { ...(await pipeline.decide({ method: "GET", target: "/public" }, true)), request };
    (await pipeline.decideAgain(verdict, governing, request)).decision();
    expect(search).toHaveBeenCalledTimes(searches);
  });

  it("waits for the decision, whatever paths, routes and operations are joined", () => {
    const { table } = pipelineOf(
      createServer({
        scopeMappings: {
          "* /{*path}": { ...TENANT_OF_NOBODY, except: ["GET /trpc/:name"] },
          "GET /trpc/:name": [],
        },
      }),
    );
    const search = vi.spyOn(findRules, "collectMatching");
    const batch = table.forTarget("GET", "/trpc/a,b,c?batch=1", true);
    const routed = table.forRoute(batch, "GET", ["/trpc/:other", "/:first/:second"]);
    expect(search).not.toHaveBeenCalled();
    expect(routed.restrictions().active.length).toBeGreaterThan(0);
    const searches = search.mock.calls.length;
    expect(searches).toBeGreaterThan(0);
    expect(routed.restrictions().exempt).toHaveLength(4);
    expect(search).toHaveBeenCalledTimes(searches);
  });

  it("waits for a valid token, also to compare what the handler of a matched route receives", async () => {
    const tenant = { scopes: [], where: { org: { claim: "org" } } };
    const pipeline = pipelineOf(createServer({ scopeMappings: { "GET /orgs/:org": tenant } }));
    const search = vi.spyOn(findRules, "collectMatching");
    const token = await issuer.token({ aud: "agents-prod", scopes: [], org: "a+b", exp: NOW + 60 });
    const decide = async (authorization: string | undefined, org: string) => {
      const route = { matchedPattern: "/orgs/:org", params: { org } };
      const request = { method: "GET", target: "/orgs/a+b", ...route };
      const verdict = await pipeline.decide(authorization ? { ...request, authorization } : request, false);
      return resultOf(verdict.decision());
    };
    search.mockClear();
    expect(await decide(undefined, "a b")).toContain("credential_missing");
    expect(await decide("Bearer a.b.c", "a b")).toContain("token_rejected");
    expect(search).not.toHaveBeenCalled();
    expect(await decide(`Bearer ${token}`, "a b")).toContain("request_ambiguous");
    expect(await decide(`Bearer ${token}`, "a+b")).toBe("allowed");
    search.mockRestore();
  });
});

describe("`except`", () => {
  const table: ScopeMappings = {
    "* /orgs/:org{/*path}": { ...TENANT, except: ["GET /orgs/:org/logo", "GET /orgs/:org/about"] },
    "GET /orgs/:org/logo": "public",
    "GET /orgs/:org/about": ["about:read"],
    "GET /orgs/:org/:page": [],
  };

  it("exempts a rule, with a token and without one", () => {
    const server = createServer({ scopeMappings: table });
    expect(explain(server, { method: "GET", path: "/orgs/globex/logo" }).decision.allowed).toBe(true);
    expect(resultOf(decide(table, "GET /orgs/globex/about", ACME, ["about:read"]))).toBe("allowed");
    expect(resultOf(decide(table, "GET /orgs/globex/other", ACME))).toBe(WHERE);
  });

  it("does not exempt a request whose route has another rule", async () => {
    const server = createServer({ scopeMappings: table });
    const token = await issuer.token({ aud: "agents-prod", scopes: ["about:read"], exp: NOW + 60, ...ACME });
    const request = { method: "GET", target: "/orgs/globex/about", authorization: `Bearer ${token}` };
    expect(resultOf(await server.check({ ...request, matchedPattern: "/orgs/:org/about" }))).toBe("allowed");
    expect(resultOf(await server.check({ ...request, matchedPattern: "/orgs/:org/:page" }))).toBe(WHERE);
  });

  it("does not exempt a spelling that routers may read as the path of another rule", async () => {
    const server = createServer({ scopeMappings: table });
    const token = await issuer.token({ aud: "agents-prod", scopes: ["about:read"], exp: NOW + 60, ...ACME });
    const request = { method: "GET", target: "/orgs/globex/About", authorization: `Bearer ${token}` };
    expect(resultOf(await server.check({ ...request, matchedPattern: "/orgs/:org/about" }))).toBe(WHERE);
  });

  it("keeps its effect if a rule of the same route replaces the exempt one", () => {
    const server = createServer({
      defaultScopeMappings: table,
      scopeMappings: { "GET /orgs/:name/about": ["about:read", "about:list"] },
    });
    const scopes = ["about:read", "about:list"];
    const query = { method: "GET", path: "/orgs/globex/about", scopes, claims: ACME };
    expect(resultOf(explain(server, query).decision)).toBe("allowed");
  });

  it("does not exempt a report-only rule, without which another one decides", () => {
    const reported: ScopeMappings = {
      "* /orgs/:org{/*path}": { ...TENANT, except: ["GET /orgs/:org/about"] },
      "GET /orgs/:org/about": { report: ["about:read"] },
    };
    expect(resultOf(decide(reported, "GET /orgs/globex/about", ACME, ["about:read"]))).toBe(WHERE);
  });

  it("exempts single operations", () => {
    const operations: ScopeMappings = {
      "MCP tools/call *": { ...TENANT, except: ["MCP tools/call ping"] },
      "MCP tools/call ping": [],
      "MCP tools/call search": [],
    };
    expect(resultOf(decide(operations, "MCP tools/call", ACME))).toBe("request_ambiguous");
    const server = createServer({ scopeMappings: operations });
    const call = (path: string) =>
      resultOf(explain(server, { method: "MCP", path, scopes: [], claims: ACME }).decision);
    expect(["tools/call ping", "tools/call search", "tools/call other"].map(call)).toEqual([
      "allowed",
      WHERE,
      WHERE,
    ]);
  });

  it("accepts another spelling of the route", () => {
    const scopeMappings: ScopeMappings = {
      "* /orgs/:org{/*path}": { ...TENANT, except: ["GET /Orgs/:name/Logo"] },
      "GET /orgs/:org/logo": "public",
    };
    const server = createServer({ scopeMappings });
    expect(explain(server, { method: "GET", path: "/orgs/a/logo" }).decision.allowed).toBe(true);
  });

  it.each([
    ["GET /orgs/:org/lgo", "exception_unknown"],
    ["* /orgs/:org{/*path}", "exception_unknown"],
    ["GET /health", "exception_unknown"],
  ])("rejects the key %s", (key, code) => {
    const scopeMappings = {
      "* /orgs/:org{/*path}": { ...TENANT, except: [key] },
      "GET /health": "public",
      "GET /orgs/:org/logo": [],
    };
    expect(mistakesOf(() => createServer({ scopeMappings: scopeMappings as ScopeMappings }))).toEqual([
      [code, "scopeMappings", "* /orgs/:org{/*path}", "except", 0],
    ]);
  });
});

describe("the restrictions of the parts of a request", () => {
  const table = tableOf({
    "MCP tools/call *": { scopes: [], actors: "none", except: ["MCP tools/call ping"] },
    "MCP tools/call ping": [],
    "MCP tools/call pong": [],
    "MCP tools/list": [],
  });
  const [ping, pong] = ["ping", "pong"].map((name) => {
    const { restrictions, matches } = table.forOperation({ method: "tools/call", name, parameters: {} });
    return { restrictions, matches };
  });
  const countsOf = (restrictions = UNRESTRICTED) => [
    restrictions().active.length,
    restrictions().exempt.length,
  ];

  it("applies them unless the rule that decides is an exception", () => {
    expect(countsOf(ping?.restrictions)).toEqual([0, 1]);
    expect(countsOf(pong?.restrictions)).toEqual([1, 0]);
    const all = pong?.restrictions().active ?? [];
    expect(countsOf(() => divideRestrictions(all, []))).toEqual([1, 0]);
    expect(countsOf(() => divideRestrictions(all, ping?.matches ?? []))).toEqual([0, 1]);
    expect(divideRestrictions([], pong?.matches ?? [])).toBe(UNRESTRICTED());
  });

  it("add up", () => {
    if (!ping || !pong) throw new Error("An operation has no rule.");
    expect(countsOf(joinRestrictions([ping.restrictions, pong.restrictions]))).toEqual([1, 1]);
    expect(countsOf(joinRestrictions([pong.restrictions, pong.restrictions]))).toEqual([1, 0]);
    expect(countsOf(joinRestrictions([UNRESTRICTED, ping.restrictions]))).toEqual([0, 1]);
    expect(joinRestrictions([UNRESTRICTED, UNRESTRICTED])).toBe(UNRESTRICTED);
  });

  it("become active if a rule that is no exception decides as well", () => {
    if (!ping || !pong) throw new Error("An operation has no rule.");
    expect(countsOf(addDeciding(ping.restrictions, pong.matches))).toEqual([1, 0]);
    expect(countsOf(addDeciding(ping.restrictions, ping.matches))).toEqual([0, 1]);
    expect(addDeciding(ping.restrictions, [])).toBe(ping.restrictions);
    expect(countsOf(addDeciding(pong.restrictions, ping.matches))).toEqual([1, 0]);
    expect(addDeciding(UNRESTRICTED, pong.matches)).toBe(UNRESTRICTED);
  });
});

describe("a public or optional rule below conditions", () => {
  it.each(["public", "optional"] as const)("rejects it without `except`: %s", (value) => {
    const scopeMappings = { "* /orgs/:org{/*path}": TENANT, "GET /orgs/:org/logo": value };
    expect(mistakesOf(() => createServer({ scopeMappings }))).toEqual([
      ["exception_missing", "scopeMappings", "GET /orgs/:org/logo"],
    ]);
  });

  it.each([
    ["at the same path", { "* /orgs/:org": TENANT, "GET /orgs/:org": "public" }],
    ["with a static segment", { "* /orgs/:org": TENANT, "GET /orgs/acme": "public" }],
  ])("rejects it %s", (_, scopeMappings) => {
    expect(mistakesOf(() => createServer({ scopeMappings: scopeMappings as ScopeMappings }))).toMatchObject([
      { 0: "exception_missing" },
    ]);
  });

  it("rejects it for an operation of MCP, too", () => {
    const scopeMappings: ScopeMappings = {
      "MCP tools/call *": { scopes: [], actors: "none" },
      "MCP tools/call ping": "public",
    };
    expect(mistakesOf(() => createServer({ scopeMappings }))).toEqual([
      ["exception_missing", "scopeMappings", "MCP tools/call ping"],
    ]);
  });

  it.each<ScopeMappings>([
    { "GET /*path": "public", "GET /*path/edit": { scopes: [], actors: "none" } },
    { "MCP tools/call *": "public", "MCP tools/call delete": { scopes: [], actors: "none" } },
    { "* /a": "public", "GET /a": { scopes: [], actors: "none" } },
  ])("allows it if the rule with the conditions decides: %j", (scopeMappings) => {
    expect(() => createServer({ scopeMappings })).not.toThrow();
  });

  it("allows it above them", () => {
    const scopeMappings: ScopeMappings = { "GET /{*path}": "public", "* /api/orgs/:org{/*path}": TENANT };
    const server = createServer({ scopeMappings });
    expect(explain(server, { method: "GET", path: "/index.html" }).decision.allowed).toBe(true);
    expect(resultOf(explain(server, { method: "GET", path: "/api/orgs/acme" }).decision)).toBe(
      "credential_missing",
    );
  });
});

describe("`unless`", () => {
  const crossing = (unless: readonly string[], scopes: readonly string[], options: object = {}) =>
    resultOf(
      explain(createServer({ scopeMappings: { "GET /orgs/:org": { ...TENANT, unless } }, ...options }), {
        method: "GET",
        path: "/orgs/globex",
        scopes,
        claims: ACME,
      }).decision,
    );

  it("lets a caller with all of its scopes cross the conditions", () => {
    expect(crossing(["orgs:any"], ["orgs:any"])).toBe("allowed");
    expect(crossing(["orgs:any", "support:on"], ["orgs:any"])).toBe(WHERE);
    expect(crossing(["orgs:any"], ["orgs:read"])).toBe(WHERE);
  });

  it("counts implied and resource-wide grants", () => {
    const impliedScopes = { "support:work": ["orgs:any"] };
    expect(crossing(["orgs:any"], ["support:work"], { impliedScopes })).toBe("allowed");
    expect(crossing(["orgs:<org>:cross"], ["orgs:cross"])).toBe("allowed");
    expect(crossing(["orgs:<org>:cross"], ["orgs:globex:cross"])).toBe("allowed");
    expect(crossing(["orgs:<org>:cross"], ["orgs:acme:cross"])).toBe(WHERE);
  });

  it("counts the admin scope only where it is named", () => {
    expect(crossing(["orgs:any"], ["platform:admin"])).toBe(WHERE);
    expect(crossing(["platform:admin"], ["platform:admin"])).toBe("allowed");
  });

  it("crosses only the conditions of its own rule", () => {
    const table: ScopeMappings = {
      "* /orgs/:org{/*path}": TENANT,
      "GET /orgs/:org/users": { ...TENANT, unless: ["orgs:any"] },
    };
    expect(resultOf(decide(table, "GET /orgs/globex/users", ACME, ["orgs:any"]))).toBe(WHERE);
  });

  it.each([
    [{ unless: ["orgs:any"] }, "has no effect without a condition"],
    [{ except: ["GET /orgs/:org/x"] }, "has no effect without a condition"],
    [{ ...TENANT, unless: [] }, "isn't an array of scopes"],
    [{ ...TENANT, unless: "orgs:any" }, "isn't an array of scopes"],
    [{ ...TENANT, unless: ["a b"] }, "no token can be granted"],
    [{ ...TENANT, except: [] }, "isn't an array of keys"],
    [{ ...TENANT, except: ["/orgs"] }, "which isn't a route key"],
  ])("rejects %j", (conditions, text) => {
    const scopeMappings = { "GET /orgs/:org": { scopes: [], ...conditions } };
    const issues = issuesOf({ serviceId: "a", verificationKeys: [issuer.publicPem], scopeMappings });
    expect(issues.map(({ message }) => message).join()).toContain(text);
  });
});

describe("conditions that are only reported", () => {
  it("let a request pass, and the decision says so", () => {
    const table: ScopeMappings = { "GET /orgs/:org": { report: TENANT } };
    const decision = decide(table, "GET /orgs/globex", ACME);
    expect(resultOf(decision)).toBe("reported caller_not_allowed");
    expect(resultOf(decide(table, "GET /orgs/acme", ACME))).toBe("allowed");
  });

  it("leave what is written next to `report` enforced", () => {
    const table: ScopeMappings = {
      "GET /orgs/:org": { ...TENANT, report: { scopes: ["orgs:read"], actors: "none" } },
    };
    expect(resultOf(decide(table, "GET /orgs/globex", ACME))).toBe(WHERE);
    expect(resultOf(decide(table, "GET /orgs/acme", ACME))).toBe("reported scope_insufficient");
    const delegated = { ...ACME, act: { sub: "agent-1" } };
    expect(resultOf(decide(table, "GET /orgs/acme", delegated, ["orgs:read"]))).toBe(
      "reported caller_not_allowed",
    );
  });

  it.each([
    ["a part of a rule", { "* /a{/*path}": { scopes: [], clients: ["c1"] } }],
    ["one of its optional paths", { "GET /a{/:id}": { scopes: [], clients: ["c1"] } }],
  ])("leave the conditions of the base table enforced if they replace %s", (_, defaultScopeMappings) => {
    const scopeMappings: ScopeMappings = { "GET /a": { report: ["x:y"] } };
    const custom: ScopeMappings =
      "* /a{/*path}" in defaultScopeMappings ? { "* /a": { report: ["x:y"] } } : scopeMappings;
    const server = createServer({
      defaultScopeMappings: defaultScopeMappings,
      scopeMappings: custom,
    });
    const query = { method: "GET", path: "/a", scopes: ["x:y"] };
    expect(resultOf(explain(server, { ...query, claims: { client_id: "c2" } }).decision)).toBe(
      "caller_not_allowed clients",
    );
    const allowed = explain(server, { ...query, claims: { client_id: "c1" } }).decision;
    expect(resultOf(allowed)).toBe("allowed");
    expect(new Set(allowed.rules.map(({ key }) => key)).size).toBe(allowed.rules.length);
  });

  it("may name another `acr` than what is written next to `report`, and count with its parameters", () => {
    const acr = (value: string) => ({ scopes: [], acr: { anyOf: [value] } });
    const scopeMappings: ScopeMappings = { "GET /a": { ...acr("low"), report: acr("high") } };
    expect(() => createServer({ scopeMappings })).not.toThrow();
    const where = (name: string) => ({ scopes: [], where: { [name]: { claim: name } } });
    const table: ScopeMappings = { "GET /:a/:b": { ...where("a"), report: where("b") } };
    const claims = { a: ["x", "y"], b: ["x", "y"] };
    expect(resultOf(decide(table, "GET /x/y", claims))).toBe("reported caller_not_allowed");
  });

  it("leave the conditions of the replaced rule enforced", () => {
    const server = createServer({
      defaultScopeMappings: { "GET /orgs/:org": TENANT },
      scopeMappings: { "GET /orgs/:org": { report: ["orgs:read"] } },
    });
    const query = { method: "GET", path: "/orgs/globex", scopes: ["orgs:read"], claims: ACME };
    expect(resultOf(explain(server, query).decision)).toBe(WHERE);
  });

  it("are all conditions of a server that only reports, but never a missing token", () => {
    const server = createServer({ enforcement: "report", scopeMappings: { "GET /orgs/:org": TENANT } });
    const query = { method: "GET", path: "/orgs/globex" };
    expect(resultOf(explain(server, { ...query, scopes: [], claims: ACME }).decision)).toBe(
      "reported caller_not_allowed",
    );
    expect(resultOf(explain(server, query).decision)).toBe("credential_missing");
  });
});

describe("conditions that cannot take effect", () => {
  const rejected = (options: object) =>
    issuesOf({ serviceId: "a", verificationKeys: [issuer.publicPem], ...options }).map(
      ({ code, path }) => `${code} ${path.join(" ")}`,
    );

  it("rejects them with `authorization: false`", () => {
    expect(rejected({ authorization: false, scopeMappings: { "GET /orgs/:org": TENANT } })).toEqual([
      "option_conflict scopeMappings GET /orgs/:org",
    ]);
  });

  it("rejects two rules that apply to one request and share no `acr`", () => {
    const scopeMappings = {
      "* /pay{/*path}": { scopes: [], acr: { anyOf: ["urn:a"] } },
      "POST /pay/refunds": { scopes: [], acr: { anyOf: ["urn:b"] } },
      "POST /other": { scopes: [], acr: { anyOf: ["urn:c"] } },
    };
    expect(rejected({ scopeMappings })).toEqual(["condition_conflict scopeMappings * /pay{/*path} acr"]);
  });

  it("rejects them without the issuer of a claim, if there are several", () => {
    const issuers = ["https://a.test", "https://b.test"].map((name) => ({
      issuer: name,
      keys: { verificationKeys: [issuer.publicPem] },
      algorithms: ["RS256"],
    }));
    const options = { serviceId: "a", issuers, verificationKeys: undefined };
    const table = (source: object) => ({
      scopeMappings: { "GET /orgs/:org": { scopes: [], where: { org: source } } },
    });
    const place = "condition_conflict scopeMappings GET /orgs/:org where org";
    expect(rejected({ ...options, ...table({ claim: "org_id" }) })).toEqual([place]);
    expect(rejected({ ...options, ...table({ claim: "org_id", issuer: "https://c.test" }) })).toEqual([
      place,
    ]);
  });

  it.each(["public", "optional"] as const)("rejects them for %s", (value) => {
    expect(rejected({ scopeMappings: { "GET /x": { [value]: true, actors: "none" } } })).toEqual([
      "requirement_invalid scopeMappings GET /x",
    ]);
  });
});

describe("a table with conditions", () => {
  const patterns = ["/:a", "/:a/:b", "/x", "/x/:b", "/:a/y", "/*path", "/:a/*path", "/x/*path", "/x/y"];
  const methods = ["GET", "POST", "*"];
  const values = ["x", "y", "z"];
  const keys = methods.flatMap((method) => patterns.map((pattern) => `${method} ${pattern}`));
  const claim = fc.oneof(fc.constantFrom(...values), fc.subarray(values));
  const conditionsFor = (key: string) =>
    fc.record(
      {
        where: fc.constantFrom(
          ...(key.includes(":a") ? [{ a: { claim: "p" } }] : []),
          ...(key.includes(":b") ? [{ b: { claim: "q" } }] : []),
          undefined,
        ),
        actors: fc.constantFrom("none" as const, { anyOf: ["agent"], direct: true }, { anyOf: ["agent"] }),
        clients: fc.constant(["app"]),
        unless: fc.constant(["cross:all"]),
      },
      { requiredKeys: [] },
    );

  const tables = fc
    .uniqueArray(fc.constantFrom(...keys), { minLength: 1, maxLength: 6 })
    .chain((chosen) =>
      fc.tuple(
        ...chosen.map((key) =>
          fc.tuple(
            fc.constant(key),
            conditionsFor(key),
            fc.subarray(chosen.filter((other) => other !== key)),
          ),
        ),
      ),
    );

  it("allows exactly what every rule that matches allows", () => {
    let allowed = 0;
    let refused = 0;
    fc.assert(
      fc.property(
        tables,
        fc.constantFrom("GET", "POST", "HEAD"),
        fc.array(fc.constantFrom(...values), { minLength: 1, maxLength: 3 }),
        fc.record({ p: claim, q: claim, client_id: fc.constantFrom("app", "other") }),
        fc.constantFrom(undefined, { sub: "agent" }, { sub: "other" }),
        fc.boolean(),
        (rules, method, segments, claims, act, mayCross) => {
          const written = Object.fromEntries(
            rules.map(([key, conditions, except]) => [key, { conditions, except }]),
          );
          const table = Object.fromEntries(
            rules.map(([key, { where, ...others }, except]) => {
              const own = { ...(where && { where }), ...others };
              const isConditioned = "where" in own || "actors" in own || "clients" in own;
              const { unless, ...withoutUnless } = own;
              const entry = isConditioned
                ? {
                    scopes: [],
                    ...withoutUnless,
                    ...(unless && { unless }),
                    ...(except.length > 0 && { except }),
                  }
                : [];
              return [key, entry];
            }),
          ) as ScopeMappings;
          const path = `/${segments.join("/")}`;
          const server = createWithoutUselessExceptions(table);
          const scopes = mayCross ? ["cross:all"] : [];
          const fullClaims = { ...claims, ...(act && { act }) };
          const { decision } = explain(server, { method, path, scopes, claims: fullClaims });
          const deciding = explain(
            createServer({
              scopeMappings: Object.fromEntries(Object.keys(table).map((key) => [key, []])),
            }),
            { method, path, scopes: [] },
          ).decision;
          const matching = server.routes.filter(({ key }) => matches(key, method, segments));
          const held = matching.filter(
            ({ conditions }) =>
              conditions &&
              !conditions.except?.includes(deciding.rule?.key ?? "") &&
              !(conditions.unless && mayCross),
          );
          const isAllowed =
            deciding.allowed &&
            held.every(({ key, conditions = {} }) => holds(key, conditions, segments, fullClaims)) &&
            countSeveral(held, segments, fullClaims) < 2;
          expect(decision.allowed, JSON.stringify({ table, method, path, fullClaims, written })).toBe(
            isAllowed,
          );
          if (isAllowed) allowed += 1;
          else refused += 1;
        },
      ),
      { ...PROPERTY, numRuns: 500 },
    );
    expect(Math.min(allowed, refused)).toBeGreaterThan(50);
  });
});

/** Drops exceptions that decide nothing below their rule, which are errors. */
function createWithoutUselessExceptions(table: ScopeMappings) {
  const remaining = { ...table };
  for (;;) {
    try {
      return createServer({ scopeMappings: remaining });
    } catch (error) {
      const { issues } = error as {
        issues?: readonly { code: string; path: readonly (string | number)[] }[];
      };
      const useless = issues?.find(({ code }) => code === "exception_unknown");
      if (!useless) throw error;
      const [, key = "", , index] = useless.path;
      const entry = remaining[key] as Conditions;
      const except = (entry.except ?? []).filter((_, position) => position !== index);
      const { except: _, ...others } = entry;
      remaining[key] = (except.length > 0 ? { ...others, except } : others) as never;
    }
  }
}

function matches(key: string, method: string, segments: readonly string[]): boolean {
  const [ruleMethod, pattern = ""] = key.split(" ");
  const isMethod = [method, "*"].includes(ruleMethod ?? "") || (method === "HEAD" && ruleMethod === "GET");
  const source = pattern.replace("*path", ".+").replaceAll(/:\w/g, "[^/]+");
  return isMethod && new RegExp(`^${source}$`).test(`/${segments.join("/")}`);
}

const valueAt = (name: string, key: string, segments: readonly string[]): string | undefined =>
  segments[
    key
      .replace(/^\S+ \//, "")
      .replace(/\{.*/, "")
      .split("/")
      .indexOf(`:${name}`)
  ];

function holds(key: string, conditions: Conditions, segments: readonly string[], claims: Claims): boolean {
  const { where = {}, actors, clients } = conditions;
  const act = claims["act"] as { sub: string } | undefined;
  const isBound = Object.entries(where).every(([name, source]) =>
    [claims[(source as { claim: string }).claim]].flat().includes(valueAt(name, key, segments)),
  );
  const isActor =
    actors === undefined ||
    (actors === "none" ? !act : act ? actors.anyOf.includes(act.sub) : actors.direct === true);
  return isBound && isActor && (!clients || clients.includes(String(claims["client_id"])));
}

function countSeveral(
  held: readonly { readonly key: string; readonly conditions?: Conditions }[],
  segments: readonly string[],
  claims: Claims,
): number {
  const several = held.flatMap(({ conditions }) =>
    Object.entries(conditions?.where ?? {}).filter(([, source]) => {
      const value = claims[(source as { claim: string }).claim];
      return Array.isArray(value) && value.length > 1;
    }),
  );
  return new Set(several.map(([name]) => name)).size;
}
