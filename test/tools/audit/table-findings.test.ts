/** What the table alone shows: `lint`, the page and the audit report it. */
import { describe, expect, it } from "vitest";
import { agentScopeMappings, type ScopeMappings } from "scopegate";
import type { Where } from "../../../src/core/policy/conditions.ts";
import { audit } from "scopegate/audit";
import { pipelineOf } from "../../../src/core/port.ts";
import { findInTable } from "../../../src/tools/audit/table-findings.ts";
import { createServer } from "../../support/resource-servers.ts";

const serverOf = (scopeMappings: ScopeMappings, defaultScopeMappings: ScopeMappings = {}) =>
  createServer({ scopeMappings, defaultScopeMappings });

const found = (...tables: Parameters<typeof serverOf>) =>
  findInTable(pipelineOf(serverOf(...tables)).policy.rules).map(
    ({ kind, message }) => `${kind} ${/`([^`]*)`/.exec(message)?.[1]?.replaceAll('"', "")}`,
  );

describe("a wider rule that decides with less", () => {
  const falls = (...tables: Parameters<typeof serverOf>) =>
    findInTable(pipelineOf(serverOf(...tables)).policy.rules)
      .filter(({ kind }) => kind === "wider_rule_weaker")
      .map(({ message }) => message.replaceAll("`", "").replace(/^.*It also decides /, ""));

  it.each<[ScopeMappings, string]>([
    [
      { "* /{*path}": [], "GET /a/:id": ["a:b"] },
      "POST|PUT|PATCH|DELETE /a/:id, GET /a/:id/*path (GET /a/:id requires a:b).",
    ],
    [{ "* /{*path}": [], "* /a": ["a:b"] }, "* /a/*path (* /a requires a:b)."],
    [{ "GET /{*path}": "public", "* /a/*path": ["a:b"] }, "GET /a (* /a/*path requires a:b)."],
    [{ "DELETE /{*path}": ["c:d"], "GET /a": ["a:b"] }, "DELETE /a (GET /a requires a:b)."],
    [{ "PUT /{*path}": { anyOf: ["a:b", "c:d"] }, "GET /a": ["a:b"] }, "PUT /a (GET /a requires a:b)."],
    [{ "* /a": [], "GET /a": ["a:b"] }, "POST|PUT|PATCH|DELETE /a (GET /a requires a:b)."],
    [
      { "* /{*path}": [], "* /a": { scopes: [], also: ["a:b"] } },
      "* /a/*path (* /a requires a valid token; also a:b).",
    ],
  ])("reports the requests of %j that it decides", (table, expected) => {
    expect(falls(table)).toEqual([expected]);
  });

  it.each<[string, ScopeMappings]>([
    ["the wider rule implies the narrower", { "* /{*path}": ["a:b"], "* /a": ["a:b"] }],
    ["a template of the wider rule implies it", { "* /:o{/*p}": ["o:<o>:r"], "* /:x/a": ["o:<x>:r"] }],
    ["`also` of the wider rule implies it", { "* /{*path}": { scopes: [], also: ["a:b"] }, "* /a": ["a:b"] }],
    [
      "`also` of a third rule implies it",
      { "* /{*path}": { scopes: [], also: ["a:b"] }, "* /x{/*path}": [], "* /x/a": ["a:b"] },
    ],
    ["both rules have the `also` of a third", { "* /{*p}": { scopes: [], also: ["a:b"] }, "* /x": [] }],
    ["no rule decides what is beside it", { "GET /a": ["a:b"], "* /x/*path": ["a:b"] }],
    ["the narrower rule includes it", { "* /{*path}": [], "* /a{/*path}": ["a:b"] }],
    ["its own rules decide", { "* /{*path}": [], "* /a": ["a:b"], "* /a/*path": [] }],
    ["a rule for every method needs other scopes", { "GET /a": ["a:b"], "* /a": ["c:d"] }],
    ["the narrower rule needs no token", { "* /{*path}": "public", "GET /a": "optional" }],
    ["the narrower rule is for `/`", { "POST /": ["a:b"], "POST /*path": [] }],
  ])("reports nothing if %s", (_, table) => {
    expect(falls(table)).toEqual([]);
  });

  it("is one finding, whatever falls to the rule", () => {
    const { rules } = pipelineOf(
      serverOf({ "* /{*path}": [], "* /billing": ["billing:use"], "* /a": ["a:b"] }),
    ).policy;
    expect(findInTable(rules)).toMatchObject([
      {
        severity: "warning",
        rule: { key: "* /{*path}" },
        rules: [{ key: "* /billing" }, { key: "* /a" }],
        message:
          "`* /{*path}` requires a valid token. It also decides `* /billing/*path` (`* /billing` requires billing:use), `* /a/*path` (`* /a` requires a:b).",
        hint: "Add `* /billing/*path` with what these requests require. Add rules for the other requests in the same way.",
      },
    ]);
  });

  it.each<[ScopeMappings, readonly string[]]>([
    [{ "* /{*path}": [], "GET /a/:id": ["a:b"] }, ["* /a/:id", "GET /a/:id/*path"]],
    [{ "GET /{*path}": "public", "* /a/*path": ["a:b"] }, ["GET /a"]],
    [{ "GET /feed": ["a:feed"], "PUT /:slug": ["a:write"], "DELETE /:slug": [] }, ["PUT /feed"]],
    [{ "HEAD /a/*path": ["a:b"], "* /:x": ["c:d"] }, ["GET /a"]],
    // `*` is for the same route as the wider rule, or decides with a wider method than another rule.
    [{ "* /a": [], "GET /a": ["a:b"] }, ["POST /a", "PUT /a", "PATCH /a", "DELETE /a"]],
    [
      { "* /{*path}": [], "PUT /:x": ["c:d"], "GET /a": ["a:b"] },
      ["POST /a", "PATCH /a", "DELETE /a", "GET /a/*path"],
    ],
    [{ "* /{*path}": [], "GET /a": ["a:b"], "* /a/:x": ["a:b"] }, ["* /a", "GET /a/*path"]],
  ])("names rules to add, with which the table %j starts", (table, expected) => {
    const [finding] = findInTable(pipelineOf(serverOf(table)).policy.rules);
    const keys = [...(finding?.hint.matchAll(/`([^`]+)`/g) ?? [])].map(([, key = ""]) => key);
    expect(keys).toEqual(expected);
    const [, beside = ""] = /\(`([^`]+)` requires/.exec(finding?.message ?? "") ?? [];
    const added = Object.fromEntries(
      keys.map((key) => [key, new Map(Object.entries(table)).get(beside) ?? "public"]),
    );
    expect(() => serverOf({ ...table, ...added })).not.toThrow();
  });

  it("says that the start may name further rules", () => {
    const table = { "GET /{*path}": ["c:d"], "GET /a": ["a:b"], "GET /:x/c": ["c:d"] };
    expect(findInTable(pipelineOf(serverOf(table)).policy.rules)[0]?.hint).toBe(
      "Add `GET /a/*path` with what these requests require. Then start the server. If rules are still missing, its error names them.",
    );
  });

  it.each<[string, readonly string[], string | undefined]>([
    ["another method", ["GET /a/:id", "DELETE /a/:x"], "`DELETE /a/:x` (`GET /a/:id` requires a:b)"],
    ["every method", ["* /a/:id"], "`POST|PUT|PATCH|DELETE /a/:id` (`GET /a/:id` requires a:b)"],
    ["a path below", ["GET /a/:id/b/:c"], "`GET /a/:id/b/:c` (`GET /a/:id` requires a:b)"],
    ["the root of a subtree", ["DELETE /s", "POST /s/x"], "`DELETE /s` (`* /s/*path` requires s:u)"],
    ["only what narrower rules decide", ["GET /a/:id", "PUT /a/7", "GET /a/:id/c", "GET /s/x"], undefined],
  ])("contains only what the application serves: %s", (_, served, expected) => {
    const server = serverOf({
      "* /{*path}": [],
      "GET /a/:id": ["a:b"],
      "PUT /a/7": [],
      "* /a/:id/c": ["c:d"],
      "* /s/*path": ["s:u"],
    });
    const routes = served.map((route) => {
      const [method = "", pattern = ""] = route.split(" ");
      return { method, pattern };
    });
    const found = audit(server, routes).findings.filter(({ kind }) => kind === "wider_rule_weaker");
    const message = `\`* /{*path}\` requires a valid token. It also decides ${expected}.`;
    expect(found.map((finding) => finding.message)).toEqual(expected === undefined ? [] : [message]);
  });
});

describe("a scope with a literal id", () => {
  const EXPORTS = { "GET /x": ["billing:invoices:export"], "GET /y": ["billing:invoices:export"] };

  it.each<[string, ScopeMappings, readonly string[]]>([
    ["one finding", EXPORTS, ["scope_literal_id billing:invoices:export"]],
    ["none if another rule has a parameter", { "GET /x": ["r:7:read"], "GET /r/:id": ["r:<id>:read"] }, []],
    ["none for a URI", { "GET /x": ["urn:acme:read"] }, []],
    ["none for four parts", { "GET /x": ["a:b:c:d"] }, []],
  ])("is %s: %j", (_, table, expected) => {
    expect(found(table)).toEqual(expected);
  });
});

describe("a scope, parameter or claim that differs from other rules", () => {
  const where = (org: Where[string], more: object = {}) => ({ scopes: ["a:b"], where: { org }, ...more });
  const AGENTS = { "GET /agents/:agent": ["agents:<agent>:read"] };
  const POST = { "POST /posts": ["posts:write"], "POST /copies": ["posts:write"] };
  const DELETE = { "DELETE /posts/:id": ["posts:<id>:write"] };
  const ORG = "* /orgs/:org{/*path}";
  const orgsUnless = (unless: object) => ({ [ORG]: where({ claim: "org_id" }, { unless }) });
  const orgsOf = (...claims: readonly Where[string][]) =>
    Object.fromEntries(claims.map((claim, index) => [`GET /orgs/:org/${index}`, where(claim)]));

  it.each<[ScopeMappings, readonly string[]]>([
    [{ ...POST, ...DELETE }, ["scope_covers_items posts:write"]],
    [{ "POST /posts": ["posts:create"], ...DELETE }, []],
    // A change of many posts needs the scope for every id.
    [{ "PATCH /posts": ["posts:write"], ...DELETE }, []],
    [{ "GET /posts": ["posts:read"], "GET /posts/:id": ["posts:<id>:read"] }, []],
    [{ ...AGENTS, "GET /runs/:run": ["agents:<run>:read"] }, ["scope_unbound GET /runs/:run"]],
    [{ ...AGENTS, "GET /agents/:id/x": ["agents:<id>:read"] }, []],
    [
      orgsOf({ claim: "org_id" }, { claim: "orgId" }, { claim: "orgId" }),
      ["claim_spelling GET /orgs/:org/1"],
    ],
    [
      orgsOf({ claim: "org_id", issuer: "https://a.example" }, { claim: "org", issuer: "https://a.example" }),
      [],
    ],
    [orgsUnless(["a:b"]), [`exception_wide ${ORG}`]],
    [orgsUnless(["a:c"]), []],
    // It's needed for changes, and for a rule below.
    [orgsUnless({ scopes: ["a:b"], methods: ["GET"] }), []],
    [{ ...orgsUnless(["a:b"]), "GET /orgs/:org/users": ["users:read"] }, [`wider_rule_weaker ${ORG}`]],
  ])("is one finding: %j", (table, expected) => {
    expect(found(table)).toEqual(expected);
  });
});

describe("a custom rule that replaces a base table's rule", () => {
  it("is a warning if it does not imply the replaced rule, with what both rules require", () => {
    const OVERRIDES: ScopeMappings = {
      "GET /agents": [],
      "GET /teams": ["teams:other"],
      "GET /sessions": ["sessions:read", "sessions:list"],
    };
    expect(found(OVERRIDES, agentScopeMappings)).toEqual([
      "override_weaker GET /agents",
      "override_weaker GET /teams",
    ]);
    const server = serverOf(OVERRIDES, agentScopeMappings);
    const { findings } = audit(server, [{ method: "GET", pattern: "/agents" }]);
    expect(findings.find(({ kind }) => kind === "override_weaker")).toEqual({
      kind: "override_weaker",
      severity: "warning",
      rule: server.routes.find(({ key }) => key === "GET /agents"),
      message:
        "`GET /agents` requires a valid token. It replaces `GET /agents` of the base table, which requires agents:<any>:read.",
      hint: "A caller who satisfies the new rule may not satisfy the old one. If that's intended, there's nothing to do.",
    });
  });
});

describe("a scope that another parameter, or any id, decides", () => {
  const TENANT: ScopeMappings = {
    "GET /orgs/:org": ["orgs:<org>:read"],
    "GET /orgs/:org/billing": ["orgs:<org>:read"],
  };

  it.each<[string, ScopeMappings["GET /"]]>([
    ["GET /orgs/:org/projects", ["orgs:<any>:read"]],
    ["GET /orgs/:org/x", { anyOf: ["orgs:<any>:read", "orgs:<org>:read"] }],
    ["DELETE /orgs/:org/members/:member", ["orgs:<member>:admin"]],
    ["GET /v/:version/orgs/:org", { anyOf: ["orgs:<version>:read"] }],
  ])("reports it where the path has the parameter of other rules: %s", (key, rule) => {
    expect(found({ ...TENANT, [key]: rule })).toContain(`scope_unbound ${key}`);
  });

  it("shows the scope to write", () => {
    const table: ScopeMappings = { ...TENANT, "GET /orgs/:org/projects": ["orgs:<any>:read"] };
    expect(findInTable(pipelineOf(serverOf(table)).policy.rules)).toMatchObject([
      {
        kind: "scope_unbound",
        severity: "warning",
        message:
          "`GET /orgs/:org/projects` lets any id decide for `orgs`, and nothing compares <org> with the caller: a caller with one id can use every path.",
        hint: "Write `orgs:<org>:read`, or compare <org> with a claim in `where`.",
      },
    ]);
  });

  it.each<[string, string, ScopeMappings["GET /"]]>([
    ["the path has no such parameter", "GET /orgs", ["orgs:<any>:read"]],
    ["a template names it", "GET /orgs/:org/projects", ["projects:<any>:read", "orgs:<org>:read"]],
    ["every rule has its own parameter", "GET /orgs/:org/a/:b", ["a:<b>:read"]],
    ["the scope is for every id", "GET /orgs/:org/all", ["orgs:read"]],
  ])("does not report it if %s", (_, key, rule) => {
    expect(found({ ...TENANT, [key]: rule })).toEqual([]);
  });
});

describe("a custom rule for a part of what a base table's rule decides", () => {
  const BASE: ScopeMappings = {
    "GET /api/:version/orgs/:org": ["orgs:<org>:read"],
    "* /admin{/*path}": ["admin:use"],
  };

  it.each<[string, ScopeMappings["GET /"], readonly string[]]>([
    ["GET /api/v2/orgs/:org", "public", ["rule_overridden GET /api/v2/orgs/:org"]],
    ["GET /api/v2/orgs/:org", [], ["rule_overridden GET /api/v2/orgs/:org"]],
    ["GET /admin/health", "public", ["rule_overridden GET /admin/health"]],
    ["GET /api/v2/orgs/:org", ["orgs:<org>:read"], []],
    ["* /admin/a{/*path}", ["admin:use", "a:b"], []],
  ])("is a note if it requires less: %s, %j", (key, rule, expected) => {
    expect(found({ [key]: rule }, BASE)).toEqual(expected);
  });
});
