/** The proofs of `scopegate/testing`, judged by another implementation of RFC 9449. */
import { describe, expect, it } from "vitest";
import { createTestIssuer, testProofRejections } from "scopegate/testing";
import { createOracle } from "./oracle.ts";

const ORIGIN = "https://api.example";
const TARGET = "/payments/caf%C3%A9?page=2";
const METHOD = "POST";

const issuer = createTestIssuer({
  audience: "payments",
  // The oracle follows RFC 9068.
  tokenType: "at+jwt",
  claims: { jti: "token-1", client_id: "client-7" },
});
const oracle = createOracle({
  issuer: issuer.issuer,
  audience: "payments",
  keys: issuer.jwks.keys,
  algorithms: ["ES256"],
});

/** Signs a proof for a bound token, and returns why the oracle refuses the request. */
async function complaintAbout(
  rejectedAs?: (typeof testProofRejections)[number],
): Promise<string | undefined> {
  const token = await issuer.token({ userId: "user-7", bound: "dpop" });
  const proof = await issuer.proofFor({ method: METHOD, url: ORIGIN + TARGET, token, rejectedAs });
  const authorization = `DPoP ${token}`;
  return oracle({ method: METHOD, origin: ORIGIN, target: TARGET, authorization, proofs: [proof] });
}

describe("a proof of a test issuer", () => {
  it("accepts it", async () => {
    expect(await complaintAbout()).toBeUndefined();
  });

  // The oracle compares no nonces.
  it.each(testProofRejections.filter((rejection) => rejection !== "nonce"))(
    "refuses it if it should be rejected as %s",
    async (rejection) => {
      const complaint = await complaintAbout(rejection);
      expect(complaint).toMatch(COMPLAINTS[rejection] ?? /^$/);
    },
  );
});

/** What the oracle says about each. */
const COMPLAINTS: Readonly<Record<string, RegExp>> = {
  malformed: /^Invalid JWT$/,
  type: /"typ" header parameter/,
  algorithm: /"alg" header parameter/,
  key: /jwk header parameter/,
  signature: /signature verification failed/,
  claims: /"exp" \(expiration time\)/,
  htm: /htm mismatch/,
  htu: /htu mismatch/,
  ath: /ath mismatch/,
  iat: /iat is not recent enough/,
  jti: /"jti" \(jwt id\) claim missing/i,
  binding: /confirmation mismatch/,
};
