/** The proof that a client holds the key of its token, for one request (DPoP, RFC 9449). */
import { hash } from "node:crypto";
import { JWSSignatureVerificationFailed, JWTClaimValidationFailed, JWTInvalid } from "jose/errors";
import { jwtVerify } from "jose/jwt/verify";
import type { Algorithm } from "../../core/keys/algorithm.ts";
import { importJwk } from "../../core/keys/import-key.ts";
import { materialOf, type VerificationKey } from "../../core/keys/verification-key.ts";
import { type AccessRequest, type GuardedRequest, ownProperty } from "../../core/request.ts";
import type { Breaker } from "../../core/runtime/breaker.ts";
import { readClock } from "../../core/runtime/clock.ts";
import { areEqual } from "../../core/runtime/constant-time.ts";
import { claimAt } from "../../core/token/claim-path.ts";
import { iatToleranceOf } from "../../core/token/issued-at.ts";
import { copyOf, decodeBase64url, readJsonSegment } from "../../core/token/jwt-parts.ts";
import type { Principal } from "../../core/token/principal.ts";
import type { ProofCheck, ProofRejection } from "../../core/token/proof.ts";
import { nonceHeader } from "./challenges.ts";
import { thumbprintOf } from "./confirmation.ts";
import type { Nonces } from "./nonces.ts";
import { readPublicKey } from "./public-key.ts";
import { PROVED, rejectProof } from "./results.ts";
import { normalizeUri, normalPathOf } from "./target-uri.ts";

/** What a proof must satisfy. */
export interface DpopRules {
  /** Normalized: `https://api.example`. */
  readonly origins: readonly string[];
  readonly algorithms: readonly Algorithm[];
  readonly windowSeconds: number;
  readonly nonces: Nonces | undefined;
  readonly replay: Breaker;
  readonly now: () => number;
}

/** A request whose proof is checked, and its token. */
export interface RequestToProve {
  readonly request: AccessRequest;
  readonly token: string;
  readonly principal: Principal;
}

/** Far larger than a proof with an RSA key of 4096 bits and a long path. */
const MAX_PROOF_LENGTH = 8_192;
/** Clients use random ids of about 20 characters. */
const MAX_JTI_LENGTH = 256;
/** The header with a key of 4096 bits is shorter. */
const MAX_REMEMBERED_HEADER = 2_048;
/** RFC 7515 section 4.1.9: letter case doesn't matter, and the prefix `application/` is usually omitted. */
const TYPES: ReadonlySet<string> = new Set(["dpop+jwt", "application/dpop+jwt"]);

/** Not supported: critical extensions (RFC 7515 section 4.1.11), `b64` (RFC 7797), keys other than `jwk`. */
const UNSUPPORTED = ["crit", "b64", "jku", "x5u", "x5c"];

/** The header of a proof, which has the key that the token is bound to. */
interface AcceptedHeader {
  readonly encoded: string;
  readonly algorithm: Algorithm;
  readonly key: VerificationKey;
}

/** Verifies proofs. */
export class DpopVerifier {
  readonly #rules: DpopRules;
  /**
   * The header that a client used with a token, by the claims object of the token, which the token cache
   * keeps. Clients send the same header again, so its key is imported only once.
   */
  readonly #headers = new WeakMap<object, AcceptedHeader>();

  constructor(rules: DpopRules) {
    this.#rules = rules;
  }

  /** Verifies the proof of a request whose token was verified (RFC 9449 section 4.3), except its `jti`. */
  async verify(proof: string, proven: RequestToProve): Promise<ProofCheck> {
    const parts = readProof(proof);
    if (!parts) return rejectProof("malformed", "The header DPoP isn't one JWT of at most 8,192 bytes.");
    const { claims } = proven.principal;
    const thumbprint = thumbprintOf(claims, "dpop");
    if (thumbprint === undefined)
      return rejectProof("binding", "The token isn't bound to a key (`cnf.jkt`).");
    const header = this.#checkHeader(parts.header, claims, thumbprint);
    if ("kind" in header) return header;
    const { key, algorithm } = header;
    const nowSeconds = readClock(this.#rules.now).getTime() / 1000;
    const material = await materialOf(key, algorithm);
    try {
      // Without a prototype: a polluted one could set other options of jose, such as `clockTolerance`.
      const options = { __proto__: null, algorithms: [algorithm], currentDate: new Date(nowSeconds * 1000) };
      await jwtVerify(proof, material, options);
    } catch (error) {
      return rejectProof(rejectionOf(error));
    }
    // Parsed only now, because anyone can send a payload, and its names would stay in memory for a while.
    const payload = readJsonSegment(parts.payload);
    return payload ? this.#checkClaims(payload, proven, thumbprint, nowSeconds) : rejectProof("malformed");
  }

  /**
   * Accepts or rejects the header of a proof. The key in it must be the one that the token is bound to. This
   * is checked before the signature, because verifying a signature takes longer.
   */
  #checkHeader(encoded: string, claims: object, thumbprint: string): AcceptedHeader | ProofCheck {
    const lastHeader = this.#headers.get(claims);
    if (lastHeader?.encoded === encoded) return lastHeader;
    const header = readJsonSegment(encoded);
    if (!header || UNSUPPORTED.some((name) => Object.hasOwn(header, name))) return rejectProof("malformed");
    // Read as an own property: the option `typ` of jose would read it from a polluted prototype.
    const type = claimAt(header, "typ");
    if (typeof type !== "string" || !TYPES.has(type.toLowerCase())) return rejectProof("type");
    const algorithm = this.#rules.algorithms.find((allowed) => allowed === claimAt(header, "alg"));
    if (algorithm === undefined) return rejectProof("algorithm");
    const jwk = readPublicKey(claimAt(header, "jwk"));
    if (!jwk) return rejectProof("key");
    if (!areEqual(jwk.thumbprint, thumbprint))
      return rejectProof("binding", "The token is bound to another key than the proof's.");
    const imported = importJwk(jwk.key, [algorithm]);
    if (imported.kind === "mistake")
      return rejectProof("key", `The key of the proof ${imported.mistake.message}`);
    const accepted = { encoded: copyOf(encoded), algorithm, key: imported.key };
    if (encoded.length <= MAX_REMEMBERED_HEADER) this.#headers.set(claims, accepted);
    return accepted;
  }

