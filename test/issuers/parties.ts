/** Four issuers that one server trusts side by side, and tokens that claim to be theirs. */
import { createSecretKey, type KeyObject } from "node:crypto";
import { type Algorithm, type JsonWebKeySet, type TrustedIssuer } from "scopegate";
import { forge } from "../security/tokens/forge.ts";
import { createIssuer } from "../support/issuer.ts";

export interface Party {
  readonly iss: string;
  readonly algorithm: Algorithm;
  readonly audience: string;
  /** Signs; a secret signs with HMAC. */
  readonly key: KeyObject;
  /** What everybody knows of the key: an attacker's HMAC secret. */
  readonly known: string;
}

/** The `kid` of two of them, whose keys are not the same. */
export const SHARED_KID = "2024";

const control = createIssuer({ kid: SHARED_KID });
const backend = createIssuer({ algorithm: "ES256" });
const remote = createIssuer({ kid: "another pair" });
const secret = "a secret of the partner that nobody else has 0123456789";

export const remoteJwks: JsonWebKeySet = { keys: [{ ...remote.publicJwk, kid: SHARED_KID }] };

export const CONTROL: Party = {
  iss: "https://control.example",
  algorithm: "RS256",
  audience: "of-control",
  key: control.privateKey,
  known: control.publicPem,
};
export const BACKEND: Party = {
  iss: "https://backend.example/tenants/1",
  algorithm: "ES256",
  audience: "of-backend",
  key: backend.privateKey,
  known: backend.publicPem,
};
export const PARTNER: Party = {
  iss: "partner",
  algorithm: "HS256",
  audience: "of-partner",
  key: createSecretKey(secret, "utf8"),
  known: "partner",
};
export const REMOTE: Party = {
  iss: "https://remote.example",
  algorithm: "RS256",
  audience: "of-remote",
  key: remote.privateKey,
  known: remote.publicPem,
};

export const PARTIES = { CONTROL, BACKEND, PARTNER, REMOTE };

/** The entries of those whose keys need no fetching; `audience` may be left to the server. */
const entries = {
  control: { issuer: CONTROL.iss, keys: { jwks: { keys: [control.publicJwk] } }, algorithms: ["RS256"] },
  backend: { issuer: BACKEND.iss, keys: { verificationKeys: [backend.publicPem] }, algorithms: ["ES256"] },
  partner: { issuer: PARTNER.iss, keys: { verificationKeys: [secret] }, algorithms: ["HS256"] },
} as const satisfies Record<string, TrustedIssuer>;

export const ENTRIES: Readonly<Record<keyof typeof entries, TrustedIssuer>> = entries;

/** All four, each with an audience of its own. */
export const issuersWith = (remoteKeys: TrustedIssuer["keys"]): readonly TrustedIssuer[] => [
  { ...ENTRIES.control, audience: CONTROL.audience },
  { ...ENTRIES.backend, audience: BACKEND.audience },
  { ...ENTRIES.partner, audience: PARTNER.audience },
  { issuer: REMOTE.iss, keys: remoteKeys, algorithms: ["RS256"], audience: REMOTE.audience },
];

export interface Claimed {
  /** `undefined` leaves a claim out. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly alg?: string;
  /** The payload as it is, instead of the claims. */
  readonly payload?: string | Uint8Array;
}

/**
 * A token that a party signed, whoever it claims to be from. Where its key cannot sign with the algorithm, an attacker
 * does what comes next: signs with HMAC by what everybody knows of the key, or with the algorithm that the key has.
 */
export function signedBy(signer: Party, { claims, header, payload, ...claimed }: Claimed = {}): string {
  const alg = claimed.alg ?? signer.algorithm;
  const isHmac = alg.startsWith("HS");
  const isAble = signer.key.asymmetricKeyType === "rsa" ? /^[RP]S/.test(alg) : alg === signer.algorithm;
  return forge({
    alg: isAble || isHmac ? alg : signer.algorithm,
    key: isHmac && signer.key.type !== "secret" ? signer.known : signer.key,
    header: { alg, typ: "JWT", ...header },
    payload: payload ?? {
      iss: signer.iss,
      aud: signer.audience,
      sub: "user-1",
      scopes: [],
      ...claims,
    },
  });
}
