/** One issuer's key, algorithm or audience never vouches for another's token. */
import { describe, expect, it } from "vitest";
import { type ResourceServer } from "scopegate";
import { createIssuer } from "../support/issuer.ts";
import { createServer, issuesOf, verdictOf } from "../support/resource-servers.ts";
import {
  BACKEND,
  CONTROL,
  ENTRIES,
  issuersWith,
  PARTIES,
  PARTNER,
  type Party,
  REMOTE,
  remoteJwks,
  SHARED_KID,
  signedBy,
} from "./parties.ts";

const parties = Object.entries(PARTIES);
const createTrusting = (): ResourceServer =>
  createServer({
    issuers: issuersWith({
      jwksUri: "https://remote.example/jwks",
      fetch: () => Promise.resolve(Response.json(remoteJwks)),
    }),
  });

/** Keys that have a `kid` sign for no other; the others sign for any. */
const hasKid = (party: Party): boolean => party === CONTROL || party === REMOTE;

/** The first thing that is wrong, in the order in which a token is looked at. */
function expected(signer: Party, claimed: Party, alg: string, kid: string | undefined, aud: string): string {
  if (alg !== claimed.algorithm) return "algorithm";
  if (hasKid(claimed) && kid !== undefined && kid !== SHARED_KID) return "key";
  if (signer !== claimed) return "signature";
  return aud === claimed.audience ? "accepted" : "audience";
}

describe("several issuers", () => {
  const server = createTrusting();
  const pairs = parties.flatMap(([by, signer]) =>
    parties.map(([from, claimed]) => [by, from, signer, claimed] as const),
  );

  it.each(pairs)(
    "accept what %s signed and %s is said to have issued only where they are one",
    async (...pair) => {
      const [, , signer, claimed] = pair;
      const verdicts = new Map<string, number>();
      for (const alg of ["RS256", "PS256", "ES256", "HS256"])
        for (const kid of [SHARED_KID, "other", undefined])
          for (const { audience: aud } of Object.values(PARTIES)) {
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

  it.each(parties)("find nobody in a token of %s that claims to be from a stranger", async (_, signer) => {
    for (const iss of ["https://stranger.example", undefined])
      expect(await verdictOf(server, signedBy(signer, { claims: { iss } }))).toBe("issuer");
  });

  it("accept no list of audiences that names the wrong ones only", async () => {
    const others = [BACKEND.audience, PARTNER.audience, REMOTE.audience];
    const asks = (aud: readonly string[]) => verdictOf(server, signedBy(CONTROL, { claims: { aud } }));
    expect(await asks(others)).toBe("audience");
    expect(await asks([...others, CONTROL.audience])).toBe("accepted");
  });
});

describe("one key under several issuers", () => {
  const { publicPem, privateKey } = createIssuer();
  const keys = { verificationKeys: [publicPem] };
  const server = createServer({
    issuers: [
      { issuer: "a", keys, algorithms: ["RS256"], audience: "of-a" },
      { issuer: "b", keys, algorithms: ["PS256"], audience: "of-b" },
      { issuer: "c", keys, algorithms: ["RS256", "PS256"], audience: "of-c" },
    ],
  });
  const signer: Party = { iss: "a", algorithm: "RS256", audience: "of-a", key: privateKey, known: publicPem };

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
  ])("serves %s with %s for %s: %s", async (iss, alg, aud, verdict) => {
    expect(await verdictOf(server, signedBy(signer, { alg, claims: { iss, aud } }))).toBe(verdict);
  });
});

describe("what one issuer publishes", () => {
  const secretOf = (secret: string) => ({
    serviceId: "agents-prod",
    issuers: [ENTRIES.control, { ...ENTRIES.partner, keys: { verificationKeys: [secret] } }],
  });

  it.each([
    ["a PEM", CONTROL.known],
    ["a PEM of ES256", BACKEND.known],
    ["a JWK", JSON.stringify(createIssuer().publicJwk)],
    ["a JWK Set", JSON.stringify(remoteJwks)],
  ])("is no secret of another: %s is refused at construction", (_, published) => {
    expect(issuesOf(secretOf(published))).toMatchObject([
      { code: "key_unusable", path: ["issuers", 1, "keys", "verificationKeys", 0] },
    ]);
  });

  it("signs nothing for the one that has a secret, however it is written", async () => {
    const server = createTrusting();
    const der = createIssuer().publicKey.export({ type: "spki", format: "der" }).toString("base64");
    const known = [CONTROL.known, CONTROL.known.trim(), BACKEND.known, REMOTE.known, der, PARTNER.iss, "x"];
    for (const secret of known) {
      const forger: Party = { ...CONTROL, known: secret };
      const claims = { iss: PARTNER.iss, aud: PARTNER.audience };
      expect(await verdictOf(server, signedBy(forger, { alg: "HS256", claims }))).toBe("signature");
    }
  });
});
