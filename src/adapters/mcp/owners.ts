/** Remembers the caller of each session and task. Only this caller may use it, even if its id leaks. */
import { hash } from "node:crypto";
import { callerKey } from "../shared/caller-key.ts";
import { ignoreRejection, type Pending } from "../../core/runtime/pending.ts";
import type { Breaker } from "../../core/runtime/breaker.ts";
import type { Store } from "../../core/runtime/store.ts";
import { clientOf } from "../../core/token/clients.ts";
import type { Principal } from "../../core/token/principal.ts";

/** What is known about an id: `note` is what was stored with it. */
export type Ownership =
  { readonly kind: "own"; readonly note: string } | { readonly kind: "other" } | { readonly kind: "unknown" };

interface Owned {
  readonly owner: string;
  /** Equal for owners that share a limit. */
  readonly share: string;
  readonly note: string;
}

const OTHER: Ownership = { kind: "other" };
const UNKNOWN: Ownership = { kind: "unknown" };

/** How long a shared store keeps an owner. */
const KEPT_MS = 7 * 86_400_000;

/** Services without a shared store don't load it. */
const loadBreaker = async (store: Store): Promise<Breaker> =>
  (await import("../../core/runtime/breaker.ts")).breakerOf(store);

export class Owners {
  readonly #kind: string;
  /**
   * How many ids this process keeps: at most a tenth for one caller, and half for callers without a token.
   */
  readonly #maxEntries: number;
  /** With a store, other processes know the owners, too. */
  readonly #shared: Store | undefined;
  /** The ids, and those of each share; the least recently used first. */
  readonly #owned = new Map<string, Owned>();
  readonly #shares = new Map<string, Set<string>>();

  /** `kind` keeps the ids of sessions and tasks apart. */
  constructor(kind: string, maxEntries: number, shared: Store | undefined) {
    this.#kind = kind;
    this.#maxEntries = maxEntries;
    this.#shared = shared;
  }

  /** Returns whether an id belongs to a caller; `unknown` if the store doesn't respond. */
  find(id: string, caller: Principal | undefined): Pending<Ownership> {
    const owned = this.#owned.get(id);
    if (!owned) return this.#shared ? this.#findStored(this.#shared, id, caller) : OTHER;
    if (owned.owner !== ownerKey(caller)) return OTHER;
    this.#remove(id);
    this.#add(id, owned);
    return { kind: "own", note: owned.note };
  }

  async #findStored(store: Store, id: string, caller: Principal | undefined): Promise<Ownership> {
    const breaker = await loadBreaker(store);
    try {
      const value = await breaker.read(this.#storeKey(id));
      const [owner, note = ""] = value?.split(" ", 2) ?? [];
      if (owner !== ownerKey(caller)) return OTHER;
      const decoded = Buffer.from(note, "base64url").toString();
      this.#remember(id, caller, decoded);
      return { kind: "own", note: decoded };
    } catch {
      return UNKNOWN;
    }
  }

  /**
   * Keeps the owner of an id, which never changes. With a store, returns a promise that resolves when other
   * processes know the owner, too: send the id only then.
   */
  start(id: string, caller: Principal | undefined, note = ""): Pending<void> {
    if (this.#owned.has(id)) return undefined;
    this.#remember(id, caller, note);
    const value = `${ownerKey(caller)} ${Buffer.from(note).toString("base64url")}`;
    return this.#shared && this.#store(this.#shared, id, value);
  }

  async #store(store: Store, id: string, value: string): Promise<void> {
    try {
      const breaker = await loadBreaker(store);
      await breaker.set(this.#storeKey(id), value, { ttlMs: KEPT_MS, ifAbsent: true });
    } catch {
      // This process knows the owner. Others refuse the id, and the client starts again.
    }
  }

  end(id: string): void {
    this.#remove(id);
    const breaker = this.#shared && loadBreaker(this.#shared);
    if (breaker) ignoreRejection(breaker.then((loaded) => loaded.delete(this.#storeKey(id))));
  }

  #remember(id: string, caller: Principal | undefined, note: string): void {
    const share = shareKey(caller);
    const ofShare = this.#shares.get(share);
    if (ofShare && ofShare.size >= Math.ceil(this.#maxEntries / (caller ? 10 : 2)))
      this.#removeOldest(ofShare);
    else if (this.#owned.size >= this.#maxEntries) this.#removeOldest(this.#owned);
    this.#add(id, { owner: ownerKey(caller), share, note });
  }

  #add(id: string, owned: Owned): void {
    this.#owned.set(id, owned);
    this.#shares.set(owned.share, (this.#shares.get(owned.share) ?? new Set()).add(id));
  }

  #remove(id: string): void {
    const share = this.#owned.get(id)?.share ?? "";
    this.#owned.delete(id);
    const ofShare = this.#shares.get(share);
    ofShare?.delete(id);
    if (ofShare?.size === 0) this.#shares.delete(share);
  }

  #removeOldest(ids: Pick<ReadonlySet<string>, "keys">): void {
    const [oldest] = ids.keys();
    if (oldest !== undefined) this.#remove(oldest);
  }

  /** Hashed, because the id is a secret. */
  #storeKey(id: string): string {
    return `mcp-${this.#kind}:${digestOf(id)}`;
  }
}

const ownerKeys = new WeakMap<Principal, string>();
const NO_CALLER = digestOf("");

/** The digest of the issuer and the user, or of all claims of a token without a user. */
function ownerKey(caller: Principal | undefined): string {
  if (!caller) return NO_CALLER;
  const rememberedKey = ownerKeys.get(caller);
  if (rememberedKey !== undefined) return rememberedKey;
  const key = digestOf(callerKey(caller));
  ownerKeys.set(caller, key);
  return key;
}

/** Without a user, each new token is another caller, so all tokens of one client share a limit. */
const shareKey = (caller: Principal | undefined): string =>
  caller && caller.userId === undefined
    ? JSON.stringify([caller.issuer, clientOf(caller)])
    : ownerKey(caller);

function digestOf(text: string): string {
  return hash("sha256", text, "base64url");
}
