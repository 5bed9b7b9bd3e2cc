import {
  AuditError,
  type AuditFinding,
  type AuditOptions,
  type AuditReport,
  type ListedRoute,
} from "scopegate/audit";
import { describe, expect, it } from "vitest";
import { auditRoutes } from "../../../src/tools/audit/audit.ts";
import type { ScopeMappings } from "../../../src/core/policy/scope-mappings.ts";
import { changeable, compiledOf } from "../../support/policy.ts";

/** Routes written as the table writes its keys. */
const routesOf = (...keys: readonly string[]): readonly ListedRoute[] =>
  keys.map((key) => {
    const [, method = "", pattern = ""] = /^(\S*) (.*)$/.exec(key) ?? [];
    return { method, pattern };
  });

interface Given {
  readonly defaults?: ScopeMappings;
  readonly fate?: "refused" | "open";
  readonly options?: AuditOptions;
}

const audit = (
  table: ScopeMappings,
  keys: readonly string[],
  { defaults, fate = "refused", options }: Given = {},
): AuditReport => auditRoutes(compiledOf(table, defaults), routesOf(...keys), fate, options);

/** The severity, kind and subject of a finding: `error route_unmapped GET /a`. */
const aboutOf = (finding: AuditFinding): string => {
  const { severity, kind } = finding;
  const subject =
    "route" in finding
      ? `${finding.route.method} ${finding.route.pattern}`
      : "rule" in finding
        ? finding.rule.key
        : "";
  return `${severity} ${kind} ${subject}`.trim();
};

const found = (table: ScopeMappings, keys: readonly string[], given?: Given): readonly string[] =>
  audit(table, keys, given).findings.map(aboutOf);

function onlyFinding<Kind extends AuditFinding["kind"]>(
  report: AuditReport,
  kind: Kind,
): AuditFinding & { kind: Kind } {
  const [finding, ...others] = report.findings.filter((one) => one.kind === kind);
  if (!finding || others.length > 0) throw new Error(report.text);
  return finding as AuditFinding & { kind: Kind };
}

const decided = ({ routes }: AuditReport) =>
  routes.map(({ method, pattern, rule, parts }) => [
    `${method} ${pattern}`,
    rule?.key,
    ...(parts.length > 0 ? [parts.map(({ key }) => key)] : []),
  ]);

describe("an audit of routes that all have a rule", () => {
  const table: ScopeMappings = {
    "GET /agents/:id": ["agents:<id>:read"],
    "GET /agents/me": ["me:read"],
    "* /health": "public",
    "GET /files/*path": ["files:read"],
  };
  const keys = ["GET /agents/:agent", "GET /health", "POST /health", "GET /files/:name"];

  it("returns an ok report with one line of text", () => {
    const report = audit(table, keys);
    expect(report).toMatchObject({ ok: true, findings: [], summary: "4 routes, each with a rule" });
    expect(report.text).toBe(report.summary);
    expect(audit(table, ["GET /agents/:a"]).summary).toBe("1 route, with a rule; 2 errors");
  });

  it("lists the rule that decides each route, and the rules for a part of it", () => {
    expect(decided(audit(table, keys))).toEqual([
      ["GET /agents/:agent", "GET /agents/:id", ["GET /agents/me"]],
      ["GET /health", "* /health"],
      ["POST /health", "* /health"],
      ["GET /files/:name", "GET /files/*path"],
    ]);
  });

  it("counts a route once, with and without a trailing slash, in the order of the array", () => {
    const report = audit({ "GET /a": [], "GET /b": [], "GET /": [] }, [
      "GET /b",
      "GET /a/",
      "GET /b/",
      "GET /a",
      "GET /",
    ]);
    expect(report.summary).toBe("3 routes, each with a rule");
    expect(report.routes.map(({ pattern }) => pattern)).toEqual(["/b", "/a/", "/"]);
  });

  it("accepts any iterable and reads it once", () => {
    const rules = compiledOf({ "GET /a": [] });
    function* list() {
      yield { method: "GET", pattern: "/a" };
    }
    expect(auditRoutes(rules, list(), "refused").ok).toBe(true);
    expect(auditRoutes(rules, new Set(list()), "refused").ok).toBe(true);
  });

  it("returns a frozen report", () => {
    const report = audit({ ...table, "GET /unused": [], "* /{*path}": [] }, [
      ...keys,
      "GET a",
      "GET /x",
      "OPTIONS /a",
    ]);
    expect(changeable(report)).toEqual([]);
  });
});

