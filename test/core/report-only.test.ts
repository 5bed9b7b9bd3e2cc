import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  type Decision,
  parseConfiguration,
  type Refused,
  type Requirement,
  type ResourceServer,
  type ScopeMappings,
} from "scopegate/complete";
import { explain } from "scopegate/explain";
import { pipelineOf } from "../../src/core/port.ts";
import { refusalIn } from "../../src/core/policy/decision.ts";
import { readEntry } from "../../src/core/policy/table-entry.ts";
import { PROPERTY } from "../support/policy.ts";
import { createFakeIssuer } from "../support/remote-keys.ts";
import { createServer, issuer, NOW } from "../support/resource-servers.ts";
import type { ResourceServerOptions } from "../support/server.ts";

const warn = vi.fn();
beforeEach(() => {
  warn.mockReset();
  vi.spyOn(process, "emitWarning").mockImplementation(warn);
});
afterEach(() => vi.restoreAllMocks());

const scopeMappings: ScopeMappings = {
  "GET /open": "public",
  "GET /maybe": "optional",
  "GET /signed-in": [],
  "GET /new": { report: ["new:read"] },
  "GET /new/:id": { report: { anyOf: ["new:<id>:read", "new:<id>:write"] } },
  "GET /lists": { report: { filtered: "lists:read" } },
  "GET /old": ["old:read"],
  "MCP tools/call new": { report: ["new:call"] },
  "MCP tools/call old": ["old:call"],
};

const serverWith = (options: Partial<ResourceServerOptions> = {}): ResourceServer =>
  createServer({ scopeMappings, ...options });

const tokens = new Map<string, Promise<string>>();
/** A token with these scopes, signed once. */
function tokenWith(scopes: readonly string[]): Promise<string> {
  const key = scopes.join(" ");
  const token = tokens.get(key) ?? issuer.token({ sub: "u1", scopes });
  tokens.set(key, token);
  return token;
}
const bearer = async (...scopes: readonly string[]) => `Bearer ${await tokenWith(scopes)}`;

const get = async (server: ResourceServer, target: string, authorization?: string, method = "GET") =>
  server.check({ method, target, authorization });

/** The decision of a guard that checks the route later, or does not. */
async function decide(server: ResourceServer, target: string, isChecked: boolean, authorization?: string) {
  const request = { method: "GET", target, authorization };
  return (await pipelineOf(server).decide(request, isChecked)).decision();
}

/** The result in short: `allowed`, `reported` or `refused`, with the reason. */
function resultOf(decision: Decision): string {
  if (!decision.allowed) return `refused ${decision.reason}`;
  return decision.reported ? `reported ${decision.reported.reason}` : "allowed";
}

