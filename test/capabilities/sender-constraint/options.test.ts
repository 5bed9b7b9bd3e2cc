/** The option `senderConstraint`: its mistakes, its value, and a server without it. */
import { describe, expect, it } from "vitest";
import { createResourceServer as createPlainServer, type ResourceServer } from "scopegate";
import { protect } from "scopegate/fetch";
import { senderConstraint } from "scopegate/sender-constraint";
import { createTestIssuer } from "scopegate/testing";
import { thrownBy } from "../../support/resource-servers.ts";
import { createResourceServer } from "../../support/server.ts";
import { withPollution } from "../../support/polluted-prototype.ts";

const issuer = createTestIssuer();

/** The mistakes in options of the preset, where the value is plain data. */
const create = (options: object) => createResourceServer({ ...issuer.resourceServerOptions, ...options });
const issuesOf = (options: object) => thrownBy(() => create(options)).issues;

const serverWith = (options: object = {}): ResourceServer =>
  createPlainServer({ ...issuer.resourceServerOptions, scopeMappings: { "GET /a": [] }, ...options });

const plainIssuesOf = (options: object) => thrownBy(() => serverWith(options)).issues;

const dpop = (changes: object = {}) => ({
  senderConstraint: { dpop: { origins: ["https://api.example"], ...changes } },
});
const header = (changes: object) => ({
  senderConstraint: {
    mtls: { from: { header: "client-cert", format: "rfc9440", trusted: ["10.0.0.0/8"], ...changes } },
  },
});

const ORIGINS = "senderConstraint.dpop.origins";
const FROM = "senderConstraint.mtls.from";

describe("senderConstraint", () => {
  it.each([
    ["several origins", dpop({ origins: ["https://api.example", "http://localhost:3000"] })],
    [
      "every option of DPoP",
      dpop({ algorithms: ["PS256"], windowSeconds: 1, nonce: { lifetimeSeconds: 1 } }),
    ],
    ["both bindings", { senderConstraint: { ...dpop().senderConstraint, mtls: { from: "socket" } } }],
    ["a function that trusts", header({ trusted: () => true })],
    ["addresses of both families", header({ trusted: ["::1", "10.0.0.0/8", "2001:db8::/32"] })],
  ])("accepts %s", (_name, options) => {
    expect(() => create(options)).not.toThrow();
  });

  it.each([
    ["no binding", { senderConstraint: {} }, "senderConstraint", "Write { dpop: { origins } }"],
    ["only required", { senderConstraint: { required: true } }, "senderConstraint", "Write { dpop"],
    ["an array", { senderConstraint: [] }, "senderConstraint", "Write { dpop"],
    ["no origins", dpop({ origins: [] }), ORIGINS, "at least one origin"],
    ["a path", dpop({ origins: ["https://a.example/v1"] }), `${ORIGINS}.0`, "without a path"],
    ["a slash", dpop({ origins: ["https://a.example/"] }), `${ORIGINS}.0`, "without a path"],
    ["a number", dpop({ origins: [1] }), `${ORIGINS}.0`, "an origin"],
    ["upper case", dpop({ origins: ["https://A.example"] }), `${ORIGINS}.0`, "an origin"],
    ["http", dpop({ origins: ["http://a.example"] }), `${ORIGINS}.0`, "an origin"],
    ["a default port", dpop({ origins: ["https://a.example:443"] }), `${ORIGINS}.0`, "origin"],
    [
      "HS256",
      dpop({ algorithms: ["HS256"] }),
      "senderConstraint.dpop.algorithms.0",
      "never signed with a shared",
    ],
    ["no algorithm", dpop({ algorithms: [] }), "senderConstraint.dpop.algorithms", "at least one algorithm"],
    ["a window of 0", dpop({ windowSeconds: 0 }), "senderConstraint.dpop.windowSeconds", "1 to 3600"],
    ["a short secret", dpop({ nonce: { secret: "short" } }), "senderConstraint.dpop.nonce.secret", "32"],
    ["an unknown name", dpop({ jti: 1 }), "senderConstraint.dpop.jti", ""],
    ["a store without set", dpop({ replay: { get: () => 1 } }), "senderConstraint.dpop.replay", "a store"],
    ["an unknown source", { senderConstraint: { mtls: { from: "proxy" } } }, FROM, '"socket"'],
    ["an upper-case field", header({ header: "Client-Cert" }), `${FROM}.header`, "client-cert"],
    ["an unknown format", header({ format: "der" }), FROM, "rfc9440"],
    ["nobody trusted", header({ trusted: [] }), `${FROM}.trusted`, "addresses"],
    ["a host name", header({ trusted: ["proxy"] }), `${FROM}.trusted.0`, "addresses"],
    ["a wrong prefix", header({ trusted: ["10.0.0.0/33"] }), `${FROM}.trusted.0`, "addresses"],
    ["no trusted", header({ trusted: undefined }), FROM, "trusted"],
  ])("rejects %s, and names the fix", (_name, options, path, hint) => {
    const issues = issuesOf(options);
    expect(issues.map((issue) => issue.path.join("."))).toEqual([path]);
    expect(issues[0]?.hint).toContain(hint);
  });

  it.each([
    { cookie: "token" },
    { header: "authorization", scheme: null },
    { header: "authorization", scheme: "DPoP" },
  ])("needs the header Authorization for DPoP, and reads its scheme itself: not %j", (source) => {
    expect(issuesOf({ ...dpop(), tokenSources: [source] })).toMatchObject([
      {
        code: "option_conflict",
        path: ["tokenSources"],
        hint: expect.stringContaining('{ header: "authorization" }') as string,
      },
    ]);
  });

  it("does not let `resource.metadata` say something else", () => {
    const resource = {
      id: "https://api.example/",
      authorizationServers: ["https://login.example"],
      metadata: { dpop_signing_alg_values_supported: ["HS256"] },
    };
    expect(issuesOf({ ...dpop(), audience: ["https://api.example"], resource })).toMatchObject([
      { code: "option_conflict", path: ["resource", "metadata", "dpop_signing_alg_values_supported"] },
    ]);
  });

  it("refuses certificates of sockets in scopegate/fetch, which has none", () => {
    const protectWith = (from: unknown) => protect(create({ senderConstraint: { mtls: { from } } }));
    expect(() => protectWith("socket")).toThrow("has no socket");
    const from = { header: "client-cert", format: "rfc9440", trusted: ["10.0.0.0/8"] };
    expect(() => protectWith(from)).toThrow("has no socket");
    expect(() => protectWith({ ...from, trusted: () => true })).not.toThrow();
  });
});

