/** Stores of API keys in memory and in Redis. */
import { orUndefined } from "../../core/errors.ts";
import { anyString, checkOptions } from "../../core/options/check-options.ts";
import { commandsOf, type RedisClient } from "../redis.ts";
import type { Pending } from "../../core/runtime/pending.ts";
import { type ApiKeyRecord, toSeconds } from "./record.ts";

/** A record without its hash, which may be shown to users. */
export type ListedApiKey = Omit<ApiKeyRecord, "hash">;

/** Keeps the records of keys. Functions can be passed on alone: `apiKeys({ prefix, find: store.find })`. */
export interface ApiKeyStore {
  /** Returns the record with an id, for `find` of `apiKeys`. */
  readonly find: (id: string) => Promise<ApiKeyRecord | undefined>;
  /** Adds a record. Rejects with an `Error` if the store already has a record with this id. */
  readonly add: (record: ApiKeyRecord) => Promise<void>;
  /** Returns all records without their hashes. */
  readonly list: () => Promise<readonly ListedApiKey[]>;
  /** Revokes a key permanently. Returns whether the store has a key with this id. */
  readonly revoke: (id: string, reason?: string) => Promise<boolean>;
  /** Saves when a key was used, in seconds since the epoch, for `onUse` of `apiKeys`. */
  readonly markUsed: (id: string, at: number) => Promise<void>;
}

export type Records = ReadonlyMap<string, ApiKeyRecord>;
export type Edit<T> = (records: Map<string, ApiKeyRecord>) => T;

/** Creates a store that reads all records, and changes them by one edit at a time. */
export function storeOf(read: () => Pending<Records>, change: <T>(edit: Edit<T>) => Promise<T>): ApiKeyStore {
  // One edit saves all uses so far.
  const uses = new Map<string, number>();
  return {
    find: async (id) => (await read()).get(id),
    add: (record) =>
      change((records) => {
        if (records.has(record.id)) throw duplicate(record);
        records.set(record.id, { ...record });
      }),
    list: async () => [...(await read()).values()].map(withoutHash),
    revoke: (id, reason) =>
      change((records) => {
        const record = records.get(id);
        if (record) records.set(id, withRevocation(record, reason));
        return record !== undefined;
      }),
    markUsed(id, at) {
      uses.set(id, at);
      return change((records) => {
        for (const [used, lastUsedAt] of uses) {
          const record = records.get(used);
          if (record) records.set(used, { ...record, lastUsedAt });
        }
        uses.clear();
      });
    },
  };
}

/** The time and reason of the first revocation stay. */
function withRevocation(record: ApiKeyRecord, reason: string | undefined): ApiKeyRecord {
  if (record.revokedAt !== undefined) return record;
  const revoked = { ...record, revokedAt: toSeconds(Date.now()) };
  return reason === undefined || reason === "" ? revoked : { ...revoked, revokedReason: reason };
}

const withoutHash = ({ hash: _, ...listed }: ApiKeyRecord): ListedApiKey => listed;

const duplicate = ({ id }: ApiKeyRecord): Error => new Error(`The store has an API key with the id ${id}.`);

/**
 * Creates a store for one process. It forgets its keys when the process ends.
 *
 * @example
 * ```ts
 * import { inMemoryApiKeys } from "scopegate/api-keys";
 *
 * console.log(await inMemoryApiKeys().list()); // []
 * ```
 */
export function inMemoryApiKeys(): ApiKeyStore {
  const records = new Map<string, ApiKeyRecord>();
  return storeOf(
    () => records,
    (edit) => Promise.resolve(records).then(edit),
  );
}

/**
 * Creates a store that several processes share, in two hashes in Redis whose names begin with `prefix`.
 *
 * @throws TypeError for anything but a client of `redis` or `ioredis`
 * @throws ConfigurationError for a `prefix` that is not a string, and for an unknown option
 * @example
 * ```ts
 * import { Redis } from "ioredis";
 * import { redisApiKeys } from "scopegate/api-keys";
 *
 * const store = redisApiKeys(new Redis(process.env.REDIS_URL!), { prefix: "acme:keys:" });
 * console.log(await store.list());
 * ```
 */
export function redisApiKeys(client: RedisClient, options: { readonly prefix?: string } = {}): ApiKeyStore {
  checkOptions("redisApiKeys", options, { prefix: anyString });
  const { prefix = "scopegate:api-keys:" } = options;
  const send = commandsOf(client);
  // Uses are in a hash of their own, so that saving one cannot overwrite a revocation.
  const [all, uses] = [`${prefix}records`, `${prefix}uses`];
  const find = async (id: string): Promise<ApiKeyRecord | undefined> => {
    const json = await send("HGET", all, id);
    return json === null ? undefined : parseRecord(json);
  };
  return {
    find,
    async add(record) {
      if (Number(await send("HSETNX", all, record.id, JSON.stringify(record))) !== 1) throw duplicate(record);
    },
    async list() {
      const records = ((await send("HVALS", all)) as readonly unknown[]).map(parseRecord);
      if (records.length === 0) return [];
      const times = (await send("HMGET", uses, ...records.map(({ id }) => id))) as readonly unknown[];
      return records.map((record, index) => {
        const at = times[index] ?? undefined;
        return at === undefined ? withoutHash(record) : { ...withoutHash(record), lastUsedAt: Number(at) };
      });
    },
    async revoke(id, reason) {
      const record = await find(id);
      if (record) await send("HSET", all, id, JSON.stringify(withRevocation(record, reason)));
      return record !== undefined;
    },
    async markUsed(id, at) {
      await send("HSET", uses, id, String(at));
    },
  };
}

/** @throws TypeError that quotes nothing: the message of a syntax error would show a part of the hash */
function parseRecord(json: unknown): ApiKeyRecord {
  const record = orUndefined(() => JSON.parse(String(json)) as ApiKeyRecord | null);
  if (typeof record === "object" && record !== null) return record;
  throw new TypeError("Redis has a record of an API key that is not a JSON object.");
}
