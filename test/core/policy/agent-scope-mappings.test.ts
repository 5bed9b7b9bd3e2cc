import { describe, expect, it } from "vitest";
import { decideByRules } from "../../../src/core/policy/decision.ts";
import { agentScopeMappings } from "../../../src/core/policy/agent-scope-mappings.ts";
import { callerWith, changeable, keyOf, matchOf, ADMIN_RULES, tableOf } from "../../support/policy.ts";

const table = tableOf(agentScopeMappings);

const isAllowed = (method: string, target: string, ...scopes: readonly string[]) =>
  decideByRules([matchOf(table, method, target)], callerWith(...scopes), ADMIN_RULES).allowed;

describe("agentScopeMappings", () => {
  it("freezes its entries, so that one service cannot change the table of another", () => {
    expect(changeable(agentScopeMappings)).toEqual([]);
  });

  it("requires a scope for each request", () => {
    for (const requirement of Object.values(agentScopeMappings)) expect(requirement).toHaveLength(1);
  });

  it.each([
    ["GET", "/agents", "agents:web:read"],
    ["GET", "/agents/web", "agents:web:read"],
    ["POST", "/agents/web/runs", "agents:web:run"],
    ["GET", "/teams", "teams:red:read"],
    ["GET", "/teams/red", "teams:red:read"],
    ["POST", "/teams/red/runs", "teams:red:run"],
    ["GET", "/sessions", "sessions:read"],
    ["GET", "/sessions/1", "sessions:read"],
    ["POST", "/sessions", "sessions:write"],
    ["PATCH", "/sessions/1", "sessions:write"],
    ["DELETE", "/sessions/1", "sessions:write"],
    ["GET", "/knowledge/config", "knowledge:read"],
  ])("allows %s %s with %s, and refuses it with other scopes", (method, target, scope) => {
    expect(isAllowed(method, target, scope)).toBe(true);
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