describe("a route without a rule", () => {
  it.each(["refused", "open"] as const)("causes an error if requests without a rule are %s", (fate) => {
    const report = audit({ "GET /a": [] }, ["GET /a", "POST /a", "GET /b"], { fate });
    expect(report.ok).toBe(false);
    expect(report.summary).toBe("3 routes, 1 with a rule; 2 errors");
    expect(report.findings.map(aboutOf)).toEqual([
      "error route_unmapped POST /a",
      "error route_unmapped GET /b",
    ]);
    expect(report.routes.map(({ rule }) => rule?.key)).toEqual(["GET /a", undefined, undefined]);
  });

  it("causes an error with the effect on its requests", () => {
    expect(onlyFinding(audit({}, ["GET /b"]), "route_unmapped").message).toContain(
      "every request for it is refused",
    );
    expect(onlyFinding(audit({}, ["GET /b"], { fate: "open" }), "route_unmapped").message).toContain(
      "any valid token is enough",
    );
  });

  it.each([
    ["GET /reports", '"GET /reports": ["resource:action"]'],
    ["* /teams/:team_id/runs/:run_id", '"* /teams/:team_id/runs/:run_id": ["resource:<run_id>:action"]'],
    ["GET /files/*path", '"GET /files/*path": ["resource:action"]'],
    ["GET /a{/:b}", '"GET /a/:b": ["resource:<b>:action"], "GET /a": ["resource:action"]'],
  ])("causes an error with the line to add, which is enough, for %s", (key, line) => {
    expect(onlyFinding(audit({}, [key]), "route_unmapped").hint).toBe(`Add to scopeMappings: ${line}`);
    expect(found(JSON.parse(`{${line}}`) as ScopeMappings, [key])).toEqual([]);
  });

  it("causes an error with the line to add for a name in quotes", () => {
    const { hint } = onlyFinding(audit({}, ['GET /:"a b"']), "route_unmapped");
    expect(hint).toBe(String.raw`Add to scopeMappings: "GET /:\"a b\"": ["resource:<a b>:action"]`);
  });

  it.each([
    ["/agents/:id", ["GET /agents/me", "GET /agents/:id.json"]],
    ["/files/*path", ["GET /files/:name"]],
    ["/a{/:b}", ["GET /a"]],
    ["/a{/:b}", ["GET /a", "GET /a/x"]],
  ])("counts as partly mapped if rules cover some of its paths: %s", (pattern, keys) => {
    const report = audit(Object.fromEntries(keys.map((key) => [key, []])), [`GET ${pattern}`]);
    const finding = onlyFinding(report, "route_partly_mapped");
    expect(report.ok).toBe(false);
    expect(finding.rules.map(({ key }) => key)).toEqual(keys);
    for (const key of keys) expect(finding.message).toContain(`\`${key}\``);
    expect(report.findings).toHaveLength(1);
  });

  it("counts as partly mapped if rules cover some of its methods", () => {
    expect(found({ "GET /any": [], "POST /any": [] }, ["* /any"])).toEqual([
      "error route_partly_mapped * /any",
    ]);
    expect(found({ "HEAD /a": [] }, ["GET /a"])).toEqual(["error route_partly_mapped GET /a"]);
    expect(found({ "GET /any": [], "* /any": [] }, ["* /any"])).toEqual([]);
  });

  it("suggests a wider rule for a route that no rule can name, and says so", () => {
    for (const [route, line] of [
      ["GET /v:version/x", '"GET /:version/x": ["resource:<version>:action"]'],
      ["GET /files/*path/raw", '"GET /files/*path": ["resource:action"]'],
    ] as const)
      expect(onlyFinding(audit({}, [route]), "route_unmapped").hint).toBe(
        `Add to scopeMappings: ${line}. No rule can name only this route: the line matches other paths too.`,
      );
  });

  it("suggests rules for the parts that have none", () => {
    const { hint } = onlyFinding(audit({ "GET /a": [] }, ["GET /a{/:b}"]), "route_partly_mapped");
    expect(hint).toBe('Add to scopeMappings: "GET /a/:b": ["resource:<b>:action"]');
    const other = onlyFinding(audit({ "GET /a/b": [] }, ["GET /a/:c"]), "route_partly_mapped");
    expect(other.hint).toBe('Add to scopeMappings: "GET /a/:c": ["resource:<c>:action"]');
  });

  it("causes no error if the rule is written in another letter case, which is the same route", () => {
    const report = audit({ "GET /Agents/:id": [] }, ["GET /agents/:id"]);
    expect(report).toMatchObject({ ok: true, findings: [] });
    expect(report.routes[0]?.rule?.key).toBe("GET /Agents/:id");
  });

  it("causes no error if each of its alternatives has its own rule", () => {
    const report = audit({ "GET /a": [], "GET /a/:b": ["a:read"] }, ["GET /a{/:b}"]);
    expect(report).toMatchObject({ ok: true, findings: [] });
    expect(decided(report)).toEqual([["GET /a{/:b}", "GET /a/:b", ["GET /a"]]]);
  });

  it("causes an error with at most five rules for its parts", () => {
    const table = Object.fromEntries(
      ["a", "b", "c", "d", "e", "f", "g"].map((name) => [`GET /x/${name}`, []]),
    );
    expect(onlyFinding(audit(table, ["GET /x/:id"]), "route_partly_mapped").message).toContain(
      "`GET /x/e` and 2 more",
    );
  });

  it("causes only a note for OPTIONS, which CORS middleware handles, unless any token is enough", () => {
    const keys = ["GET /a", "OPTIONS /*path"];
    const report = audit({ "GET /a": [] }, keys);
    expect(report.findings.map(aboutOf)).toEqual(["note route_unmapped OPTIONS /*path"]);
    expect(report.ok).toBe(true);
    expect(report.summary).toBe("2 routes, 1 with a rule");
    expect(onlyFinding(report, "route_unmapped")).toMatchObject({
      message:
        "`OPTIONS /*path` has no rule of its own: requests that reach it, and that no other rule allows, are refused.",
      hint: 'If it\'s middleware before other routes, or for CORS, there\'s nothing to do. Otherwise add to scopeMappings: "OPTIONS /*path": ["resource:action"]',
    });
    expect(found({ "GET /a": [] }, keys, { fate: "open" })).toEqual(["error route_unmapped OPTIONS /*path"]);
  });
});

