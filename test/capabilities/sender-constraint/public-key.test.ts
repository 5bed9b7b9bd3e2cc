import { hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { readPublicKey } from "../../../src/capabilities/sender-constraint/public-key.ts";

const EC = { kty: "EC", crv: "P-256", x: "x-1", y: "y_1" };
const OKP = { kty: "OKP", crv: "Ed25519", x: "x1" };
const RSA = { kty: "RSA", n: "n".repeat(683), e: "AQAB" };

const thumbprintOf = (canonical: string) => hash("sha256", canonical, "base64url");

describe("readPublicKey", () => {
  it.each([
    [EC, '{"crv":"P-256","kty":"EC","x":"x-1","y":"y_1"}'],
    [OKP, '{"crv":"Ed25519","kty":"OKP","x":"x1"}'],
    [RSA, `{"e":"AQAB","kty":"RSA","n":"${"n".repeat(683)}"}`],
  ])(
    "reads the thumbprint of %j from the members that decide which key it is (RFC 7638)",
    (jwk, canonical) => {
      const others = { alg: "ES256", kid: "1", use: "sig" };
      for (const key of [jwk, { ...others, ...jwk }, Object.fromEntries(Object.entries(jwk).reverse())])
        expect(readPublicKey(key)).toEqual({ key, thumbprint: thumbprintOf(canonical) });
    },
  );

  it("reads the example of RFC 7638 section 3.1", () => {
    const n =
      "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw";
    expect(readPublicKey({ kty: "RSA", n, e: "AQAB", alg: "RS256", kid: "2011-04-29" })?.thumbprint).toBe(
      "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs",
    );
  });

  it.each([
    [undefined],
    [null],
    ["key"],
    [[EC]],
    [{}],
    [{ ...EC, kty: "ec" }],
    [{ ...EC, kty: "oct" }],
    [{ ...EC, kty: ["EC"] }],
    [{ ...EC, kty: "toString" }],
    [{ ...EC, y: undefined }],
    [{ ...EC, x: 5 }],
    [{ ...EC, x: ["x"] }],
    [{ ...EC, x: "" }],
    [{ ...EC, x: "x+" }],
    [{ ...EC, x: "=x" }],
    [{ ...EC, crv: "P 256" }],
    [Object.assign(Object.create({ y: "y" }) as object, { kty: "EC", crv: "P-256", x: "x" })],
  ])("rejects %j", (jwk) => {
    expect(readPublicKey(jwk)).toBeUndefined();
  });

  it("rejects RSA keys that make each verification slow", () => {
    expect(readPublicKey({ ...RSA, e: "A".repeat(6) })).toBeDefined();
    expect(readPublicKey({ ...RSA, e: "A".repeat(7) })).toBeUndefined();
    expect(readPublicKey({ ...RSA, n: "n".repeat(684) })).toBeUndefined();
  });
});
