/** Whether the client of a request holds the key that its token is bound to. */
import { areEqual } from "../../runtime/constant-time.ts";
import type { AccessRequest } from "../../request.ts";
import { headerOf, ownProperty } from "../../request.ts";
import type { Pending } from "../../runtime/pending.ts";
import type { Token } from "../credential.ts";
import type { Principal } from "../principal.ts";
import { type CertificateSource, readClientCertificate } from "./client-certificate.ts";
import { thumbprintOf, type TokenBinding } from "./confirmation.ts";
import { type DpopRules, DpopVerifier } from "./dpop.ts";
import { PROVED, type ProofCheck } from "./proof.ts";

/** The option `senderConstraint` with all defaults. */
export interface SenderConstraintRules {
  readonly dpop: DpopRules | undefined;
  readonly mtls: CertificateSource | undefined;
  readonly isRequired: boolean;
}

/** The field that carries a DPoP proof (RFC 9449 section 4.1). */
export const PROOF_HEADER = "dpop";

/** The check of one proof with one token. */
interface SharedCheck {
  readonly proof: string;
  readonly token: string;
  readonly result: Promise<ProofCheck>;
}

/** Checks the proof of each request: a remembered token does not replace it. */
export class SenderConstraint {
  readonly #rules: SenderConstraintRules;
  readonly #dpop: DpopVerifier | undefined;
  /**
   * The check of the proof of a request: several guards of one request share it, also if they run at the
   * same time, because its `jti` may be used once. By the request of the platform.
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
      return { kind: "missing", cause: "The token is not bound to a key, and `required` is set." };
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
        return missing("dpop", "The token is bound to a key, but it was not sent with the scheme DPoP.");
      return proof === undefined
        ? PROVED
        : rejectedScheme("The request has a proof, but its token was not sent with the scheme DPoP.");
    }
    if (proof === undefined) return missing("dpop", "The request has no header DPoP.");
    if (typeof proof !== "string")
      return { kind: "rejected", binding: "dpop", proofRejection: "malformed", cause: SEVERAL };
    const raw = ownProperty(request, "raw");
    const shared = raw && this.#checks.get(raw);
    if (shared?.proof === proof && shared.token === token) return shared.result;
    const result = verifier.verify(proof, { request, token, principal });
    if (!raw) return result;
    this.#checks.set(raw, { proof, token, result });
    return result.then((check) => {
      // The next guard tries again: the store of replays may have failed.
      if (check.kind !== "proved") this.#checks.delete(raw);
      return check;
    });
  }
}

const SEVERAL = "The request has several DPoP headers.";

const missing = (binding: TokenBinding, cause: string): ProofCheck => ({ kind: "missing", binding, cause });

const rejectedScheme = (cause: string): ProofCheck => ({
  kind: "rejected",
  binding: "dpop",
  proofRejection: "scheme",
  cause,
});

/** A header with a certificate from anybody but the proxy is refused, whatever the token is. */
function checkCertificate(
  principal: Principal,
  request: AccessRequest,
  source: CertificateSource,
): ProofCheck {
  const thumbprint = thumbprintOf(principal.claims, "mtls");
  if (thumbprint === undefined && source.kind === "socket") return PROVED;
  const certificate = readClientCertificate(request, source);
  if (certificate.kind === "unusable")
    return { kind: "rejected", binding: "mtls", proofRejection: "certificate", cause: certificate.cause };
  if (thumbprint === undefined) return PROVED;
  if (certificate.kind === "none") return missing("mtls", "The client has no certificate.");
  if (areEqual(certificate.thumbprint, thumbprint)) return PROVED;
  const cause = "The token is bound to another certificate.";
  return { kind: "rejected", binding: "mtls", proofRejection: "certificate", cause };
}