describe("a report-only rule", () => {
  it.each([
    ["GET", "/new", []],
    ["GET", "/new/7", ["new:8:read"]],
    ["GET", "/lists", ["lists::read"]],
    ["MCP", "tools/call new", ["old:call"]],
  ])("allows %s %s with %j, and marks the decision with the refusal", async (method, target, scopes) => {
    const authorization = await bearer(...scopes);
    const decision = await get(serverWith(), target, authorization, method);
    expect(resultOf(decision)).toBe("reported scope_insufficient");
    const enforced = Object.fromEntries(
      Object.entries(scopeMappings).map(([key, rule]) => [key, requirementIn(rule)] as const),
    );
    const refused = await get(serverWith({ scopeMappings: enforced }), target, authorization, method);
    expect(viewOf((decision as { readonly reported: Refused }).reported)).toEqual(viewOf(refused));
    expect(decision).toMatchObject({ missing: refused.missing, required: refused.required });
    expect(decision.principal?.userId).toBe("u1");
    expect(Object.isFrozen(decision)).toBe(true);
  });

  it("does not mark the decision about a request that has the scopes", async () => {
    const decision = await get(serverWith(), "/new", await bearer("new:read"));
    expect(resultOf(decision)).toBe("allowed");
    expect(decision).not.toHaveProperty("reported");
  });

  it("refuses with 503 while no keys are available", async () => {
    const { fetch, fail } = createFakeIssuer();
    fail();
    const keys = { jwksUri: "https://issuer.example/jwks", fetch };
    const server = serverWith({ keys, enforcement: "report", onKeyEvent: () => undefined });
    expect(resultOf(await get(server, "/new", await bearer()))).toBe("refused keys_unavailable");
    await server.close();
  });

  it("enforces the other rules of the table, and refuses routes without a rule", async () => {
    const server = serverWith();
    expect(resultOf(await get(server, "/old", await bearer()))).toBe("refused scope_insufficient");
    expect(resultOf(await get(server, "/unmapped", await bearer()))).toBe("refused route_unmapped");
    expect(resultOf(await get(server, "tools/call old", await bearer(), "MCP"))).toBe(
      "refused scope_insufficient",
    );
  });

  it("refuses a request that also lacks the scopes of an enforced rule, and names that rule", async () => {
    const table: ScopeMappings = {
      "GET /items/me": { report: ["me:read"] },
      "GET /items/:id": ["items:read"],
    };
    const server = serverWith({ scopeMappings: table });
    // Some routers read this path as that of both rules.
    const decideFor = async (...scopes: readonly string[]) =>
      decide(server, "/items/ME", true, await bearer(...scopes));
    const refused = await decideFor();
    expect(resultOf(refused)).toBe("refused scope_insufficient");
    expect(refused.rule?.key).toBe("GET /items/:id");
    expect(refused.missing).toEqual(["me:read", "items:read"]);
    expect(resultOf(await decideFor("me:read"))).toBe("refused scope_insufficient");
    expect(resultOf(await decideFor("items:read"))).toBe("reported scope_insufficient");
    expect(resultOf(await decideFor("me:read", "items:read"))).toBe("allowed");
  });

  it("checks the rule again at the matched route, and refuses if an enforced rule of the route does", async () => {
    const table: ScopeMappings = { "GET /:page": { report: ["pages:read"] }, "GET /items": ["items:read"] };
    const pipeline = pipelineOf(serverWith({ scopeMappings: table }));
    const request = { method: "GET", target: "/other", authorization: await bearer() };
    const verdict = await pipeline.decide(request, true);
    expect(resultOf(verdict.decision())).toBe("reported scope_insufficient");
    expect(await pipeline.decideRoute(verdict, { ...request, patterns: ["/:page"] })).toBe(verdict);
    const moved = await pipeline.decideRoute(verdict, { ...request, target: "/items", patterns: ["/items"] });
    expect(resultOf(moved.decision())).toBe("refused scope_insufficient");
  });

  it("leaves the default rule of its route enforced, and both are in the table", async () => {
    const server = serverWith({ defaultScopeMappings: { "GET /new": ["old:read"] } });
    const rows = server.routes.filter(({ key }) => key === "GET /new");
    expect(rows.map(({ source, enforcement, requirement }) => [source, enforcement, requirement])).toEqual([
      ["override", "report", ["new:read"]],
      ["default", "enforce", ["old:read"]],
    ]);
    expect(resultOf(await get(server, "/new", await bearer()))).toBe("refused scope_insufficient");
    expect(resultOf(await get(server, "/new", await bearer("old:read")))).toBe("reported scope_insufficient");
    expect(resultOf(await get(server, "/new", await bearer("old:read", "new:read")))).toBe("allowed");
  });

  it("leaves the rule enforced that decides without it", async () => {
    const table: ScopeMappings = {
      "GET /orgs/:org{/*path}": ["orgs:<org>:read"],
      "GET /orgs/:name/billing": { report: ["billing:read"] },
    };
    const server = serverWith({ scopeMappings: table });
    const decide = async (...scopes: string[]) =>
      resultOf(await get(server, "/orgs/7/billing", await bearer(...scopes)));
    expect(await decide("billing:read", "orgs:8:read")).toBe("refused scope_insufficient");
    expect(await decide("orgs:7:read")).toBe("reported scope_insufficient");
    expect(await decide("orgs:7:read", "billing:read")).toBe("allowed");
  });

  it("reports only a part, if scopes are written next to it", async () => {
    for (const [entry, enough] of [
      [{ scopes: ["a:read"], report: ["b:read"] }, ["a:read"]],
      [{ scopes: [], report: { anyOf: ["b:read", "c:read"] } }, []],
      [{ anyOf: ["x:y", "a:read"], report: { scopes: ["b:read"] } }, ["a:read"]],
      [{ filtered: "a:read", report: { filtered: "b:read" } }, ["a:7:read"]],
    ] satisfies (readonly [ScopeMappings[string], readonly string[]])[]) {
      const server = serverWith({ scopeMappings: { "GET /part": entry } });
      const decide = async (...scopes: readonly string[]) =>
        resultOf(await get(server, "/part", await bearer(...scopes)));
      expect(await decide(...enough)).toBe("reported scope_insufficient");
      expect(await decide(...enough, "b:read")).toBe("allowed");
      if (enough.length > 0) expect(await decide("b:read")).toBe("refused scope_insufficient");
    }
  });

  it("leaves the rules of an operation enforced that decide without it", async () => {
    const server = serverWith({
      scopeMappings: {
        "MCP tools/call *": ["tools:<tenant>:use"],
        "MCP tools/call pay": { report: ["pay:<account>:use"] },
      },
    });
    const decide = async (...scopes: string[]) => {
      const authorization = await bearer(...scopes);
      const params = { tenant: "t1", account: "a1" };
      return resultOf(await server.check({ method: "MCP", target: "tools/call pay", params, authorization }));
    };
    expect(await decide("pay:a1:use")).toBe("refused scope_insufficient");
    expect(await decide("tools:t1:use")).toBe("reported scope_insufficient");
    expect(await decide("tools:t1:use", "pay:a1:use")).toBe("allowed");
  });

  it("accepts the rule in JSON", async () => {
    const json = {
      default_scope_mappings: {},
      scope_mappings: { "GET /x": { report: { any_of: ["a:read", "b:read"] } } },
    };
    const server = serverWith(parseConfiguration(json));
    expect(server.routes).toMatchObject([
      { requirement: { anyOf: ["a:read", "b:read"] }, enforcement: "report" },
    ]);
    expect(resultOf(await get(server, "/x", await bearer()))).toBe("reported scope_insufficient");
  });

  it("freezes the rule, so that later changes of the options have no effect", () => {
    const report = ["new:read"];
    const server = serverWith({ scopeMappings: { "GET /new": { report } } });
    report.push("other");
    expect(server.routes[0]?.requirement).toEqual(["new:read"]);
    expect(Object.isFrozen(server.routes[0]?.requirement)).toBe(true);
  });

  it("names the place of a mistake in its scopes", () => {
    expect(() => serverWith({ scopeMappings: { "GET /x": { report: ["a:<id>:read"] } } })).toThrow(
      /scopeMappings\["GET \/x"\]\.report\[0\]/,
    );
  });

  it("does nothing without authorization", async () => {
    const server = serverWith({ authorization: false, enforcement: "report" });
    for (const path of ["/new", "/old", "/unmapped"])
      expect(resultOf(await get(server, path, await bearer()))).toBe("allowed");
  });

  it("offers its scopes to clients", () => {
    const resource = { id: "https://service.example/", authorizationServers: ["https://login.example"] };
    const { metadata } = serverWith({ resource, audience: resource.id }).resource ?? {};
    expect(metadata?.["scopes_supported"]).toEqual([
      "lists:read",
      "new:call",
      "new:read",
      "old:call",
      "old:read",
    ]);
  });

  it("ignores a polluted prototype", async () => {
    Object.defineProperty(Object.prototype, "report", { value: ["x"], configurable: true });
    try {
      const server = serverWith({ scopeMappings: { "GET /old": ["old:read"] } });
      expect(resultOf(await get(server, "/old", await bearer()))).toBe("refused scope_insufficient");
    } finally {
      Reflect.deleteProperty(Object.prototype, "report");
    }
  });
});