describe("a route that cannot be read", () => {
  it.each([
    ["GET", "agents", "list the paths that it serves instead"],
    [
      "GET",
      String.raw`RegExp /^\/health$/`,
      "list the paths that it serves instead: audit(server, [...routesOf(app)",
    ],
    ["GET", "", "list the paths that it serves instead"],
    ["GET", "/files/*", "Write `/files{/*path}`."],
    ["GET", "/agents/:id?", "Write `/agents{/:id}`."],
    ["GET", "/agents/{id}", "Write `/agents/:id`."],
    ["GET", "/static/pre*path", "Let the wildcard be a whole segment: `/files{/*path}`."],
    ["GET", "/a//b", "Write a path without empty or dot segments"],
    ["get", "/agents", "Write `GET`"],
    ["ALL", "/agents", "Write `* /agents`."],
    ["FETCH", "/agents", "Did you mean `PATCH`?"],
    ["", "/agents", "Write `METHOD /pattern`"],
  ])("causes a finding with a fix, not an exception: %j %j: %s", (method, pattern, hint) => {
    const report = auditRoutes(compiledOf({ "* /{*path}": [] }), [{ method, pattern }], "refused");
    const finding = onlyFinding(report, "route_unreadable");
    expect(report.ok).toBe(false);
    expect(report.routes).toEqual([]);
    expect(finding).toMatchObject({ severity: "error", route: { method, pattern } });
    expect(finding.message).toContain(`\`${method} ${pattern}\` can't be compared with the table`);
    expect(finding.hint).toContain(hint);
    expect(report.summary).toMatch(/^1 route, 0 with a rule; /);
  });
});

