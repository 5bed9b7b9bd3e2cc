/** Which caller started each session of the Streamable HTTP transport. */
import { callerKey } from "../shared/caller-key.ts";
import type { Principal } from "../../core/token/principal.ts";

/** The header of a session, in requests and responses. */
export const SESSION_FIELD = "mcp-session-id";

/** A client whose session was forgotten gets 404, and starts another one. */
const MAX_SESSIONS = 10_000;

/** The limit for one caller, who must not evict all other sessions. No token counts as one caller. */
const shareOf = (caller: Principal | undefined): number => (caller ? 1_000 : 5_000);

export class Sessions {
  /** The caller of each session, and the sessions of each caller; the least recently used first. */
  readonly #callers = new Map<string, string>();
  readonly #sessions = new Map<string, Set<string>>();

  /** Returns whether a caller has started a session. Only this caller may use it, even if its id leaks. */
  isOf(id: string, caller: Principal | undefined): boolean {
    const key = callerKey(caller);
    if (this.#callers.get(id) !== key) return false;
    this.end(id);
    this.#add(id, key);
    return true;
  }

  /** Stores the owner of a session. The owner never changes. */
  start(id: string, caller: Principal | undefined): void {
    if (this.#callers.has(id)) return;
    const key = callerKey(caller);
    const sessionsOfCaller = this.#sessions.get(key);
    if (sessionsOfCaller && sessionsOfCaller.size >= shareOf(caller)) this.#endOldest(sessionsOfCaller);
    else if (this.#callers.size >= MAX_SESSIONS) this.#endOldest(this.#callers);
    this.#add(id, key);
  }

  end(id: string): void {
    const key = this.#callers.get(id) ?? "";
    const sessionsOfCaller = this.#sessions.get(key);
    this.#callers.delete(id);
    sessionsOfCaller?.delete(id);
    if (sessionsOfCaller?.size === 0) this.#sessions.delete(key);
  }

  #endOldest(sessions: Pick<ReadonlySet<string>, "keys">): void {
    const [oldest] = sessions.keys();
    if (oldest !== undefined) this.end(oldest);
  }

  #add(id: string, key: string): void {
    this.#callers.set(id, key);
    this.#sessions.set(key, (this.#sessions.get(key) ?? new Set()).add(id));
  }
}
