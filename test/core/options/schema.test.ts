import { describe, expect, it } from "vitest";
import { OPTION_NAMES } from "../../../src/core/options/shape.ts";
import { createServer, issuer, issuesOf } from "../../support/resource-servers.ts";

const REQUIRED = { serviceId: "agents-prod", verificationKeys: [issuer.publicPem] };
const { verificationKeys, ...WITHOUT_KEYS } = REQUIRED;
const TOKEN_SOURCE = '{ header: "authorization" }';
const KEYS = "{ jwks }, { jwksFile }, { jwksUri }, { discovery }";
const noFunctions: readonly unknown[] = ["log", {}, null];

/** Options with one invalid value, its path, and a part of the hint. */
const invalid: readonly (readonly [object, readonly (string | number)[], string])[] = [
  [{ algorithm: "none" }, ["algorithm"], "RS256"],
  [{ algorithm: "rs256" }, ["algorithm"], "Did you mean `RS256`?"],
  [{ algorithm: "ES256K" }, ["algorithm"], "Did you mean `ES256`?"],
  [{ algorithm: 256 }, ["algorithm"], "Write one of RS256"],
  [{ algorithm: ["RS256"] }, ["algorithm"], "Write one of RS256"],
  [{ algorithm: "__proto__" }, ["algorithm"], "Write one of RS256"],
  [{ algorithms: "RS256" }, ["algorithms"], "array of at least one algorithm"],
  [{ algorithms: [] }, ["algorithms"], "at least one algorithm"],
  [{ algorithms: ["RS256", "none"] }, ["algorithms", 1], "RS256"],
  [{ issuer: "" }, ["issuer"], "exactly"],
  [{ issuer: 5 }, ["issuer"], "exactly"],
  [{ issuer: ["https://issuer.example"] }, ["issuer"], "exactly"],
  [{ serviceId: "" }, ["serviceId"], "id of this service"],
  [{ serviceId: 7 }, ["serviceId"], "id of this service"],
  [{ audience: "" }, ["audience"], "array of at least one"],
  [{ audience: [] }, ["audience"], "array of at least one"],
  [{ audience: ["agents-prod", ""] }, ["audience", 1], "array of at least one"],
  [{ audience: [5] }, ["audience"], "array of at least one"],
  [{ audience: /agents/g }, ["audience"], "array of at least one"],
  [{ issuer: /^agents/ }, ["issuer"], "exactly"],
  [{ verifyAudience: "false" }, ["verifyAudience"], "true or false"],
  [{ verifyAudience: 0 }, ["verifyAudience"], "true or false"],
  [{ authorization: "off" }, ["authorization"], "true or false"],
  [{ unmappedRoutes: "allow" }, ["unmappedRoutes"], '"deny", "not_found" or "authenticated"'],
  [{ adminScope: "" }, ["adminScope"], "null for none"],
  [{ adminScope: ["platform:admin"] }, ["adminScope"], "null for none"],
  [{ impliedScopes: [] }, ["impliedScopes"], "maps a scope"],
  [{ impliedScopes: { "a:b": "a:c" } }, ["impliedScopes", "a:b"], "array of scopes"],
  [{ impliedScopes: { "a:b": [5] } }, ["impliedScopes", "a:b", 0], "array of scopes"],
  [{ scopesClaim: "" }, ["scopesClaim"], '["realm_access", "roles"]'],
  [{ scopesClaim: [] }, ["scopesClaim"], '["realm_access", "roles"]'],
  [{ scopesClaim: ["realm_access", ""] }, ["scopesClaim", 1], '["realm_access", "roles"]'],
  [{ scopesClaim: [5] }, ["scopesClaim"], '["realm_access", "roles"]'],
  [{ userIdClaim: 5 }, ["userIdClaim"], "claim name"],
  [{ sessionIdClaim: {} }, ["sessionIdClaim"], "claim name"],
  [
    { tokenSources: [{ header: "authorization" }, { header: "authorization", scheme: "BEARER" }] },
    ["tokenSources"],
    "Write each source once",
  ],
  [
    {
      tokenSources: [
        { header: "x-a", scheme: null },
        { header: "x-a", scheme: "Token" },
      ],
    },
    ["tokenSources"],
    "Write each source once",
  ],
  [{ clients: "console" }, ["clients"], "at least one client id"],
  [{ clients: [] }, ["clients"], "at least one client id"],
  [{ clients: [""] }, ["clients", 0], "at least one client id"],
  [{ tokenSources: [{ header: "X-Token", scheme: null }] }, ["tokenSources", 0, "header"], "scheme: null"],
  [{ tokenSources: [{ header: "cookie", scheme: null }] }, ["tokenSources", 0], "scheme: null"],
  [{ tokenSources: [{ header: "x-token", scheme: "a b" }] }, ["tokenSources", 0, "scheme"], "scheme: null"],
  [{ tokenSources: [{ header: "x token", scheme: null }] }, ["tokenSources", 0, "header"], "scheme: null"],
  [{ requiredClaims: "exp" }, ["requiredClaims"], "array of claim names"],
  [{ requiredClaims: ["exp", 5] }, ["requiredClaims"], "array of claim names"],
  [{ requiredClaims: [""] }, ["requiredClaims", 0], "array of claim names"],
  [{ requiredClaims: { type: undefined } }, ["requiredClaims"], "an object from claim names to values"],
  [{ requiredClaims: { type: "" } }, ["requiredClaims", "type"], "an object from claim names to values"],
  [{ requiredClaims: { type: [] } }, ["requiredClaims", "type"], "an array of at least one"],
  [{ requiredClaims: { type: ["a", null] } }, ["requiredClaims"], "a string, a number or a boolean"],
  [{ requiredClaims: { type: Number.NaN } }, ["requiredClaims"], "a string, a number or a boolean"],
  [{ requiredClaims: ["exp", { type: {} }] }, ["requiredClaims"], "a string, a number or a boolean"],
  [{ refusalBody: "html" }, ["refusalBody"], "{ contentType, body }"],
  [{ tokenTypes: "JWT" }, ["tokenTypes"], "array of at least one `typ`"],
  [{ tokenTypes: [] }, ["tokenTypes"], "at least one `typ`"],
  [{ tokenTypes: ["JWT", 5] }, ["tokenTypes", 1], "null for none"],
  [{ tokenTypes: [""] }, ["tokenTypes", 0], "null for none"],
  [{ clockToleranceSeconds: -1 }, ["clockToleranceSeconds"], "0 or more"],
  [{ clockToleranceSeconds: "60" }, ["clockToleranceSeconds"], "number of seconds"],
  [{ clockToleranceSeconds: Number.NaN }, ["clockToleranceSeconds"], "number of seconds"],
  [{ clockToleranceSeconds: Infinity }, ["clockToleranceSeconds"], "number of seconds"],
  [{ maxTokenAgeSeconds: -1 }, ["maxTokenAgeSeconds"], "0 or more"],
  [{ maxTokenAgeSeconds: "1h" }, ["maxTokenAgeSeconds"], "number of seconds"],
  [{ maxTokenBytes: 0 }, ["maxTokenBytes"], "1 or more"],
  [{ maxTokenBytes: 1.5 }, ["maxTokenBytes"], "whole number of bytes"],
  [{ maxTokenBytes: "16kb" }, ["maxTokenBytes"], "whole number of bytes"],
  [{ maxTokenBytes: Infinity }, ["maxTokenBytes"], "whole number of bytes"],
  [{ tokenCache: { maxBytes: 0 } }, ["tokenCache", "maxBytes"], "number of bytes"],
  [{ tokenCache: { maxBytes: 1.5 } }, ["tokenCache"], "maxBytes"],
  [{ tokenCache: { maxBytes: "1" } }, ["tokenCache"], "maxBytes"],
  [{ tokenSources: {} }, ["tokenSources"], "array of at least one token source"],
  [{ tokenSources: [] }, ["tokenSources"], "at least one token source"],
  [{ tokenSources: ["authorization"] }, ["tokenSources", 0], TOKEN_SOURCE],
  [{ tokenSources: [{ query: "access_token" }] }, ["tokenSources", 0], TOKEN_SOURCE],
  [{ tokenSources: [{ header: "x-access-token" }] }, ["tokenSources", 0], TOKEN_SOURCE],
  [{ tokenSources: [{ cookie: "" }] }, ["tokenSources", 0, "cookie"], TOKEN_SOURCE],
  [{ tokenSources: [{ cookie: "a=b" }] }, ["tokenSources", 0, "cookie"], TOKEN_SOURCE],
  [{ tokenSources: [{ cookie: "a;b" }] }, ["tokenSources", 0, "cookie"], TOKEN_SOURCE],
  [{ tokenSources: [{ cookie: 5 }] }, ["tokenSources", 0], TOKEN_SOURCE],
  [{ tokenSources: [{ header: "authorization", cookie: "a" }] }, ["tokenSources", 0], TOKEN_SOURCE],
  [{ tokenSources: [{ header: "authorization" }, {}] }, ["tokenSources", 1], TOKEN_SOURCE],
  [{ issuer: new URL("https://issuer.example") }, ["issuer"], "exactly"],
  [{ realm: "agénts" }, ["realm"], "printable ASCII"],
  [{ realm: "a\r\nb" }, ["realm"], "printable ASCII"],
  [{ resourceMetadataUrl: "http://service.example/meta" }, ["resourceMetadataUrl"], "https URL"],
  [{ resourceMetadataUrl: "https://u:p@service.example" }, ["resourceMetadataUrl"], "user or a password"],
  [{ resourceMetadataUrl: " https://service.example" }, ["resourceMetadataUrl"], "without spaces"],
  [{ resourceMetadataUrl: "https://service.example/\u00e9" }, ["resourceMetadataUrl"], "printable ASCII"],
  [{ resourceMetadataUrl: "/.well-known/meta" }, ["resourceMetadataUrl"], "https URL"],
  [{ resourceMetadataUrl: new URL("https://service.example") }, ["resourceMetadataUrl"], "https URL"],
  ...noFunctions.flatMap((value): (typeof invalid)[number][] => [
    [{ isRevoked: value }, ["isRevoked"], "function that takes the principal"],
    [{ onDecision: value }, ["onDecision"], "function that takes the decision"],
    [{ onKeyEvent: value }, ["onKeyEvent"], "function that takes the event"],
    [{ now: value }, ["now"], "milliseconds since the epoch"],
  ]),
  [{ now: new Date(0) }, ["now"], "milliseconds since the epoch"],
  [{ scopeMappings: [] }, ["scopeMappings"], "`METHOD /pattern`"],
  [{ scopeMappings: new Map([["GET /x", []]]) }, ["scopeMappings"], "`METHOD /pattern`"],
  [{ defaultScopeMappings: false }, ["defaultScopeMappings"], "`METHOD /pattern`"],
];

