import { describe, expect, it } from "vitest";
import { createServer, issuer, mistakesOf } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";

const start = (options: Partial<ResourceServerOptions>) => () =>
  createServer({ scopeMappings: {}, ...options });

type ScopeSources = NonNullable<ResourceServerOptions["scopeSources"]>;

describe("knownScopes", () => {
  const knownScopes = ["agents:read", "agents:write", "openid"];

  it.each<Partial<ResourceServerOptions>>([
    { scopeMappings: { "GET /a": ["agents:read", "openid"], "GET /b/:id": ["agents:<id>:read"] } },
    { scopeMappings: { "GET /a": ["agents:7:write"], "GET /b": { anyOf: ["agents:<any>:read"] } } },
    { impliedScopes: { "agents:write": ["agents:read"], root: ["agents:write"] } },
    { scopeSources: [{ claim: "roles", map: { editor: ["agents:*:write"], owner: ["root"] } }] },
  ])("accepts its scopes, for every id, and the admin scope: %j", (options) => {
    expect(start({ knownScopes, adminScope: "root", ...options })).not.toThrow();
  });

  it.each<[Partial<ResourceServerOptions>, string]>([
    [{ scopeMappings: { "GET /a": ["agnets:read"] } }, "scopeMappings"],
    [{ defaultScopeMappings: { "GET /a": ["teams:<any>:read"] } }, "defaultScopeMappings"],
    [{ impliedScopes: { "agents:write": ["agents:raed"] } }, "impliedScopes"],
    [{ scopeSources: [{ claim: "roles", map: { editor: ["agents:edit"] } }] }, "scopeSources"],
  ])("refuses any other scope: %j", (options, option) => {
    expect(mistakesOf(start({ knownScopes, ...options }))).toEqual([
      ["scope_unknown", option, expect.anything()],
    ]);
  });

  it("suggests a similar scope", () => {
    expect(start({ knownScopes, scopeMappings: { "GET /a": ["agnets:read"] } })).toThrow(
      "names `agnets:read`, which isn't in `knownScopes`. Did you mean `agents:read`?",
    );
  });
});

describe("a scope that tokens are granted by the options", () => {
  it.each(["agents:*", "*:read", "*:*:*", "agents:*:*", "agents:w*:read", "agents:<any>:read", "a:<id>:b"])(
    "rejects a template, and a wildcard except for the id: %s",
    (scope) => {
      const map = { editor: [scope] };
      expect(mistakesOf(start({ scopeSources: [{ claim: "roles", map }] }))).toEqual([
        ["scope_invalid", "scopeSources", 0, "map", "editor"],
      ]);
      expect(mistakesOf(start({ impliedScopes: { editor: [scope] } }))).toEqual([
        ["scope_invalid", "impliedScopes", "editor"],
      ]);
    },
  );

  it.each(["agents:*:write", "agents:<agent_id>:write", "agents:{id}:write"])(
    "rejects a hierarchy for ids, which the hierarchy of the resource has anyway: %s",
    (scope) => {
      expect(start({ impliedScopes: { [scope]: ["agents:read"] } })).toThrow("Write `agents:write`");
    },
  );

  it("accepts a scope for one id, or for every id in a map", () => {
    expect(start({ impliedScopes: { "agents:web:write": ["agents:web:read"] } })).not.toThrow();
    expect(start({ scopeSources: [{ claim: "roles", map: { editor: ["agents:*:read"] } }] })).not.toThrow();
  });
});

describe("the admin scope", () => {
  const statusOf = async (scopeSources: ScopeSources, claims: object) => {
    const server = createServer({
      adminScope: "platform:admin",
      scopeSources,
      scopeMappings: { "GET /a": ["agents:read"] },
    });
    const authorization = `Bearer ${await issuer.token({ scopes: undefined, ...claims })}`;
    const decision = await server.check({ method: "GET", target: "/a", authorization });
    return decision.allowed ? 200 : server.refuse(decision).status;
  };

  it.each<[string, ScopeSources, object]>([
    ["a claim with roles", [{ claim: "roles" }], { roles: ["platform:admin"] }],
    [
      "a nested claim with roles beside scopes",
      [{ claim: "scope" }, { claim: ["realm_access", "roles"] }],
      { scope: "x:y", realm_access: { roles: ["x", "platform:admin"] } },
    ],
    [
      "a nested claim with the name of scopes",
      [{ claim: ["user_metadata", "scope"] }],
      { user_metadata: { scope: "platform:admin" } },
    ],
    ["a map without it", [{ claim: "roles", map: {} }], { roles: ["platform:admin"] }],
  ])("does not grant it from %s", async (_, sources, claims) => {
    expect(await statusOf(sources, claims)).toBe(403);
  });

  it.each<[string, ScopeSources, object]>([
    ["the claim scopes", [{ claim: "scopes" }], { scopes: ["platform:admin"] }],
    ["the claim scope", [{ claim: "scope" }], { scope: "openid platform:admin" }],
    ["the claim scp", [{ claim: ["scp"] }], { scp: ["platform:admin"] }],
    ["a map that names it", [{ claim: "roles", map: { root: ["platform:admin"] } }], { roles: ["root"] }],
    [
      "a further source with the same claim that names it",
      [{ claim: "permissions" }, { claim: "permissions", map: { "platform:admin": ["platform:admin"] } }],
      { permissions: ["platform:admin"] },
    ],
  ])("grants it from %s", async (_, sources, claims) => {
    expect(await statusOf(sources, claims)).toBe(200);
  });

  it("grants it from the claim of scopesClaim, whatever its name", async () => {
    const server = createServer({
      adminScope: "platform:admin",
      scopesClaim: "permissions",
      scopeMappings: { "GET /a": ["agents:read"] },
    });
    const authorization = `Bearer ${await issuer.token({ permissions: ["platform:admin"] })}`;
    expect(await server.check({ method: "GET", target: "/a", authorization })).toMatchObject({
      allowed: true,
    });
  });
});
