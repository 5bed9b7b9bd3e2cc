/** The entry point `scopegate/replay`: stores of values that may be used once. */
import {
  anyString,
  checkOptions,
  clock,
  type OptionChecks,
  wholeNumber,
} from "../../core/options/check-options.ts";
import { commandsOf, type RedisClient } from "../redis.ts";

/** Remembers values that may be used once. */
export interface ReplayStore {
  /**
   * Remembers an id until a time. Returns `true` the first time and `false` until then: of several calls with
   * one id, in all processes that share the store, exactly one gets `true`.
   * @throws TypeError for an empty id and for a date that is not valid
   * @throws Error if the store cannot answer; the value must be refused then
   */
  remember(id: string, until: Date): Promise<boolean>;
}

/** The options of `inMemoryReplayStore`. */
export interface ReplayStoreOptions {
  /** The maximum number of ids. A full store throws for further ids. Default: `100_000`. */
  readonly maxEntries?: number;
  /** The clock, in milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: () => number;
}

const MEMORY_OPTIONS: OptionChecks<ReplayStoreOptions> = { maxEntries: wholeNumber, now: clock };

/**
 * Creates a store for one process.
 *
 * @throws ConfigurationError that lists every mistake in the options
 * @example
 * ```ts
 * import { inMemoryReplayStore } from "scopegate/replay";
 *
 * const replays = inMemoryReplayStore();
 * const isFirst = await replays.remember("proof-1", new Date(Date.now() + 60_000));
 * console.log(isFirst);
 * ```
 */
export function inMemoryReplayStore(options: ReplayStoreOptions = {}): ReplayStore {
  checkOptions("inMemoryReplayStore", options, MEMORY_OPTIONS);
  const { maxEntries = 100_000, now = Date.now } = options;
  const ends = new Map<string, number>();
  return {
    // Not waiting for anything between the question and the answer makes it atomic.
    // eslint-disable-next-line @typescript-eslint/require-await
    async remember(id, until) {
      const end = timeOf(id, until);
      const time = now();
      if (end <= time) return false;
      if ((ends.get(id) ?? 0) > time) return false;
      if (ends.size >= maxEntries) for (const [old, ended] of ends) if (ended <= time) ends.delete(old);
      // An id that is dropped for another could be used again.
      if (ends.size >= maxEntries && !ends.has(id))
        throw new Error(`The replay store is full (${maxEntries} ids). Raise \`maxEntries\`.`);
      ends.set(id, end);
      return true;
    },
  };
}

/** The options of `redisReplayStore`. */
export interface RedisReplayStoreOptions {
  /** The beginning of each key in Redis. Default: `"scopegate:replay:"`. */
  readonly prefix?: string;
}

const REDIS_OPTIONS: OptionChecks<RedisReplayStoreOptions> = { prefix: anyString };

/**
 * Creates a store that several processes share, in Redis. If a Redis server fails before its replica knows an
 * id, the id can be used a second time.
 *
 * @throws TypeError for anything but a client of `redis` or `ioredis`
 * @throws ConfigurationError that lists every mistake in the options
 * @example
 * ```ts
 * import { Redis } from "ioredis";
 * import { redisReplayStore } from "scopegate/replay";
 *
 * const replays = redisReplayStore(new Redis(process.env.REDIS_URL!));
 * console.log(await replays.remember("proof-1", new Date(Date.now() + 60_000)));
 * ```
 */
export function redisReplayStore(client: RedisClient, options: RedisReplayStoreOptions = {}): ReplayStore {
  checkOptions("redisReplayStore", options, REDIS_OPTIONS);
  const { prefix = "scopegate:replay:" } = options;
  const send = commandsOf(client);
  return {
    async remember(id, until) {
      const end = timeOf(id, until);
      // Redis accepts such a key, and deletes it at once.
      if (end <= Date.now()) return false;
      return String(await send("SET", prefix + id, "1", "NX", "PXAT", String(end))) === "OK";
    },
  };
}

function timeOf(id: unknown, until: unknown): number {
  if (typeof id !== "string" || id === "") throw new TypeError("The id must be a non-empty string.");
  const end = until instanceof Date ? until.getTime() : Number.NaN;
  if (Number.isNaN(end)) throw new TypeError("`until` must be a valid Date.");
  return end;
}
