import { describe, expect, it } from "vitest";
import { DEFAULTS } from "../../../src/core/options/defaults.ts";
import { OPTION_NAMES } from "../../../src/core/options/shape.ts";
import { createIssuer } from "../../support/issuer.ts";
import {
  configurationErrorOf,
  createServer,
  issuer,
  issuesOf,
  verdictOf,
} from "../../support/resource-servers.ts";
import { createResourceServer } from "../../support/server.ts";

const REQUIRED = { serviceId: "agents-prod", verificationKeys: [issuer.publicPem] };
const REMOTE = { jwksUri: "https://a.example/jwks" };
const keysOf = (keys: object, more: object = {}) => ({ verificationKeys: undefined, keys, ...more });
const TRUSTED = { issuer: "https://a.example", keys: REMOTE, algorithms: ["RS256"] };
const issuersOf = (issuers: object, more: object = {}) => ({ verificationKeys: undefined, issuers, ...more });

/** Options with the right shape that are invalid: the code and path of the issue, and a part of the hint. */
const wrong: readonly (readonly [object, string, string])[] = [
  [{ algorithm: "RS256", algorithms: ["RS256"] }, "option_conflict algorithms", "Remove one of the two"],
  [{ algorithms: ["RS256", "HS256"] }, "algorithms_mixed algorithms", "one kind"],
  [{ algorithms: ["HS512", "EdDSA"] }, "algorithms_mixed algorithms", "one kind"],
  [
    { keys: { jwks: { keys: [issuer.publicJwk] } } },
    "option_conflict verificationKeys",
    "Remove one of the two",
  ],
  [{ verificationKeys: undefined }, "option_missing verificationKeys", "`verificationKeys` or `keys`"],
  [keysOf({}), "option_missing keys", "{ jwksUri }"],
  [keysOf({ timeoutMs: 100 }), "option_missing keys", "{ jwksUri }"],
  [keysOf({ ...REMOTE, jwksFile: "a.json" }), "option_conflict keys.jwksUri", "one source"],
  [keysOf({ ...REMOTE, discovery: true }), "option_conflict keys.discovery", "one source"],
  [
    keysOf({ jwksFile: "a.json", maxAgeMs: 1 }),
    "option_conflict keys.maxAgeMs",
    "`jwksFile` only `use` and `staleMs`",
  ],
  [keysOf({ ...REMOTE, use: "enc" }), "option_invalid keys.use", '"sig" or "jwt-svid"'],
  [keysOf({ jwksuri: "https://a.example" }), "option_unknown keys.jwksuri", "Did you mean `jwksUri`?"],
  [keysOf(REMOTE, { algorithm: "HS256" }), "key_unusable keys", "`verificationKeys`"],
  [keysOf({ discovery: true }), "option_missing issuer", "the `iss` of the tokens"],
  [keysOf({ discovery: "https://a.example" }), "option_missing issuer", "the `iss` of the tokens"],
  [keysOf({ discovery: true }, { issuer: "agents" }), "option_invalid issuer", "https URL"],
  [keysOf({ discovery: true }, { issuer: "http://a.example" }), "option_invalid issuer", "https URL"],
  [keysOf({ discovery: true }, { issuer: "https://a.example?x" }), "option_invalid issuer", "without query"],
  [issuersOf([]), "option_invalid issuers", "at least one"],
  [issuersOf({}), "option_invalid issuers", "array of"],
  [
    issuersOf([TRUSTED], { serviceId: undefined }),
    "option_missing issuers.0.audience",
    "`verifyAudience: false`",
  ],
  [issuersOf([TRUSTED], { issuer: "https://a.example" }), "option_conflict issuer", "each issuer"],
  [issuersOf([TRUSTED], { keys: REMOTE }), "option_conflict keys", "each issuer"],
  [issuersOf([TRUSTED], { algorithm: "RS256" }), "option_conflict algorithm", "each issuer"],
  [issuersOf([TRUSTED], { algorithms: ["RS256"] }), "option_conflict algorithms", "each issuer"],
  [
    issuersOf([TRUSTED], { verificationKeys: [issuer.publicPem] }),
    "option_conflict verificationKeys",
    "each issuer",
  ],
  [{ verificationKeys: [] }, "option_invalid verificationKeys", "at least one key"],
  [{ serviceId: undefined }, "option_missing serviceId", "`verifyAudience: false`"],
  [{ serviceId: undefined, verifyAudience: true }, "option_missing serviceId", "`verifyAudience: false`"],
  [
    { tokenSources: [{ cookie: "a" }, { header: "authorization" }, { cookie: "a" }] },
    "option_invalid tokenSources",
    "each source once",
  ],
  [{ adminScope: "platform admin" }, "scope_invalid adminScope", "RFC 6749 section 3.3"],
  // `test/core/policy/compile-rules` has more mistakes in tables.
  [
    { scopeMappings: { "GET /X/b": [] }, defaultScopeMappings: { "GET /x/a": ["a:b"] } },
    "route_ambiguous scopeMappings.GET /X/b",
    "Write `x` here",
  ],
];

