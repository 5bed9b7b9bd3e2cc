/** DPoP proofs for tests (RFC 9449): valid proofs, and proofs with each mistake. */
import { hash, randomUUID, sign, X509Certificate } from "node:crypto";
import { checkOptions } from "../../core/options/check-options.ts";
import {
  anyString,
  anyValue,
  oneOf,
  type OptionChecks,
  optionError,
  required,
} from "../../core/options/option-checks.ts";
import { orUndefined } from "../../core/errors.ts";
import { compact } from "../../core/runtime/compact.ts";
import { readPublicKey } from "../../capabilities/sender-constraint/public-key.ts";
import type { ProofRejection } from "../../core/token/proof.ts";
import { type Flaw, HOUR } from "./flaws.ts";
import { createTestKey, type TestKey } from "./test-key.ts";

/** A rejection that a proof can cause. Others depend on how it's sent, or on earlier requests. */
export type TestProofRejection = Exclude<ProofRejection, "replayed" | "scheme" | "certificate">;

/** The request that a proof is for, and what is wrong with the proof. */
export interface TestProofOptions {
  /** The method: `htm`. */
  readonly method: string;
  /** The absolute URL, as the client uses it. `htu` is this URL without query and fragment. */
  readonly url: string;
  /** The access token, for `ath`. */
  readonly token: string;
  /** The nonce of the last `DPoP-Nonce`. Default: none. */
  readonly nonce?: string;
  /** Creates a proof that a server rejects for this reason: for `nonce` only with the option `nonce`. */
  readonly rejectedAs?: TestProofRejection | undefined;
  /** Any claims. They override those above; `undefined` omits a claim. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Header parameters. They override `alg`, `typ` and `jwk`; `undefined` omits one. */
  readonly header?: Readonly<Record<string, unknown>>;
}

const FLAWS: Readonly<Record<TestProofRejection, Flaw>> = {
  malformed: { isTruncated: true },
  type: { header: { typ: "JWT" } },
  algorithm: { header: { alg: "HS256" } },
  key: { header: { jwk: undefined } },
  // The header has the key of the token, but another key has signed.
  signature: { signature: "of another key" },
  claims: { claims: (now) => ({ exp: now - HOUR }) },
  htm: { claims: () => ({ htm: "TRACE" }) },
  htu: { claims: () => ({ htu: "https://another-service.test/" }) },
  ath: { claims: () => ({ ath: sha256("another token") }) },
  iat: { claims: (now) => ({ iat: now - 2 * HOUR }) },
  jti: { claims: () => ({ jti: undefined }) },
  nonce: { claims: () => ({ nonce: "unknown-nonce" }) },
  binding: {},
};

/**
 * The rejections that a proof can cause: the values of `rejectedAs` of `proofFor`. A server without the
 * option `nonce` accepts the proof for `"nonce"`.
 */
export const testProofRejections: readonly TestProofRejection[] = Object.freeze(
  Object.keys(FLAWS) as TestProofRejection[],
);

const OPTIONS: OptionChecks<TestProofOptions> = {
  method: required(anyString),
  url: required({
    accepts: (url) => typeof url === "string" && URL.canParse(url),
    hint: "Write the absolute URL of the request: https://api.example/agents.",
  }),
  token: required(anyString),
  nonce: anyString,
  rejectedAs: oneOf(...testProofRejections),
  claims: anyValue,
  header: anyValue,
};

/** What a token is bound to: the key of `proofFor`, or a client's certificate. */
export type TestBinding = "dpop" | { readonly certificate: string | Uint8Array };

export const isTestBinding = (bound: unknown): boolean =>
  bound === "dpop" || (typeof bound === "object" && bound !== null && "certificate" in bound);

/** The keys of the client of a test issuer. */
export class ProofKeys {
  #client: TestKey | undefined;
  #another: TestKey | undefined;

  /** Returns the value of `cnf` for a token that is bound. */
  confirmationOf(bound: TestBinding): Readonly<Record<string, string>> {
    if (bound === "dpop") return { jkt: readPublicKey(this.#clientKey.publicJwk)?.thumbprint ?? "" };
    const certificate = orUndefined(() => new X509Certificate(bound.certificate));
    if (certificate) return { "x5t#S256": hash("sha256", certificate.raw, "base64url") };
    throw optionError(
      ["token", "bound", "certificate"],
      "isn't a certificate.",
      "Write its PEM or DER bytes.",
    );
  }

  /** Signs a proof. @throws ConfigurationError for wrong options */
  sign(options: TestProofOptions, now: () => number): string {
    checkOptions("proofFor", options, OPTIONS);
    const { method, url, token, nonce, rejectedAs } = options;
    const flaw: Flaw = rejectedAs ? FLAWS[rejectedAs] : {};
    const nowSeconds = Math.floor(now() / 1000);
    const { origin, pathname } = new URL(url);
    const claims = {
      htm: method,
      htu: origin + pathname,
      ath: sha256(token),
      iat: nowSeconds,
      jti: randomUUID(),
      ...compact({ nonce }),
      ...flaw.claims?.(nowSeconds),
      ...options.claims,
    };
    const key = rejectedAs === "binding" ? this.#anotherKey : this.#clientKey;
    const header = { alg: "ES256", typ: "dpop+jwt", jwk: key.publicJwk, ...flaw.header, ...options.header };
    const proof = signProof(header, claims, flaw.signature ? this.#anotherKey : key);
    return flaw.isTruncated ? proof.slice(0, proof.lastIndexOf(".")) : proof;
  }

  get #clientKey(): TestKey {
    return (this.#client ??= createTestKey("ES256", undefined));
  }

  get #anotherKey(): TestKey {
    return (this.#another ??= createTestKey("ES256", undefined));
  }
}

const sha256 = (text: string): string => hash("sha256", text, "base64url");

/** Signs a DPoP proof with an EC key. jose would refuse the headers of some invalid proofs. */
function signProof(
  header: Readonly<Record<string, unknown>>,
  claims: Readonly<Record<string, unknown>>,
  { privateKey }: TestKey,
): string {
  const signingInput = `${encode(header)}.${encode(claims)}`;
  const signature = sign("sha256", Buffer.from(signingInput), { key: privateKey, dsaEncoding: "ieee-p1363" });
  return `${signingInput}.${signature.toString("base64url")}`;
}

export const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
