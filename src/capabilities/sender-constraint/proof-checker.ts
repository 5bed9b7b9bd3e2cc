/** Checks that the client of a request holds the key that its token is bound to. */
import type { Report } from "../../core/errors.ts";
import type { BoundTokens } from "../../core/options/sender-constraint.ts";
import type { Refused } from "../../core/policy/decision.ts";
import { type AccessRequest, headerOf, ownProperty } from "../../core/request.ts";
import type { Challenge } from "../../core/response/challenge.ts";
import { compact } from "../../core/runtime/compact.ts";
import { areEqual } from "../../core/runtime/constant-time.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import { TOKEN_BINDINGS, type TokenBinding } from "../../core/token/confirmation.ts";
import { readsScheme, type Token, type TokenSource } from "../../core/token/credential.ts";
import type { Principal } from "../../core/token/principal.ts";
import type { ProofCheck } from "../../core/token/proof.ts";
import { createChallenges, nonceHeader } from "./challenges.ts";
import {
  type CertificateMemory,
  type CertificateSource,
  readClientCertificate,
} from "./client-certificate.ts";
import { readBinding, thumbprintOf } from "./confirmation.ts";
import { type DpopRules, DpopVerifier } from "./dpop.ts";
import { missingProof, PROVED, rejectProof } from "./results.ts";

/** The option `senderConstraint` with all defaults. */
export interface SenderConstraintRules {
  readonly dpop: DpopRules | undefined;
  readonly mtls: CertificateSource | undefined;
  readonly isRequired: boolean;
}

/** The field that carries a DPoP proof (RFC 9449 section 4.1). */
const PROOF_HEADER = "dpop";

/**
 * What several guards of one request share, even if they run at the same time, because the `jti` of a proof
 * may only be used once. A request of Socket.IO is checked again after its connection has ended.
 */
interface RequestMemory extends CertificateMemory {
  /** The check of a proof: all that it depends on, and its result. */
  proof: { readonly inputs: readonly string[]; readonly result: Promise<ProofCheck> } | undefined;
}

/** Checks the proof of each request, even if the token is remembered. */
export class ProofChecker implements BoundTokens {
  readonly isRequired: boolean;
  readonly scheme: "DPoP" | undefined;
  readonly headers: readonly string[];
  readonly socketUse: BoundTokens["socketUse"];
  readonly metadata: BoundTokens["metadata"];
  readonly refusalHeaders: BoundTokens["refusalHeaders"];
  readonly #rules: SenderConstraintRules;
  readonly #bindings: readonly TokenBinding[];
  readonly #dpop: DpopVerifier | undefined;
  /** By the request of the platform. */
  readonly #memories = new WeakMap<object, RequestMemory>();

  constructor(rules: SenderConstraintRules) {
    const { dpop, mtls, isRequired } = rules;
    this.#rules = rules;
    this.#bindings = TOKEN_BINDINGS.filter((binding) => rules[binding] !== undefined);
    this.#dpop = dpop && new DpopVerifier(dpop);
    this.isRequired = isRequired;
    this.scheme = dpop && "DPoP";
    this.headers = [...(dpop ? [PROOF_HEADER] : []), ...(mtls?.kind === "header" ? [mtls.header] : [])];
    this.socketUse = "none";
    if (mtls) this.socketUse = mtls.needsSocket ? "required" : "optional";
    this.metadata = compact({
      dpop_signing_alg_values_supported: dpop?.algorithms,
      dpop_bound_access_tokens_required: dpop && isRequired && !mtls ? true : undefined,
      tls_client_certificate_bound_access_tokens: mtls && true,
    });
    const nonces = dpop?.nonces;
    this.refusalHeaders = nonces && (() => nonceHeader(nonces));
  }

