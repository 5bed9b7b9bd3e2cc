import { describe, expect, it } from "vitest";
import { agentScopeMappings, parseConfiguration } from "scopegate/complete";
import { OPTION_NAMES } from "../../src/core/options/shape.ts";
import { createIssuer } from "../support/issuer.ts";
import { issuer, thrownBy } from "../support/resource-servers.ts";
import { createResourceServer } from "../support/server.ts";
import { JSON_NAMES } from "./json-names.ts";

/** What every configuration without `default_scope_mappings` has. */
const BASE = { defaultScopeMappings: agentScopeMappings, adminScope: "platform:admin" };

const REQUIRED = { service_id: "agents-prod", verification_keys: [issuer.publicPem] };

const issuesOf = (json: unknown) => thrownBy(() => parseConfiguration(json)).issues;

describe("parseConfiguration", () => {
  it.each(JSON_NAMES)("converts %s to the option %s", (name, option, value) => {
    const json: unknown = JSON.parse(JSON.stringify({ [name]: value }));
    expect(parseConfiguration(json)).toEqual({
      ...(option === "defaultScopeMappings" ? {} : BASE),
      [option]: value,
    });
  });

  it("converts the properties of token_cache, and reports a misspelled one by its JSON name", () => {
    const json = { token_cache: { max_entries: 5, max_age_seconds: 6, max_bytes: 7 } };
    expect(parseConfiguration(json)).toEqual({
      ...BASE,
      tokenCache: { maxEntries: 5, maxAgeSeconds: 6, maxBytes: 7 },
    });
    expect(issuesOf({ token_cache: { max_entrys: 5 } })).toMatchObject([
      { code: "option_unknown", path: ["token_cache", "max_entrys"], hint: "Did you mean `max_entries`?" },
    ]);
  });

  it("keeps the names of claims and their values", () => {
    const required = { token_use: "access", tenantId: ["a", "b"] };
    expect(parseConfiguration({ required_claims: required, unmapped_routes: "not_found" })).toEqual({
      ...BASE,
      requiredClaims: required,
      unmappedRoutes: "not_found",
    });
    const list = ["exp", { token_use: "access" }];
    expect(parseConfiguration({ required_claims: list })).toEqual({ ...BASE, requiredClaims: list });
    expect(issuesOf({ required_claims: { token_use: null } })).toMatchObject([
      { code: "option_invalid", path: ["required_claims"] },
    ]);
  });

  it("converts the names of conditions, and keeps those of parameters and claims", () => {
    const json = {
      "* /orgs/:any_of{/*path}": {
        scopes: [],
        where: { any_of: { claim: "max_auth_age_seconds" } },
        actors: { any_of: ["agent"], direct: true },
        acr: { any_of: ["urn:mfa"] },
        max_auth_age_seconds: 300,
      },
    };
    expect(parseConfiguration({ scope_mappings: json }).scopeMappings).toEqual({
      "* /orgs/:any_of{/*path}": {
        scopes: [],
        where: { any_of: { claim: "max_auth_age_seconds" } },
        actors: { anyOf: ["agent"], direct: true },
        acr: { anyOf: ["urn:mfa"] },
        maxAuthAgeSeconds: 300,
      },
    });
  });

  it("lets a rule replace a base table's rule whatever it requires, but not drop its conditions", () => {
    const default_scope_mappings = {
      "GET /orgs/:org": { scopes: [], where: { org: { claim: "org_id" } } },
      "GET /reports": ["reports:read"],
    };
    const start = (scope_mappings: object) => () =>
      createResourceServer(parseConfiguration({ ...REQUIRED, default_scope_mappings, scope_mappings }));
    expect(start({ "GET /reports": "public" })().routes.map(({ source }) => source)).toContain("override");
    expect(start({ "GET /orgs/:org": ["orgs:read"] })).toThrow("Repeat the condition.");
  });

  it("converts the names inside of shadow", () => {
    const json = {
      shadow: {
        default_scope_mappings: {},
        scope_mappings: { "GET /a": { any_of: ["a:b"], max_auth_age_seconds: 60 } },
        unmapped_routes: "not_found",
      },
    };
    expect(parseConfiguration(json).shadow).toEqual({
      defaultScopeMappings: {},
      scopeMappings: { "GET /a": { anyOf: ["a:b"], maxAuthAgeSeconds: 60 } },
      unmappedRoutes: "not_found",
    });
    expect(issuesOf({ shadow: { scope_mappings: {}, scope_mapping: {} } })).toMatchObject([
      { code: "option_unknown", path: ["shadow", "scope_mapping"], hint: "Did you mean `scope_mappings`?" },
    ]);
    expect(issuesOf({ shadow: { scope_mappings: { "GET /a": { anyof: ["a:b"] } } } })).toMatchObject([
      { code: "requirement_invalid", path: ["shadow", "scope_mappings", "GET /a"] },
    ]);
  });

  it("converts the names inside of sender_constraint, and names a misspelled one as the file does", () => {
    const json = {
      sender_constraint: {
        dpop: {
          origins: ["https://api.example"],
          window_seconds: 60,
          nonce: { secret: "x".repeat(32), lifetime_seconds: 60 },
        },
        mtls: { from: { header: "client-cert", format: "rfc9440", trusted: ["10.0.0.0/8"] } },
        required: true,
      },
      scope_mappings: { "POST /payments": { scopes: [], sender_constrained: true } },
    };
    expect(parseConfiguration(json)).toMatchObject({
      senderConstraint: {
        dpop: { windowSeconds: 60, nonce: { lifetimeSeconds: 60 } },
        mtls: json.sender_constraint.mtls,
        required: true,
      },
      scopeMappings: { "POST /payments": { scopes: [], senderConstrained: true } },
    });
    expect(
      issuesOf({ sender_constraint: { dpop: { origins: ["https://a.example"], window_second: 5 } } }),
    ).toMatchObject([
      { path: ["sender_constraint", "dpop", "window_second"], hint: "Did you mean `window_seconds`?" },
    ]);
    expect(issuesOf({ sender_constraint: { dpop: { origins: ["a"], replay: {} } } })).toMatchObject([
      { code: "option_unknown", path: ["sender_constraint", "dpop", "replay"] },
      { code: "option_invalid", path: ["sender_constraint", "dpop", "origins", 0] },
    ]);
  });

  it("supports every option that JSON can represent", () => {
    const functions = [
      "isRevoked",
      "revocation",
      "opaqueTokens",
      "batches",
      "grants",
      "conditions",
      "onDecision",
      "onKeyEvent",
      "refusalBody",
      "now",
    ];
    const converted = JSON_NAMES.map(([, option]) => option);
    // The value of `shadow` has JSON names of its own.
    expect([...converted, "shadow", ...functions].sort()).toEqual([...OPTION_NAMES].sort());
  });

  it("accepts any_of, <any>, optional and public", () => {
    const scope_mappings = {
      "GET /either": { any_of: ["a:read", "b:read"] },
      "GET /list": ["a:<any>:read"],
      "GET /maybe": "optional",
      "GET /open": "public",
    };
    const options = parseConfiguration({ scope_mappings, default_scope_mappings: scope_mappings });
    const scopeMappings = { ...scope_mappings, "GET /either": { anyOf: ["a:read", "b:read"] } };
    expect(options).toMatchObject({ scopeMappings, defaultScopeMappings: scopeMappings });
  });

  it("keeps scopes, claims and routes unchanged, even if they look like option names", () => {
    const json = {
      implied_scopes: { any_of: ["verification_keys"] },
      scopes_claim: ["any_of", "jwks_file"],
      scope_mappings: { "GET /any_of/:jwks_file": ["any_of", "x:<jwks_file>:y"] },
    };
    expect(parseConfiguration(json)).toEqual({
      ...BASE,
      impliedScopes: json.implied_scopes,
      scopesClaim: json.scopes_claim,
      scopeMappings: json.scope_mappings,
    });
  });

  it("adds the base table and its admin scope by default, and reads neither the environment nor a file", () => {
    expect(parseConfiguration({})).toEqual(BASE);
    expect(parseConfiguration({ default_scope_mappings: {} })).toEqual({ defaultScopeMappings: {} });
    expect(() => parseConfiguration({ keys: { jwks_file: "/nowhere/jwks.json" } })).not.toThrow();
  });

  it("keeps its argument unchanged", () => {
    const json = Object.freeze({
      ...REQUIRED,
      scope_mappings: Object.freeze({ "GET /x": Object.freeze({ any_of: Object.freeze(["a:b"]) }) }),
    });
    expect(() => parseConfiguration(json)).not.toThrow();
    expect(json.scope_mappings["GET /x"]).toEqual({ any_of: ["a:b"] });
  });

  it("takes the text of a file, and refuses what parsers read in different ways", () => {
    expect(parseConfiguration('\uFEFF{ "service_id": "agents-prod" }')).toMatchObject({
      serviceId: "agents-prod",
    });
    for (const [text, message] of [
      ['{ "scope_mappings": { "GET /x": ["a:b"], "GET /x": [] } }', "have one name twice in an object."],
      ['{ "service_id": "a" "b" }', "aren't valid JSON."],
      ["", "aren't valid JSON."],
    ] as const)
      expect(() => parseConfiguration(text)).toThrow(message);
  });

  it.each<readonly [unknown]>([[null], [undefined], [[]], [[REQUIRED]], ["[]"], [5], [true], [() => ({})]])(
    "rejects %j, which is not a JSON object",
    (json) => {
      expect(issuesOf(json)).toMatchObject([
        { code: "option_invalid", path: [], hint: expect.stringContaining("JSON object") as string },
      ]);
    },
  );

  it.each([
    ["scope_mapping", "Did you mean `scope_mappings`?"],
    ["serviceId", "Did you mean `service_id`?"],
    ["scopeMappings", "Did you mean `scope_mappings`?"],
    ["SERVICE_ID", "table of options"],
    ["secret", "table of options"],
    ["constructor", "table of options"],
    ["isRevoked", "table of options"],
  ])("rejects the unknown name %j: %s", (name, hint) => {
    const issues = issuesOf({ ...REQUIRED, [name]: "x" });
    expect(issues).toMatchObject([{ code: "option_unknown", path: [name] }]);
    expect(issues[0]?.hint).toContain(hint);
  });

  it("accepts the tables of a program, with names in camelCase", () => {
    const scope_mappings = { "GET /x": { scopes: [], maxAuthAgeSeconds: 300, acr: { anyOf: ["urn:mfa"] } } };
    expect(parseConfiguration({ scope_mappings }).scopeMappings).toEqual(scope_mappings);
  });

  it.each([
    [{ anyOf: ["a:b"], any_of: ["c:d"] }, ["anyOf"], "any_of"],
    [
      { scopes: [], max_auth_age_seconds: 9, maxAuthAgeSeconds: 300 },
      ["maxAuthAgeSeconds"],
      "max_auth_age_seconds",
    ],
    [{ scopes: [], acr: { any_of: ["urn:a"], anyOf: ["urn:mfa"] } }, ["acr", "anyOf"], "any_of"],
  ])("rejects %j, which has one name in both spellings", (rule, path, name) => {
    expect(issuesOf({ ...REQUIRED, scope_mappings: { "GET /x": rule } })).toContainEqual({
      code: "option_unknown",
      path: ["scope_mappings", "GET /x", ...path],
      message: `received unknown option \`${path.at(-1)}\`.`,
      hint: `Remove it, or \`${name}\`.`,
    });
  });

  it("rejects a property called __proto__, and inherits nothing from it", () => {
    const json: unknown = JSON.parse('{"service_id":"a","__proto__":{"verify_audience":false}}');
    expect(issuesOf(json)).toMatchObject([{ code: "option_unknown", path: ["__proto__"] }]);
  });

  it.each<readonly [object, readonly (string | number)[], string]>([
    [{ service_id: "" }, ["service_id"], "option_invalid"],
    [{ verify_audience: "false" }, ["verify_audience"], "option_invalid"],
    [{ verification_keys: [5] }, ["verification_keys", 0], "option_invalid"],
    [{ max_token_age_seconds: -1 }, ["max_token_age_seconds"], "option_invalid"],
    [{ token_sources: [{ query: "t" }] }, ["token_sources", 0], "option_invalid"],
    [{ algorithms: ["RS256", "none"] }, ["algorithms", 1], "option_invalid"],
    [{ scope_mappings: { "GET /x": 5 } }, ["scope_mappings", "GET /x"], "requirement_invalid"],
    [{ scope_mappings: { "GET /x": { all_of: [] } } }, ["scope_mappings", "GET /x"], "requirement_invalid"],
    [
      { default_scope_mappings: { "GET /x": null } },
      ["default_scope_mappings", "GET /x"],
      "requirement_invalid",
    ],
    [{ implied_scopes: { any_of: "x" } }, ["implied_scopes", "any_of"], "option_invalid"],
    [{ keys: { jwks_url: "https://issuer.example" } }, ["keys", "jwks_url"], "option_unknown"],
    [{ keys: { jwks_uri: "http://issuer.example" } }, ["keys", "jwks_uri"], "option_invalid"],
    [{ keys: { jwks_uri: "https://a.example", fetch: "x" } }, ["keys", "fetch"], "option_unknown"],
    [{ issuers: {} }, ["issuers"], "option_invalid"],
  ])("rejects %j with a path of JSON names", (json, path, code) => {
    const issues = issuesOf({ ...REQUIRED, ...json });
    expect(issues).toHaveLength(1);
    expect(issues[0]).toMatchObject({ code, path });
    expect(issues[0]?.hint).not.toBe("");
  });

  it("lists several mistakes at once", () => {
    const json = {
      service_id: 5,
      scope_mapping: {},
      verify_audience: 0,
      scope_mappings: { "GET /x": "all" },
    };
    const error = thrownBy(() => parseConfiguration(json));
    expect(error.issues.map(({ path }) => path.join("/")).sort()).toEqual([
      "scope_mapping",
      "scope_mappings/GET /x",
      "service_id",
      "verify_audience",
    ]);
    expect(error.message).toContain('scope_mappings["GET /x"]: ');
  });

  it("never quotes a value that may be secret", () => {
    const json = {
      verification_keys: "canary-secret",
      algorithm: "canary-secret",
      issuer: ["canary-secret"],
      secret: "canary-secret",
      keys: { jwks: "canary-secret" },
    };
    const error = thrownBy(() => parseConfiguration(json));
    expect(`${error.message} ${JSON.stringify(error.issues)}`).not.toContain("canary");
  });

  it("leaves checks across options to createResourceServer", () => {
    const json = { verification_keys: [createIssuer({ algorithm: "ES256" }).publicPem], algorithm: "RS256" };
    const options = parseConfiguration(json);
    expect(
      thrownBy(() => createResourceServer(options))
        .issues.map(({ code }) => code)
        .sort(),
    ).toEqual(["key_unusable", "option_missing"]);
  });
});
