import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { ScopeMappings } from "scopegate";
import type { Conditions } from "scopegate/conditions";
import { explain } from "scopegate/explain";
import { addDeciding, divideRestrictions } from "../../../src/capabilities/conditions/restrictions.ts";
import * as matchingRules from "../../../src/capabilities/conditions/matching-rules.ts";
import { decideAnonymous } from "../../../src/core/policy/policy.ts";
import { forOperations } from "../../../src/capabilities/batches/rules.ts";
import { joinRestrictions, lookUpOnce } from "../../../src/core/policy/join-restrictions.ts";
import { UNRESTRICTED } from "../../../src/core/policy/restrictions.ts";
import { pipelineOf } from "../../../src/core/port.ts";
import { type Claims, decide, resultOf } from "../../support/conditions.ts";
import { operationsIn, PROPERTY } from "../../support/policy.ts";
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

  it("report a missing proof as such, before scopes, whether the caller is a user or a client", () => {
    const conditions = { senderConstrained: true, actors: "none", acr: { anyOf: ["urn:mfa"] } } as const;
    const server = createServer({
      senderConstraint: { dpop: { origins: ["https://api.example"] } },
      scopeMappings: { "GET /a": { scopes: ["a:b"], ...conditions } },
    });
    for (const claims of [{ sub: "u1", act: {} }, { sub: "c1", client_id: "c1" }, {}])
      expect(resultOf(explain(server, { method: "GET", path: "/a", scopes: [], claims }).decision)).toBe(
        "proof_missing senderConstrained",
      );
  });

  it("applies to the admin scope", () => {
    const server = createServer({ adminScope: "root", scopeMappings: table });
    const asked = { method: "GET", path: "/orgs/globex", claims: ACME, scopes: ["root"] };
    expect(resultOf(explain(server, asked).decision)).toBe(WHERE);
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

  it("rejects a rule for the same route that drops them", () => {
    const defaultScopeMappings = { "* /orgs/:org{/*path}": TENANT };
    const options = { serviceId: "a", verificationKeys: [issuer.publicPem], defaultScopeMappings };
    const key = "* /orgs/:id{/*path}";
    expect(issuesOf({ ...options, scopeMappings: { [key]: ["orgs:read"] } })).toMatchObject([
      { code: "condition_conflict", path: ["scopeMappings", key], hint: "Repeat the condition." },
    ]);
  });

  it.each<[string, Conditions, Conditions, boolean]>([
    ["a shorter age", { maxAuthAgeSeconds: 300 }, { maxAuthAgeSeconds: 60 }, true],
    ["a longer age", { maxAuthAgeSeconds: 60 }, { maxAuthAgeSeconds: 300 }, false],
    ["a further condition", { actors: "none" }, { actors: "none", clients: ["a"] }, true],
    ["another condition", { actors: "none" }, { clients: ["a"] }, false],
    ["a further scope", { also: ["a:b"] }, { also: ["c:d", "a:b"] }, true],
    ["another scope", { also: ["a:b"] }, { also: ["c:d"] }, false],
    ["a condition instead of a scope", { also: ["a:b"] }, { actors: "none" }, false],
    ["a new exception by scopes", { actors: "none" }, { actors: "none", unless: ["a:b"] }, false],
    ["a dropped exception by scopes", { actors: "none", unless: ["a:b"] }, { actors: "none" }, true],
    ["a scope for another parameter", { also: ["x:<a>:y"] }, { also: ["x:<b>:y"] }, false],
    ["an exception for fewer methods", { actors: "none", unless: ["a:b"] }, { actors: "none" }, true],
    ["another parameter", { where: { a: { claim: "c" } } }, { where: { b: { claim: "c" } } }, false],
    ["a condition instead of a bound token", { senderConstrained: true }, { actors: "none" }, false],
    [
      "a condition besides a bound token",
      { senderConstrained: true },
      { senderConstrained: true, actors: "none" },
      true,
    ],
  ])("of the base table can be replaced by %s, or not", (_, base, custom, isAllowed) => {
    const create = (key: string) => () =>
      createServer({
        senderConstraint: { mtls: { from: "socket" } },
        defaultScopeMappings: { "GET /o/:a/:b": { scopes: [], ...base } },
        scopeMappings: { [key]: { scopes: [], ...custom } },
      });
    if (isAllowed) expect(create("GET /o/:a/:b")).not.toThrow();
    else expect(mistakesOf(create("GET /o/:a/:b"))).toMatchObject([{ 0: "condition_conflict" }]);
  });

  it("of the base table follow a parameter that is renamed, and not its name", () => {
    const where = (name: string) => ({
      scopes: [],
      also: [`x:<${name}>:y`],
      where: { [name]: { claim: "c" } },
    });
    const defaultScopeMappings = { "GET /o/:a/:b": where("a") };
    expect(() =>
      createServer({ defaultScopeMappings, scopeMappings: { "GET /o/:x/:y": where("x") } }),
    ).not.toThrow();
    expect(
      mistakesOf(() => createServer({ defaultScopeMappings, scopeMappings: { "GET /o/:b/:a": where("a") } })),
    ).toMatchObject([{ 0: "condition_conflict" }]);
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

describe("`also`", () => {
  const wide = "* /admin{/*path}";
  const table: ScopeMappings = {
    [wide]: {
      scopes: [],
      also: ["admin:use"],
      actors: "none",
      acr: { anyOf: ["urn:mfa"] },
      unless: ["support:any"],
      except: ["GET /admin/help"],
    },
    "GET /admin/help": ["help:read"],
    "GET /admin/users": ["users:read"],
    "POST /admin/users/:user/ban": { scopes: ["users:ban"], also: ["users:<user>:write"] },
    "GET /admin/any": { anyOf: ["a:read", "b:read"] },
  };
  const MFA = { sub: "u1", acr: "urn:mfa" };

  it.each<[string, readonly string[], string]>([
    ["GET /admin", [], "admin:use"],
    ["GET /admin", ["admin:use"], ""],
    ["GET /admin/users", ["users:read"], "admin:use"],
    ["HEAD /admin/users", ["users:read"], "admin:use"],
    ["GET /admin/users", ["admin:use"], "users:read"],
    ["GET /admin/users", ["admin:use", "users:read"], ""],
    ["DELETE /admin/users", ["users:read"], "admin:use"],
    ["GET /admin/users", [], "users:read admin:use"],
    ["GET /admin/any", ["a:read"], "admin:use"],
    ["GET /admin/any", [], "a:read b:read admin:use"],
    ["GET /admin/users", ["users:read", "support:any"], "admin:use"],
    ["GET /admin/help", ["help:read"], ""],
    ["POST /admin/users/u7/ban", ["users:ban", "admin:use", "users:u8:write"], "users:u7:write"],
    ["POST /admin/users/u7/ban", ["users:ban", "admin:use", "users:u7:write"], ""],
    ["POST /admin/users/u7/ban", ["users:ban", "admin:use", "users:write"], ""],
    ["POST /admin/users/u7/ban", ["root"], ""],
  ])(
    "is needed in addition to the scopes of the rule that decides: %s, granted %j",
    (route, granted, missing) => {
      const decision = decide(table, route, MFA, granted, { adminScope: "root" });
      expect(decision.missing.join(" ")).toBe(missing);
      expect(resultOf(decision)).toBe(missing === "" ? "allowed" : "scope_insufficient");
    },
  );

  it("counts implied scopes", () => {
    const server = createServer({ scopeMappings: table, impliedScopes: { "root:use": ["admin:use"] } });
    const query = { method: "GET", path: "/admin", scopes: ["root:use"], claims: MFA };
    expect(explain(server, query).decision.satisfied).toEqual([
      { required: "admin:use", granted: "root:use", by: "implied" },
    ]);
  });

  it("is refused in one challenge, before all other conditions", () => {
    const server = createServer({ scopeMappings: table });
    const query = { method: "GET", path: "/admin/users", scopes: [], claims: { act: {} } };
    const { decision } = explain(server, query);
    if (decision.allowed) throw new Error("The request is allowed.");
    expect(decision.required).toEqual(["users:read", "admin:use"]);
    expect(decision.rules.map(({ key }) => key)).toEqual(["GET /admin/users", wide]);
    const { status, headers } = server.refuse(decision);
    expect(status).toBe(403);
    expect(headers["WWW-Authenticate"]).toContain('scope="users:read admin:use"');
    const other = { ...query, scopes: ["users:read", "admin:use"] };
    expect(resultOf(explain(server, other).decision)).toBe("caller_not_allowed actors");
  });

  it("names the rule that it belongs to, and each satisfied scope once", () => {
    expect(decide(table, "GET /admin/users", MFA, ["users:read"]).rule?.key).toBe(wide);
    const own = { "GET /a": { scopes: ["a:b"], also: ["a:b"] } };
    const allowed = decide(own, "GET /a", {}, ["a:b"]);
    expect(allowed.satisfied).toHaveLength(1);
    expect(allowed.required).toEqual(["a:b"]);
  });

  it("is needed for the route that runs, and for each procedure of a batch", async () => {
    const server = createServer({
      scopeMappings: {
        "* /a/:x": [],
        "GET /a/:x/:y": { scopes: [], also: ["deep:read"] },
        "* /trpc{/*path}": [],
        "GET /trpc/b": { scopes: [], also: ["b:read"] },
      },
    });
    const authorization = `Bearer ${await issuer.token({ aud: "agents-prod", scopes: ["x:y"], exp: NOW + 60 })}`;
    const missingAt = async (target: string, matchedPattern?: string) =>
      (
        await server.check({
          method: "GET",
          target,
          authorization,
          ...(matchedPattern && { matchedPattern }),
        })
      ).missing;
    expect(await missingAt("/a/b/", "/a/:x/:y")).toEqual(["deep:read"]);
    expect(await missingAt("/trpc/a,c?batch=1")).toEqual([]);
    expect(await missingAt("/trpc/a,b?batch=1")).toEqual(["b:read"]);
  });

  it("is needed for operations, and reads their arguments as scopes do", () => {
    const server = createServer({
      scopeMappings: {
        "MCP tools/call *": { scopes: [], also: ["teams:<team>:use"], except: ["MCP tools/call ping"] },
        "MCP tools/call ping": [],
        "MCP tools/call run": ["tools:run"],
      },
    });
    const missingFor = (path: string, params: object, ...scopes: readonly string[]) => {
      const query = { method: "MCP", path, params: params as Record<string, string>, scopes };
      const { decision } = explain(server, query);
      return decision.allowed ? "allowed" : `${decision.reason} ${decision.missing.join(" ")}`;
    };
    const run = "tools/call run";
    expect(missingFor(run, { team: "a" }, "tools:run")).toBe("scope_insufficient teams:a:use");
    expect(missingFor(run, { team: "a" }, "tools:run", "teams:a:use")).toBe("allowed");
    expect(missingFor(run, {}, "tools:run", "teams:a:use")).toBe("scope_insufficient teams:<team>:use");
    expect(missingFor(run, {}, "tools:run", "teams:use")).toBe("allowed");
    expect(missingFor(run, { team: ["a"] }, "tools:run", "teams:use")).toBe("request_ambiguous ");
    expect(missingFor("tools/call ping", { team: ["a"] })).toBe("allowed");
  });

  it("refuses a handler that receives another value of its parameter", () => {
    const server = createServer({ scopeMappings: { "GET /o/:org": { scopes: [], also: ["o:<org>:r"] } } });
    const query = { method: "GET", path: "/o/a+b", matchedPattern: "/o/:org", scopes: ["o:r"] };
    expect(resultOf(explain(server, { ...query, params: { org: "a+b" } }).decision)).toBe("allowed");
    expect(resultOf(explain(server, { ...query, params: { org: "a b" } }).decision)).toBe(
      "request_ambiguous",
    );
  });

  it("belongs to the known scopes", () => {
    const scopeMappings = { "GET /a": { scopes: [], also: ["admn:use"] } };
    expect(mistakesOf(() => createServer({ scopeMappings, knownScopes: ["admin:use"] }))).toMatchObject([
      { 0: "scope_unknown" },
    ]);
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
    ).policy;
    const path = table.forTarget("GET", "/trpc/x/b", true);
    expect(path.restrictions().active).toEqual([]);
    expect(forOperations(table, path, "GET", ["/trpc/b"]).restrictions().active).toHaveLength(1);
    expect(forOperations(table, path, "GET", ["/trpc/c"])).toBe(path);
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
    const { table } = pipelineOf(server).policy;
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
    (await pipeline.decideAgain(verdict, () => governing, request)).decision();
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
    ).policy;
    const search = vi.spyOn(matchingRules, "collectMatching");
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
    const search = vi.spyOn(matchingRules, "collectMatching");
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
  const operations = operationsIn({
    "MCP tools/call *": { scopes: [], actors: "none", except: ["MCP tools/call ping"] },
    "MCP tools/call ping": [],
    "MCP tools/call pong": [],
    "MCP tools/list": [],
  });
  const [ping, pong] = ["ping", "pong"].map((name) => {
    const { restrictions, matches } = operations.forOperation({ method: "tools/call", name, parameters: {} });
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
    { "GET /*path": "public", "GET /:page/edit": { scopes: [], actors: "none" } },
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
      explain(
        createServer({
          adminScope: "platform:admin",
          scopeMappings: { "GET /orgs/:org": { ...TENANT, unless } },
          ...options,
        }),
        {
          method: "GET",
          path: "/orgs/globex",
          scopes,
          claims: ACME,
        },
      ).decision,
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

  it("never lifts `also`, the strength and age of a login, or a bound token", () => {
    const lifted = (conditions: Conditions) => {
      const entry = { scopes: [], clients: ["x"], ...conditions, unless: ["a:b"] };
      return resultOf(decide({ "GET /a": entry }, "GET /a", {}, ["a:b"]));
    };
    expect(lifted({ actors: { anyOf: ["x"] } })).toBe("allowed");
    expect(lifted({ also: ["c:d"] })).toBe("scope_insufficient");
    expect(lifted({ acr: { anyOf: ["urn:mfa"] } })).toBe("caller_not_allowed acr");
    expect(lifted({ maxAuthAgeSeconds: 60 })).toBe("caller_not_allowed maxAuthAgeSeconds");
    const server = createServer({
      senderConstraint: { mtls: { from: "socket" } },
      scopeMappings: { "GET /a": { scopes: [], clients: ["x"], senderConstrained: true, unless: ["a:b"] } },
    });
    const { decision } = explain(server, { method: "GET", path: "/a", scopes: ["a:b"] });
    expect(resultOf(decision)).toBe("proof_missing senderConstrained");
  });

  it.each([
    ["GET", ["GET"], "allowed"],
    ["HEAD", ["GET"], "allowed"],
    ["HEAD", ["HEAD"], "allowed"],
    ["GET", ["HEAD"], WHERE],
    ["DELETE", ["GET", "POST"], WHERE],
    ["POST", ["GET", "POST"], "allowed"],
  ])("lifts conditions of %s with the methods %j: %s", (method, methods, expected) => {
    const unless = { scopes: ["orgs:cross"], methods };
    const tenants: ScopeMappings = { "* /orgs/:org": { ...TENANT, unless } };
    expect(resultOf(decide(tenants, `${method} /orgs/globex`, ACME, ["orgs:cross"]))).toBe(expected);
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
    [{ acr: { anyOf: ["urn:mfa"] }, unless: ["orgs:any"] }, "lifts nothing here"],
    [{ ...TENANT, unless: [] }, "isn't an array of scopes"],
    [{ ...TENANT, unless: "orgs:any" }, "isn't an array of scopes"],
    [{ ...TENANT, unless: ["a b"] }, "no token can have"],
    [{ ...TENANT, except: [] }, "isn't an array of keys"],
    [{ ...TENANT, except: ["/orgs"] }, "which isn't a route key"],
  ])("rejects %j", (conditions, text) => {
    const scopeMappings = { "GET /orgs/:org": { scopes: [], ...conditions } };
    const issues = issuesOf({ serviceId: "a", verificationKeys: [issuer.publicPem], scopeMappings });
    expect(issues.map(({ message }) => message).join()).toContain(text);
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
      verificationKeys: [issuer.publicPem],
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
        actors: fc.constantFrom(
          "none" as const,
          "any" as const,
          { anyOf: ["agent"], direct: true },
          { anyOf: ["agent"] },
        ),
        clients: fc.constant(["app"]),
        also: fc.constantFrom(["also:x"], ["also:x", "also:y"]),
        unless: fc.constantFrom(["cross:all"], {
          scopes: ["cross:all"],
          methods: [key.startsWith("POST") ? "POST" : "GET"],
        }),
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
        fc.subarray(["cross:all", "also:x", "also:y"]),
        (rules, method, segments, claims, act, scopes) => {
          const written = Object.fromEntries(
            rules.map(([key, conditions, except]) => [key, { conditions, except }]),
          );
          const table = Object.fromEntries(
            rules.map(([key, { where, ...others }, except]) => {
              const own = { ...(where && { where }), ...others };
              const isLiftable = "where" in own || "actors" in own || "clients" in own;
              const isConditioned = isLiftable || "also" in own;
              const { unless, ...withoutUnless } = own;
              const entry = isConditioned
                ? {
                    scopes: [],
                    ...withoutUnless,
                    ...(unless && isLiftable && { unless }),
                    ...(except.length > 0 && { except }),
                  }
                : [];
              return [key, entry];
            }),
          ) as ScopeMappings;
          const path = `/${segments.join("/")}`;
          const server = createWithoutUselessExceptions(table);
          const fullClaims = { ...claims, ...(act && { act }) };
          const { decision } = explain(server, { method, path, scopes, claims: fullClaims });
          const deciding = explain(
            createServer({
              scopeMappings: Object.fromEntries(Object.keys(table).map((key) => [key, []])),
            }),
            { method, path, scopes: [] },
          ).decision;
          const matching = server.routes.filter(({ key }) => matches(key, method, segments));
          const applying = matching.filter(
            ({ conditions }) => conditions && !conditions.except?.includes(deciding.rule?.key ?? ""),
          );
          const isLifted = (unless: Conditions["unless"]) => {
            if (!unless || !scopes.includes("cross:all")) return false;
            const { methods = [method] } = "scopes" in unless ? unless : {};
            return methods.includes(method === "HEAD" ? "GET" : method) || methods.includes(method);
          };
          const held = applying.filter(({ conditions }) => !isLifted(conditions?.unless));
          const isAllowed =
            deciding.allowed &&
            applying.every(
              ({ conditions }) => conditions?.also?.every((scope) => scopes.includes(scope)) ?? true,
            ) &&
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
  const remaining: Record<string, unknown> = { ...table };
  for (;;) {
    try {
      return createServer({ scopeMappings: remaining as ScopeMappings });
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
      remaining[key] = except.length > 0 ? { ...others, except } : others;
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
    (typeof actors === "string"
      ? (actors === "none") === !act
      : act
        ? actors.anyOf.includes(act.sub)
        : actors.direct === true);
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
