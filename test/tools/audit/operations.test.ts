import { audit, type ListedRoute } from "scopegate/audit";
import { describe, expect, it } from "vitest";
import { createServer } from "../../support/resource-servers.ts";

const server = createServer({
  scopeMappings: {
    "* /mcp": [],
    "MCP tools/list": [],
    "MCP tools/call search": ["docs:read"],
    "MCP tools/call run_agent": ["agents:<agent_id>:run"],
  },
});
const list = (...patterns: string[]) => patterns.map((pattern) => ({ method: "MCP", pattern }));
const ALL = list("tools/list", "tools/call search", "tools/call run_agent");
const found = (...routes: readonly (readonly ListedRoute[])[]) =>
  audit(server, routes.flat()).findings.map(({ kind, severity }) => `${severity} ${kind}`);

describe("an audit of operations", () => {
  it("passes if every operation has a rule and every rule an operation", () => {
    const report = audit(server, ALL).orThrow({ warnings: true });
    expect(report.summary).toBe("3 routes, each with a rule");
    expect(report.routes[1]).toMatchObject({
      pattern: "tools/call search",
      rule: { key: "MCP tools/call search" },
    });
  });

  it("fails for a new tool with the line to add, and for a value that is not an operation", () => {
    const report = audit(server, [...ALL, ...list("tools/call remove_agent", "tools/cal x")]);
    expect(report.findings.map(({ kind }) => kind)).toEqual(["route_unmapped", "route_unreadable"]);
    expect(report.text).toContain('"MCP tools/call remove_agent": ["resource:action"]');
    expect(() => report.orThrow()).toThrow("every call of it is refused");
    const open = createServer({ unmappedRoutes: "authenticated" });
    expect(audit(open, list("tools/list")).text).toContain("any valid token is enough for it");
  });

  it("fails for a rule without an operation, and names an operation with a similar name", () => {
    const report = audit(server, list("tools/list", "tools/call search", "tools/call run_agents"));
    expect(report.findings.map(({ kind }) => kind)).toEqual(["route_unmapped", "rule_unreached"]);
    expect(report.findings[1]?.hint).toBe("Did you mean `MCP tools/call run_agents`?");
  });

  it("accepts rules for operations that a server does not list: subscriptions, tasks, and names below a listed `*`", () => {
    const more = createServer({
      scopeMappings: {
        "MCP subscriptions/listen": [],
        "MCP tasks/get": [],
        "MCP resources/read *": ["docs:read"],
        "MCP resources/read docs://secret": ["docs:secret"],
      },
    });
    expect(audit(more, list("resources/read *")).orThrow({ warnings: true }).ok).toBe(true);
  });

  it("accepts operations that a server offers later, and rules for names below a listed `docs_*`", () => {
    const later = createServer({
      scopeMappings: {
        "MCP tools/list": [],
        "MCP tools/call export": ["docs:export"],
        "MCP tools/call docs_*": ["docs:use"],
        "MCP tools/call docs_delete": ["docs:delete"],
      },
    });
    const listed = list("tools/list", "tools/call export", "tools/call docs_*");
    expect(audit(later, listed).orThrow({ warnings: true }).ok).toBe(true);
    expect(audit(later, list("tools/list", "tools/call docs_*")).findings).toMatchObject([
      { kind: "rule_unreached", rule: { key: "MCP tools/call export" } },
    ]);
    expect(audit(later, [...listed, ...list("tools/call other_*")]).findings).toMatchObject([
      { kind: "route_unmapped", route: { pattern: "tools/call other_*" } },
    ]);
  });

  it("fails for an argument of a condition that an operation doesn't have, also in a wider rule", () => {
    const where = { team: { claim: "team" } };
    const tools = (conditions: object) => {
      const tenants = createServer({
        scopeMappings: {
          "MCP tools/call *": { scopes: [], where, ...conditions },
          "MCP tools/call ping": [],
          "MCP tools/call search": ["docs:<team>:read"],
        },
      });
      const operations = [
        { method: "MCP", pattern: "tools/call ping", parameters: [] },
        { method: "MCP", pattern: "tools/call search", parameters: ["team"] },
        { method: "MCP", pattern: "tools/call other", parameters: ["constructor", "teem"] },
      ];
      return audit(tenants, operations).findings.map(
        ({ kind, hint, ...finding }) => `${kind} ${"route" in finding ? finding.route.pattern : ""} ${hint}`,
      );
    };
    const other = "rule_argument_unknown tools/call other Did you mean `team`?".replace("team", "teem");
    expect(tools({})).toEqual(["rule_argument_unknown tools/call ping Its arguments: none.", other]);
    expect(tools({ except: ["MCP tools/call ping"] })).toEqual([other]);
    expect(tools({ unless: ["docs:<teams>:cross"], except: ["MCP tools/call ping"] })).toEqual([
      "rule_argument_unknown tools/call search Did you mean `team`?",
      other,
      "rule_argument_unknown tools/call other Did you mean `teem`?",
    ]);
  });

  it("reads only own properties of the types of arguments", () => {
    const tools = createServer({ scopeMappings: { "MCP tools/call run": ["a:<constructor>:b"] } });
    const run = { method: "MCP", pattern: "tools/call run", parameters: ["constructor"] };
    for (const parameterTypes of [undefined, null, 1, {}, { constructor: ["string", "null"] }])
      expect(audit(tools, [{ ...run, parameterTypes } as unknown as ListedRoute]).findings).toEqual([]);
    const findings = audit(tools, [{ ...run, parameterTypes: { constructor: ["array", "null"] } }]).findings;
    expect(findings).toMatchObject([{ kind: "rule_argument_type", severity: "warning" }]);
    expect(findings[0]?.message).toContain("takes as array or null: calls with it are refused.");
  });

  it("compares routes and operations each with their own rules", () => {
    const routes = [{ method: "POST", pattern: "/mcp" }];
    expect(found(routes, ALL)).toEqual([]);
    expect(found([{ method: "GET", pattern: "/other" }], ALL)).toEqual([
      "error route_unmapped",
      "error rule_unreached",
    ]);
  });

  it("warns that rules of operations were not audited, if only routes are listed", () => {
    const report = audit(server, [{ method: "POST", pattern: "/mcp" }]);
    expect(report.findings).toMatchObject([{ kind: "operations_missing", severity: "warning" }]);
    expect(report.text).toContain("no operation is listed: ");
    expect(() => report.orThrow({ warnings: true })).toThrow("operationsOf(mcpServer)");
  });
});