describe("createResourceServer with invalid options", () => {
  it.each(wrong)("rejects %j: %s", (options, mistake, hint) => {
    const issues = issuesOf({ ...REQUIRED, ...options });
    expect(issues.map(({ code, path }) => `${code} ${path.join(".")}`)).toEqual([mistake]);
    expect(issues[0]?.hint).toContain(hint);
    expect(issues[0]?.hint).not.toBe("");
  });

  const listed = (options: object): readonly string[] =>
    issuesOf(options)
      .map(({ code, path }) => `${code} ${path.join("/")}`)
      .sort();

  it("accepts sources of tokens that share only a header, or any scheme", () => {
    const authorization = { header: "authorization" };
    for (const other of [
      { ...authorization, scheme: "Token" },
      { header: "x-token", scheme: null },
    ])
      expect(() => createServer({ tokenSources: [authorization, other] })).not.toThrow();
  });

  it("lists the wrong shapes of all parts of the options at once", () => {
    const scopeMappings = { "get /x": "none", "GET /z": "Public" };
    const wrong = { serviceId: "", scopeMappings, clockToleranceSeconds: -1, tokenSource: [], realm: "\n" };
    expect(listed({ ...REQUIRED, ...wrong, adminScope: "a b" })).toEqual([
      "option_invalid clockToleranceSeconds",
      "option_invalid realm",
      "option_invalid serviceId",
      "option_unknown tokenSource",
      "requirement_invalid scopeMappings/GET /z",
      "requirement_invalid scopeMappings/get /x",
    ]);
  });

  it("lists all other mistakes at once when the shapes are right", () => {
    const options = {
      verificationKeys: ["x", createIssuer({ algorithm: "ES256" }).publicPem],
      adminScope: "a b",
      impliedScopes: { "a:b": ["a:b"] },
      scopeMappings: { "get /x": [], "GET /y": ["a b", "a::b"], "GET /z/:id": ["a:<x>:b"] },
    };
    expect(listed({ ...options, serviceId: "agents-prod" })).toEqual([
      "implied_scopes_cycle impliedScopes/a:b",
      "key_invalid verificationKeys/0",
      "key_unusable verificationKeys/1",
      "route_key_invalid scopeMappings/get /x",
      "scope_invalid adminScope",
      "scope_invalid scopeMappings/GET /y/0",
      "scope_invalid scopeMappings/GET /y/1",
      "scope_invalid scopeMappings/GET /z/:id/0",
    ]);
  });

  it("writes the path of every mistake in the message", () => {
    const error = configurationErrorOf({
      ...REQUIRED,
      scopeMappings: { "GET /y": ["a b"] },
      verificationKeys: ["x"],
    });
    expect(error.message).toContain("verificationKeys[0]: ");
    expect(error.message).toContain('scopeMappings["GET /y"][0]: ');
    for (const { hint, message } of error.issues) {
      expect(error.message).toContain(hint);
      expect(error.message).toContain(message);
    }
  });

  it("throws an error with a stable name and code, and frozen issues", () => {
    const error = configurationErrorOf({});
    expect(error).toMatchObject({ name: "ConfigurationError", code: "configuration_invalid" });
    expect(Object.isFrozen(error.issues)).toBe(true);
  });
});

