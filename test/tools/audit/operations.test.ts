import { audit, type AuditFinding, type ListedRoute } from "scopegate/audit";
import { describe, expect, it } from "vitest";
import type { ScopeMappings } from "scopegate";
import { createServer } from "../../support/resource-servers.ts";

const TABLE: ScopeMappings = {
  "* /mcp": [],
  "MCP tools/list": [],
  "MCP tools/call search": ["docs:read"],
  "MCP tools/call run_agent": ["agents:<agent_id>:run"],
};
/** Names that clients call unasked, and names below a `*`: a server may offer more than it lists. */
const UNLISTED: ScopeMappings = {
  "MCP subscriptions/listen": [],
  "MCP tasks/get": [],
  "MCP resources/read *": ["docs:read"],
  "MCP resources/read docs://secret": ["docs:secret"],
};
const LATER: ScopeMappings = {
  "MCP tools/call export": ["docs:export"],
  "MCP tools/call docs_*": ["docs:use"],
  "MCP tools/call docs_delete": ["docs:delete"],
};

const list = (...patterns: string[]) => patterns.map((pattern) => ({ method: "MCP", pattern }));
const ALL = list("tools/list", "tools/call search", "tools/call run_agent");
const MCP_ROUTE = { method: "POST", pattern: "/mcp" };

const auditOf = (scopeMappings: ScopeMappings, routes: readonly ListedRoute[]) =>
  audit(createServer({ scopeMappings }), routes);

const aboutOf = (finding: AuditFinding): string => {
  const { severity, kind } = finding;
  if ("route" in finding) return `${severity} ${kind} ${finding.route.pattern}`;
  return "rule" in finding ? `${severity} ${kind} ${finding.rule.key}` : `${severity} ${kind}`;
};

describe("an audit of operations", () => {
  it("reports each operation with its rule", () => {
    const report = auditOf(TABLE, ALL).orThrow({ warnings: true });
    expect(report.summary).toBe("3 routes, each with a rule");
    expect(report.routes[1]).toMatchObject({
      pattern: "tools/call search",
      rule: { key: "MCP tools/call search" },
    });
  });

  it.each<[string, ScopeMappings, readonly ListedRoute[], readonly string[]]>([
    ["a new tool", TABLE, [...ALL, ...list("tools/call remove")], ["error route_unmapped tools/call remove"]],
    ["no operation", TABLE, [...ALL, ...list("tools/cal x")], ["error route_unreadable tools/cal x"]],
    ["a rule without one", TABLE, ALL.slice(0, 2), ["error rule_unreached MCP tools/call run_agent"]],
    ["names that aren't listed", UNLISTED, list("resources/read *"), []],
    ["an operation of later", LATER, list("tools/call export", "tools/call docs_*"), []],
    ["a part of a name", LATER, list("tools/call docs_*"), ["error rule_unreached MCP tools/call export"]],
    ["a route next to it", TABLE, [MCP_ROUTE, ...ALL], []],
    ["only routes", TABLE, [MCP_ROUTE], ["warning operations_missing"]],
  ])("compares each with the rules for operations: %s", (_, table, routes, expected) => {
    expect(auditOf(table, routes).findings.map(aboutOf)).toEqual(expected);
  });

  it("compares routes with their own rules", () => {
    const { findings } = auditOf(TABLE, [{ method: "GET", pattern: "/other" }, ...ALL]);
    expect(findings).toMatchObject([
      { kind: "route_unmapped", route: { pattern: "/other" } },
      { kind: "rule_unreached", rule: { key: "* /mcp" } },
    ]);
  });

  it("shows the line to add, the effect, and an operation with a similar name", () => {
    const similar = list("tools/list", "tools/call search", "tools/call run_agents");
    const { text, findings } = auditOf(TABLE, similar);
    expect(text).toContain('"MCP tools/call run_agents": ["resource:action"]');
    expect(text).toContain("every call of it is refused");
    expect(findings[1]?.hint).toBe("Did you mean `MCP tools/call run_agents`?");
    const open = createServer({ unmappedRoutes: "authenticated" });
    expect(audit(open, list("tools/list")).text).toContain("any valid token is enough for it");
    expect(auditOf(TABLE, [MCP_ROUTE]).text).toContain("operationsOf(mcpServer)");
  });

  it("fails for an argument of a condition that an operation doesn't have, also in a wider rule", () => {
    const where = { team: { claim: "team" } };
    const operations = [
      { method: "MCP", pattern: "tools/call ping", parameters: [] },
      { method: "MCP", pattern: "tools/call search", parameters: ["team"] },
      { method: "MCP", pattern: "tools/call other", parameters: ["constructor", "teem"] },
    ];
    const unknownWith = (conditions: object) => {
      const table: ScopeMappings = {
        "MCP tools/call *": { scopes: [], where, ...conditions },
        "MCP tools/call ping": [],
        "MCP tools/call search": ["docs:<team>:read"],
      };
      return auditOf(table, operations).findings.map(
        ({ kind, hint, ...finding }) => `${kind} ${"route" in finding ? finding.route.pattern : ""} ${hint}`,
      );
    };
    const other = "rule_argument_unknown tools/call other Did you mean `teem`?";
    expect(unknownWith({})).toEqual(["rule_argument_unknown tools/call ping Its arguments: none.", other]);
    expect(unknownWith({ except: ["MCP tools/call ping"] })).toEqual([other]);
    expect(unknownWith({ unless: ["docs:<teams>:cross"], except: ["MCP tools/call ping"] })).toEqual([
      "rule_argument_unknown tools/call search Did you mean `team`?",
      other,
      other,
    ]);
  });

  it("warns of an argument whose type doesn't fit, and reads only own properties of the types", () => {
    const run = { method: "MCP", pattern: "tools/call run", parameters: ["constructor"] };
    const findingsWith = (parameterTypes: unknown) =>
      auditOf({ "MCP tools/call run": ["a:<constructor>:b"] }, [{ ...run, parameterTypes } as ListedRoute])
        .findings;
    for (const types of [undefined, null, 1, {}, { constructor: ["string", "null"] }])
      expect(findingsWith(types)).toEqual([]);
    for (const [types, message] of [
      [["array", "null"], "takes as array or null: calls with it are refused."],
      ["number", "takes as number: calls with a fraction, also 7.0, are refused."],
    ] as const) {
      const [finding] = findingsWith({ constructor: types });
      expect(finding).toMatchObject({ kind: "rule_argument_type", severity: "warning" });
      expect(finding?.message).toContain(message);
    }
  });
});
