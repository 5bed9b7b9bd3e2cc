/** Which caller started each session of the Streamable HTTP transport. */
import { hash } from "node:crypto";
import { callerKey } from "../shared/caller-key.ts";
import { ignoreRejection, type Pending } from "../../core/runtime/pending.ts";
import type { Store } from "../../core/runtime/store.ts";
import { withinLimit } from "../../core/runtime/time-limit.ts";
import type { Principal } from "../../core/token/principal.ts";

/** The header of a session, in requests and responses. */
export const SESSION_FIELD = "mcp-session-id";

/** A client whose session was forgotten gets 404, and starts another one. */
const MAX_SESSIONS = 10_000;

/** The limit for one caller, who must not evict all other sessions. No token counts as one caller. */
const shareOf = (caller: Principal | undefined): number => (caller ? 1_000 : 5_000);

/** How long a shared store keeps the owner of a session. */
const KEPT_MS = 7 * 86_400_000;

export class Sessions {
  readonly #store: Store | undefined;
  /** The caller of each session, and the sessions of each caller; the least recently used first. */
  readonly #callers = new Map<string, string>();
  readonly #sessions = new Map<string, Set<string>>();

  /** With a store, other processes know the owners, too. */
  constructor(store?: Store) {
    this.#store = store;
  }

  /** Returns whether a caller has started a session. Only this caller may use it, even if its id leaks. */
  isOf(id: string, caller: Principal | undefined): Pending<boolean | "unknown"> {
    const key = callerKey(caller);
    const owner = this.#callers.get(id);
    if (owner === undefined && this.#store) return this.#isStoredOf(this.#store, id, caller);
    if (owner !== key) return false;
    this.#remove(id);
    this.#add(id, key);
    return true;
  }

  async #isStoredOf(store: Store, id: string, caller: Principal | undefined): Promise<boolean | "unknown"> {
    try {
      const [owner] = await withinLimit(store.get([storeKey(id)]), "The store of sessions");
      if (owner !== digestOf(callerKey(caller))) return false;
      this.#remember(id, caller);
      return true;
    } catch {
      return "unknown";
    }
  }

  /** Stores the owner of a session. The owner never changes. */
  start(id: string, caller: Principal | undefined): void {
    this.#remember(id, caller);
    const until = new Date(Date.now() + KEPT_MS);
    const owner = digestOf(callerKey(caller));
    // The response is not delayed. If it fails, other processes answer 404, and the client starts again.
    ignoreRejection(this.#store?.set(storeKey(id), owner, { until, ifAbsent: true }));
  }

  end(id: string): void {
    this.#remove(id);
    ignoreRejection(this.#store?.delete(storeKey(id)));
  }

  #remember(id: string, caller: Principal | undefined): void {
    if (this.#callers.has(id)) return;
    const key = callerKey(caller);
    const sessionsOfCaller = this.#sessions.get(key);
    if (sessionsOfCaller && sessionsOfCaller.size >= shareOf(caller)) this.#endOldest(sessionsOfCaller);
    else if (this.#callers.size >= MAX_SESSIONS) this.#endOldest(this.#callers);
    this.#add(id, key);
  }

  #remove(id: string): void {
    const key = this.#callers.get(id) ?? "";
    const sessionsOfCaller = this.#sessions.get(key);
    this.#callers.delete(id);
    sessionsOfCaller?.delete(id);
    if (sessionsOfCaller?.size === 0) this.#sessions.delete(key);
  }

  #endOldest(sessions: Pick<ReadonlySet<string>, "keys">): void {
    const [oldest] = sessions.keys();
    if (oldest !== undefined) this.#remove(oldest);
  }

  #add(id: string, key: string): void {
    this.#callers.set(id, key);
    this.#sessions.set(key, (this.#sessions.get(key) ?? new Set()).add(id));
  }
}

/** The store learns neither the id of a session, which is a secret, nor its owner. */
const digestOf = (text: string): string => hash("sha256", text, "base64url");

const storeKey = (id: string): string => `mcp-session:${digestOf(id)}`;
