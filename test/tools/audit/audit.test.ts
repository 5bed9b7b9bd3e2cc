/** What an audit of a table and of listed routes reports. */
import { AuditError, type AuditFinding, type AuditOptions, type ListedRoute } from "scopegate/audit";
import { describe, expect, it } from "vitest";
import { auditRoutes } from "../../../src/tools/audit/audit.ts";
import type { ScopeMappings } from "../../../src/core/policy/scope-mappings.ts";
import { changeable, compiledOf } from "../../support/policy.ts";

const UNGUARDED = { message: "is registered before protect.", hint: "Move it." };
const UNCERTAIN = { ...UNGUARDED, isUncertain: true } as const;

/** Routes written as the table writes its keys. `! ` stands for an unguarded one, `? ` for an uncertain one. */
const routesOf = (...keys: readonly string[]): readonly ListedRoute[] =>
  keys.map((key) => {
    const [, mark, method = "", pattern = ""] = /^([!?] )?(\S*) (.*)$/.exec(key) ?? [];
    return { method, pattern, ...(mark && { unguarded: mark === "! " ? UNGUARDED : UNCERTAIN }) };
  });

interface Given {
  readonly defaults?: ScopeMappings;
  readonly fate?: "refused" | "open";
  readonly options?: AuditOptions;
}

const audit = (table: ScopeMappings, keys: readonly string[], { defaults, fate, options }: Given = {}) =>
  auditRoutes(compiledOf(table, defaults), routesOf(...keys), fate ?? "refused", options);

/** The severity, kind and subject of a finding: `error route_unmapped GET /a`. */
const aboutOf = (finding: AuditFinding): string => {
  const { severity, kind } = finding;
  if ("route" in finding) return `${severity} ${kind} ${finding.route.method} ${finding.route.pattern}`;
  return "rule" in finding ? `${severity} ${kind} ${finding.rule.key}` : `${severity} ${kind}`;
};

const found = (...given: Parameters<typeof audit>): readonly string[] =>
  audit(...given).findings.map(aboutOf);

/** The message and the hint of the only finding of a kind. */
function textOf(kind: AuditFinding["kind"], ...given: Parameters<typeof audit>): string {
  const [finding, ...others] = audit(...given).findings.filter((each) => each.kind === kind);
  expect(others).toEqual([]);
  return `${finding?.message} ${finding?.hint}`;
}

