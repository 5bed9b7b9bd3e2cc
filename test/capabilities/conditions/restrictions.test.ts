/** Conditions of several rules, and what lifts them. Decisions of random tables are compared in `test/model`. */
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
import { operationsIn } from "../../support/policy.ts";
import { createServer, issuer, mistakesOf, NOW, starts } from "../../support/resource-servers.ts";

const TENANT = { scopes: [], where: { org: { claim: "org_id" } } } as const;
const TENANT_OF_NOBODY = { scopes: [], actors: "none" } as const;
const WHERE = "caller_not_allowed where";
const ACME = { org_id: "acme" };

const EXCEPTIONS: ScopeMappings = {
  "* /orgs/:org{/*path}": { ...TENANT, except: ["GET /orgs/:org/about"] },
  "GET /orgs/:org/about": ["about:read"],
  "GET /orgs/:org/:page": [],
};

describe("the conditions of a rule", () => {
  const table: ScopeMappings = {
    "* /orgs/:org{/*path}": TENANT,
    "GET /orgs/:org": ["orgs:read"],
  };
  const scopes = ["orgs:read"];

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
    ["another parameter", { where: { a: { claim: "c" } } }, { where: { b: { claim: "c" } } }, false],
    ["a condition instead of a bound token", { senderConstrained: true }, { actors: "none" }, false],
  ])("of the base table can be replaced by %s, or not", (_, base, custom, isAllowed) => {
    const options = {
      senderConstraint: { mtls: { from: "socket" } },
      defaultScopeMappings: { "GET /o/:a/:b": { scopes: [], ...base } },
      scopeMappings: { "GET /o/:a/:b": { scopes: [], ...custom } },
    } as const;
    expect(starts(options)).toBe(isAllowed);
  });

  it.each([
    ["GET /o/:x/:y", "x", true],
    ["GET /o/:b/:a", "a", false],
  ])("of the base table follow a parameter that is renamed, and not its name: %s", (key, name, isAllowed) => {
    const where = (parameter: string) => ({
      scopes: [],
      also: [`x:<${parameter}>:y`],
      where: { [parameter]: { claim: "c" } },
    });
    const defaultScopeMappings = { "GET /o/:a/:b": where("a") };
    expect(starts({ defaultScopeMappings, scopeMappings: { [key]: where(name) } })).toBe(isAllowed);
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

/** The result for a caller with a token of these claims, at a route that the router matched. */
async function resultAtRoute(scopeMappings: ScopeMappings, target: string, route: string, claims: Claims) {
  const token = await issuer.token({ aud: "agents-prod", scopes: [], exp: NOW + 60, ...claims });
  const request = { method: "GET", target, authorization: `Bearer ${token}`, matchedPattern: route };
  return resultOf(await createServer({ scopeMappings }).check(request));
}

describe("the spelling of a path", () => {
  it.each(["/ORGS/globex/users", "/orgs/globex/Users", "/orgs/globex/users/", "/%6Frgs/globex/users"])(
    "makes no difference for conditions: %s",
    async (target) => {
      const table: ScopeMappings = { "* /orgs/:org{/*path}": TENANT, "GET /orgs/:org/users": [] };
      const resultFor = (claims: Claims) => resultAtRoute(table, target, "/orgs/:org/users", claims);
      expect(await resultFor(ACME)).toMatch(/where|ambiguous/);
      expect(await resultFor({ org_id: "globex" })).toMatch(/allowed|ambiguous/);
    },
  );

  it("adds the conditions of an empty last segment, which some routers match", async () => {
    const table: ScopeMappings = { "GET /a/:x": [], "GET /a/:x/:org": TENANT };
    expect(await resultAtRoute(table, "/a/b/", "/a/:x/:org", ACME)).toBe(WHERE);
  });

  it("matches no exception that routers may read as the path of another rule", async () => {
    const caller = { ...ACME, scopes: ["about:read"] };
    expect(await resultAtRoute(EXCEPTIONS, "/orgs/globex/about", "/orgs/:org/about", caller)).toBe("allowed");
    expect(await resultAtRoute(EXCEPTIONS, "/orgs/globex/About", "/orgs/:org/about", caller)).toBe(WHERE);
  });
});

describe("a batch of tRPC", () => {
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

it("keeps an exception if a rule of the same route replaces the exempt one", () => {
  const scopes = ["about:read", "about:list"];
  const table: ScopeMappings = { "GET /orgs/:name/about": scopes };
  const options = { defaultScopeMappings: EXCEPTIONS };
  expect(resultOf(decide(table, "GET /orgs/globex/about", ACME, scopes, options))).toBe("allowed");
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

describe("`unless`", () => {
  it("never lifts `also`, the strength and age of a login, or a bound token", () => {
    const lifted = (conditions: Conditions) => {
      const entry = { scopes: [], clients: ["x"], ...conditions, unless: ["a:b"] };
      const options = { senderConstraint: { mtls: { from: "socket" } } as const };
      return resultOf(decide({ "GET /a": entry }, "GET /a", {}, ["a:b"], options));
    };
    expect(lifted({ actors: { anyOf: ["x"] } })).toBe("allowed");
    expect(lifted({ also: ["c:d"] })).toBe("scope_insufficient");
    expect(lifted({ acr: { anyOf: ["urn:mfa"] } })).toBe("caller_not_allowed acr");
    expect(lifted({ maxAuthAgeSeconds: 60 })).toBe("caller_not_allowed maxAuthAgeSeconds");
    expect(lifted({ senderConstrained: true })).toBe("proof_missing senderConstrained");
  });

  it.each([
    [["orgs:any"], ["support:work"], "allowed"],
    [["orgs:<org>:cross"], ["orgs:cross"], "allowed"],
    [["orgs:<org>:cross"], ["orgs:globex:cross"], "allowed"],
    [["orgs:<org>:cross"], ["orgs:acme:cross"], WHERE],
    // The admin scope counts only where it is named.
    [["orgs:any"], ["root"], WHERE],
    [["root"], ["root"], "allowed"],
  ])("counts what the scopes of the caller cover: %j, granted %j, %s", (unless, scopes, expected) => {
    const options = { adminScope: "root", impliedScopes: { "support:work": ["orgs:any"] } };
    const tenants = { "GET /orgs/:org": { ...TENANT, unless } };
    expect(resultOf(decide(tenants, "GET /orgs/globex", ACME, scopes, options))).toBe(expected);
  });

  it.each([
    ["HEAD", ["GET"], "allowed"],
    ["GET", ["HEAD"], WHERE],
    ["DELETE", ["GET", "POST"], WHERE],
  ])("lifts conditions of %s with the methods %j: %s", (method, methods, expected) => {
    const tenants = { "* /orgs/:org": { ...TENANT, unless: { scopes: ["orgs:cross"], methods } } };
    expect(resultOf(decide(tenants, `${method} /orgs/globex`, ACME, ["orgs:cross"]))).toBe(expected);
  });
});
