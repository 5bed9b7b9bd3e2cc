/** What the table alone shows: `lint`, the page and the audit report it. */
import { describe, expect, it } from "vitest";
import { agentScopeMappings, type ScopeMappings } from "scopegate";
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

describe("a changing method that falls to a wider rule of a lower class", () => {
  const CHANGING = ["POST", "PUT", "PATCH", "DELETE"];

  it.each<[string, ScopeMappings]>([
    ["a token instead of scopes", { "* /{*path}": [], "GET /a/:id": ["a:b"] }],
    ["nothing instead of scopes", { "* /{*path}": "public", "GET /a/:id": ["a:b"] }],
    ["nothing instead of a token", { "* /{*path}": "optional", "GET /a/:id": [] }],
    ["the scopes of HEAD", { "* /{*path}": [], "HEAD /a/:id": ["a:b"] }],
  ])("reports it: %s", (_, table) => {
    expect(found(table)).toEqual(CHANGING.map((method) => `method_weaker ${method} /a/:id`));
  });

  it("names both rules, and the line to write", () => {
    const { rules } = pipelineOf(serverOf({ "* /{*path}": [], "GET /a": ["a:b"], "PUT /a": ["c:d"] })).policy;
    expect(findInTable(rules)[2]).toMatchObject({
      severity: "warning",
      rule: { key: "* /{*path}" },
      rules: [{ key: "GET /a" }],
      message:
        "`DELETE /a` itself is decided by `* /{*path}`, which requires a valid token; `GET /a` requires a:b.",
      hint: 'Add "DELETE /a" with what it requires, or write `* /a` for every other method of the path.',
    });
  });

  it.each<[string, ScopeMappings]>([
    ["the wider rule has scopes too", { "* /{*path}": ["ops:use"], "GET /a/:id": ["a:b"] }],
    ["no wider rule has the method", { "GET /{*path}": "public", "GET /a/:id": ["a:b"] }],
    ["the path has a rule for every method", { "* /{*path}": [], "GET /a": ["a:b"], "* /a": ["a:c"] }],
    ["its own rules require no more", { "* /{*path}": [], "GET /a": "public" }],
  ])("does not report it if %s", (_, table) => {
    expect(found(table)).toEqual([]);
  });

  it("reports it in an audit only for a method that the application serves", () => {
    const server = serverOf({ "* /{*path}": [], "GET /a/:id": ["a:b"] });
    const kinds = (...methods: readonly string[]) =>
      audit(
        server,
        methods.map((method) => ({ method, pattern: "/a/:x" })),
      )
        .findings.filter(({ kind }) => kind === "method_weaker")
        .map(({ message }) => message.slice(1, 8));
    expect(kinds("GET")).toEqual([]);
    expect(kinds("GET", "DELETE")).toEqual(["DELETE "]);
    expect(kinds("*")).toHaveLength(4);
    const subtree = serverOf({ "* /{*path}": [], "GET /a/*path": ["a:b"] });
    const findings = audit(subtree, [{ method: "DELETE", pattern: "/a/users/:id" }]).findings;
    expect(findings.map(({ kind }) => kind)).toContain("method_weaker");
  });
});

describe("a changing method whose own rule is of a lower class than that of GET", () => {
  it.each<[ScopeMappings, readonly string[]]>([
    [{ "PUT /a": [], "GET /a": ["a:b"] }, ["method_weaker PUT /a"]],
    [{ "PUT /a": ["a:b"], "GET /a": ["a:b"], "DELETE /a": [] }, ["method_weaker DELETE /a"]],
    [{ "PATCH /a": "public", "GET /a": "optional" }, []],
    [{ "DELETE /a": "optional", "GET /a": [] }, ["method_weaker DELETE /a"]],
    // A login is a POST to a path that only members may read.
    [{ "POST /a": "public", "GET /a": ["a:b"] }, []],
    [{ "PUT /a": ["a:b"], "GET /a": "public" }, []],
    [{ "PUT /a": ["a:c"], "GET /a": ["a:b", "x:y"] }, []],
    [{ "PUT /a": { report: ["a:b"] }, "GET /a": ["a:b"] }, ["method_weaker PUT /a"]],
    [{ "PUT /a": { scopes: ["a:b"], report: ["c:d"] }, "GET /a": ["a:b"] }, []],
  ])("reports it for %j: %j", (table, expected) => {
    expect(found(table)).toEqual(expected);
  });
});

