/** Stores the records of API keys. */
import { orUndefined } from "../../core/errors.ts";
import type { Store, StoreOptions } from "../../core/runtime/store.ts";
import { withinLimit } from "../../core/runtime/time-limit.ts";
import { type ApiKeyRecord, toSeconds } from "./record.ts";

/** A record without its hash. It can be shown to users. */
export type ListedApiKey = Omit<ApiKeyRecord, "hash">;

/** Stores the records of keys. Its functions need no `this`: `apiKeys({ prefix, find: store.find })`. */
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

/** Returns the record as revoked. The time and reason of the first revocation stay. */
export function withRevocation(record: ApiKeyRecord, reason: string | undefined): ApiKeyRecord {
  if (record.revokedAt !== undefined) return record;
  const revoked = { ...record, revokedAt: toSeconds(Date.now()) };
  return reason === undefined || reason === "" ? revoked : { ...revoked, revokedReason: reason };
}

export const withoutHash = ({ hash: _, ...listed }: ApiKeyRecord): ListedApiKey => listed;

export const duplicate = ({ id }: ApiKeyRecord): Error =>
  new Error(`The store has an API key with the id ${id}.`);

/** How many entries of the list are read at once. */
const LISTED = 256;

/**
 * Keeps the records of keys in a store: `memoryStore()` for one process, `redisStore(client)` for several.
 * `list` reads all keys, so it's meant for operators. Each call rejects if the store doesn't respond within
 * five seconds.
 *
 * @example
 * ```ts
 * import { Redis } from "ioredis";
 * import { apiKeyStore } from "scopegate/api-keys";
 * import { redisStore } from "scopegate/store";
 *
 * const keys = apiKeyStore(redisStore(new Redis(process.env.REDIS_URL!), { keyPrefix: "acme:" }));
 * console.log(await keys.list());
 * ```
 */
export function apiKeyStore(store: Store): ApiKeyStore {
  const read = (keys: readonly string[]) => withinLimit(store.get(keys), "The store of API keys");
  const write = (key: string, value: string, options: StoreOptions = {}) =>
    withinLimit(store.set(key, value, options), "The store of API keys");
  const find = async (id: string): Promise<ApiKeyRecord | undefined> => {
    const [json] = await read([`${KEY}id:${id}`]);
    return json === undefined ? undefined : parseRecord(json);
  };
  return {
    find,
    async add(record) {
      if (await find(record.id)) throw duplicate(record);
      // The list has one key for each number, which only one process can set, so no id gets lost. The list is
      // written first, because an accepted key must be listed.
      const { length } = await listIds(read);
      for (let number = length; !(await write(`${KEY}${number}`, record.id, { ifAbsent: true }));)
        number += 1;
      const isNew = await write(`${KEY}id:${record.id}`, JSON.stringify(record), { ifAbsent: true });
      if (!isNew) throw duplicate(record);
    },
    async list() {
      const ids = [...new Set(await listIds(read))];
      const records = await read(ids.map((id) => `${KEY}id:${id}`));
      // The time of use has its own key, so that saving it can't overwrite a revocation.
      const uses = await read(ids.map((id) => `${KEY}used:${id}`));
      return records.flatMap((json, index) => {
        if (json === undefined) return [];
        const listed = withoutHash(parseRecord(json));
        const at = uses[index];
        return at === undefined ? listed : { ...listed, lastUsedAt: Number(at) };
      });
    },
    async revoke(id, reason) {
      const record = await find(id);
      if (record) await write(`${KEY}id:${id}`, JSON.stringify(withRevocation(record, reason)));
      return record !== undefined;
    },
    async markUsed(id, at) {
      await write(`${KEY}used:${id}`, String(at));
    },
  };
}

const KEY = "api-key:";

/** Reads the ids in the order of their numbers, which have no gaps. */
async function listIds(
  read: (keys: readonly string[]) => Promise<readonly (string | undefined)[]>,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (;;) {
    const start = ids.length;
    const values = await read(Array.from({ length: LISTED }, (_, index) => `${KEY}${start + index}`));
    const end = values.indexOf(undefined);
    ids.push(...(values.slice(0, end < 0 ? LISTED : end) as readonly string[]));
    if (end >= 0) return ids;
  }
}

/**
 * @throws TypeError that quotes nothing, because the message of a syntax error would show a part of the hash
 */
function parseRecord(json: string): ApiKeyRecord {
  const record = orUndefined(() => JSON.parse(json) as ApiKeyRecord | null);
  if (typeof record === "object" && record !== null) return record;
  throw new TypeError("The store has a record of an API key that isn't a JSON object.");
}
