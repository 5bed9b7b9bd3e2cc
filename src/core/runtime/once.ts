/** Values that may be used once. */
import { hash } from "node:crypto";
import { compact } from "./compact.ts";
import type { OwnedOptions, Store } from "./store.ts";
import { withinLimit } from "./time-limit.ts";

/**
 * Remembers an id in a store until a time. Returns `true` only for the first call with this id. Rejects if
 * the store doesn't respond in time, and if a store in memory is full, or its share for the owner.
 */
export async function rememberOnce(store: Store, id: string, until: Date, owner?: string): Promise<boolean> {
  // Hashed, because a client chooses the id, and some stores limit the length of keys.
  const key = `replay:${hash("sha256", id, "base64url")}`;
  const options: OwnedOptions = compact({ until, ifAbsent: true, owner });
  const isFirst: unknown = await withinLimit(store.set(key, "1", options), "The store of replays");
  if (typeof isFirst !== "boolean") throw new TypeError("`set` of a store must return a boolean.");
  return isFirst;
}
