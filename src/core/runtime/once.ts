/** Values that may be used once. */
import { hash } from "node:crypto";
import type { Store } from "./store.ts";
import { withinLimit } from "./time-limit.ts";

/**
 * Remembers an id in a store. Returns `true` for the first of all calls with it until then. Rejects if the
 * store does not answer in time.
 */
export async function rememberOnce(store: Store, id: string, until: Date): Promise<boolean> {
  // A client chooses the id, and some stores limit the length of keys.
  const key = `replay:${hash("sha256", id, "base64url")}`;
  const isFirst: unknown = await withinLimit(
    store.set(key, "1", { until, ifAbsent: true }),
    "The store of replays",
  );
  if (typeof isFirst !== "boolean") throw new TypeError("`set` of a store must return a boolean.");
  return isFirst;
}