const ORIGIN = "https://api.example";

/** Creates a request with a bound token and a proof. */
async function createProven() {
  const token = await issuer.token({ bound: "dpop" });
  const proof = await issuer.proofFor({ method: "GET", url: `${ORIGIN}/a`, token });
  return { method: "GET", target: "/a", authorization: `DPoP ${token}`, headers: { dpop: proof } };
}

describe("a server without senderConstraint", () => {
  it("refuses a bound token, and reads no scheme but Bearer", async () => {
    const server = serverWith();
    const request = await createProven();
    const authorization = request.authorization.replace("DPoP", "Bearer");
    expect(await server.check({ ...request, authorization })).toMatchObject({
      reason: "token_rejected",
      rejection: "claims",
      claim: "cnf",
    });
    const refused = await server.check(request);
    expect(refused).toMatchObject({ allowed: false, reason: "credential_missing" });
    if (!refused.allowed) expect(server.refuse(refused).headers["WWW-Authenticate"]).toBe("Bearer");
  });

  it("refuses to start with plain data, and names the import", () => {
    expect(plainIssuesOf({ senderConstraint: { dpop: { origins: [ORIGIN] } } })).toMatchObject([
      {
        code: "option_invalid",
        path: ["senderConstraint"],
        hint: "Write senderConstraint({ dpop, mtls }), imported from scopegate/sender-constraint.",
      },
    ]);
  });
});

describe("the value of senderConstraint", () => {
  it("creates a value for several servers, each of which remembers its own proofs", async () => {
    const value = senderConstraint({ dpop: { origins: [ORIGIN] }, required: true });
    const request = await createProven();
    for (const server of [serverWith({ senderConstraint: value }), serverWith({ senderConstraint: value })]) {
      expect(await server.check(request)).toMatchObject({ allowed: true });
      expect(await server.check(request)).toMatchObject({ proofRejection: "replayed" });
    }
  });

  it("refuses a changed copy of the value, in which `required` would have no effect", () => {
    const value = senderConstraint({ dpop: { origins: [ORIGIN] } });
    expect(plainIssuesOf({ senderConstraint: { ...value, required: true } })).toMatchObject([
      { path: ["senderConstraint"], hint: expect.stringContaining("imported from") as string },
    ]);
  });

  it("reports mistakes with those in other options, each with its path", () => {
    const written = { dpop: { origins: [], windowSecond: 1 } };
    const value = senderConstraint(written);
    expect(plainIssuesOf({ senderConstraint: value, realm: "\n" })).toMatchObject([
      { path: ["senderConstraint", "dpop", "origins"] },
      {
        path: ["senderConstraint", "dpop", "windowSecond"],
        hint: expect.stringContaining("windowSeconds") as string,
      },
      { path: ["realm"] },
    ]);
  });

  it("reads no option from a polluted prototype", () => {
    const value = senderConstraint({ dpop: { origins: [ORIGIN] } });
    const created = withPollution({ required: true, nonce: true }, () => value.create({ now: Date.now }));
    expect(created).toMatchObject({ isRequired: false, refusalHeaders: undefined });
  });
});