describe("the array of routes", () => {
  it("causes one error if it is empty", () => {
    const report = audit({ "GET /a": [] }, []);
    expect(report.findings.map(aboutOf)).toEqual(["error routes_missing"]);
    expect(report).toMatchObject({ ok: false, routes: [], summary: "no routes; 1 error" });
    expect(report.findings[0]).toMatchObject({
      message: "no routes were passed, so nothing was audited.",
      hint: "List the routes after the application has registered them: audit(server, routesOf(app)).",
    });
  });

  it.each([[undefined], [null], ["GET /a"], [{}], [() => []], [{ method: "GET", pattern: "/a" }]])(
    "causes a TypeError with the line to write if it is %j",
    (list) => {
      const run = () => auditRoutes(compiledOf({}), list as never, "refused");
      expect(run).toThrow(TypeError);
      expect(run).toThrow("audit(server, routesOf(app))");
    },
  );

  it.each([
    [null],
    ["GET /a"],
    [{ method: "GET" }],
    [{ pattern: "/a" }],
    [{ method: ["GET"], pattern: "/a" }],
    [{ method: "GET", pattern: /a/ }],
  ])("causes a TypeError that names the entry if it contains %j", (one) => {
    const list = [{ method: "GET", pattern: "/a" }, one] as never;
    const run = () => auditRoutes(compiledOf({}), list, "refused");
    expect(run).toThrow(TypeError);
    expect(run).toThrow("entry 2 has another shape");
  });
});

describe("a rule that no route reaches", () => {
  it("causes an error if it is custom, and a note if it is a default", () => {
    const defaults = { "GET /teams": ["teams:read"], "GET /agents": ["agents:read"] };
    const report = audit(
      { "GET /agents": ["agents:read", "agents:use"], "GET /reports": [] },
      ["GET /health"],
      {
        defaults,
      },
    );
    expect(report.findings.map(aboutOf)).toEqual([
      "error route_unmapped GET /health",
      "error rule_unreached GET /agents",
      "error rule_unreached GET /reports",
      "note rule_unreached GET /teams",
    ]);
    const usual = audit({ "GET /health": "public" }, ["GET /health"], { defaults });
    expect(usual).toMatchObject({ ok: true, summary: "1 route, with a rule" });
    expect(usual.findings.map(aboutOf)).toEqual([
      "note rule_unreached GET /teams",
      "note rule_unreached GET /agents",
    ]);
  });

  it("causes only a note in services that share their rules as defaultScopeMappings", () => {
    const shared = { "GET /orders": ["orders:read"], "GET /invoices": ["invoices:read"] };
    for (const [route = "", other = ""] of [Object.keys(shared), Object.keys(shared).reverse()]) {
      const asCustom = audit({ "GET /health": "public", ...shared }, ["GET /health", route]);
      expect(asCustom.findings.map(aboutOf)).toEqual([`error rule_unreached ${other}`]);
      expect(onlyFinding(asCustom, "rule_unreached").hint).toContain(
        "If another service with this policy has the route, move the rule to defaultScopeMappings.",
      );
      const asBase = audit({ "GET /health": "public" }, ["GET /health", route], { defaults: shared });
      expect(asBase.findings.map(aboutOf)).toEqual([`note rule_unreached ${other}`]);
      expect(asBase.orThrow({ warnings: true })).toBe(asBase);
    }
  });

  it.each([
    ["GET /reports/:id", "GET /report/:id"],
    ["GET /custom/endpoint", "POST /custom/endpoint"],
  ])("causes for %s the hint %s, a route without its own rule", (key, route) => {
    const report = audit({ [key]: ["x:y"], "* /{*path}": [] }, [route, "GET /elsewhere"]);
    expect(onlyFinding(report, "rule_unreached").hint).toBe(`Did you mean \`${route}\`?`);
  });

  it("causes no hint at a route that has its own rule", () => {
    const report = audit({ "GET /reports/:id": [], "GET /report/:id": [] }, ["GET /report/:id"]);
    expect(onlyFinding(report, "rule_unreached").hint).toContain(
      "Otherwise the rule is misspelled or unused.",
    );
  });

  it.each([
    ["GET /a", "GET /a"],
    ["* /a", "POST /a"],
    ["HEAD /a", "GET /a"],
    ["GET /a/b", "GET /a/:id"],
    ["GET /:x/b", "GET /a/:y"],
    ["POST /a", "* /a"],
    ["GET /a{/*b}", "GET /a/c"],
    ["OPTIONS /{*path}", "GET /a"],
    ["OPTIONS /a", "POST /a"],
    // Express and Koa read the two as one.
    ["GET /A", "GET /a"],
  ])("causes no finding for %s if %s is a route", (key, route) => {
    expect(found({ [key]: [], "* /{*path}": [] }, [route]).join()).not.toContain("unreached");
  });

  it.each([
    ["POST /a", "GET /a"],
    ["GET /a", "HEAD /a/b"],
    ["HEAD /a", "POST /a"],
    ["GET /a/b", "GET /a"],
    ["OPTIONS /b", "GET /a"],
    ["* /a/:id", "GET /a"],
  ])("causes a finding for %s if only %s is a route", (key, route) => {
    expect(found({ [key]: [], "* /{*path}": [] }, [route])).toContain(`error rule_unreached ${key}`);
  });
});