/** The same for keys. */
const invalidKeys: typeof invalid = [
  [{ verificationKeys: issuer.publicPem }, ["verificationKeys"], "array of keys"],
  [{ verificationKeys: [""] }, ["verificationKeys", 0], "Write a PEM"],
  [{ verificationKeys: [5] }, ["verificationKeys", 0], "Write a PEM"],
  [{ verificationKeys: [{ kty: 5 }] }, ["verificationKeys", 0], "Write a PEM"],
  [{ verificationKeys: [issuer.publicPem, ["x"]] }, ["verificationKeys", 1], "Write a PEM"],
  [{ verificationKeys: [Buffer.from(issuer.publicPem)] }, ["verificationKeys", 0], "Write a PEM"],
  [{ keys: [] }, ["keys"], KEYS],
  [{ keys: issuer.publicPem }, ["keys"], KEYS],
  [{ keys: { jwks: [issuer.publicJwk] } }, ["keys"], "Write"],
  [{ keys: { jwks: issuer.publicJwk } }, ["keys"], "Write"],
  [{ keys: { jwksFile: "" } }, ["keys"], "Write"],
  [{ keys: { jwksFile: new URL("file:///jwks.json") } }, ["keys"], "Write"],
  [{ keys: { jwksUri: "issuer.example/jwks" } }, ["keys", "jwksUri"], "https URL"],
  [{ keys: { jwksUri: new URL("https://issuer.example/jwks") } }, ["keys", "jwksUri"], "https URL"],
  [{ keys: { discovery: false } }, ["keys", "discovery"], "Write true"],
  [{ keys: { discovery: "http://issuer.example" } }, ["keys", "discovery"], "https URL"],
  [{ keys: { jwksUri: "https://a.example", timeoutMs: 0 } }, ["keys", "timeoutMs"], "milliseconds"],
  [{ keys: { jwksUri: "https://a.example", maxAgeMs: "1h" } }, ["keys", "maxAgeMs"], "milliseconds"],
  [{ keys: { jwksUri: "https://a.example", staleMs: 86_400_001 } }, ["keys", "staleMs"], "one day"],
  [{ keys: { jwksUri: "https://a.example", cooldownMs: -1 } }, ["keys", "cooldownMs"], "milliseconds"],
  [{ keys: { jwksUri: "https://a.example", fetch: "undici" } }, ["keys", "fetch"], "like `fetch`"],
];

