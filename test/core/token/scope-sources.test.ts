/** Scopes from several claims, and roles that grant scopes. */
import { describe, expect, it } from "vitest";
import { parseConfiguration } from "scopegate/complete";
import { readScopes, type ScopeSource } from "../../../src/core/token/scope-sources.ts";
import { createServer, issuer, issuesOf, NOW, thrownBy } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";
import { CONTROL, ENTRIES, signedBy } from "../issuers/signers.ts";

type Claims = Readonly<Record<string, unknown>>;

const SOURCES: readonly ScopeSource[] = [
  { claim: "scp", required: false },
  {
    claim: ["realm_access", "roles"],
    map: { Support: ["sessions:read"], "Site Owner": ["agents:read", "teams:read"] },
  },
];

async function decide(claims: Claims, options: Partial<ResourceServerOptions> = { scopeSources: SOURCES }) {
  const authorization = `Bearer ${await issuer.token({ scopes: undefined, ...claims })}`;
  return createServer(options).check({ method: "GET", target: "/agents", authorization });
}

const scopesOf = async (claims: Claims, options?: Partial<ResourceServerOptions>) =>
  (await decide(claims, options)).principal?.scopes;

describe("the option scopeSources", () => {
  it.each<readonly [Claims, readonly string[]]>([
    [{ scp: "a:read b:read", realm_access: { roles: [] } }, ["a:read", "b:read"]],
    [{ scp: ["a:read"], realm_access: { roles: ["Support"] } }, ["a:read", "sessions:read"]],
    [{ realm_access: { roles: ["Support"] } }, ["sessions:read"]],
    [{ realm_access: { roles: "Support" } }, ["sessions:read"]],
    [{ realm_access: { roles: ["Site Owner", "Support"] } }, ["agents:read", "teams:read", "sessions:read"]],
    [
      { scp: "teams:read a:read", realm_access: { roles: ["Site Owner"] } },
      ["teams:read", "a:read", "agents:read"],
    ],
    [{ scp: [], realm_access: { roles: ["Site Owner", "Site Owner"] } }, ["agents:read", "teams:read"]],
  ])("grants the scopes of all claims, each once: %j", async (claims, scopes) => {
    expect(await scopesOf(claims)).toEqual(scopes);
  });

  it.each(["support", "Support ", "sessions:read", "platform:admin", "toString", "__proto__", ""])(
    "grants nothing for the unknown role %j",
    async (role) => {
      expect(await scopesOf({ realm_access: { roles: [role] } })).toEqual([]);
    },
  );

  it.each(["billing admin", "admin billing", " admin", "admin ", "Admin admin", "admin  admin"])(
    "grants nothing for the role %j of a string claim because it contains the name of another role",
    async (role) => {
      const scopeSources = [{ claim: "role", map: { admin: ["projects:write"] } }];
      expect(await scopesOf({ role }, { scopeSources })).toEqual([]);
      expect(await scopesOf({ role: [role] }, { scopeSources })).toEqual([]);
      expect(await scopesOf({ role: "admin" }, { scopeSources })).toEqual(["projects:write"]);
    },
  );

  it("grants the scopes of a role with a space to this role only, as a string and in an array", async () => {
    const map = { admin: ["projects:write"], "billing admin": ["projects:read"] };
    const scopeSources = [{ claim: ["app", "scope"], map }];
    for (const scope of ["billing admin", ["billing admin"]])
      expect(await scopesOf({ app: { scope } }, { scopeSources })).toEqual(["projects:read"]);
  });

  it.each(["scope", "scp", ["scope"]])("splits a string in the claim %j, also with map", async (claim) => {
    const scopeSources = [{ claim, map: { "read:all": ["agents:read"], "read:own": ["teams:read"] } }];
    const value = "openid read:all read:own";
    expect(await scopesOf({ scope: value, scp: value }, { scopeSources })).toEqual([
      "agents:read",
      "teams:read",
    ]);
  });

  it.each<readonly [Claims, string]>([
    [{ scp: "a:read" }, "realm_access.roles"],
    [{ scp: "a:read", realm_access: { roles: null } }, "realm_access.roles"],
    [{ scp: "a:read", realm_access: { roles: [5] } }, "realm_access.roles"],
    [{ scp: 5, realm_access: { roles: [] } }, "scp"],
    [{ scp: null, realm_access: { roles: [] } }, "scp"],
  ])(
    "rejects a token without a required claim, or with a claim of another type: %j",
    async (claims, claim) => {
      expect(await decide(claims)).toMatchObject({ rejection: "claims", claim });
    },
  );

  it("accepts a token without any of the claims if none is required, with no scopes", async () => {
    const scopeSources = [
      { claim: "scp", required: false },
      { claim: "roles", required: false },
    ];
    expect(await scopesOf({}, { scopeSources })).toEqual([]);
  });

  it("ignores later changes of the array, which is copied", async () => {
    const map: Record<string, string[]> = { Support: ["sessions:read"] };
    const server = createServer({ scopeSources: [{ claim: "roles", map }] });
    map["Support"]?.push("platform:admin");
    map["Guest"] = ["platform:admin"];
    const token = await issuer.token({ scopes: undefined, roles: ["Support", "Guest"] });
    expect((await server.authenticate(token)).scopes).toEqual(["sessions:read"]);
  });

  it("yields to the scopeSources or the scopesClaim of an issuer", async () => {
    const authenticate = (entry: object, options: Partial<ResourceServerOptions>) =>
      createServer({ issuers: [{ ...ENTRIES.control, ...entry }], ...options }).authenticate(
        signedBy(CONTROL, { claims: { aud: "agents-prod", scopes: ["a:a"], scp: "b:b", roles: ["R"] } }),
      );
    const roles = { scopeSources: [{ claim: "roles", map: { R: ["c:c"] } }] };
    const scopes = async (entry: object, options: Partial<ResourceServerOptions>) =>
      (await authenticate(entry, options)).scopes;
    expect(await scopes({}, roles)).toEqual(["c:c"]);
    expect(await scopes(roles, {})).toEqual(["c:c"]);
    expect(await scopes(roles, { scopesClaim: "scp" })).toEqual(["c:c"]);
    expect(await scopes({ scopesClaim: "scp" }, roles)).toEqual(["b:b"]);
  });

  it("accepts JSON, with the roles and claims unchanged", async () => {
    const json = {
      service_id: "agents-prod",
      verification_keys: [issuer.publicPem],
      scope_sources: [
        { claim: ["realmAccess", "role_names"], required: true, map: { siteOwner: ["a:read"] } },
      ],
    };
    const options = parseConfiguration(json);
    expect(options.scopeSources).toEqual(json.scope_sources);
    const token = await issuer.token({ scopes: undefined, realmAccess: { role_names: ["siteOwner"] } });
    const server = createServer({ ...options, now: () => NOW * 1000 });
    expect((await server.authenticate(token)).scopes).toEqual(["a:read"]);
  });
});

