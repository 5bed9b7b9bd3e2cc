/** Stores the records of API keys. */
import { orUndefined } from "../../core/errors.ts";
import { breakerOf } from "../../core/runtime/breaker.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { Store } from "../../core/runtime/store.ts";
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
  /** Deletes the record of a key, which is unknown from then on. Returns whether the store had one. */
  readonly remove: (id: string) => Promise<boolean>;
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
const PAGE = 1_000;

/** How many empty pages end the list, if the store has lost where it ends. */
const EMPTY_PAGES = 4;

/** How long the record of an expired key is kept, so that it's listed, and refused as expired. */
const KEPT_MS = 30 * 86_400_000;

/**
 * Keeps the records of keys in a store: `memoryStore()` for one process, `redisStore(client)` for several.
 * `list` and `remove` read the list of all keys, so they're meant for operators. The store deletes an expired
 * key after 30 days. Each call rejects if the store doesn't respond within five seconds.
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
  const breaker = breakerOf(store);
  const read = async (names: readonly string[]): Promise<readonly (string | undefined)[]> =>
    (await breaker.get(names.map((name) => KEY + name))).map((answer) => {
      if (answer instanceof Error) throw answer;
      return answer.value;
    });
  const write = (name: string, value: string, { expiresAt }: ApiKeyRecord, ifAbsent = false) => {
    const ttlMs = expiresAt === undefined ? undefined : Math.max(1, expiresAt * 1000 - Date.now() + KEPT_MS);
    return breaker.set(KEY + name, value, compact({ ttlMs, ifAbsent }));
  };
  const find = async (id: string): Promise<ApiKeyRecord | undefined> => {
    const [json] = await read([`id:${id}`]);
    return json === undefined ? undefined : parseRecord(json);
  };
  /** Returns the number after the last one of the list; `undefined` if the store has lost it. */
  const readNext = async (): Promise<number | undefined> => {
    const next = Number((await read([NEXT]))[0]);
    return Number.isSafeInteger(next) ? next : undefined;
  };
  /** Reads the list, which has gaps: entries of expired and removed keys, and what the store has lost. */
  const readList = async () => {
    const next = await readNext();
    const entries: { readonly number: number; readonly id: string }[] = [];
    let emptyPages = 0;
    for (let start = 0; next === undefined ? emptyPages < EMPTY_PAGES : start <= next; start += PAGE) {
      const ids = await read(Array.from({ length: PAGE }, (_, index) => String(start + index)));
      const pageEntries = ids.flatMap((id, index) => (id === undefined ? [] : { number: start + index, id }));
      entries.push(...pageEntries);
      emptyPages = pageEntries.length > 0 ? 0 : emptyPages + 1;
    }
    return entries;
  };
  return {
    find,
    async add(record) {
      if (await find(record.id)) throw duplicate(record);
      // The list has one key for each number, which only one process can set, so no id gets lost. The list is
      // written first, because an accepted key must be listed.
      let number = (await readNext()) ?? ((await readList()).at(-1)?.number ?? -1) + 1;
      while (!(await write(String(number), record.id, record, true))) number += 1;
      await breaker.set(KEY + NEXT, String(number + 1));
      if (!(await write(`id:${record.id}`, JSON.stringify(record), record, true))) throw duplicate(record);
    },
    async list() {
      const ids = [...new Set((await readList()).map(({ id }) => id))];
      const listed: ListedApiKey[] = [];
      for (let start = 0; start < ids.length; start += PAGE) {
        const page = ids.slice(start, start + PAGE);
        const records = await read(page.map((id) => `id:${id}`));
        // The time of use has its own key, so that saving it can't overwrite a revocation.
        const uses = await read(page.map((id) => `used:${id}`));
        for (const [index, json] of records.entries()) {
          if (json === undefined) continue;
          const usedAt = uses[index];
          const lastUsedAt = usedAt === undefined ? undefined : Number(usedAt);
          listed.push({ ...withoutHash(parseRecord(json)), ...compact({ lastUsedAt }) });
        }
      }
      return listed;
    },
    async revoke(id, reason) {
      const record = await find(id);
      if (record) await write(`id:${id}`, JSON.stringify(withRevocation(record, reason)), record);
      return record !== undefined;
    },
    async remove(id) {
      const [json] = await read([`id:${id}`]);
      // The record is deleted first, because it makes the key valid.
      for (const name of [`id:${id}`, `used:${id}`]) await breaker.delete(KEY + name);
      for (const entry of await readList())
        if (entry.id === id) await breaker.delete(`${KEY}${entry.number}`);
      return json !== undefined;
    },
    async markUsed(id, at) {
      const record = await find(id);
      if (record) await write(`used:${id}`, String(at), record);
    },
  };
}

const KEY = "api-key:";
const NEXT = "next";

/**
 * @throws TypeError that quotes nothing, because the message of a syntax error would show a part of the hash
 */
function parseRecord(json: string): ApiKeyRecord {
  const record = orUndefined(() => JSON.parse(json) as ApiKeyRecord | null);
  if (typeof record === "object" && record !== null) return record;
  throw new TypeError("The store has a record of an API key that isn't a JSON object.");
}