describe("createResourceServer with an option of the wrong shape", () => {
  it.each(invalid)("reports the path and the fix: %j", (options, path, hint) => {
    const issues = issuesOf({ ...REQUIRED, ...options });
    expect(issues).toHaveLength(1);
    expect(issues[0]).toMatchObject({ code: "option_invalid", path });
    expect(issues[0]?.hint).toContain(hint);
  });

  it.each(invalidKeys)("reports the path and the fix for keys: %j", (options, path, hint) => {
    const [issue, ...others] = issuesOf({ ...WITHOUT_KEYS, ...options });
    expect(others).toEqual([]);
    expect(issue?.code).toBe("option_invalid");
    expect(issue?.path.slice(0, path.length)).toEqual(path);
    expect(issue?.hint).toContain(hint);
  });

  // `test/core/policy/messages` has more values that no rule can have.
  it.each<[unknown]>([
    [[5]],
    [{ anyOf: "agents:read" }],
    [{ any_of: ["agents:read"] }],
    [{ filtered: 5 }],
    [{ scopes: undefined }],
    [{ scopes: [], filtered: "agents:read" }],
  ])("rejects the requirement %j for a route, in both tables", (requirement) => {
    for (const table of ["scopeMappings", "defaultScopeMappings"]) {
      const issues = issuesOf({ ...REQUIRED, [table]: { "GET /x": requirement } });
      expect(issues).toHaveLength(1);
      expect(issues[0]?.code).toBe("requirement_invalid");
      expect(issues[0]?.path.slice(0, 2)).toEqual([table, "GET /x"]);
    }
  });

  it("rejects a table with a symbol as key", () => {
    const entries = { [Symbol("GET /x")]: ["agents:read"] };
    expect(issuesOf({ ...REQUIRED, scopeMappings: entries })).toEqual([
      {
        code: "requirement_invalid",
        path: ["scopeMappings", "Symbol(GET /x)"],
        message: 'can\'t be `["agents:read"]`.',
        hint: "Write an object that maps `METHOD /pattern` to the required scopes.",
      },
    ]);
  });

  it("names the type of a requirement that cannot be written as JSON", () => {
    const [issue] = issuesOf({ ...REQUIRED, scopeMappings: { "GET /x": 1n } });
    expect(issue?.message).toBe("can't be `bigint`.");
  });
});

