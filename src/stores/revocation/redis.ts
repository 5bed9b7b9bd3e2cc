/** A store of revocations that several processes share through a stream in Redis. */
import { compact } from "../../core/runtime/compact.ts";
import type { RedisClient } from "../redis.ts";
import {
  anyString,
  callback,
  checkOptions,
  oneOf,
  type OptionCheck,
  type OptionChecks,
} from "../../core/options/check-options.ts";
import type { RevocationStore } from "../../core/token/revocation.ts";
import { createReport, type RevocationEvent } from "./events.ts";
import { Follower } from "./follower.ts";
import { LIMITS, type RevocationLimits, withDefaultLimits } from "./in-memory.ts";
import { RevocationStream } from "./stream.ts";

/** The options of `redisRevocation`. */
export interface RedisRevocationOptions extends RevocationLimits {
  /** The beginning of each key in Redis, the same in all processes. Default: `"scopegate:revoked:"`. */
  readonly prefix?: string;
  /**
   * While Redis cannot be read, the known revocations are used for this time, in seconds. `ready()` waits
   * for the same time. Default: `30`.
   */
  readonly staleSeconds?: number;
  /**
   * What happens after `staleSeconds`: `"refuse"` answers requests with a token with 503. `"accept"`
   * continues with the known revocations, so newly revoked tokens are accepted. Default: `"refuse"`.
   */
  readonly whenDown?: "refuse" | "accept";
  /** How often new revocations are read from Redis, in milliseconds. Default: `200`. */
  readonly pollMs?: number;
  /** Receives events of the store. Default: events that need attention become process warnings. */
  readonly onEvent?: (event: RevocationEvent) => void;
}

const POSITIVE: OptionCheck = {
  accepts: (value) => Number.isFinite(value) && Number(value) > 0,
  hint: "Write a number greater than 0.",
};
const OPTIONS: OptionChecks<RedisRevocationOptions> = {
  ...LIMITS,
  prefix: anyString,
  staleSeconds: POSITIVE,
  whenDown: oneOf("refuse", "accept"),
  pollMs: POSITIVE,
  onEvent: callback("Write a function that takes the event."),
};

/**
 * Creates a store of revocations that several processes share, for the option `revocation` of a server. Every
 * process reads the stream and keeps its entries in memory, so that a request needs no round trip. After the
 * promise of `server.revoke` has resolved, all processes reject the token within `pollMs` and one round trip.
 *
 * The client connects to Redis, and its timeouts apply. The timer of the store does not keep the process
 * alive.
 *
 * @throws TypeError for anything but a client of `redis` or `ioredis`
 * @throws ConfigurationError that lists every mistake in the options
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { redisRevocation } from "scopegate/revocation";
 * import { Redis } from "ioredis";
 *
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   revocation: redisRevocation(new Redis(process.env.REDIS_URL!)),
 * });
 * await server.ready(); // all earlier revocations are known
 * await server.revoke({ sessionId: "s1" });
 * ```
 */
export function redisRevocation(client: RedisClient, options: RedisRevocationOptions = {}): RevocationStore {
  checkOptions("redisRevocation", options, OPTIONS);
  const { prefix = "scopegate:revoked:", staleSeconds = 30, whenDown = "refuse", pollMs = 200 } = options;
  const limits = withDefaultLimits(options);
  const report = createReport(options.onEvent);
  const follower = new Follower(new RevocationStream(client, prefix), limits, { pollMs, report });
  const staleMs = staleSeconds * 1000;
  let isStale = false;

  const isCurrent = () => follower.sinceReadMs() < staleMs;
  const isServing = () => (isCurrent() ? follower.readAt !== undefined : whenDown === "accept");
  const lateMs = LATE_MS + 2 * pollMs;
  const watch = setInterval(() => {
    follower.checkLateness(lateMs);
    if (isStale === !isCurrent()) return;
    isStale = !isStale;
    if (isStale) report({ type: "stale", whenDown });
  }, pollMs).unref();
  follower.start();

  const { revoked } = follower;
  return {
    keepSeconds: limits.keepSeconds,
    isRevoked(principal) {
      if (isServing()) return revoked.isRevoked(principal);
      if (isCurrent()) return follower.firstRead.then(() => revoked.isRevoked(principal));
      throw new Error("The revocation store could not be read for `staleSeconds`.", {
        cause: follower.fault,
      });
    },
    add: (entries) => follower.add(entries),
    ready: () =>
      new Promise((resolve, reject) => {
        const fail = (): void => {
          const { fault } = follower;
          const why =
            fault instanceof Error ? fault.message : "Redis has not answered. Is the client connected?";
          reject(
            new Error(`The revocation store was not read within ${staleMs} ms. ${why}`, { cause: fault }),
          );
        };
        // Not unreferenced: without other work, the process would end without an error.
        const timer = setTimeout(fail, staleMs);
        void follower.firstRead.then(() => {
          clearTimeout(timer);
          resolve();
        });
      }),
    status() {
      const { fault: cause, readAt } = follower;
      const isLate = cause !== undefined || !isCurrent() || follower.sinceAnswerMs() > lateMs;
      const servingState = isLate ? "degraded" : "ok";
      return {
        state: isServing() ? servingState : "unavailable",
        entries: revoked.size,
        ...compact({ readAt, cause }),
      };
    },
    close() {
      clearInterval(watch);
      follower.close();
    },
  };
}

/** If a read takes longer, `status` reports `degraded`, and `onEvent` gets `failed`. */
const LATE_MS = 2_000;
