/** Whether a server can decide requests, for readiness probes. */
import type { KeySourceStatus } from "./keys/key-event.ts";
import { compact } from "./runtime/compact.ts";
import type { OpaqueStatus } from "./token/opaque-tokens.ts";
import type { RevocationStatus } from "./token/revocation.ts";

/** The state of a server at one moment. For operators only: `keys` has URLs and errors of the issuer. */
export interface Health {
  /**
   * `unavailable`: no key source has usable keys. Every request whose token must be verified gets 503.
   * `degraded`: a source fails, and the last good keys, or the keys of other issuers, are in use. `ok`: no
   * source fails. Keys that haven't been loaded yet are `ok`: the first request with a token loads them. The
   * state of `revocation` counts in the same way. Failures of `opaqueTokens` and proofs are `degraded`.
   */
  readonly status: "ok" | "degraded" | "unavailable";
  /** A digest of the policy, as in decision events. */
  readonly policy: string;
  /** The state of each key source, as `server.keys` lists it. */
  readonly keys: readonly KeySourceStatus[];
  /** The number of remembered tokens and their estimated memory; absent with `tokenCache: false`. */
  readonly cache?: CacheSize;
  /** The state of the option `revocation`; absent without it. */
  readonly revocation?: RevocationStatus;
  /** The state of those `opaqueTokens` that ask an endpoint or a store; absent without one. */
  readonly opaqueTokens?: readonly OpaqueStatus[];
  /** Why the store of DPoP proofs fails, so that requests with a proof get 503; absent if it works. */
  readonly replayFault?: unknown;
}

/** The size of the cache of verified tokens. */
export interface CacheSize {
  /** The number of remembered tokens. */
  readonly entries: number;
  /** The estimated memory of all entries, in bytes. */
  readonly bytes: number;
}

export function healthOf(
  policy: string,
  keys: readonly KeySourceStatus[],
  cache: CacheSize | undefined,
  revocation: RevocationStatus | undefined,
  opaqueTokens: readonly OpaqueStatus[] = [],
  replayFault: unknown,
): Health {
  const states = [revocation, ...opaqueTokens].map((source) => source?.state ?? "ok");
  return compact({
    status: worstOf(stateOfKeys(keys), ...states, replayFault === undefined ? "ok" : "degraded"),
    policy,
    keys,
    cache: cache && { entries: cache.entries, bytes: cache.bytes },
    revocation,
    opaqueTokens: opaqueTokens.length > 0 ? opaqueTokens : undefined,
    replayFault,
  });
}

function stateOfKeys(keys: readonly KeySourceStatus[]): Health["status"] {
  const isUnavailable = ({ state }: KeySourceStatus) => state === "unavailable";
  // A server that accepts only opaque tokens has no keys.
  if (keys.length > 0 && keys.every(isUnavailable)) return "unavailable";
  const isFailing = keys.some((source) => isUnavailable(source) || source.staleUntil !== undefined);
  return isFailing ? "degraded" : "ok";
}

function worstOf(...states: readonly Health["status"][]): Health["status"] {
  if (states.includes("unavailable")) return "unavailable";
  return states.includes("degraded") ? "degraded" : "ok";
}