describe("a mistake in scopeSources", () => {
  const issuesWith = (options: object) =>
    issuesOf({ serviceId: "agents-prod", verificationKeys: [issuer.publicPem], ...options });

  it.each<readonly [unknown, string, readonly (string | number)[], string]>([
    [[], "option_invalid", [], "Write an array of at least one"],
    ["scp", "option_invalid", [], "Write an array of at least one"],
    [["scp"], "option_invalid", [0], "{ claim, required, map }"],
    [[{}], "option_missing", [0, "claim"], "Write a claim name"],
    [[{ claim: "" }], "option_invalid", [0, "claim"], "Write a claim name"],
    [[{ claim: "a", required: 1 }], "option_invalid", [0, "required"], "Write true or false"],
    [[{ claim: "a", optional: true }], "option_unknown", [0, "optional"], "table of options"],
    [[{ claim: "a", mapp: {} }], "option_unknown", [0, "mapp"], "Did you mean `map`?"],
    [[{ claim: "a", map: { R: "a:b" } }], "option_invalid", [0, "map", "R"], "Write an array of scopes"],
    [[{ claim: "a", map: { R: ["a b"] } }], "scope_invalid", [0, "map", "R"], "without spaces"],
    [[{ claim: "a", map: { R: ["a::b"] } }], "scope_invalid", [0, "map", "R"], "without empty parts"],
    [[{ claim: "scp", map: { "R S": ["a:b"] } }], "option_invalid", [0, "map", "R S"], "one key for each"],
    [[{ claim: "scope", map: { "R ": ["a:b"] } }], "option_invalid", [0, "map", "R "], "without spaces"],
  ])("reports it: %j", (scopeSources, code, path, hint) => {
    const issues = issuesWith({ scopeSources });
    expect(issues).toMatchObject([{ code, path: ["scopeSources", ...path] }]);
    expect(issues[0]?.hint).toContain(hint);
  });

  it("appears with the names of JSON, in an issuer too", () => {
    const issuesIn = (json: unknown) => thrownBy(() => parseConfiguration(json)).issues;
    const scope_sources = [{ claim: "a", map: { siteOwner: "a:b" } }];
    expect(issuesIn({ scope_sources })).toMatchObject([{ path: ["scope_sources", 0, "map", "siteOwner"] }]);
    const entry = { issuer: "a", algorithms: ["RS256"], keys: { jwks: { keys: [] } }, scope_sources };
    expect(issuesIn({ issuers: [entry] })).toMatchObject([
      { path: ["issuers", 0, "scope_sources", 0, "map", "siteOwner"] },
    ]);
  });

  it("includes scopesClaim in addition to it, in the same place", () => {
    const both = { scopesClaim: "scp", scopeSources: [{ claim: "scp" }] };
    expect(issuesWith(both)).toMatchObject([{ code: "option_conflict", path: ["scopesClaim"] }]);
    expect(issuesOf({ serviceId: "agents-prod", issuers: [{ ...ENTRIES.control, ...both }] })).toMatchObject([
      { code: "option_conflict", path: ["issuers", 0, "scopesClaim"] },
    ]);
  });
});