describe("a server that only reports", () => {
  it.each([
    ["/old", "reported scope_insufficient", "refused credential_missing"],
    ["/new", "reported scope_insufficient", "refused credential_missing"],
    ["/unmapped", "reported route_unmapped", "refused credential_missing"],
    ["/signed-in", "allowed", "refused credential_missing"],
    ["/maybe", "allowed", "allowed"],
    ["/open", "allowed", "allowed"],
    ["//old", "refused request_ambiguous", "refused request_ambiguous"],
    ["/OLD", "refused request_ambiguous", "refused request_ambiguous"],
  ])("decides %s with a token without scopes, and without a token", async (path, withToken, without) => {
    const server = serverWith({ enforcement: "report" });
    expect(resultOf(await get(server, path, await bearer()))).toBe(withToken);
    expect(resultOf(await get(server, path))).toBe(without);
    expect(resultOf(server.authorize(await server.authenticate(await tokenWith([])), "GET", path))).toBe(
      withToken,
    );
    expect(resultOf(explain(server, { method: "GET", path, scopes: [] }).decision)).toBe(withToken);
    expect(resultOf(explain(server, { method: "GET", path }).decision)).toBe(without);
  });

  it("keeps the caller in a decision about a route without a rule, and reports the refusal as it would be", async () => {
    const decision = await get(serverWith({ enforcement: "report" }), "/unmapped", await bearer("a:read"));
    expect(decision).toMatchObject({ allowed: true, principal: { userId: "u1" }, granted: ["a:read"] });
    expect(decision).toHaveProperty("reported", await get(serverWith(), "/unmapped", await bearer("a:read")));
  });

  it("marks the rules with scopes in its table", () => {
    const marked = serverWith({ enforcement: "report" }).routes.filter(
      (rule) => rule.enforcement === "report",
    );
    expect(marked.map(({ key }) => key)).toEqual(
      Object.keys(scopeMappings).filter(
        (key) => !["GET /open", "GET /maybe", "GET /signed-in"].includes(key),
      ),
    );
  });
});

