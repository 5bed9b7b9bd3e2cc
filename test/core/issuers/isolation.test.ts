/** A key, algorithm or audience of one issuer is never accepted for tokens of another. */
import { describe, expect, it } from "vitest";
import type { ResourceServer } from "scopegate";
import { createIssuer } from "../../support/issuer.ts";
import { createServer, issuesOf, verdictOf } from "../../support/resource-servers.ts";
import {
  BACKEND,
  CONTROL,
  ENTRIES,
  issuersWith,
  SIGNERS,
  PARTNER,
  type Signer,
  REMOTE,
  remoteJwks,
  SHARED_KID,
  signedBy,
} from "./signers.ts";

const signers = Object.entries(SIGNERS);
const createWithIssuers = (): ResourceServer =>
  createServer({
    issuers: issuersWith({
      jwksUri: "https://remote.example/jwks",
      fetch: () => Promise.resolve(Response.json(remoteJwks)),
    }),
  });

/** A key with a `kid` verifies only tokens with that `kid`; a key without one verifies any. */
const hasKid = (signer: Signer): boolean => signer === CONTROL || signer === REMOTE;

/** The first mistake, in the order of the checks. */
function expected(
  signer: Signer,
  claimed: Signer,
  alg: string,
  kid: string | undefined,
  aud: string,
): string {
  if (alg !== claimed.algorithm) return "algorithm";
  if (hasKid(claimed) && kid !== undefined && kid !== SHARED_KID) return "key";
  if (signer !== claimed) return "signature";
  return aud === claimed.audience ? "accepted" : "audience";
}

describe("several issuers", () => {
  const server = createWithIssuers();
  const pairs = signers.flatMap(([by, signer]) =>
    signers.map(([from, claimed]) => [by, from, signer, claimed] as const),
  );

  it.each(pairs)(
    "accept a token signed by %s with the iss of %s only if both are the same",
    async (...pair) => {
      const [, , signer, claimed] = pair;
      const verdicts = new Map<string, number>();
      for (const alg of ["RS256", "PS256", "ES256", "HS256"])
        for (const kid of [SHARED_KID, "other", undefined])
          for (const { audience: aud } of Object.values(SIGNERS)) {
            const header = kid === undefined ? {} : { kid };
            const token = signedBy(signer, { alg, header, claims: { iss: claimed.iss, aud } });
            const verdict = await verdictOf(server, token);
            expect({ alg, kid, aud, verdict }).toEqual({
              ...{ alg, kid, aud },
              verdict: expected(signer, claimed, alg, kid, aud),
            });
            verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
          }
      const accepted = hasKid(claimed) ? 2 : 3;
      expect(verdicts.get("accepted") ?? 0).toBe(signer === claimed ? accepted : 0);
    },
  );
});

describe("one key under several issuers", () => {
  const { publicPem, privateKey } = createIssuer();
  const verificationKeys = [publicPem];
  const server = createServer({
    issuers: [
      { issuer: "a", verificationKeys, algorithms: ["RS256"], audience: "of-a" },
      { issuer: "b", verificationKeys, algorithms: ["PS256"], audience: "of-b" },
      { issuer: "c", verificationKeys, algorithms: ["RS256", "PS256"], audience: "of-c" },
    ],
  });
  const signer: Signer = {
    iss: "a",
    algorithm: "RS256",
    audience: "of-a",
    key: privateKey,
    known: publicPem,
  };

  it.each([
    ["a", "RS256", "of-a", "accepted"],
    ["a", "PS256", "of-a", "algorithm"],
    ["a", "RS256", "of-b", "audience"],
    ["a", "RS256", "of-c", "audience"],
    ["b", "PS256", "of-b", "accepted"],
    ["b", "RS256", "of-b", "algorithm"],
    ["b", "PS256", "of-a", "audience"],
    ["c", "RS256", "of-c", "accepted"],
    ["c", "PS256", "of-c", "accepted"],
    ["c", "RS256", "of-a", "audience"],
    ["c", "ES256", "of-c", "algorithm"],
  ])("verifies a token of %s with %s for %s: %s", async (iss, alg, aud, verdict) => {
    expect(await verdictOf(server, signedBy(signer, { alg, claims: { iss, aud } }))).toBe(verdict);
  });
});

describe("the public key of one issuer", () => {
  const secretOf = (secret: string) => ({
    serviceId: "agents-prod",
    issuers: [ENTRIES.control, { ...ENTRIES.partner, verificationKeys: [secret] }],
  });

  it.each([
    ["a PEM", CONTROL.known],
    ["a PEM of ES256", BACKEND.known],
    ["a JWK", JSON.stringify(createIssuer().publicJwk)],
    ["a JWK Set", JSON.stringify(remoteJwks)],
  ])("causes a configuration error as the secret of another: %s", (_, published) => {
    expect(issuesOf(secretOf(published))).toMatchObject([
      { code: "key_unusable", path: ["issuers", 1, "verificationKeys", 0] },
    ]);
  });

  it("verifies no token of an issuer with a secret, in any form", async () => {
    const server = createWithIssuers();
    const der = createIssuer().publicKey.export({ type: "spki", format: "der" }).toString("base64");
    const guesses = [CONTROL.known, CONTROL.known.trim(), BACKEND.known, REMOTE.known, der, PARTNER.iss, "x"];
    for (const secret of guesses) {
      const forger: Signer = { ...CONTROL, known: secret };
      const claims = { iss: PARTNER.iss, aud: PARTNER.audience };
      expect(await verdictOf(server, signedBy(forger, { alg: "HS256", claims }))).toBe("signature");
    }
  });
});