describe("a token that has its scopes in another claim", () => {
  it.each(["scope", "scp", "permissions", "roles"])(
    "says in the decision what to write: %s",
    async (name) => {
      expect(await decide({ [name]: "a:read" }, {})).toMatchObject({
        claim: "scopes",
        cause: `The token has \`${name}\`: write scopesClaim: "${name}".`,
      });
    },
  );

  it("says nothing for a claim of the wrong type, or without such a claim", async () => {
    for (const claims of [{ scopes: 1, scope: "a:read" }, { groups: ["a:read"] }])
      expect(await decide(claims, {})).not.toHaveProperty("cause");
  });
});

describe("a scopesClaim that lists two claims", () => {
  const options = { scopesClaim: ["scp", "roles"] };

  it("appears in the decision if the token has both claims and the path finds nothing", async () => {
    expect(await decide({ scp: "a:read", roles: ["R"] }, options)).toMatchObject({
      rejection: "claims",
      claim: "scp.roles",
      cause: expect.stringContaining("Write `scopeSources` for several claims") as string,
    });
  });

  it.each<readonly [Claims]>([
    [{ scp: "a:read" }],
    [{ roles: ["R"] }],
    [{}],
    [{ scp: { roles: 5 }, roles: [] }],
  ])("does not report it for another token: %j", async (claims) => {
    const decision = await decide(claims, options);
    expect(decision).toMatchObject({ claim: "scp.roles" });
    expect(decision).not.toMatchObject({ cause: expect.stringContaining("several claims") as string });
  });

  it("works as a path if the path leads to scopes", async () => {
    expect(await scopesOf({ scp: { roles: ["a:read"] }, roles: [] }, options)).toEqual(["a:read"]);
  });

  it("causes no report for a single claim that the token does not have", async () => {
    const decision = await decide({}, { scopesClaim: "scp" });
    expect(decision).toMatchObject({ rejection: "claims", claim: "scp" });
    expect(decision).not.toHaveProperty("cause");
  });
});

describe("a scope that an issuer may not grant", () => {
  const read = (scopes: unknown, source: object) => {
    const result = readScopes({ scopes }, [{ claim: "scopes", ...source }]);
    return result.kind === "scopes" ? result.scopes : result.kind;
  };

  it("withholds it, and grants all others", () => {
    expect(read(["a:b", "root", "c:d"], { withheld: "root" })).toEqual(["a:b", "c:d"]);
    expect(read("a:b root", { withheld: "root" })).toEqual(["a:b"]);
    expect(read(["root"], { withheld: "root" })).toEqual([]);
    expect(read(["a:b", "root"], {})).toEqual(["a:b", "root"]);
  });

  it("costs no copy of the array if the token does not have it", () => {
    const scopes = ["a:b"];
    expect(read(scopes, { withheld: "root" })).toBe(scopes);
    expect(read(scopes, {})).toBe(scopes);
  });
});
