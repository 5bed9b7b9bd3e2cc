/** A server with and without the value of the option `mcp`. */
import { describe, expect, it } from "vitest";
import { createResourceServer, type ConfigurationIssue } from "scopegate";
import { callerConditions } from "scopegate/conditions";
import { mcpOperations, protectMcp, withMcp } from "scopegate/mcp";
import { operationRulesOf } from "../../../src/capabilities/mcp-operations/operation-rules.ts";
import { pipelineOf } from "../../../src/core/port.ts";
import { audit } from "../../../src/tools/audit/index.ts";
import { issuer, thrownBy } from "../../support/resource-servers.ts";
import { withPollution } from "../../support/polluted-prototype.ts";

type Options = Parameters<typeof createResourceServer>[0];

const HINT = "Write `mcp: mcpOperations()`, imported from scopegate/mcp.";
const RULES = { "* /mcp": [], "MCP tools/list": [], "MCP tools/call search": ["docs:read"] };

const create = (options: Partial<Options> = {}) =>
  createResourceServer({ serviceId: "docs", verificationKeys: [issuer.publicPem], ...options });
const issuesOf = (options: object): readonly ConfigurationIssue[] => thrownBy(() => create(options)).issues;

describe("a server without `mcp`", () => {
  it("refuses to start with rules for operations, and reports that once", () => {
    const issues = issuesOf({ scopeMappings: RULES, defaultScopeMappings: { "MCP ping": [] } });
    expect(issues).toEqual([
      {
        code: "option_missing",
        path: ["mcp"],
        message: "is missing, but the rule `MCP ping` needs it.",
        hint: HINT,
      },
    ]);
  });

  it("refuses to start with an exception for an operation", () => {
    const scopeMappings = { "GET /a": { scopes: [], actors: "none", except: ["MCP tools/list"] } };
    expect(issuesOf({ scopeMappings, conditions: callerConditions() })).toMatchObject([
      { code: "option_missing", path: ["mcp"], hint: HINT },
    ]);
  });

  it("refuses options of a class, whose properties it wouldn't read", () => {
    expect(issuesOf({ mcp: mcpOperations(new Map() as never) })).toMatchObject([
      { path: ["mcp"], hint: 'Write { methods: { "skills/list": null } }.' },
    ]);
  });

  it.each([
    ["plain data", { methods: {} }],
    ["a function", mcpOperations],
    ["another value", { ...mcpOperations(), option: "grants" }],
  ])("refuses %s, and only that", (_, mcp) => {
    expect(issuesOf({ mcp, scopeMappings: RULES })).toMatchObject([
      { code: "option_invalid", path: ["mcp"], hint: HINT },
    ]);
  });

  it("refuses every operation, and the decision says why", async () => {
    const server = create({ unmappedRoutes: "authenticated", scopeMappings: { "* /{*path}": "public" } });
    const decision = await server.check({ method: "MCP", target: "tools/call search" });
    expect(decision).toMatchObject({
      reason: "request_ambiguous",
      cause: `The table has no rules for operations. ${HINT}`,
    });
  });

  it("cannot be the server of protectMcp and withMcp", () => {
    const server = create({ scopeMappings: { "* /mcp": [] } });
    for (const [name, guard] of [
      ["protectMcp", () => protectMcp(server)],
      ["withMcp", () => withMcp(server, () => new Response())],
    ] as const)
      expect(thrownBy(guard).issues).toEqual([
        {
          code: "option_missing",
          path: ["mcp"],
          message: `is missing, but ${name} needs it.`,
          hint: HINT,
        },
      ]);
  });

  it("makes the audit of its operations fail", () => {
    const report = audit(create(), [{ method: "MCP", pattern: "tools/list" }]);
    expect(report.findings).toMatchObject([{ kind: "route_unreadable", severity: "error", hint: HINT }]);
  });
});

describe("mcpOperations", () => {
  it("makes several servers, each with its own rules", async () => {
    const mcp = mcpOperations({ methods: { "skills/list": null } });
    const open = create({ mcp, scopeMappings: { "MCP skills/list": "public" } });
    const other = create({ mcp, scopeMappings: { "MCP tools/list": "public" } });
    const request = { method: "MCP", target: "skills/list" };
    expect((await open.check(request)).allowed).toBe(true);
    expect(await other.check(request)).toMatchObject({ reason: "route_unmapped" });
    expect(Object.isFrozen(mcp)).toBe(true);
    const rules = [open, other].map((server) => operationRulesOf(pipelineOf(server).policy.rules));
    expect(rules[0]).not.toBe(rules[1]);
  });

  it.each([
    [{ method: {} }, "mcp.method", "Did you mean `methods`?"],
    [{ methods: undefined }, "mcp.methods", "Write methods that the protocol lacks"],
    [{ methods: { ping: null } }, "mcp.methods.ping", "Write methods that the protocol lacks"],
    [5, "mcp", "Write { methods: "],
    [null, "mcp", "Write { methods: "],
  ])("reports the mistake in %j with those in other options", (written, path, hint) => {
    const issues = issuesOf({ mcp: mcpOperations(written as never), scopeMappings: RULES, realm: "\n" });
    expect(issues.map((issue) => issue.path.join("."))).toEqual(expect.arrayContaining([path, "realm"]));
    expect(issues.find((issue) => issue.path.join(".") === path)?.hint).toContain(hint);
    expect(issues).toHaveLength(2);
  });

  it("doesn't read options of a polluted prototype", () => {
    const issues = withPollution({ methods: { "skills/list": null } }, () =>
      issuesOf({ mcp: mcpOperations(), scopeMappings: { "MCP skills/list": [] } }),
    );
    expect(issues).toMatchObject([{ code: "route_key_invalid" }]);
  });
});
