/** The result of checking that a client holds the key of its token. */
import type { TokenBinding } from "./confirmation.ts";

/**
 * Why a proof was rejected: the `proofRejection` of a refusal whose reason is `proof_rejected`. `htm`, `htu`,
 * `ath`, `iat`, `jti` and `nonce` are the claims of a DPoP proof (RFC 9449 section 4.2).
 */
export type ProofRejection =
  | "malformed"
  | "type"
  | "algorithm"
  | "key"
  | "signature"
  | "claims"
  | "htm"
  | "htu"
  | "ath"
  | "iat"
  | "jti"
  | "nonce"
  | "replayed"
  | "binding"
  | "scheme"
  | "certificate";

/** The result for one request. */
export type ProofCheck =
  | {
      readonly kind: "proved";
      /**
       * Uses up the `jti` of the proof, which is accepted once. Called last, and only for a request that is
       * allowed so far: otherwise a token without any scope could fill the store. Absent without a proof.
       */
      readonly useUp?: () => Promise<ProofCheck>;
      /** A nonce for the next request, because the current one expires soon. */
      readonly nextNonce?: string;
    }
  | {
      readonly kind: "missing";
      /** Which proof is missing; absent for a token that isn't bound to a key. */
      readonly binding?: TokenBinding;
      readonly cause: string;
    }
  | {
      readonly kind: "rejected";
      readonly proofRejection: ProofRejection;
      /** A sentence for the operator's log. */
      readonly cause?: string;
    }
  /** The store of replays failed. */
  | { readonly kind: "unavailable"; readonly cause: unknown };

export type Unproved = Exclude<ProofCheck, { readonly kind: "proved" }>;

export const PROVED: ProofCheck = Object.freeze({ kind: "proved" });

export const missingProof = (cause: string, binding?: TokenBinding): ProofCheck =>
  binding === undefined ? { kind: "missing", cause } : { kind: "missing", binding, cause };

export const rejectProof = (proofRejection: ProofRejection, cause?: string): ProofCheck =>
  cause === undefined ? { kind: "rejected", proofRejection } : { kind: "rejected", proofRejection, cause };