  #checkClaims(
    payload: Readonly<Record<string, unknown>>,
    { request, token }: RequestToProve,
    thumbprint: string,
    nowSeconds: number,
  ): ProofCheck {
    const { windowSeconds, nonces } = this.#rules;
    if (claimAt(payload, "htm") !== request.method) return rejectProof("htm");
    if (!this.#isTarget(claimAt(payload, "htu"), request.target))
      return rejectProof("htu", "The URI isn't one of `origins` with the path of the request.");
    const ath = claimAt(payload, "ath");
    if (typeof ath !== "string" || !areEqual(ath, hash("sha256", token, "base64url")))
      return rejectProof("ath");
    const nonce = claimAt(payload, "nonce");
    const knownNonce = nonces?.find(typeof nonce === "string" ? nonce : "");
    if (nonces && !knownNonce) return rejectProof("nonce", "The nonce is missing, or is no longer accepted.");
    const iat = claimAt(payload, "iat");
    if (typeof iat !== "number" || !Number.isFinite(iat)) return rejectProof("iat");
    if (iat < nowSeconds - windowSeconds)
      return rejectProof("iat", "The proof is older than `windowSeconds`.");
    // A nonce limits the age of the proof, so the client's clock may be wrong (RFC 9449 section 11.1).
    const aheadSeconds = nonces ? windowSeconds : iatToleranceOf(0);
    if (iat > nowSeconds + aheadSeconds) return rejectProof("iat", "The proof was issued in the future.");
    const jti = claimAt(payload, "jti");
    if (typeof jti !== "string" || jti === "" || jti.length > MAX_JTI_LENGTH) return rejectProof("jti");
    const endSeconds = Math.min(iat + windowSeconds, knownNonce?.endSeconds ?? Infinity);
    const ttlMs = (endSeconds + CLOCK_DIFFERENCE_SECONDS - nowSeconds) * 1000;
    // A guard of all routes and the guard of a handler each count a proof once: they may be two processes.
    const kind = ownProperty<GuardedRequest, "isAtHandler">(request, "isAtHandler") ? "dpop-handler" : "dpop";
    const useUp = this.#createUse(`${kind} ${thumbprint} ${jti}`, ttlMs, thumbprint);
    return nonces && knownNonce?.isExpiring
      ? { kind: "proved", useUp, headers: nonceHeader(nonces) }
      : { kind: "proved", useUp };
  }

  /** The guards and routes of one request share the result. After a failure, the next call tries again. */
  #createUse(id: string, ttlMs: number, owner: string): () => Promise<ProofCheck> {
    let shared: Promise<ProofCheck> | undefined;
    const use = async (): Promise<ProofCheck> => {
      try {
        const isFirst = await this.#rules.replay.rememberOnce(id, ttlMs, owner);
        return isFirst ? PROVED : rejectProof("replayed");
      } catch (cause) {
        shared = undefined;
        return { kind: "unavailable", cause };
      }
    };
    return () => (shared ??= use());
  }

  #isTarget(htu: unknown, target: string): boolean {
    const uri = typeof htu === "string" ? normalizeUri(htu) : undefined;
    const path = normalPathOf(target);
    if (uri === undefined || path === undefined) return false;
    return this.#rules.origins.some((origin) => uri === origin + path);
  }
}

/** A process whose clock is behind still accepts a proof that is too old here. */
const CLOCK_DIFFERENCE_SECONDS = 60;

/** The parts of a proof that are read here. */
interface ProofParts {
  readonly header: string;
  readonly payload: string;
}

/** Splits a proof; `undefined` if it isn't one JWT in its only spelling. */
function readProof(proof: string): ProofParts | undefined {
  if (proof.length > MAX_PROOF_LENGTH) return undefined;
  const [header = "", payload = "", signature = "", ...others] = proof.split(".", 4);
  const isOneJwt = others.length === 0 && [header, payload, signature].every(decodeBase64url);
  return isOneJwt ? { header, payload } : undefined;
}

/** Every error of jose is a rejection. jose also checks `exp` and `nbf`, which proofs seldom have. */
function rejectionOf(error: unknown): ProofRejection {
  if (error instanceof JWSSignatureVerificationFailed) return "signature";
  if (error instanceof JWTInvalid) return "malformed";
  return error instanceof JWTClaimValidationFailed && error.claim === "iat" ? "iat" : "claims";
}
