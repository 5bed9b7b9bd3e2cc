import { describe, expect, it } from "vitest";
import type { JsonWebKeySet } from "scopegate/keys";
import { compact } from "../../../src/core/runtime/compact.ts";
import { createIssuer } from "../../support/issuer.ts";
import { first, second } from "../../support/key-issuer.ts";
import { createServer, issuesOf, verdictOf } from "../../support/resource-servers.ts";

const elliptic = createIssuer({ algorithm: "ES256", kid: "elliptic" });

const serverWith = (...keys: JsonWebKeySet["keys"]) => createServer({ keys: { jwks: { keys } } });
const issuesWith = (keys: readonly unknown[], options: object = {}) =>
  issuesOf({ serviceId: "agents-prod", keys: { jwks: { keys } }, ...options });

describe("a JWK Set", () => {
  it("verifies tokens with each of its keys", async () => {
    const server = serverWith(first.publicJwk, second.publicJwk);
    for (const { token } of [first, second]) {
      expect(await verdictOf(server, await token())).toBe("accepted");
      expect(await verdictOf(server, await token({}, { kid: undefined }))).toBe("accepted");
    }
  });

  it("tries every key with the same kid, as during a rotation", async () => {
    const server = serverWith(first.publicJwk, { ...second.publicJwk, kid: "first" });
    expect(await verdictOf(server, await second.token({}, { kid: "first" }))).toBe("accepted");
  });

  it("tries a key without a kid for an unknown kid", async () => {
    const { kid, ...bare } = second.publicJwk;
    const server = serverWith(first.publicJwk, { ...bare, kty: "RSA" });
    expect(await verdictOf(server, await second.token({}, { kid: "unknown" }))).toBe("accepted");
    expect(await verdictOf(server, await second.token({}, { kid: "first" }))).toBe("signature");
  });

  it("rejects an unknown kid if every key has a kid, and tries every key for a token without one", async () => {
    const server = serverWith(first.publicJwk, second.publicJwk);
    expect(await verdictOf(server, await second.token({}, { kid: "unknown" }))).toBe("key");
    expect(await verdictOf(server, await second.token({}, { kid: undefined }))).toBe("accepted");
  });

  it.each<readonly [string, object]>([
    ["a key of another algorithm", elliptic.publicJwk],
    ["a key for encryption", { ...second.publicJwk, use: "enc" }],
    ["a key that does not allow verify", { ...second.publicJwk, key_ops: ["wrapKey"] }],
    ["a key bound to another algorithm", { ...second.publicJwk, alg: "RSA-OAEP-256" }],
    ["a weak key", { ...second.publicJwk, n: Buffer.alloc(128, 0xff).toString("base64url") }],
    ["a key with the exponent 1", { ...second.publicJwk, e: "AQ" }],
    ["a key of an unknown type", { kty: "AKP", alg: "ML-DSA-44", pub: "AAAA" }],
    ["a broken key", { kty: "RSA", n: "!", e: "AQAB" }],
    ["a secret", { kty: "oct", k: "c".repeat(64) }],
    ["a key whose kid is not a string", { ...second.publicJwk, kid: 5 }],
  ])("ignores %s (RFC 7517 section 5)", async (_, unsuitable) => {
    const server = serverWith(first.publicJwk, { kty: "", ...unsuitable });
    expect(await verdictOf(server, await first.token())).toBe("accepted");
    expect(await verdictOf(server, await second.token())).toMatch(/^(key|signature)$/);
    expect(await verdictOf(server, await second.token({}, { kid: undefined }))).toBe("signature");
  });

  it("rejects a set with a private key at construction", () => {
    const leaked = { ...first.privateKey.export({ format: "jwk" }), kid: "leaked" };
    expect(issuesWith([second.publicJwk, leaked, leaked])).toMatchObject([
      { code: "key_private", path: ["keys", "jwks", "keys", 1] },
      { code: "key_private", path: ["keys", "jwks", "keys", 2] },
    ]);
  });

  it.each<readonly [string, readonly unknown[]]>([
    ["without keys", []],
    ["without a key for the algorithm", [elliptic.publicJwk]],
    ["with only encryption keys", [{ ...first.publicJwk, use: "enc" }]],
    ["with only weak keys", [{ ...first.publicJwk, e: "AQ" }]],
  ])("rejects a set %s", (_, keys) => {
    const issues = issuesWith(keys);
    expect(issues).toMatchObject([{ code: "key_unusable", path: ["keys", "jwks", "keys"] }]);
    expect(issues[0]?.message).toContain("RS256");
    expect(issues[0]?.hint).toContain("JWK Set");
  });

  it("accepts HMAC secrets with an HS* algorithm only", () => {
    const secret = Buffer.alloc(32, "s").toString("base64url");
    expect(() =>
      createServer({ algorithm: "HS256", keys: { jwks: { keys: [{ kty: "oct", k: secret }] } } }),
    ).not.toThrow();
    expect(issuesWith([first.publicJwk], { algorithm: "HS256" })).toMatchObject([{ code: "key_unusable" }]);
  });

  it("rejects two secrets with one kid, in every source, because a replaced secret would stay in use", () => {
    const secret = (kid: string | undefined, letter: string) =>
      compact({ kty: "oct", k: Buffer.alloc(32, letter).toString("base64url"), kid });
    const repeated = [secret("first", "a"), secret("second", "b"), secret("first", "c")];
    const options = { serviceId: "agents-prod", algorithm: "HS256" } as const;
    const issue = { code: "key_invalid", message: "contains two secrets with the same `kid`." };
    expect(issuesOf({ ...options, keys: { jwks: { keys: repeated } } })).toMatchObject([
      { ...issue, path: ["keys", "jwks", "keys"] },
    ]);
    expect(issuesOf({ ...options, verificationKeys: repeated })).toMatchObject([
      { ...issue, path: ["verificationKeys"] },
    ]);
    for (const keys of [
      [secret("a", "a"), secret("b", "a")],
      [secret(undefined, "a"), secret(undefined, "b")],
    ])
      expect(() => createServer({ algorithm: "HS256", keys: { jwks: { keys } } })).not.toThrow();
  });
});
