/** The option `senderConstraint`: tokens that are bound to a key of their client. */
import { randomBytes } from "node:crypto";
import type { Socket } from "node:net";
import type { Algorithm } from "../../core/keys/algorithm.ts";
import { breakerOf } from "../../core/runtime/breaker.ts";
import { createMemoryStore } from "../../core/runtime/memory-store.ts";
import type { Store } from "../../core/runtime/store.ts";
import { type CertificateFormat, type CertificateSource, createAddressCheck } from "./client-certificate.ts";
import type { DpopRules } from "./dpop.ts";
import { Nonces } from "./nonces.ts";
import type { SenderConstraintRules } from "./proof-checker.ts";

/** The option `senderConstraint`: at least one of `dpop` and `mtls`. */
export interface SenderConstraintOptions {
  /** Tokens that are bound to a key of the client, which signs a proof for each request (RFC 9449). */
  readonly dpop?: DpopOptions;
  /** Tokens that are bound to the certificate of the client (RFC 8705). */
  readonly mtls?: MtlsOptions;
  /**
   * Whether tokens that aren't bound to a key are refused. With `false`, they are bearer tokens, and only
   * rules with `senderConstrained` refuse them. Default: `false`.
   */
  readonly required?: boolean;
}

/** How DPoP proofs are verified. */
export interface DpopOptions {
  /**
   * The origins that clients use: `["https://api.example"]`; https, or http for this machine. The `htu` of a
   * proof must be one of them, followed by the path of the request. `Host` and forwarded headers are never
   * read, so behind a proxy, write the proxy's origin.
   */
  readonly origins: readonly string[];
  /** The accepted algorithms of proofs. Default: `["ES256", "EdDSA", "Ed25519", "PS256", "RS256"]`. */
  readonly algorithms?: readonly Exclude<Algorithm, "HS256" | "HS384" | "HS512">[];
  /**
   * How old the `iat` of a proof may be, in seconds. It may be 5 seconds ahead; with `nonce`, it may be ahead
   * by this number of seconds. Default: `300`.
   */
  readonly windowSeconds?: number;
  /**
   * Whether proofs need a nonce of the server (RFC 9449 section 9). `true` uses a random secret: set `secret`
   * if several processes serve one API. Default: `false`.
   */
  readonly nonce?: boolean | DpopNonceOptions;
  /**
   * Where the `jti` of each proof is remembered. Use `redisStore(client)` of `scopegate/store` if several
   * processes serve one API: otherwise each process accepts the same proof once. Default: memory, for
   * 1,000,000 proofs, and a tenth of them for one key.
   */
  readonly replay?: Store;
}

/** How nonces are made. */
export interface DpopNonceOptions {
  /**
   * At least 32 characters, the same in every process. With an array, the first secret makes nonces, and the
   * nonces of every secret are accepted. To replace a secret, first add the new one at the end in every
   * process, and then move it to the start. Default: random for each server.
   */
  readonly secret?: string | readonly string[];
  /** How long a nonce is issued, in seconds. It's accepted for the same time after that. Default: `300`. */
  readonly lifetimeSeconds?: number;
}

/** Where the certificate of a client is found. */
export interface MtlsOptions {
  /** `"socket"`: this process terminates TLS, with `requestCert`. Otherwise, a proxy's header field. */
  readonly from: "socket" | CertificateHeader;
}

/** The header field in which a proxy, which terminates TLS, sends the certificate of the client. */
export interface CertificateHeader {
  /** The name of the field, in lower case. The proxy must remove it from the requests of clients. */
  readonly header: string;
  /**
   * `"rfc9440"`: `:base64:` (HAProxy, Caddy). `"pem-urlencoded"`: `$ssl_client_escaped_cert` of nginx.
   * `"xfcc"`: `X-Forwarded-Client-Cert` of Envoy.
   */
  readonly format: CertificateFormat;
  /**
   * The addresses of the proxy, such as `["10.0.0.0/8"]`, or a function that recognizes its connections. If
   * there's no socket, as in `scopegate/fetch`, the function receives `{}`. A request with the field from any
   * other sender is refused.
   */
  readonly trusted: readonly string[] | ((socket: Socket) => boolean);
}

/** The values of omitted options. The algorithms are the ones that the usual client libraries sign with. */
export const DPOP_DEFAULTS = {
  algorithms: ["ES256", "EdDSA", "Ed25519", "PS256", "RS256"],
  windowSeconds: 300,
  nonceSeconds: 300,
  maxProofs: 1_000_000,
} as const;

/** Resolves the option. Its shape has been checked. */
export function resolveSenderConstraint(
  options: SenderConstraintOptions,
  now: () => number,
): SenderConstraintRules {
  const { dpop, mtls, required = false } = withoutPrototype(options);
  return {
    dpop: dpop && resolveDpop(withoutPrototype(dpop), now),
    mtls: mtls && resolveSource(mtls.from),
    isRequired: required,
  };
}

/** Without a prototype: a polluted one must not set an option. */
const withoutPrototype = <Options extends object>(options: Options): Options =>
  Object.assign(Object.create(null) as Options, options);

function resolveDpop({ origins, nonce, replay, ...others }: DpopOptions, now: () => number): DpopRules {
  const { algorithms = DPOP_DEFAULTS.algorithms, windowSeconds = DPOP_DEFAULTS.windowSeconds } = others;
  return {
    origins: [...origins],
    algorithms: [...algorithms],
    windowSeconds,
    nonces: resolveNonces(nonce, now),
    replay: breakerOf(replay ?? createMemoryStore(DPOP_DEFAULTS.maxProofs, now)),
    now,
  };
}

function resolveNonces(nonce: DpopOptions["nonce"], now: () => number): Nonces | undefined {
  if (nonce === undefined || nonce === false) return undefined;
  const { secret, lifetimeSeconds = DPOP_DEFAULTS.nonceSeconds } = withoutPrototype(
    nonce === true ? {} : nonce,
  );
  return new Nonces([secret ?? randomBytes(32)].flat(), lifetimeSeconds, now);
}

function resolveSource(from: MtlsOptions["from"]): CertificateSource {
  if (from === "socket") return { kind: "socket", needsSocket: true };
  const { header, format, trusted } = from;
  const needsSocket = typeof trusted !== "function";
  const isTrusted = needsSocket ? createAddressCheck(trusted) : (trusted as (socket: object) => boolean);
  return { kind: "header", needsSocket, header, format, isTrusted };
}