describe("the root of a subtree", () => {
  it("reports it if it falls out of the subtree to a rule of a lower class", () => {
    const table: ScopeMappings = { "GET /{*path}": "public", "* /admin/*path": ["admin:use"] };
    expect(found(table)).toEqual(["root_weaker * /admin"]);
    const [finding] = findInTable(pipelineOf(serverOf(table)).policy.rules);
    expect(finding?.message).toBe(
      "`* /admin` itself is decided by `GET /{*path}`, which requires nothing; `* /admin/*path` requires admin:use.",
    );
    expect(finding?.hint).toBe("Write `* /admin{/*path}` for a path and everything below it.");
  });

  it.each<[string, ScopeMappings]>([
    ["the subtree includes it", { "GET /{*path}": "public", "* /admin{/*path}": ["admin:use"] }],
    ["no rule decides it", { "* /admin/*path": ["admin:use"] }],
    ["its own rule decides it", { "GET /admin": "public", "GET /admin/*path": ["admin:use"] }],
    ["the wider rule is of the same class", { "GET /{*path}": ["a:b"], "GET /admin/*path": ["admin:use"] }],
  ])("does not report it if %s", (_, table) => {
    expect(found(table)).toEqual([]);
  });
});

describe("a scope with a literal id", () => {
  it("reports it if no rule uses the resource with a parameter", () => {
    expect(found({ "GET /x": ["billing:invoices:export"], "GET /y": ["billing:invoices:export"] })).toEqual([
      "scope_literal_id billing:invoices:export",
    ]);
  });

  it.each<[string, ScopeMappings]>([
    [
      "another rule uses its resource with a parameter",
      { "GET /x": ["r:7:read"], "GET /r/:id": ["r:<id>:read"] },
    ],
    ["it is a URI", { "GET /x": ["urn:acme:read"] }],
    ["it has four parts, and so no id", { "GET /x": ["a:b:c:d"] }],
  ])("does not report it if %s", (_, table) => {
    expect(found(table)).toEqual([]);
  });
});

describe("an override", () => {
  it("lists it if it requires less", () => {
    const overrides: ScopeMappings = {
      "GET /agents": { override: [] },
      "GET /teams": { override: ["teams:admin"] },
    };
    expect(found(overrides, agentScopeMappings)).toEqual(["rule_overridden GET /agents"]);
  });
});

describe("a scope that another parameter, or any id, decides", () => {
  const TENANT: ScopeMappings = {
    "GET /orgs/:org": ["orgs:<org>:read"],
    "GET /orgs/:org/billing": ["orgs:<org>:read"],
  };

  it.each<[string, ScopeMappings]>([
    ["GET /orgs/:org/projects", { "GET /orgs/:org/projects": { filtered: "orgs:read" } }],
    ["DELETE /orgs/:org/members/:member", { "DELETE /orgs/:org/members/:member": ["orgs:<member>:admin"] }],
    ["GET /v/:version/orgs/:org", { "GET /v/:version/orgs/:org": { anyOf: ["orgs:<version>:read"] } }],
  ])("reports it where the path has the parameter of other rules: %s", (key, table) => {
    expect(found({ ...TENANT, ...table })).toContain(`scope_unbound ${key}`);
  });

  it("shows the scope to write", () => {
    const table: ScopeMappings = { ...TENANT, "GET /orgs/:org/projects": { filtered: "orgs:read" } };
    expect(findInTable(pipelineOf(serverOf(table)).policy.rules)).toMatchObject([
      {
        kind: "scope_unbound",
        severity: "warning",
        message:
          "`GET /orgs/:org/projects` lets any id decide for `orgs`, but other rules take the id of `orgs` from <org>, which this path also has.",
        hint: "Write `orgs:<org>:read`, if callers may only use their own.",
      },
    ]);
  });

  it.each<[string, ScopeMappings]>([
    ["the path has no such parameter", { "GET /orgs": { filtered: "orgs:read" } }],
    ["it is another resource", { "GET /orgs/:org/projects": { filtered: "projects:read" } }],
    ["every rule has its own parameter", { "GET /orgs/:org/a/:b": ["a:<b>:read"] }],
    ["the scope is for every id", { "GET /orgs/:org/all": ["orgs:read"] }],
  ])("does not report it if %s", (_, table) => {
    expect(found({ ...TENANT, ...table })).toEqual([]);
  });
});

describe("a custom rule for a part of what a base table's rule decides", () => {
  const BASE: ScopeMappings = {
    "GET /api/:version/orgs/:org": ["orgs:<org>:read"],
    "* /admin{/*path}": ["admin:use"],
  };

  it.each<[string, ScopeMappings]>([
    ["GET /api/v2/orgs/:org", { "GET /api/v2/orgs/:org": "public" }],
    ["GET /api/v2/orgs/:org", { "GET /api/v2/orgs/:org": [] }],
    ["GET /admin/health", { "GET /admin/health": "public" }],
  ])("lists it if it requires less: %s", (key, table) => {
    expect(found(table, BASE)).toContain(`rule_overridden ${key}`);
  });

  it("does not list it if it requires the same or more", () => {
    expect(
      found({ "GET /api/v2/orgs/:org": ["orgs:<org>:read"], "GET /admin/a": ["admin:use", "a:b"] }, BASE),
    ).toEqual([]);
  });
});