  /** RFC 9449 section 7.1: clients send a token with a proof in `Authorization`. */
  checkSources(sources: readonly TokenSource[], report: Report): void {
    if (!this.#dpop) return;
    if (!sources.some(readsScheme))
      report({
        code: "option_conflict",
        path: ["tokenSources"],
        message: "doesn't have `authorization` with a scheme, where clients of DPoP send their tokens.",
        hint: 'Add { header: "authorization" }, or remove `senderConstraint.dpop`.',
      });
    if (sources.some((source) => "header" in source && source.scheme?.toLowerCase() === "dpop"))
      report({
        code: "option_conflict",
        path: ["tokenSources"],
        message: "has the scheme DPoP, which `senderConstraint.dpop` reads with its proof.",
        hint: 'Write { header: "authorization" }.',
      });
  }

  bindingOf(claims: Principal["claims"]): TokenBinding | undefined {
    return readBinding(claims, this.#bindings);
  }

  challenges(bearer: Challenge, refused: Refused, status: number): readonly Challenge[] {
    const { dpop, mtls, isRequired } = this.#rules;
    if (!dpop) return [bearer];
    const offer = { algorithms: dpop.algorithms, isOnlyScheme: isRequired && !mtls };
    return createChallenges(bearer, refused, status, offer);
  }

  get fault(): Error | undefined {
    return this.#rules.dpop?.replay.fault;
  }

  async ready({ readOnly }: { readonly readOnly?: boolean } = {}): Promise<void> {
    await this.#rules.dpop?.replay.prove(readOnly);
  }

  check(principal: Principal, credential: Token, request: AccessRequest): Pending<ProofCheck> {
    const { mtls, isRequired } = this.#rules;
    const { binding } = principal;
    if (isRequired && binding === undefined && credential.scheme !== "DPoP")
      return missingProof("The token isn't bound to a key, and `required` is set.");
    const memory = this.#memoryOf(request);
    const certificate = mtls ? checkCertificate(principal, request, mtls, memory) : PROVED;
    if (certificate.kind !== "proved" || !this.#dpop) return certificate;
    return this.#checkDpop(principal, credential, request, this.#dpop, memory);
  }

  #memoryOf(request: AccessRequest): RequestMemory {
    const raw = ownProperty(request, "raw");
    const memory = (raw && this.#memories.get(raw)) ?? { found: undefined, proof: undefined };
    if (raw) this.#memories.set(raw, memory);
    return memory;
  }

  #checkDpop(
    principal: Principal,
    { token, scheme }: Token,
    request: AccessRequest,
    verifier: DpopVerifier,
    memory: RequestMemory,
  ): Pending<ProofCheck> {
    const proof = headerOf(request, PROOF_HEADER);
    if (scheme !== "DPoP") {
      if (thumbprintOf(principal.claims, "dpop") !== undefined)
        return missingProof("The token is bound to a key, but wasn't sent with the scheme DPoP.", "dpop");
      return proof === undefined
        ? PROVED
        : rejectProof("scheme", "The request has a proof, but its token wasn't sent with the scheme DPoP.");
    }
    if (proof === undefined) return missingProof("The request has no header DPoP.", "dpop");
    if (typeof proof !== "string") return rejectProof("malformed", "The request has several DPoP headers.");
    const inputs = [proof, token, request.method, request.target];
    if (memory.proof?.inputs.every((input, index) => input === inputs[index])) return memory.proof.result;
    const result = verifier.verify(proof, { request, token, principal });
    memory.proof = { inputs, result };
    return result;
  }
}

/** A certificate header from anyone but the proxy is refused, whatever the token is. */
function checkCertificate(
  principal: Principal,
  request: AccessRequest,
  source: CertificateSource,
  memory: CertificateMemory,
): ProofCheck {
  const thumbprint = thumbprintOf(principal.claims, "mtls");
  if (thumbprint === undefined && source.kind === "socket") return PROVED;
  const certificate = readClientCertificate(request, source, memory);
  if (certificate.kind === "unusable") return rejectProof("certificate", certificate.cause);
  if (thumbprint === undefined) return PROVED;
  if (certificate.kind === "none") return missingProof("The client has no certificate.", "mtls");
  if (areEqual(certificate.thumbprint, thumbprint)) return PROVED;
  return rejectProof("certificate", "The token is bound to another certificate.");
}
