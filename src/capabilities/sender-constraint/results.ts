/** The results of checking a proof. */
import type { TokenBinding } from "../../core/token/confirmation.ts";
import type { ProofCheck, ProofRejection } from "../../core/token/proof.ts";

export const PROVED: ProofCheck = Object.freeze({ kind: "proved" });

export const missingProof = (cause: string, binding?: TokenBinding): ProofCheck =>
  binding === undefined ? { kind: "missing", cause } : { kind: "missing", binding, cause };

export const rejectProof = (proofRejection: ProofRejection, cause?: string): ProofCheck =>
  cause === undefined ? { kind: "rejected", proofRejection } : { kind: "rejected", proofRejection, cause };
