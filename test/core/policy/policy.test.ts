import { describe, expect, it } from "vitest";
import type { ScopeMappings } from "scopegate";
import { usesScope } from "../../../src/adapters/mcp/refusals.ts";
import { pipelineOf } from "../../../src/core/port.ts";
import { resultOf } from "../../support/conditions.ts";
import { createServer } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";

const policyOf = (scopeMappings: ScopeMappings, options: Partial<ResourceServerOptions> = {}) =>
  pipelineOf(createServer({ scopeMappings, ...options })).policy;

describe("an upgrade to a WebSocket", () => {
  const find = (scopeMappings: ScopeMappings, isUpgrade: boolean) =>
    policyOf(scopeMappings).find(
      { method: "GET", target: "/ws/x", ...(isUpgrade && { upgrade: true }) },
      true,
    );

  it("refuses it by a public rule with a wildcard, which is meant for pages", () => {
    expect(find({ "GET /{*path}": "public" }, true)).toMatchObject({ kind: "unmapped", matches: [] });
    expect(find({ "GET /ws/*path": "public" }, true)).toMatchObject({ kind: "unmapped", matches: [] });
    expect(find({ "GET /{*path}": "public" }, false).kind).toBe("rules");
  });

  it.each<ScopeMappings>([
    { "GET /ws/x": "public" },
    { "GET /ws/:room": "public" },
    { "GET /*path": ["ws:use"] },
    { "GET /*path": "optional" },
  ])("decides it by any other rule: %j", (table) => {
    expect(find(table, true).kind).toBe("rules");
  });

  it("treats it as unmapped without a rule", () => {
    expect(find({ "GET /other": [] }, true).kind).toBe("unmapped");
  });
});

describe("a request without a rule", () => {
  it("refuses it, and a refused operation is reported as one", () => {
    const policy = policyOf({ "GET /a": [] });
    const path = policy.refuseByTable(policy.find({ method: "GET", target: "/b" }, true));
    expect(path).toMatchObject({ reason: "route_unmapped" });
    expect(path).not.toHaveProperty("isOperation");
    expect(policy.refuseByTable(policy.find({ method: "MCP", target: "tools/list" }, true))).toMatchObject({
      reason: "route_unmapped",
      isOperation: true,
    });
  });

  it("refuses a handler of an unknown route that only a public wildcard covers, whatever the options", () => {
    const policy = policyOf({ "GET /{*path}": "public" }, { unmappedRoutes: "authenticated" });
    const request = { method: "GET", target: "/b", isAtHandler: true };
    expect(policy.refuseByTable(policy.find(request, false))).toMatchObject({ reason: "route_unmapped" });
  });

  it.each<[Partial<ResourceServerOptions>, string, string]>([
    [{}, "refused", "route_unmapped"],
    [{ unmappedRoutes: "not_found" }, "refused", "route_unmapped"],
    [{ unmappedRoutes: "authenticated" }, "open", "allowed"],
    [{ authorization: false }, "open", "allowed"],
  ])("decides it for a valid token by the options %j", (options, unmapped, result) => {
    const policy = policyOf({ "GET /a": [] }, options);
    const request = { method: "GET", target: "/b" };
    expect(policy.unmapped).toBe(unmapped);
    expect(resultOf(policy.decideFor(policy.callerWith([]), request))).toBe(result);
  });
});

describe("a caller", () => {
  const table: ScopeMappings = {
    "GET /a": ["a:read"],
    "GET /b": { scopes: [], clients: ["console"] },
    "GET /c/:id": { scopes: ["a:read"], also: ["c:<id>:read"] },
    "MCP tools/call search": ["a:read"],
  };
  const isSatisfied = (
    target: string,
    scopes: readonly string[],
    claims: object = {},
    options: Partial<ResourceServerOptions> = {},
  ) => {
    const policy = policyOf(options.authorization === false ? { "GET /a": ["a:read"] } : table, options);
    const governing = policy.find({ method: "GET", target }, true);
    return policy.isSatisfied(governing, policy.callerWith(scopes, claims as Record<string, unknown>));
  };

  it("satisfies the rules of a request by scopes and by conditions", () => {
    expect(isSatisfied("/a", ["a:read"])).toBe(true);
    expect(isSatisfied("/a", ["b:read"])).toBe(false);
    expect(isSatisfied("/b", [], { client_id: "console" })).toBe(true);
    expect(isSatisfied("/b", [], { client_id: "other" })).toBe(false);
    expect(isSatisfied("/c/7", ["a:read", "c:7:read"])).toBe(true);
    expect(isSatisfied("/c/7", ["a:read", "c:8:read"])).toBe(false);
    expect(isSatisfied("/c/7", ["c:7:read"])).toBe(false);
  });

  it("satisfies every rule of a server that only authenticates", () => {
    expect(isSatisfied("/a", [], {}, { authorization: false })).toBe(true);
  });

  it("decides one operation, with a token and without one", () => {
    const policy = policyOf(table);
    const governing = policy.find({ method: "MCP", target: "tools/call search" }, false);
    expect(resultOf(policy.decideGoverned(policy.callerWith(["a:read"]), governing))).toBe("allowed");
    expect(resultOf(policy.decideGoverned(policy.callerWith([]), governing))).toBe("scope_insufficient");
    expect(resultOf(policy.decideGoverned(undefined, governing))).toBe("credential_missing");
  });

  it("without a key is refused where every token must be bound", () => {
    const senderConstraint = { dpop: { origins: ["https://api.example"] }, required: true };
    const policy = policyOf({ "GET /a": [] }, { senderConstraint });
    const decide = (claims: object) =>
      policy.decideFor(policy.callerWith([], claims as Record<string, unknown>), {
        method: "GET",
        target: "/a",
      });
    expect(decide({})).toMatchObject({ reason: "proof_missing", principal: { scopes: [] } });
    expect(resultOf(decide({ cnf: { jkt: "key" } }))).toBe("allowed");
  });
});

describe("a scope", () => {
  it.each([
    ["agents:read", true],
    ["agents:7:read", true],
    ["agents:*:read", true],
    ["openid", true],
    ["support:work", true],
    ["agents:write", false],
    ["teams:read", false],
    ["profile", false],
    ["other:work", false],
  ])("can satisfy a rule of the table, or not: %s %s", (scope, isUsed) => {
    const policy = policyOf(
      { "GET /agents/:id": ["agents:<id>:read"], "GET /me": ["openid"] },
      { impliedScopes: { "support:work": ["agents:read"], "other:work": ["teams:read"] } },
    );
    expect(usesScope(policy.rules, scope)).toBe(isUsed);
  });
});