describe("omitted options", () => {
  it("default to RS256, a verified audience, checked scopes and denied unmapped routes", async () => {
    expect(DEFAULTS).toEqual({
      algorithms: ["RS256"],
      verifyAudience: true,
      authorization: true,
      unmappedRoutes: "deny",
      adminScope: null,
      scopesClaim: "scopes",
      userIdClaim: "sub",
      sessionIdClaim: "session_id",
      tokenTypes: ["JWT", "at+jwt", "application/at+jwt", null],
      clockToleranceSeconds: 0,
      maxTokenBytes: 16_384,
      tokenSources: [{ header: "authorization" }],
      multipleCredentials: "refuse",
      tokenCache: { maxEntries: 10_000, maxAgeSeconds: 60, maxBytes: 64 * 1024 * 1024 },
    });
    const server = createResourceServer(REQUIRED);
    expect(await verdictOf(server, await issuer.token())).toBe("accepted");
    expect(await verdictOf(server, await createIssuer({ algorithm: "RS512" }).token())).toBe("algorithm");
    expect(await verdictOf(server, await issuer.token({ aud: "other" }))).toBe("audience");
    expect(server.routes).toEqual([]);
  });

  it("default to the clock of the machine", async () => {
    const server = createResourceServer(REQUIRED);
    const now = Math.floor(Date.now() / 1000);
    expect(await verdictOf(server, await issuer.token({ exp: now + 3600 }))).toBe("accepted");
    expect(await verdictOf(server, await issuer.token({ exp: now - 1 }))).toBe("expired");
  });

  it("receive defaults that the schema accepts", () => {
    expect(OPTION_NAMES).toEqual(expect.arrayContaining(Object.keys(DEFAULTS)));
  });
});

describe("a running server", () => {
  it("ignores later changes of the options object, its tables and arrays", async () => {
    const audience = ["a"];
    const tokenTypes: string[] = ["JWT"];
    const requiredClaims: string[] = [];
    const scopes = ["x:read"];
    const scopeMappings: Record<string, string[] | "public"> = { "GET /x": scopes };
    const impliedScopes = { "y:write": ["y:read"] };
    const tokenSources: ({ header: "authorization" } | { cookie: string })[] = [{ header: "authorization" }];
    const server = createServer({
      ...{ audience, tokenTypes, requiredClaims },
      ...{ scopeMappings, impliedScopes, tokenSources },
    });
    audience.push("other");
    tokenTypes.push("id+jwt");
    requiredClaims.push("tenant");
    scopes.splice(0);
    scopeMappings["GET /open"] = "public";
    impliedScopes["y:write"].push("x:read");
    tokenSources.push({ cookie: "access_token" });

    expect(await verdictOf(server, await issuer.token({ aud: "a" }))).toBe("accepted");
    expect(await verdictOf(server, await issuer.token({ aud: "other" }))).toBe("audience");
    expect(await verdictOf(server, await issuer.token({ aud: "a" }, { typ: "id+jwt" }))).toBe("type");
    const token = await issuer.token({ aud: "a", scopes: ["y:write"] });
    const get = (target: string, request: object) => server.check({ method: "GET", target, ...request });
    expect(await get("/x", { authorization: `Bearer ${token}` })).toMatchObject({
      allowed: false,
      required: ["x:read"],
      missing: ["x:read"],
    });
    expect(await get("/open", {})).toMatchObject({ reason: "route_unmapped" });
    expect(await get("/x", { cookie: `access_token=${token}` })).toMatchObject({
      reason: "credential_missing",
    });
  });
});
