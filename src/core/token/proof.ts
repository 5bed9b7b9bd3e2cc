/** The extension point for tokens that are bound to a key of their client. */
import type { Report } from "../errors.ts";
import type { AccessRequest } from "../request.ts";
import type { Pending } from "../runtime/pending.ts";
import type { ConfirmationReader, TokenBinding } from "./confirmation.ts";
import type { Token, TokenSource } from "./credential.ts";
import type { Principal } from "./principal.ts";

/** Checks for one server that clients hold the keys that their tokens are bound to. */
export interface KeyProofs extends ConfirmationReader {
  /** Whether every token must be bound to a key. */
  readonly isRequired: boolean;
  /** The scheme in `Authorization`, besides `Bearer`, that it reads. */
  readonly scheme: "DPoP" | undefined;
  /** The header fields with proofs and certificates, in lower case. */
  readonly headers: readonly string[];
  /** Whether it needs the socket of a request, which has the client's certificate and address. */
  readonly socketUse: "none" | "optional" | "required";
  /** Reports `tokenSources` with which no proof could be accepted. */
  checkSources(sources: readonly TokenSource[], report: Report): void;
  /** Checks a request whose token was verified, even if the token is remembered. */
  check(principal: Principal, credential: Token, request: AccessRequest): Pending<ProofCheck>;
  /** Why the store of used proofs fails; `undefined` if it works. */
  readonly fault: Error | undefined;
  /** Rejects if the store of used proofs can't be used. */
  ready(options?: { readonly readOnly?: boolean }): Promise<void>;
}

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
      /** Header fields for the response, such as a nonce for the next request. */
      readonly headers?: Readonly<Record<string, string>>;
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