it("rejects an empty realm", () => {
  expect(issuesOf({ ...REQUIRED, realm: "" })[0]).toMatchObject({
    path: ["realm"],
    hint: "Write printable ASCII.",
  });
});

describe("createResourceServer with an unknown option", () => {
  it.each([
    [["scopeMapping"], "scopeMappings", { scopeMapping: "x" }],
    [["scope_mappings"], "scopeMappings", { scope_mappings: "x" }],
    [["verifyAudiance"], "verifyAudience", { verifyAudiance: "x" }],
    [["algorithmn"], "algorithm", { algorithmn: "x" }],
    [["tokenCache", "maxEntrys"], "maxEntries", { tokenCache: { maxEntrys: 5 } }],
  ])("rejects %j and suggests %s", (path, guess, options) => {
    expect(issuesOf({ ...REQUIRED, ...options })).toEqual([
      {
        code: "option_unknown",
        path,
        message: `received unknown option \`${path.at(-1)}\`.`,
        hint: `Did you mean \`${guess}\`?`,
      },
    ]);
  });

  it.each([
    ["key", "verificationKeys"],
    ["publicKey", "verificationKeys"],
    ["secret", "HS256"],
    ["jwks", "keys: { jwks }"],
    ["jwksFile", "keys: { jwksFile }"],
    ["aud", "serviceId"],
    ["iss", "issuer"],
    ["clockTolerance", "`clockToleranceSeconds`, in seconds"],
    ["maxTokenAge", "`maxTokenAgeSeconds`, in seconds"],
    ["getToken", "`tokenSources`"],
    ["credentialsRequired", '"optional" for the routes'],
    ["authRequired", '"optional" for the routes'],
    ["passthrough", '"optional" for the routes'],
    ["tokenSigningAlg", "`algorithms: [tokenSigningAlg]`"],
    ["issuerBaseUrl", "`keys: remoteKeys({ discovery: true })`"],
  ])("rejects %s, a name of other libraries, and shows the name in this library", (name, hint) => {
    const issues = issuesOf({ ...REQUIRED, [name]: "x" });
    expect(issues).toMatchObject([{ code: "option_unknown", path: [name] }]);
    expect(issues[0]?.hint).toContain(hint);
  });

  it("shows names of options only where options are", () => {
    const [issue] = issuesOf({ ...REQUIRED, tokenSources: [{ header: "x-token", key: "x" }] });
    expect(issue).toMatchObject({ code: "option_unknown", path: ["tokenSources", 0, "key"] });
    expect(issue?.hint).not.toContain("verificationKeys");
  });

  it.each(["cache", "x", "0", ""])("rejects %j without a suggestion if no name is similar", (name) => {
    const issues = issuesOf({ ...REQUIRED, [name]: true });
    expect(issues).toMatchObject([{ code: "option_unknown", path: [name] }]);
  });
});

