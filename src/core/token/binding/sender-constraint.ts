/** Checks that the client of a request holds the key that its token is bound to. */
import { areEqual } from "../../runtime/constant-time.ts";
import type { AccessRequest } from "../../request.ts";
import { headerOf, ownProperty } from "../../request.ts";
import type { Pending } from "../../runtime/pending.ts";
import type { Token } from "../credential.ts";
import type { Principal } from "../principal.ts";
import { type CertificateSource, readClientCertificate } from "./client-certificate.ts";
import { thumbprintOf } from "./confirmation.ts";
import { type DpopRules, DpopVerifier } from "./dpop.ts";
import { missingProof, PROVED, type ProofCheck, rejectProof } from "./proof.ts";

/** The option `senderConstraint` with all defaults. */
export interface SenderConstraintRules {
  readonly dpop: DpopRules | undefined;
  readonly mtls: CertificateSource | undefined;
  readonly isRequired: boolean;
}

/** The field that carries a DPoP proof (RFC 9449 section 4.1). */
export const PROOF_HEADER = "dpop";

/** The check of one proof, for one request: all that it depends on, and its result. */
interface SharedCheck {
  readonly inputs: readonly string[];
  readonly result: Promise<ProofCheck>;
}

/** Checks the proof of each request, even if the token is remembered. */
export class SenderConstraint {
  readonly #rules: SenderConstraintRules;
  readonly #dpop: DpopVerifier | undefined;
  /**
   * The proof checks, by the request of the platform. Several guards of one request share a check and the use
   * of its `jti`, even if they run at the same time, because a `jti` may only be used once.
   */
  readonly #checks = new WeakMap<object, SharedCheck>();

  constructor(rules: SenderConstraintRules) {
    this.#rules = rules;
    this.#dpop = rules.dpop && new DpopVerifier(rules.dpop);
  }

  /** Checks a request whose token was verified. */
  check(principal: Principal, credential: Token, request: AccessRequest): Pending<ProofCheck> {
    const { mtls, isRequired } = this.#rules;
    const { binding } = principal;
    if (isRequired && binding === undefined && credential.scheme === "Bearer")
      return missingProof("The token isn't bound to a key, and `required` is set.");
    const certificate = mtls ? checkCertificate(principal, request, mtls) : PROVED;
    if (certificate.kind !== "proved" || !this.#dpop) return certificate;
    return this.#checkDpop(principal, credential, request, this.#dpop);
  }

  #checkDpop(
    principal: Principal,
    { token, scheme }: Token,
    request: AccessRequest,
    verifier: DpopVerifier,
  ): Pending<ProofCheck> {
    const proof = headerOf(request, PROOF_HEADER);
    if (scheme === "Bearer") {
      if (thumbprintOf(principal.claims, "dpop") !== undefined)
        return missingProof("The token is bound to a key, but wasn't sent with the scheme DPoP.", "dpop");
      return proof === undefined
        ? PROVED
        : rejectProof("scheme", "The request has a proof, but its token wasn't sent with the scheme DPoP.");
    }
    if (proof === undefined) return missingProof("The request has no header DPoP.", "dpop");
    if (typeof proof !== "string") return rejectProof("malformed", "The request has several DPoP headers.");
    const raw = ownProperty(request, "raw");
    const inputs = [proof, token, request.method, request.target];
    const shared = raw && this.#checks.get(raw);
    if (shared?.inputs.every((input, index) => input === inputs[index])) return shared.result;
    const result = verifier.verify(proof, { request, token, principal });
    if (raw) this.#checks.set(raw, { inputs, result });
    return result;
  }
}

/** A certificate header from anyone but the proxy is refused, whatever the token is. */
function checkCertificate(
  principal: Principal,
  request: AccessRequest,
  source: CertificateSource,
): ProofCheck {
  const thumbprint = thumbprintOf(principal.claims, "mtls");
  if (thumbprint === undefined && source.kind === "socket") return PROVED;
  const certificate = readClientCertificate(request, source);
  if (certificate.kind === "unusable") return rejectProof("certificate", certificate.cause);
  if (thumbprint === undefined) return PROVED;
  if (certificate.kind === "none") return missingProof("The client has no certificate.", "mtls");
  if (areEqual(certificate.thumbprint, thumbprint)) return PROVED;
  return rejectProof("certificate", "The token is bound to another certificate.");
}