describe("scopes that a route adds", () => {
  const check = async (server: ResourceServer, target: string, ...scopes: readonly string[]) => {
    const request = { method: "GET", target, authorization: await bearer(...scopes) };
    return resultOf(server.checkScopes(await server.check(request), ["extra:use"], request));
  };

  it("reports missing scopes if the whole server is report-only", async () => {
    for (const path of ["/old", "/signed-in", "/maybe", "/unmapped"])
      expect(await check(serverWith({ enforcement: "report" }), path, "old:read")).toMatch(/^reported /);
  });

  it("enforces the scopes at any other route, report-only rules included", async () => {
    expect(await check(serverWith(), "/new", "new:read")).toBe("refused scope_insufficient");
    for (const path of ["/old", "/signed-in", "/maybe"])
      expect(await check(serverWith(), path, "old:read")).toBe("refused scope_insufficient");
    const server = serverWith({ unmappedRoutes: "authenticated" });
    expect(await check(server, "/unmapped")).toBe("refused scope_insufficient");
  });

  it("returns the added scopes in the decision if both are only reported", async () => {
    const server = serverWith({ enforcement: "report" });
    const request = { method: "GET", target: "/old", authorization: await bearer() };
    const decision = server.checkScopes(await server.check(request), ["extra:use"], request);
    expect(decision).toMatchObject({ allowed: true, reported: { missing: ["extra:use"] } });
  });

  it("keep the mark of a request that was reported before", async () => {
    expect(await check(serverWith(), "/new", "extra:use")).toBe("reported scope_insufficient");
    expect(await check(serverWith({ enforcement: "report" }), "/unmapped", "extra:use")).toBe(
      "reported route_unmapped",
    );
    expect(await check(serverWith(), "/new", "new:read", "extra:use")).toBe("allowed");
  });

  it("refuse a caller without a token", async () => {
    const server = serverWith({ enforcement: "report" });
    const request = { method: "GET", target: "/maybe" };
    expect(resultOf(server.checkScopes(await server.check(request), ["extra:use"], request))).toBe(
      "refused credential_missing",
    );
  });
});