describe("the text of a report", () => {
  it("lists errors first, then warnings, then notes, each with its kind and its fix", () => {
    const report = audit({ "* /a/*path": [], "GET /a/:id": ["a:b"], "GET /unused": [], "* /{*path}": [] }, [
      "DELETE /a/:id",
      "GET /a/:id",
      "GET x",
    ]);
    expect(report.text).toBe(`3 routes, 2 with a rule; 2 errors, 1 warning

error route_unreadable: the route \`GET x\` can't be compared with the table: \`x\` doesn't begin with a slash.
  Register it with a path, or list the paths that it serves instead: audit(server, [...routesOf(app).filter(({ pattern }) => pattern.startsWith("/")), { method: "GET", pattern: "/agents/:agent_id" }]).

error rule_unreached: no route reaches the rule \`GET /unused\` (custom).
  If static files, a mounted application or an upgrade behind protect serve these requests, add the route: audit(server, [...routesOf(app), { method: "GET", pattern: "/unused" }]), or for scopegate audit, export an array with it as routes. If another service with this policy has the route, move the rule to defaultScopeMappings. Otherwise the rule is misspelled or unused.

warning wider_rule_weaker: \`* /a/*path\` requires a valid token. It also decides \`DELETE /a/:id\` (\`GET /a/:id\` requires a:b).
  Write what these requests require: \`* /a/:id\` for the other methods of a path, \`* /a/:id{/*path}\` for everything below it, too.`);
  });

  it("lists the default rules that no route reaches in one entry", () => {
    const defaults = { "GET /b": [], "GET /c": [], "GET /d": [] };
    const { text } = audit({ "GET /a": [] }, ["GET /a", "GET /d"], { defaults });
    expect(text.split("\n\n")).toEqual([
      "2 routes, each with a rule",
      expect.stringMatching(
        /^note rule_unreached: 2 default rules are reached by no route: `GET \/b`, `GET \/c`\.\n {2}\S/,
      ),
    ]);
    expect(audit({ "GET /a": [] }, ["GET /a", "GET /d", "GET /c"], { defaults }).text).toContain(
      "note rule_unreached: no route reaches the rule `GET /b` (default).",
    );
  });
});