describe("the options object", () => {
  const narrowing = [
    "issuer",
    "audienceOnly",
    "tokenTypes",
    "requiredClaims",
    "clients",
    "maxTokenAgeSeconds",
    "isRevoked",
    "revocation",
    "senderConstraint",
  ];

  it.each<readonly [string, unknown]>([
    ["null", null],
    ["a string", "options"],
    ["a function", () => REQUIRED],
    ["an array", [REQUIRED]],
    ["a Map", new Map(Object.entries(REQUIRED))],
    [
      "an instance of a class",
      new (class {
        readonly serviceId = "agents-prod";
        readonly verificationKeys = [issuer.publicPem];
        isRevoked(): boolean {
          return true;
        }
      })(),
    ],
  ])(
    "rejects anything but a plain object, because inherited properties would be ignored: %s",
    (_, options) => {
      const issues = issuesOf(options);
      expect(issues).toMatchObject([{ code: "option_invalid", path: [] }]);
      expect(issues[0]?.hint).toContain("createResourceServer({");
    },
  );

  it("accepts an object without a prototype", () => {
    const options = Object.assign(Object.create(null) as object, REQUIRED);
    expect(() => createServer(options)).not.toThrow();
  });

  it("accepts properties that are undefined", () => {
    const absent = Object.fromEntries(
      OPTION_NAMES.filter((name) => !(name in REQUIRED) && !narrowing.includes(name)).map((name) => [
        name,
        undefined,
      ]),
    );
    expect(() => createServer({ ...absent, ...REQUIRED })).not.toThrow();
  });

  it.each(narrowing)("rejects %s as undefined, because more tokens would be accepted", (name) => {
    const issues = issuesOf({ ...REQUIRED, [name]: undefined });
    expect(issues).toMatchObject([{ code: "option_invalid", path: [name] }]);
    expect(issues[0]?.hint).toContain("omit the option");
  });

  it("accepts a frozen object, and leaves it unchanged", () => {
    const options = Object.freeze({
      ...REQUIRED,
      verificationKeys: Object.freeze([issuer.publicPem]),
      algorithms: Object.freeze(["RS256"] as const),
      scopeMappings: Object.freeze({ "GET /x": Object.freeze(["a:read"]) }),
    });
    expect(() => createServer(options)).not.toThrow();
  });
});
