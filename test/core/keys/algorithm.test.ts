import { describe, expect, it } from "vitest";
import {
  type Algorithm,
  ALGORITHMS,
  hashBytes,
  isSymmetric,
  isKeyFor,
} from "../../../src/core/keys/algorithm.ts";
import { createIssuer } from "../../support/issuer.ts";

describe("ALGORITHMS", () => {
  it("contains no algorithm without a signature", () => {
    expect(ALGORITHMS.filter((algorithm) => /none/i.test(algorithm))).toEqual([]);
  });

  it("contains HS256, HS384 and HS512 as its only symmetric algorithms", () => {
    expect(ALGORITHMS.filter(isSymmetric)).toEqual(["HS256", "HS384", "HS512"]);
  });
});

describe("hashBytes", () => {
  it.each([
    ["HS256", 32],
    ["HS384", 48],
    ["HS512", 64],
  ] as const)("returns the hash size of %s: %i bytes (RFC 7518 section 3.2)", (algorithm, bytes) => {
    expect(hashBytes(algorithm)).toBe(bytes);
  });
});

describe("isKeyFor", () => {
  const rsa: readonly Algorithm[] = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"];

  it.each<readonly [Parameters<typeof createIssuer>[0], readonly Algorithm[]]>([
    [{ algorithm: "RS256" }, rsa],
    [{ algorithm: "ES256" }, ["ES256"]],
    [{ algorithm: "ES384" }, ["ES384"]],
    [{ algorithm: "ES512" }, ["ES512"]],
    [{ algorithm: "EdDSA" }, ["EdDSA", "Ed25519"]],
  ])("allows the key of %j to verify %j and nothing else (RFC 7518 section 3.1)", (options, algorithms) => {
    const { publicKey } = createIssuer(options);
    expect(ALGORITHMS.filter((algorithm) => isKeyFor(publicKey, algorithm))).toEqual(algorithms);
  });
});