describe("a report", () => {
  it("contains each route with its rule and the rules for a part of it, in one line of text", () => {
    const table: ScopeMappings = {
      "GET /agents/:id": ["agents:<id>:read"],
      "GET /agents/me": ["me:read"],
      "* /health": "public",
      "GET /files/*path": ["files:read"],
    };
    const report = audit(table, ["GET /agents/:agent", "POST /health", "GET /files/:name"]);
    expect(report).toMatchObject({ ok: true, findings: [], summary: "3 routes, each with a rule" });
    expect(report.text).toBe(report.summary);
    expect(report.routes.map(({ rule, parts }) => [rule?.key, ...parts.map(({ key }) => key)])).toEqual([
      ["GET /agents/:id", "GET /agents/me"],
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

  it("is frozen", () => {
    const report = audit({ "GET /unused": [], "* /{*path}": [] }, ["GET a", "GET /x", "OPTIONS /a"]);
    expect(changeable(report)).toEqual([]);
  });

  it("lists errors first, then warnings, then notes, each with its kind and its fix", () => {
    const table = { "* /a/*path": [], "GET /a/:id": ["a:b"], "GET /unused": [], "* /{*path}": [] };
    expect(audit(table, ["DELETE /a/:id", "GET /a/:id", "GET x"]).text)
      .toBe(`3 routes, 2 with a rule; 2 errors, 1 warning

error route_unreadable: the route \`GET x\` can't be compared with the table: \`x\` doesn't begin with a slash.
  Register it with a path, or list the paths that it serves instead: audit(server, [...routesOf(app).filter(({ pattern }) => pattern.startsWith("/")), { method: "GET", pattern: "/agents/:agent_id" }]).

error rule_unreached: no route reaches the rule \`GET /unused\` (custom).
  If static files, a mounted application or an upgrade behind protect serve these requests, add the route: audit(server, [...routesOf(app), { method: "GET", pattern: "/unused" }]), or for scopegate audit, export an array with it as routes. If another service with this policy has the route, move the rule to defaultScopeMappings. Otherwise the rule is misspelled or unused.

warning wider_rule_weaker: \`* /a/*path\` requires a valid token. It also decides \`DELETE /a/:id\` (\`GET /a/:id\` requires a:b).
  Add \`DELETE /a/:id\` with what these requests require.`);
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

  it("throws its text with `orThrow` if it has errors, or with `warnings: true` also if it has warnings", () => {
    const { orThrow, text: message } = audit({ "GET /a": [] }, ["GET /a", "GET /b"]);
    expect(orThrow).toThrow(AuditError);
    expect(orThrow).toThrow(
      expect.objectContaining({ name: "AuditError", code: "audit_failed", message }) as Error,
    );
    const warning = audit({ "* /a": [], "GET /a": ["a:read"] }, ["GET /a", "PUT /a"]);
    expect(warning.orThrow()).toBe(warning);
    expect(() => warning.orThrow({ warnings: true })).toThrow(new AuditError(warning.text));
    const note = audit({ "GET /a": [] }, ["GET /a"], { defaults: { "GET /b": [] } });
    expect(note.orThrow({ warnings: true })).toBe(note);
  });
});

describe("a route without a rule", () => {
  it.each([
    ["refused", "every request for it is refused"],
    ["open", "any valid token is enough"],
  ] as const)("is an error if requests without a rule are %s, with the effect", (fate, effect) => {
    const report = audit({ "GET /a": [] }, ["GET /a", "GET /b"], { fate });
    expect(report).toMatchObject({ ok: false, summary: "2 routes, 1 with a rule; 1 error" });
    expect(report.routes.map(({ rule }) => rule?.key)).toEqual(["GET /a", undefined]);
    expect(report.findings.map(aboutOf)).toEqual(["error route_unmapped GET /b"]);
    expect(report.findings[0]?.message).toContain(effect);
  });

  it.each([
    ["GET /reports", '"GET /reports": ["resource:action"]'],
    ["* /teams/:team_id/runs/:run_id", '"* /teams/:team_id/runs/:run_id": ["resource:<run_id>:action"]'],
    ["GET /files/*path", '"GET /files/*path": ["resource:action"]'],
    ["GET /a{/:b}", '"GET /a/:b": ["resource:<b>:action"], "GET /a": ["resource:action"]'],
  ])("is an error with the line to add, which is enough, for %s", (key, line) => {
    expect(audit({}, [key]).findings).toMatchObject([{ hint: `Add to scopeMappings: ${line}` }]);
    expect(found(JSON.parse(`{${line}}`) as ScopeMappings, [key])).toEqual([]);
  });

  const WIDER = "No rule can name only this route: the line matches other paths too.";

  it.each([
    ['GET /:"a b"', String.raw`"GET /:\"a b\"": ["resource:<a b>:action"]`],
    ["GET /v:version/x", `"GET /:version/x": ["resource:<version>:action"]. ${WIDER}`],
    ["GET /files/*path/raw", `"GET /files/*path": ["resource:action"]. ${WIDER}`],
  ])("is an error with the nearest line that a table can have, for %s", (key, line) => {
    expect(audit({}, [key]).findings).toMatchObject([{ hint: `Add to scopeMappings: ${line}` }]);
  });

  it.each([
    ["GET /agents/:id", ["GET /agents/me", "GET /agents/:id.json"], '"GET /agents/:id": ["resource:<id>:'],
    ["GET /files/*path", ["GET /files/:name"], '"GET /files/*path": ["resource:action"]'],
    ["GET /a{/:b}", ["GET /a"], '"GET /a/:b": ["resource:<b>:action"]'],
    ["GET /a{/:b}", ["GET /a", "GET /a/x"], '"GET /a/:b": ["resource:<b>:action"]'],
    ["* /any", ["GET /any", "POST /any"], '"* /any": ["resource:action"]'],
    ["GET /a", ["HEAD /a"], '"GET /a": ["resource:action"]'],
  ])("is partly mapped if rules cover some of its requests: %s by %j", (route, keys, line) => {
    const table = Object.fromEntries(keys.map((key) => [key, []]));
    const { findings } = audit(table, [route]);
    expect(findings).toMatchObject([
      { kind: "route_partly_mapped", severity: "error", rules: keys.map((key) => ({ key })) },
    ]);
    for (const part of [...keys.map((key) => `\`${key}\``), `Add to scopeMappings: ${line}`])
      expect(`${findings[0]?.message} ${findings[0]?.hint}`).toContain(part);
  });

  it("is an error with at most five rules for its parts", () => {
    const table = Object.fromEntries(
      ["a", "b", "c", "d", "e", "f", "g"].map((name) => [`GET /x/${name}`, []]),
    );
    expect(textOf("route_partly_mapped", table, ["GET /x/:id"])).toContain("`GET /x/e` and 2 more");
  });

  it.each<[string, ScopeMappings, string]>([
    ["its rule is written in another letter case", { "GET /Agents/:id": [] }, "GET /agents/:id"],
    ["each of its alternatives has its own rule", { "GET /a": [], "GET /a/:b": ["a:read"] }, "GET /a{/:b}"],
    ["a rule is for every method", { "GET /any": [], "* /any": [] }, "* /any"],
  ])("is no finding if %s", (_, table, route) => {
    expect(found(table, [route])).toEqual([]);
  });

  const API = { "GET /api/agents": ["agents:read"] };

  // CORS middleware handles OPTIONS, and NestJS registers middleware for every method.
  it.each(["OPTIONS /*path", "* /api", "* /api/*path", "* /"])(
    "is a note if it may be middleware: %s",
    (key) => {
      expect(found(API, [key, "GET /api/agents"])).toEqual([`note route_unmapped ${key}`]);
      expect(textOf("route_unmapped", API, [key, "GET /api/agents"])).toBe(
        `\`${key}\` has no rule of its own: requests that reach it, and that no other rule allows, are refused. If it's middleware before other routes, or for CORS, there's nothing to do. Otherwise add to scopeMappings: "${key}": ["resource:action"]`,
      );
    },
  );

  it.each([
    ["any token is enough for it", ["OPTIONS /*path", "GET /api/agents"], { fate: "open" }],
    ["any token is enough for it", ["* /api", "GET /api/agents"], { fate: "open" }],
    ["no route is below it", ["* /api", "GET /apis"], {}],
    ["it has one method", ["GET /api", "GET /api/agents"], {}],
  ] as const)("is an error if %s: %j", (_, keys, given) => {
    expect(found(API, keys, given)).toContain(`error route_unmapped ${keys[0]}`);
  });
});

describe("an unguarded route", () => {
  it("is an error with the place and the fix, and keeps the place in its report", () => {
    const report = audit({ "GET /a": [] }, ["! GET /a"]);
    expect(report).toMatchObject({ ok: false, routes: [{ pattern: "/a", unguarded: UNGUARDED }] });
    expect(report.text).toContain(
      'error route_unguarded: `GET /a` is registered before protect.\n  Move it. If anyone may call it, write "GET /a": "public"',
    );
  });

  const UNKNOWN = ["? GET /a", "? GET /b"];

  it.each<[string, ScopeMappings, readonly string[], finding: string]>([
    ["its rule requires a token", { "GET /a": [] }, ["! GET /a"], "route_unguarded GET /a"],
    ["its rule reads a token", { "GET /a": "optional" }, ["! GET /a"], "route_unguarded GET /a"],
    ["a rule for every method does", { "* /a": [] }, ["! * /a"], "route_unguarded * /a"],
    ["OPTIONS has its own rule", { "OPTIONS /a": [] }, ["! OPTIONS /a"], "route_unguarded OPTIONS /a"],
    ["it is also guarded", { "GET /a": [] }, ["GET /a", "! GET /a/"], "route_unguarded GET /a/"],
    ["it is also guarded", { "GET /a": [] }, ["! GET /a", "GET /a"], "route_unguarded GET /a"],
    ["no guard is known", { "GET /a": [], "GET /b": [] }, UNKNOWN, "guard_missing"],
    ["one of all isn't public", { "GET /a": "public", "GET /b": "optional" }, UNKNOWN, "guard_missing"],
  ])("is one error if %s: %j, %j", (_, table, keys, finding) => {
    expect(found(table, keys)).toEqual([`error ${finding}`]);
  });

  it.each(["refused", "open"] as const)("is one error without a rule, if other requests are %s", (fate) => {
    expect(found({}, ["! GET /a"], { fate })).toEqual(["error route_unguarded GET /a"]);
  });

  it("is an error if a rule for a part of it requires scopes", () => {
    const table: ScopeMappings = { "GET /a/:x": "public", "GET /a/me": ["me:read"] };
    expect(found(table, ["! GET /a/:x"])).toContain("error route_unguarded GET /a/:x");
  });

  it.each<[string, ScopeMappings, readonly string[]]>([
    ["it is public", { "GET /a": "public" }, ["! GET /a"]],
    ["CORS middleware may handle it", { "* /a": [] }, ["! OPTIONS /a"]],
    ["every route is public", { "GET /a": "public", "GET /b": "public" }, UNKNOWN],
  ])("is no finding if %s", (_, table, keys) => {
    expect(found(table, keys)).toEqual([]);
  });

  it.each([
    ["guard_missing", "?"],
    ["route_unguarded", "!"],
  ] as const)("is no %s if its path is declared as guarded elsewhere", (kind, mark) => {
    const keysWith = (...guardedElsewhere: readonly string[]) =>
      found({ "GET /a": [], "GET /a/:id": [] }, [`${mark} GET /a`, `${mark} GET /a/:id`], {
        options: { guardedElsewhere },
      }).join();
    for (const patterns of [["/{*path}"], ["/a{/*path}"], ["/a", "/a/:x"]])
      expect(keysWith(...patterns)).toBe("");
    for (const patterns of [[], ["/a"], ["/a/*path"], ["/a/me"], ["a"]])
      expect(keysWith(...patterns)).toContain(kind);
  });
});

describe("a route that cannot be read", () => {
  it.each([
    ["GET", "agents", "list the paths that it serves instead"],
    ["GET", "", "list the paths that it serves instead"],
    ["GET", String.raw`RegExp /^\/health$/`, "list the paths that it serves instead"],
    ["GET", "/files/*", "Write `/files{/*path}`."],
    ["GET", "/a//b", "Write a path without empty or dot segments"],
    ["ALL", "/agents", "Write `* /agents`."],
    ["", "/agents", "Write `METHOD /pattern`"],
  ])("is an error with a fix, not an exception: %j %j: %s", (method, pattern, hint) => {
    const report = auditRoutes(compiledOf({ "* /{*path}": [] }), [{ method, pattern }], "refused");
    expect(report).toMatchObject({ ok: false, routes: [] });
    expect(report.findings.map(aboutOf)).toContain(`error route_unreadable ${method} ${pattern}`);
    expect(report.text).toContain(`\`${method} ${pattern}\` can't be compared with the table`);
    expect(report.text).toContain(hint);
    expect(report.summary).toMatch(/^1 route, 0 with a rule; /);
  });
});

describe("the array of routes", () => {
  it("is one error if it is empty", () => {
    const report = audit({ "GET /a": [] }, []);
    expect(report).toMatchObject({ ok: false, routes: [], findings: [{ kind: "routes_missing" }] });
    expect(report.text).toBe(`no routes; 1 error

error routes_missing: no routes were passed, so nothing was audited.
  List the routes after the application has registered them: audit(server, routesOf(app)).`);
  });

  const LINE = "audit(server, routesOf(app))";
  const SHAPE = "entry 1 has another shape";
  const PLACE = "audit takes { message, hint } as `unguarded`; entry 1 has something else.";

  it.each<[routes: unknown, message: string]>([
    [undefined, LINE],
    [null, LINE],
    ["GET /a", LINE],
    [{ method: "GET", pattern: "/a" }, LINE],
    [[null], SHAPE],
    [["GET /a"], SHAPE],
    [[{ method: "GET" }], SHAPE],
    [[{ pattern: "/a" }], SHAPE],
    [[{ method: ["GET"], pattern: "/a" }], SHAPE],
    [[{ method: "GET", pattern: "/a", unguarded: true }], PLACE],
    [[{ method: "GET", pattern: "/a", unguarded: null }], PLACE],
    [[{ method: "GET", pattern: "/a", unguarded: { message: "x" } }], PLACE],
    [[{ method: "GET", pattern: "/a", unguarded: { hint: "x" } }], PLACE],
  ])("throws a TypeError with the fix for %j: %s", (routes, message) => {
    const run = () => auditRoutes(compiledOf({}), routes as never, "refused");
    expect(run).toThrow(TypeError);
    expect(run).toThrow(message);
  });
});

describe("the options", () => {
  const PATTERNS = 'Write an array of patterns: { guardedElsewhere: ["/{*path}"] }.';

  it.each([
    [
      { publicCatchAll: "GET /{*path}" },
      "audit.publicCatchAll: has an invalid value. Write an array of keys",
    ],
    [
      { publicCatchAll: ["GET /*rest"] },
      '"GET /*rest", which isn\'t a public or optional rule for every path.',
    ],
    [{ guardedElsewhere: "/a" }, PATTERNS],
    [{ guardedElsewhere: [1] }, PATTERNS],
    [{ guardedElsewhere: true }, PATTERNS],
  ])("throw for %j", (options, message) => {
    const given = { options: options as AuditOptions };
    expect(() => audit({ "GET /{*path}": "public" }, ["GET /a"], given)).toThrow(message);
  });
});

describe("a rule that no route reaches", () => {
  it("is an error if it is custom, and a note if it is a default", () => {
    const defaults = { "GET /teams": ["teams:read"], "GET /agents": ["agents:read"] };
    const table = { "GET /agents": ["agents:read", "agents:use"], "GET /reports": [] };
    expect(found(table, ["GET /health"], { defaults })).toEqual([
      "error route_unmapped GET /health",
      "error rule_unreached GET /agents",
      "error rule_unreached GET /reports",
      "note rule_unreached GET /teams",
    ]);
  });

  it.each<[string, ScopeMappings, string, string]>([
    ["GET /reports/:id", {}, "GET /report/:id", "Did you mean `GET /report/:id`?"],
    ["GET /custom/endpoint", {}, "POST /custom/endpoint", "Did you mean `POST /custom/endpoint`?"],
    ["GET /reports/:id", { "GET /report/:id": [] }, "GET /report/:id", "is misspelled or unused."],
  ])("has for %s next to %j a hint at a route without its own rule", (key, others, route, hint) => {
    const table = { [key]: ["x:y"], "* /{*path}": [], ...others };
    const text = textOf("rule_unreached", table, [route, "GET /elsewhere"]);
    expect(text.slice(-hint.length)).toBe(hint);
  });

  // That a reported rule decides no request is the subject of agreement.test.ts.
  it.each([
    ["HEAD /a", "GET /a"],
    ["POST /a", "* /a"],
    ["OPTIONS /{*path}", "GET /a"],
    ["OPTIONS /a", "POST /a"],
    // Express and Koa read the two as one.
    ["GET /A", "GET /a"],
  ])("is not %s if %s is a route", (key, route) => {
    expect(found({ [key]: [], "* /{*path}": [] }, [route]).join()).not.toContain("unreached");
  });

  it.each([
    ["POST /a", "GET /a"],
    ["GET /a", "HEAD /a/b"],
    ["HEAD /a", "POST /a"],
    ["GET /a/b", "GET /a"],
    ["OPTIONS /b", "GET /a"],
    ["* /a/:id", "GET /a"],
  ])("is %s if only %s is a route", (key, route) => {
    expect(found({ [key]: [], "* /{*path}": [] }, [route])).toContain(`error rule_unreached ${key}`);
  });
});

describe("a public rule for every path", () => {
  it.each([
    ["GET /{*path}", "public"],
    ["GET /*path", "public"],
    ["* /{*path}", "optional"],
  ] as const)("is an error: %s, %s", (key, requirement) => {
    const table = { [key]: requirement, "GET /api/a": [] };
    expect(found(table, ["GET /api/a", key])).toContain(`error public_catch_all ${key}`);
    const text = textOf("public_catch_all", table, ["GET /api/a", key]);
    for (const part of [
      "a route that is missing from the table is public",
      'Let a rule such as "* /api{/*path}": ["resource:action"] decide all paths of your API.',
      `audit(server, routes, { publicCatchAll: ["${key}"] })`,
      `--public-catch-all '${key}'`,
    ])
      expect(text).toContain(part);
  });

  it.each([
    ["GET /{*path}", "public", { publicCatchAll: ["GET /{*path}"] }],
    ["GET /assets/*path", "public", {}],
    ["GET /", "public", {}],
    ["OPTIONS /{*path}", "public", {}],
    ["GET /{*path}", [], {}],
  ] as const)("is not %s, %j, with the options %j", (key, requirement, options) => {
    expect(found({ [key]: requirement }, [key], { options })).toEqual([]);
  });
});