describe("the process warning", () => {
  it("does not appear for a server that enforces every rule", () => {
    serverWith({ scopeMappings: { "GET /old": ["old:read"] } });
    expect(warn).not.toHaveBeenCalled();
  });

  it("appears once at construction, with the number of rules", async () => {
    const server = serverWith();
    await get(server, "/new", await bearer());
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      expect.stringMatching(
        /^report-only rules: 4 \(`GET \/new`.*write the requirements without `report`\.$/,
      ),
      "ScopegateWarning",
    );
  });

  it("names the server if all of it only reports", () => {
    serverWith({ enforcement: "report" });
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      expect.stringMatching(/^the resource server only reports.*remove enforcement: "report"\.$/),
      "ScopegateWarning",
    );
  });
});

describe("an explanation", () => {
  it("shows that a refusal is only reported, and by which rule", () => {
    expect(explain(serverWith(), { method: "GET", path: "/new", scopes: [] }).text.split("\n")).toEqual([
      "GET /new",
      "  rule       GET /new (custom, report-only)",
      "  requires   new:read",
      "  granted    -",
      "  missing    new:read",
      "  decision   allowed, reported: scope_insufficient",
    ]);
  });
});

function requirementIn(entry: ScopeMappings[string]): Requirement {
  const { enforced, reported } = readEntry(entry);
  return (reported ?? enforced)?.requirement ?? [];
}

/** What a decision says about the request, without whether its rules are enforced. */
const viewOf = ({ rule, rules, principal, ...facts }: Decision) => ({
  ...facts,
  rule: rule?.key,
  rules: rules.map(({ key }) => key),
  userId: principal?.userId,
});

const SCOPES = ["a:read", "b:1:read", "b:read", "c"];
const KEYS = ["GET /a", "GET /a/b", "GET /a/:id", "* /b/:id", "GET /c/*rest", "GET /:x"];
const PATHS = ["/a", "/a/b", "/a/B", "/a/1", "/b/1", "/B/1", "/c/1/2", "/c", "/d/e", "//a", "/%61", "/a/"];

const someScopes = fc.subarray(SCOPES, { minLength: 1 });
const requirement: fc.Arbitrary<Requirement> = fc.oneof(
  fc.constantFrom<Requirement>("public", "optional", []),
  someScopes,
  someScopes.map((anyOf) => ({ anyOf })),
  fc.constant({ filtered: "b:read" }),
);
/** A list is filtered only where the path does not end with a parameter. */
const fitting = (key: string, required: Requirement): Requirement =>
  /[:*]\w+$/.test(key) && "filtered" in Object(required) ? ["b:read"] : required;
const tables = fc
  .dictionary(fc.constantFrom(...KEYS), fc.tuple(requirement, fc.boolean()))
  .map((rules) =>
    Object.entries(rules).map(
      ([key, [required, isReported]]) => [key, [fitting(key, required), isReported]] as const,
    ),
  );

/** Wraps a requirement that can be reported. */
function wrap(requirement: Requirement): ScopeMappings[string] {
  const needsNoScope =
    typeof requirement === "string" || ("length" in requirement && requirement.length === 0);
  return needsNoScope ? requirement : { report: requirement };
}