describe("a route for every method before other routes, as NestJS registers middleware", () => {
  const table: ScopeMappings = { "GET /api/agents": ["agents:read"] };

  it.each([
    ["* /api", "* /api", "GET /api/agents"],
    ["* /api/*path", "* /api/*path", "GET /api/agents"],
    ["* /", "* /", "GET /api/agents"],
  ])("causes only a note if it has no rule: %s", (about, ...keys) => {
    const report = audit(table, keys);
    expect(report.findings.map(aboutOf)).toEqual([`note route_unmapped ${about}`]);
    expect(onlyFinding(report, "route_unmapped").hint).toMatch(
      /^If it's middleware before other routes, or for CORS, there's nothing to do\. Otherwise add to scopeMappings: /,
    );
    expect(report.orThrow({ warnings: true })).toBe(report);
  });

  it.each([
    ["no route below it", ["* /api", "GET /apis"], {}],
    ["any token is enough for it", ["* /api", "GET /api/agents"], { fate: "open" }],
    ["it has one method", ["GET /api", "GET /api/agents"], {}],
  ] as const)("causes an error if %s", (_, keys, given) => {
    expect(found(table, keys, given)).toContain(`error route_unmapped ${keys[0]}`);
  });
});

describe("a public rule for every path", () => {
  it.each([
    ["GET /{*path}", "public"],
    ["GET /*path", "public"],
    ["* /{*path}", "optional"],
  ] as const)("causes an error: %s, %s", (key, requirement) => {
    const report = audit({ [key]: requirement, "GET /api/a": [] }, ["GET /api/a", "GET /api/b", key]);
    expect(report.ok).toBe(false);
    const { severity, rule, message, hint } = onlyFinding(report, "public_catch_all");
    expect([severity, rule.key]).toEqual(["error", key]);
    expect(message).toContain("a route that is missing from the table is public");
    expect(hint).toContain(`audit(server, routes, { publicCatchAll: ["${key}"] })`);
    expect(hint).toContain(`--public-catch-all '${key}'`);
    expect(hint).toContain(
      'Let a rule such as "* /api{/*path}": ["resource:action"] decide all paths of your API.',
    );
  });

  it("causes no error if the options of the audit name it", () => {
    const table: ScopeMappings = { "GET /{*path}": "public", "GET /api{/*path}": ["api:use"] };
    const options = { publicCatchAll: ["GET /{*path}"] };
    expect(found(table, ["GET /{*path}", "GET /api{/*path}"], { options })).toEqual([]);
  });

  it.each([
    ["GET /assets/*path", "public"],
    ["GET /", "public"],
    ["OPTIONS /{*path}", "public"],
    ["GET /{*path}", []],
  ] as const)("causes no error for %s, %j", (key, requirement) => {
    expect(found({ [key]: requirement }, [key])).toEqual([]);
  });

  it("throws if publicCatchAll is not an array", () => {
    const options = { publicCatchAll: "GET /{*path}" } as never;
    expect(() => audit({}, ["GET /a"], { options })).toThrow(
      "audit.publicCatchAll: has an invalid value. Write an array of keys",
    );
  });

  it("throws if the table has no rule with a confirmed key", () => {
    const options = { publicCatchAll: ["GET /*rest"] };
    expect(() => audit({ "GET /{*path}": "public" }, ["GET /a"], { options })).toThrow(
      'audit.publicCatchAll: contains "GET /*rest", which isn\'t a public or optional rule for every path.',
    );
  });
});

describe("orThrow", () => {
  it("throws the text of a report with errors", () => {
    const { orThrow, text } = audit({ "GET /a": [] }, ["GET /a", "GET /b"]);
    expect(orThrow).toThrow(AuditError);
    expect(orThrow).toThrow(
      expect.objectContaining({ name: "AuditError", code: "audit_failed", message: text }) as Error,
    );
  });

  const report = audit({ "* /a": [], "GET /a": ["a:read"] }, ["GET /a", "PUT /a"]);

  it("returns a report that has warnings only", () => {
    expect(report.findings.map(aboutOf)).toEqual(["warning wider_rule_weaker * /a"]);
    expect(report.orThrow()).toBe(report);
    expect(report.orThrow({ warnings: false })).toBe(report);
  });

  it("throws for warnings as well with `warnings: true`", () => {
    expect(() => report.orThrow({ warnings: true })).toThrow(new AuditError(report.text));
    const clean = audit({ "GET /a": [] }, ["GET /a"]);
    expect(clean.orThrow({ warnings: true })).toBe(clean);
  });
});
