import { describe, expect, it, vi } from "vitest";
import { type Algorithm } from "../../../src/core/keys/algorithm.ts";
import { importMaterial, selectKeys, type VerificationKey } from "../../../src/core/keys/verification-key.ts";
import { issuer } from "../../support/resource-servers.ts";

const key = (kid?: string, algorithms: readonly Algorithm[] = ["RS256"]): VerificationKey => ({
  ...(kid !== undefined && { kid }),
  algorithms: new Set(algorithms),
  material: () => issuer.publicKey,
});

const [a, b, a2, bare, es] = [key("a"), key("b"), key("a"), key(), key("a", ["ES256"])];

describe("selectKeys", () => {
  it("returns every key of the algorithm for a token without a kid", () => {
    expect(selectKeys([a, es, b, bare], { algorithm: "RS256", kid: undefined })).toEqual([a, b, bare]);
  });

  it("returns only the keys with the kid of the token that support the algorithm", () => {
    expect(selectKeys([a, es, b, bare, a2], { algorithm: "RS256", kid: "a" })).toEqual([a, a2]);
    expect(selectKeys([a, es], { algorithm: "ES256", kid: "a" })).toEqual([es]);
  });

  it("returns the keys without a kid if no key has the kid of the token", () => {
    expect(selectKeys([a, bare, b], { algorithm: "RS256", kid: "c" })).toEqual([bare]);
    expect(selectKeys([a, b], { algorithm: "RS256", kid: "c" })).toEqual([]);
  });

  it.each(["A", "a ", " a", "a\0", "", "../a", "./a", "__proto__", "constructor", "0", "*", "a,b", "\u0430"])(
    "compares the kid exactly: %j does not match a",
    (kid) => {
      expect(selectKeys([a, b], { algorithm: "RS256", kid })).toEqual([]);
    },
  );

  it.each(["__proto__", "constructor", "", "../a"])("returns a key whose kid is %j", (kid) => {
    const odd = key(kid);
    expect(selectKeys([a, odd, b], { algorithm: "RS256", kid })).toEqual([odd]);
  });

  it("returns no key for an unsupported algorithm", () => {
    expect(selectKeys([a, b, bare], { algorithm: "RS512", kid: undefined })).toEqual([]);
    expect(selectKeys([], { algorithm: "RS256", kid: undefined })).toEqual([]);
  });
});

describe("importMaterial", () => {
  it("imports every key for each of its algorithms", async () => {
    const material = vi.fn<VerificationKey["material"]>(() => issuer.publicKey);
    await importMaterial([
      { algorithms: new Set(["RS256", "RS512"]), material },
      { algorithms: new Set(["PS256"]), material },
    ]);
    expect(material.mock.calls.flat()).toEqual(["RS256", "RS512", "PS256"]);
  });

  it("rejects if a key cannot be imported", async () => {
    const broken: VerificationKey = {
      algorithms: new Set(["HS256"]),
      material: () => Promise.reject(new Error("It cannot.")),
    };
    await expect(importMaterial([a, broken])).rejects.toThrow("It cannot.");
  });
});
