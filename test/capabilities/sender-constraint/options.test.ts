import { describe, expect, it } from "vitest";
import { ConfigurationError, type ConfigurationIssue } from "scopegate";
import { protect } from "scopegate/fetch";
import { createTestIssuer } from "scopegate/testing";
import { createResourceServer } from "../../support/server.ts";

const issuer = createTestIssuer();

function issuesOf(options: object): readonly ConfigurationIssue[] {
  try {
    createResourceServer({ ...issuer.resourceServerOptions, ...options });
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.issues;
    throw error;
  }
}

const dpop = (changes: object = {}) => ({
  senderConstraint: { dpop: { origins: ["https://api.example"], ...changes } },
});
const header = (changes: object) => ({
  senderConstraint: {
    mtls: { from: { header: "client-cert", format: "rfc9440", trusted: ["10.0.0.0/8"], ...changes } },
  },
});

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
    expect(issuesOf(options)).toEqual([]);
  });

  it.each([
    ["no binding", { senderConstraint: {} }, "senderConstraint", "Write { dpop: { origins } }"],
    ["only required", { senderConstraint: { required: true } }, "senderConstraint", "Write { dpop"],
    ["an array", { senderConstraint: [] }, "senderConstraint", "Write { dpop"],
    ["no origins", dpop({ origins: [] }), "senderConstraint.dpop.origins", "at least one origin"],
    [
      "a path",
      dpop({ origins: ["https://a.example/v1"] }),
      "senderConstraint.dpop.origins.0",
      "without a path",
    ],
    [
      "a slash",
      dpop({ origins: ["https://a.example/"] }),
      "senderConstraint.dpop.origins.0",
      "without a path",
    ],
    ["upper case", dpop({ origins: ["https://A.example"] }), "senderConstraint.dpop.origins.0", "an origin"],
    ["http", dpop({ origins: ["http://a.example"] }), "senderConstraint.dpop.origins.0", "an origin"],
    [
      "a default port",
      dpop({ origins: ["https://a.example:443"] }),
      "senderConstraint.dpop.origins.0",
      "origin",
    ],
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
    [
      "an unknown source",
      { senderConstraint: { mtls: { from: "proxy" } } },
      "senderConstraint.mtls.from",
      '"socket"',
    ],
    [
      "an upper-case field",
      header({ header: "Client-Cert" }),
      "senderConstraint.mtls.from.header",
      "client-cert",
    ],
    ["an unknown format", header({ format: "der" }), "senderConstraint.mtls.from", "rfc9440"],
    ["nobody trusted", header({ trusted: [] }), "senderConstraint.mtls.from.trusted", "addresses"],
    ["a host name", header({ trusted: ["proxy"] }), "senderConstraint.mtls.from.trusted.0", "addresses"],
    [
      "a wrong prefix",
      header({ trusted: ["10.0.0.0/33"] }),
      "senderConstraint.mtls.from.trusted.0",
      "addresses",
    ],
    ["no trusted", header({ trusted: undefined }), "senderConstraint.mtls.from", "trusted"],
  ])("rejects %s, and names the fix", (_name, options, path, hint) => {
    const issues = issuesOf(options);
    expect(issues.map((issue) => issue.path.join("."))).toEqual([path]);
    expect(issues[0]?.hint).toContain(hint);
  });

  it("needs the header Authorization for DPoP, and reads its scheme itself", () => {
    const cookie = { ...dpop(), tokenSources: [{ cookie: "token" }] };
    expect(issuesOf(cookie)).toMatchObject([{ code: "option_conflict", path: ["tokenSources"] }]);
    const bare = { ...dpop(), tokenSources: [{ header: "authorization", scheme: null }] };
    expect(issuesOf(bare)).toMatchObject([{ code: "option_conflict", path: ["tokenSources"] }]);
    const scheme = { ...dpop(), tokenSources: [{ header: "authorization", scheme: "DPoP" }] };
    expect(issuesOf(scheme)).toMatchObject([{ code: "option_conflict", path: ["tokenSources"] }]);
  });

  it("requires it for a rule with senderConstrained, which can only be true", () => {
    const table = (value: unknown) => ({
      scopeMappings: { "POST /payments": { scopes: [], senderConstrained: value } },
    });
    expect(issuesOf(table(true))).toMatchObject([
      { code: "option_conflict", path: ["scopeMappings", "POST /payments", "senderConstrained"] },
    ]);
    expect(issuesOf({ ...table(true), ...dpop() })).toEqual([]);
    expect(issuesOf({ ...table(false), ...dpop() })).toMatchObject([{ code: "condition_invalid" }]);
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
    const create = (from: unknown) =>
      createResourceServer({
        ...issuer.resourceServerOptions,
        senderConstraint: { mtls: { from } } as never,
      });
    expect(() => protect(create("socket"))).toThrow("has no socket");
    const from = { header: "client-cert", format: "rfc9440", trusted: ["10.0.0.0/8"] };
    expect(() => protect(create(from))).toThrow("has no socket");
    expect(() => protect(create({ ...from, trusted: () => true }))).not.toThrow();
  });
});
