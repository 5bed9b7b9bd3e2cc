import { describe, expect, it } from "vitest";
import { decideByRules } from "../../../src/core/policy/decision.ts";
import { agentScopeMappings } from "../../../src/core/policy/agent-scope-mappings.ts";
import {
  callerWith,
  changeable,
  keyOf,
  matchOf,
  ADMIN_RULES,
  tableIssues,
  tableOf,
} from "../../support/policy.ts";

const table = tableOf({}, agentScopeMappings);

const isAllowed = (method: string, target: string, ...scopes: readonly string[]) =>
  decideByRules([matchOf(table, method, target)], callerWith(...scopes), ADMIN_RULES).allowed;

describe("agentScopeMappings", () => {
  it("compiles without a mistake", () => {
    expect(tableIssues({}, agentScopeMappings)).toEqual([]);
    expect(tableIssues(agentScopeMappings)).toEqual([]);
  });

  it("freezes its entries, so that one service cannot change the table of another", () => {
    expect(changeable(agentScopeMappings)).toEqual([]);
    expect(() => Object.assign(agentScopeMappings, { "GET /agents": "public" })).toThrow(TypeError);
    expect(() => (agentScopeMappings["GET /sessions"] as unknown as string[]).pop()).toThrow(TypeError);
  });

  it("refuses every request without a token", () => {
    for (const requirement of Object.values(agentScopeMappings)) {
      expect(typeof requirement).toBe("object");
      expect(Array.isArray(requirement) && requirement.length === 0).toBe(false);
    }
  });

  it.each([
    ["GET", "/agents", "agents:read"],
    ["GET", "/agents", "agents:web:read"],
    ["GET", "/agents/web", "agents:web:read"],
    ["GET", "/agents/web", "agents:read"],
    ["POST", "/agents/web/runs", "agents:web:run"],
    ["GET", "/teams", "teams:read"],
    ["GET", "/teams", "teams:red:read"],
    ["GET", "/teams/red", "teams:red:read"],
    ["POST", "/teams/red/runs", "teams:red:run"],
    ["GET", "/sessions", "sessions:read"],
    ["GET", "/sessions/1", "sessions:read"],
    ["POST", "/sessions", "sessions:write"],
    ["PATCH", "/sessions/1", "sessions:write"],
    ["DELETE", "/sessions/1", "sessions:write"],
    ["GET", "/knowledge/config", "knowledge:read"],
    ["HEAD", "/agents/web", "agents:web:read"],
  ])("allows %s %s with %s or the admin scope, and refuses it without", (method, target, scope) => {
    expect(isAllowed(method, target, scope)).toBe(true);
    expect(isAllowed(method, target, "platform:admin")).toBe(true);
    expect(isAllowed(method, target)).toBe(false);
    expect(isAllowed(method, target, "openid", "custom:read", scope.toUpperCase())).toBe(false);
  });

  it.each([
    ["DELETE", "/agents/web"],
    ["POST", "/agents"],
    ["GET", "/agents/web/runs"],
    ["OPTIONS", "/agents"],
    ["GET", "/knowledge"],
    ["GET", "/"],
  ])("contains no rule for %s %s", (method, target) => {
    expect(keyOf(table, method, target)).toBe("unmapped");
  });
});
