/** Values that may be used once. */
import { hash } from "node:crypto";
import type { Store } from "./store.ts";
import { withinLimit } from "./time-limit.ts";

/**
 * Remembers an id in a store until a time. Returns `true` only for the first call with this id. Rejects if
 * the store doesn't respond in time.
 */
export async function rememberOnce(store: Store, id: string, until: Date): Promise<boolean> {
  // Hashed, because a client chooses the id, and some stores limit the length of keys.
  const key = `replay:${hash("sha256", id, "base64url")}`;
  const isFirst: unknown = await withinLimit(
    store.set(key, "1", { until, ifAbsent: true }),
    "The store of replays",
  );
  if (typeof isFirst !== "boolean") throw new TypeError("`set` of a store must return a boolean.");
  return isFirst;
}
