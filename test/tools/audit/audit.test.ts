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

describe("an audit of routes that all have a rule", () => {
  const table: ScopeMappings = {
    "GET /agents/:id": ["agents:<id>:read"],
    "GET /agents/me": ["me:read"],
    "* /health": "public",
    "GET /files/*path": ["files:read"],
  };
  const keys = ["GET /agents/:agent", "GET /health", "POST /health", "GET /files/:name"];

  it("returns one line of text, and for each route its rule and the rules for a part of it", () => {
    const report = audit(table, keys);
    expect(report).toMatchObject({ ok: true, findings: [], summary: "4 routes, each with a rule" });
    expect(report.text).toBe(report.summary);
    expect(report.routes.map(({ rule, parts }) => [rule?.key, ...parts.map(({ key }) => key)])).toEqual([
      ["GET /agents/:id", "GET /agents/me"],
      ["* /health"],
      ["* /health"],
      ["GET /files/*path"],
    ]);
  });

  it("counts a route once, with and without a trailing slash, in the order of any iterable", () => {
    const routes = new Set(routesOf("GET /b", "GET /a/", "GET /b/", "GET /a", "GET /")).values();
    const report = auditRoutes(compiledOf({ "GET /a": [], "GET /b": [], "GET /": [] }), routes, "refused");
    expect(report.summary).toBe("3 routes, each with a rule");
    expect(report.routes.map(({ pattern }) => pattern)).toEqual(["/b", "/a/", "/"]);
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
  it.each([
    ["refused", "every request for it is refused"],
    ["open", "any valid token is enough"],
  ] as const)("causes an error if requests without a rule are %s, with the effect", (fate, effect) => {
    const report = audit({ "GET /a": [] }, ["GET /a", "GET /b"], { fate });
    expect(report).toMatchObject({ ok: false, summary: "2 routes, 1 with a rule; 1 error" });
    expect(report.findings.map(aboutOf)).toEqual(["error route_unmapped GET /b"]);
    expect(report.routes.map(({ rule }) => rule?.key)).toEqual(["GET /a", undefined]);
    expect(onlyFinding(report, "route_unmapped").message).toContain(effect);
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

  const WIDER = "No rule can name only this route: the line matches other paths too.";

  it.each([
    ['GET /:"a b"', String.raw`"GET /:\"a b\"": ["resource:<a b>:action"]`],
    ["GET /v:version/x", `"GET /:version/x": ["resource:<version>:action"]. ${WIDER}`],
    ["GET /files/*path/raw", `"GET /files/*path": ["resource:action"]. ${WIDER}`],
  ])("causes an error with the nearest line that a table can have, for %s", (key, line) => {
    expect(onlyFinding(audit({}, [key]), "route_unmapped").hint).toBe(`Add to scopeMappings: ${line}`);
  });

  it.each([
    ["GET /agents/:id", ["GET /agents/me", "GET /agents/:id.json"], '"GET /agents/:id": ["resource:<id>:'],
    ["GET /files/*path", ["GET /files/:name"], '"GET /files/*path": ["resource:action"]'],
    ["GET /a{/:b}", ["GET /a"], '"GET /a/:b": ["resource:<b>:action"]'],
    ["GET /a{/:b}", ["GET /a", "GET /a/x"], '"GET /a/:b": ["resource:<b>:action"]'],
    ["* /any", ["GET /any", "POST /any"], '"* /any": ["resource:action"]'],
    ["GET /a", ["HEAD /a"], '"GET /a": ["resource:action"]'],
  ])("counts as partly mapped if rules cover some of its requests: %s by %j", (route, keys, line) => {
    const report = audit(Object.fromEntries(keys.map((key) => [key, []])), [route]);
    const finding = onlyFinding(report, "route_partly_mapped");
    expect(report.findings).toEqual([finding]);
    expect(finding.severity).toBe("error");
    expect(finding.rules.map(({ key }) => key)).toEqual(keys);
    for (const key of keys) expect(finding.message).toContain(`\`${key}\``);
    expect(finding.hint).toContain(`Add to scopeMappings: ${line}`);
  });

  it("causes an error with at most five rules for its parts", () => {
    const table = Object.fromEntries(
      ["a", "b", "c", "d", "e", "f", "g"].map((name) => [`GET /x/${name}`, []]),
    );
    expect(onlyFinding(audit(table, ["GET /x/:id"]), "route_partly_mapped").message).toContain(
      "`GET /x/e` and 2 more",
    );
  });

  it.each<[string, ScopeMappings, string]>([
    ["its rule is written in another letter case", { "GET /Agents/:id": [] }, "GET /agents/:id"],
    ["each of its alternatives has its own rule", { "GET /a": [], "GET /a/:b": ["a:read"] }, "GET /a{/:b}"],
    ["a rule is for every method", { "GET /any": [], "* /any": [] }, "* /any"],
  ])("causes no error if %s", (_, table, route) => {
    expect(found(table, [route])).toEqual([]);
  });

  it("causes only a note for OPTIONS, which CORS middleware handles, unless any token is enough", () => {
    const keys = ["GET /a", "OPTIONS /*path"];
    const report = audit({ "GET /a": [] }, keys);
    expect(report).toMatchObject({ ok: true, summary: "2 routes, 1 with a rule" });
    expect(report.findings).toMatchObject([
      {
        severity: "note",
        message:
          "`OPTIONS /*path` has no rule of its own: requests that reach it, and that no other rule allows, are refused.",
        hint: 'If it\'s middleware before other routes, or for CORS, there\'s nothing to do. Otherwise add to scopeMappings: "OPTIONS /*path": ["resource:action"]',
      },
    ]);
    expect(found({ "GET /a": [] }, keys, { fate: "open" })).toEqual(["error route_unmapped OPTIONS /*path"]);
  });

  const table: ScopeMappings = { "GET /api/agents": ["agents:read"] };

  it.each(["* /api", "* /api/*path", "* /"])(
    "causes only a note for every method before other routes, as NestJS registers middleware: %s",
    (middleware) => {
      const report = audit(table, [middleware, "GET /api/agents"]);
      expect(report.findings.map(aboutOf)).toEqual([`note route_unmapped ${middleware}`]);
      expect(onlyFinding(report, "route_unmapped").hint).toMatch(/^If it's middleware before other routes/);
      expect(report.orThrow({ warnings: true })).toBe(report);
    },
  );

  it.each([
    ["no route is below it", ["* /api", "GET /apis"], {}],
    ["any token is enough for it", ["* /api", "GET /api/agents"], { fate: "open" }],
    ["it has one method", ["GET /api", "GET /api/agents"], {}],
  ] as const)("causes an error for every method if %s", (_, keys, given) => {
    expect(found(table, keys, given)).toContain(`error route_unmapped ${keys[0]}`);
  });
});

describe("a route that cannot be read", () => {
  it.each([
    ["GET", "agents", "list the paths that it serves instead"],
    ["GET", "", "list the paths that it serves instead"],
    [
      "GET",
      String.raw`RegExp /^\/health$/`,
      "list the paths that it serves instead: audit(server, [...routesOf(app)",
    ],
    ["GET", "/files/*", "Write `/files{/*path}`."],
    ["GET", "/a//b", "Write a path without empty or dot segments"],
    ["ALL", "/agents", "Write `* /agents`."],
    ["", "/agents", "Write `METHOD /pattern`"],
  ])("causes a finding with a fix, not an exception: %j %j: %s", (method, pattern, hint) => {
    const report = auditRoutes(compiledOf({ "* /{*path}": [] }), [{ method, pattern }], "refused");
    const finding = onlyFinding(report, "route_unreadable");
    expect(report).toMatchObject({ ok: false, routes: [] });
    expect(finding).toMatchObject({ severity: "error", route: { method, pattern } });
    expect(finding.message).toContain(`\`${method} ${pattern}\` can't be compared with the table`);
    expect(finding.hint).toContain(hint);
    expect(report.summary).toMatch(/^1 route, 0 with a rule; /);
  });
});

describe("the array of routes", () => {
  it("causes one error if it is empty", () => {
    const report = audit({ "GET /a": [] }, []);
    expect(report).toMatchObject({ ok: false, routes: [], summary: "no routes; 1 error" });
    expect(report.findings).toMatchObject([
      {
        kind: "routes_missing",
        severity: "error",
        message: "no routes were passed, so nothing was audited.",
        hint: "List the routes after the application has registered them: audit(server, routesOf(app)).",
      },
    ]);
  });

  const route = { method: "GET", pattern: "/a" };
  const line = "audit(server, routesOf(app))";

  it.each<[list: unknown, message: string]>([
    [undefined, line],
    [null, line],
    ["GET /a", line],
    [route, line],
    ...[null, "GET /a", { method: "GET" }, { pattern: "/a" }, { ...route, method: ["GET"] }].map(
      (entry): [unknown, string] => [[route, entry], "entry 2 has another shape"],
    ),
  ])("causes a TypeError with the fix if it is %j", (list, message) => {
    const run = () => auditRoutes(compiledOf({}), list as never, "refused");
    expect(run).toThrow(TypeError);
    expect(run).toThrow(message);
  });
});

describe("a rule that no route reaches", () => {
  it("causes an error if it is custom, and a note if it is a default", () => {
    const defaults = { "GET /teams": ["teams:read"], "GET /agents": ["agents:read"] };
    const table = { "GET /agents": ["agents:read", "agents:use"], "GET /reports": [] };
    const report = audit(table, ["GET /health"], { defaults });
    expect(report.findings.map(aboutOf)).toEqual([
      "error route_unmapped GET /health",
      "error rule_unreached GET /agents",
      "error rule_unreached GET /reports",
      "note rule_unreached GET /teams",
    ]);
    const usual = audit({ "GET /health": "public" }, ["GET /health"], { defaults });
    expect(usual.findings.map(aboutOf)).toEqual([
      "note rule_unreached GET /teams",
      "note rule_unreached GET /agents",
    ]);
    expect(usual.summary).toBe("1 route, with a rule");
    expect(usual.orThrow({ warnings: true })).toBe(usual);
  });

  it.each<[string, ScopeMappings, string, string]>([
    ["GET /reports/:id", {}, "GET /report/:id", "Did you mean `GET /report/:id`?"],
    ["GET /custom/endpoint", {}, "POST /custom/endpoint", "Did you mean `POST /custom/endpoint`?"],
    ["GET /reports/:id", { "GET /report/:id": [] }, "GET /report/:id", "is misspelled or unused."],
  ])("has for %s next to %j a hint at a route without its own rule", (key, others, route, hint) => {
    const report = audit({ [key]: ["x:y"], "* /{*path}": [], ...others }, [route, "GET /elsewhere"]);
    expect(onlyFinding(report, "rule_unreached").hint).toMatch(new RegExp(`${hint.replace("?", "\\?")}$`));
  });

  // That a reported rule decides no request is the subject of agreement.test.ts.
  it.each([
    ["HEAD /a", "GET /a"],
    ["POST /a", "* /a"],
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

describe("a public rule for every path", () => {
  it.each([
    ["GET /{*path}", "public"],
    ["GET /*path", "public"],
    ["* /{*path}", "optional"],
  ] as const)("causes an error: %s, %s", (key, requirement) => {
    const report = audit({ [key]: requirement, "GET /api/a": [] }, ["GET /api/a", "GET /api/b", key]);
    const { severity, rule, message, hint } = onlyFinding(report, "public_catch_all");
    expect([report.ok, severity, rule.key]).toEqual([false, "error", key]);
    expect(message).toContain("a route that is missing from the table is public");
    expect(hint).toContain(`audit(server, routes, { publicCatchAll: ["${key}"] })`);
    expect(hint).toContain(`--public-catch-all '${key}'`);
    expect(hint).toContain(
      'Let a rule such as "* /api{/*path}": ["resource:action"] decide all paths of your API.',
    );
  });

  it.each([
    ["GET /{*path}", "public", { publicCatchAll: ["GET /{*path}"] }],
    ["GET /assets/*path", "public", {}],
    ["GET /", "public", {}],
    ["OPTIONS /{*path}", "public", {}],
    ["GET /{*path}", [], {}],
  ] as const)("causes no error for %s, %j, with the options %j", (key, requirement, options) => {
    expect(found({ [key]: requirement }, [key], { options })).toEqual([]);
  });

  it.each([
    ["GET /{*path}", "has an invalid value. Write an array of keys"],
    [["GET /*rest"], 'contains "GET /*rest", which isn\'t a public or optional rule for every path.'],
  ])("throws if publicCatchAll is %j", (publicCatchAll, message) => {
    const options = { publicCatchAll } as AuditOptions;
    expect(() => audit({ "GET /{*path}": "public" }, ["GET /a"], { options })).toThrow(
      `audit.publicCatchAll: ${message}`,
    );
  });
});

describe("orThrow", () => {
  it("throws the text of a report with errors, or with `warnings: true` also of one with warnings", () => {
    const { orThrow, text: message } = audit({ "GET /a": [] }, ["GET /a", "GET /b"]);
    expect(orThrow).toThrow(AuditError);
    expect(orThrow).toThrow(
      expect.objectContaining({ name: "AuditError", code: "audit_failed", message }) as Error,
    );
    const report = audit({ "* /a": [], "GET /a": ["a:read"] }, ["GET /a", "PUT /a"]);
    expect(report.findings.map(aboutOf)).toEqual(["warning wider_rule_weaker * /a"]);
    expect(report.orThrow()).toBe(report);
    expect(report.orThrow({ warnings: false })).toBe(report);
    expect(() => report.orThrow({ warnings: true })).toThrow(new AuditError(report.text));
  });
});
