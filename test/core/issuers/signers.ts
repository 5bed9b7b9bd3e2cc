/** Four issuers of one server, and tokens that claim to be from them. */
import { createSecretKey, type KeyObject } from "node:crypto";
import type { Algorithm } from "scopegate";
import type { JsonWebKeySet, TrustedIssuer } from "scopegate/complete";
import { forge } from "../../security/tokens/forge.ts";
import { createIssuer } from "../../support/issuer.ts";

export interface Signer {
  readonly iss: string;
  readonly algorithm: Algorithm;
  readonly audience: string;
  /** The signing key, or the secret for HMAC. */
  readonly key: KeyObject;
  /** The public part of the key, which an attacker may use as an HMAC secret. */
  readonly known: string;
}

/** The `kid` of two different keys. */
export const SHARED_KID = "2024";

const control = createIssuer({ kid: SHARED_KID });
const backend = createIssuer({ algorithm: "ES256" });
const remote = createIssuer({ kid: "another pair" });
const secret = "a secret of the partner that nobody else has 0123456789";

export const remoteJwks: JsonWebKeySet = { keys: [{ ...remote.publicJwk, kid: SHARED_KID }] };

export const CONTROL: Signer = {
  iss: "https://control.example",
  algorithm: "RS256",
  audience: "of-control",
  key: control.privateKey,
  known: control.publicPem,
};
export const BACKEND: Signer = {
  iss: "https://backend.example/tenants/1",
  algorithm: "ES256",
  audience: "of-backend",
  key: backend.privateKey,
  known: backend.publicPem,
};
export const PARTNER: Signer = {
  iss: "partner",
  algorithm: "HS256",
  audience: "of-partner",
  key: createSecretKey(secret, "utf8"),
  known: "partner",
};
export const REMOTE: Signer = {
  iss: "https://remote.example",
  algorithm: "RS256",
  audience: "of-remote",
  key: remote.privateKey,
  known: remote.publicPem,
};

export const SIGNERS = { CONTROL, BACKEND, PARTNER, REMOTE };

/** The `issuers` entries with local keys and without an audience of their own. */
const entries = {
  control: { issuer: CONTROL.iss, keys: { jwks: { keys: [control.publicJwk] } }, algorithms: ["RS256"] },
  backend: { issuer: BACKEND.iss, verificationKeys: [backend.publicPem], algorithms: ["ES256"] },
  partner: { issuer: PARTNER.iss, verificationKeys: [secret], algorithms: ["HS256"] },
} as const satisfies Record<string, TrustedIssuer>;

export const ENTRIES: Readonly<Record<keyof typeof entries, TrustedIssuer>> = entries;

/** The `issuers` entries of all four, each with its own audience. */
export const issuersWith = (remoteKeys: NonNullable<TrustedIssuer["keys"]>): readonly TrustedIssuer[] => [
  { ...ENTRIES.control, audience: CONTROL.audience },
  { ...ENTRIES.backend, audience: BACKEND.audience },
  { ...ENTRIES.partner, audience: PARTNER.audience },
  { issuer: REMOTE.iss, keys: remoteKeys, algorithms: ["RS256"], audience: REMOTE.audience },
];

export interface Claimed {
  /** `undefined` omits a claim. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly alg?: string;
  /** The raw payload, instead of claims. */
  readonly payload?: string | Uint8Array;
}

/**
 * A token signed by `signer`, whatever issuer it claims. If the key cannot sign with the algorithm, the token is signed
 * as an attacker would: with HMAC and the public part of the key, or with the algorithm of the key.
 */
export function signedBy(signer: Signer, { claims, header, payload, ...claimed }: Claimed = {}): string {
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