const BAD: Readonly<Record<string, () => Promise<string | undefined>>> = {
  missing: () => Promise.resolve(undefined),
  malformed: () => Promise.resolve("Bearer a b"),
  forged: async () => `${await bearer(...SCOPES)}x`,
  expired: async () => `Bearer ${await issuer.token({ scopes: SCOPES, exp: NOW - 1 })}`,
  "for another service": async () => `Bearer ${await issuer.token({ scopes: SCOPES, aud: "other" })}`,
};

describe("report-only enforcement, for any table, request and token", () => {
  const servers = (
    rules: readonly (readonly [string, readonly [Requirement, boolean]])[],
    unmapped: boolean,
  ) => {
    const plain = Object.fromEntries(rules.map(([key, [requirement]]) => [key, requirement]));
    const wrapped = Object.fromEntries(
      rules.map(([key, [requirement, isReported]]) => [key, isReported ? wrap(requirement) : requirement]),
    );
    const unmappedRoutes = unmapped ? "deny" : "authenticated";
    return {
      enforcing: serverWith({ unmappedRoutes, scopeMappings: plain }),
      reporting: serverWith({ unmappedRoutes, scopeMappings: plain, enforcement: "report" }),
      mixed: serverWith({ unmappedRoutes, scopeMappings: wrapped }),
    };
  };
  it("lets pass with a token what the table without report-only rules lets pass, and nothing else", async () => {
    const property = fc.asyncProperty(
      tables,
      fc.constantFrom("/a", "/a/b", "/a/1", "/b/1", "/c/1/2", "/d"),
      fc.subarray(SCOPES),
      async (rules, path, scopes) => {
        const { mixed } = servers(rules, false);
        const enforcedRules = rules.filter(
          ([, [required, isReported]]) => !isReported || wrap(required) === required,
        );
        const without = servers(enforcedRules, false).enforcing;
        const authorization = await bearer(...scopes);
        const decision = await decide(mixed, path, false, authorization);
        expect(decision.allowed).toBe((await decide(without, path, false, authorization)).allowed);
      },
    );
    await fc.assert(property, PROPERTY);
  });

  it("refuses a missing or invalid token whenever enforcement refuses it", async () => {
    const property = fc.asyncProperty(
      tables,
      fc.boolean(),
      fc.constantFrom(...PATHS),
      fc.boolean(),
      fc.constantFrom(...Object.values(BAD)),
      async (rules, unmapped, path, isChecked, credential) => {
        const { enforcing, reporting, mixed } = servers(rules, unmapped);
        const authorization = await credential();
        const enforced = await decide(enforcing, path, isChecked, authorization);
        for (const server of [reporting, mixed]) {
          const decision = await decide(server, path, isChecked, authorization);
          expect(decision.allowed).toBe(enforced.allowed);
          expect(decision).not.toHaveProperty("reported");
        }
      },
    );
    await fc.assert(property, PROPERTY);
  });

  it("keeps every decision that allows, and reports exactly the refusal that it allows", async () => {
    const property = fc.asyncProperty(
      tables,
      fc.boolean(),
      fc.constantFrom(...PATHS),
      fc.boolean(),
      fc.subarray(SCOPES),
      async (rules, unmapped, path, isChecked, scopes) => {
        const { enforcing, reporting } = servers(rules, unmapped);
        const authorization = await bearer(...scopes);
        const enforced = await decide(enforcing, path, isChecked, authorization);
        const reported = await decide(reporting, path, isChecked, authorization);
        const refused = refusalIn(reported);
        if (enforced.allowed) expect(viewOf(reported)).toEqual(viewOf(enforced));
        else if (reported.allowed) expect(refused && viewOf(refused)).toEqual(viewOf(enforced));
        else expect(reported.reason).toBe(enforced.reason);
        expect(reported.allowed).toBe(enforced.allowed || enforced.reason !== "request_ambiguous");
      },
    );
    await fc.assert(property, PROPERTY);
  });
});
