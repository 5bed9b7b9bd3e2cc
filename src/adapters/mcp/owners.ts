/** Remembers the caller of each session and task. Only this caller may use it, even if its id leaks. */
import { hash } from "node:crypto";
import { callerKey } from "../shared/caller-key.ts";
import type { Path } from "../../core/request.ts";
import { ignoreRejection, type Pending } from "../../core/runtime/pending.ts";
import type { Store } from "../../core/runtime/store.ts";
import { clientOf } from "../../core/token/clients.ts";
import type { Principal } from "../../core/token/principal.ts";
import type { SharedOwners } from "./shared-owners.ts";

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

/** The path of a request, as the table has read it, and the sessions and tasks that can be used there. */
export interface OwnersPlace {
  readonly path: Path | undefined;
  readonly sessions: OwnersAt;
  readonly tasks: OwnersAt;
}

/** The owners of ids at one place: an id of another path or tenant is unknown there. */
export class OwnersAt {
  readonly #owners: Owners;
  readonly #place: string;

  constructor(owners: Owners, place: string) {
    this.#owners = owners;
    this.#place = place;
  }

  find(...[id, caller]: Parameters<Owners["find"]>): ReturnType<Owners["find"]> {
    return this.#owners.find(this.#place + id, caller);
  }

  start(...[id, caller, note]: Parameters<Owners["start"]>): ReturnType<Owners["start"]> {
    return this.#owners.start(this.#place + id, caller, note);
  }

  end(id: string): void {
    this.#owners.end(this.#place + id);
  }
}

export class Owners {
  /** How many ids a process keeps: at most a tenth for one caller, and half for callers without a token. */
  readonly #maxEntries: number;
  /** With a store, other processes know the owners, too. Services without one don't load its code. */
  readonly #loadShared: (() => Promise<SharedOwners>) | undefined;
  /** The ids, and those of each share; the least recently used first. */
  readonly #owned = new Map<string, Owned>();
  readonly #shares = new Map<string, Set<string>>();

  /** `kind` keeps the ids of sessions and tasks apart. */
  constructor(kind: string, maxEntries: number, store: Store | undefined) {
    this.#maxEntries = maxEntries;
    this.#loadShared =
      store && (async () => new (await import("./shared-owners.ts")).SharedOwners(kind, store));
  }

  /** Returns whether an id belongs to a caller; `unknown` if the store doesn't respond. */
  find(id: string, caller: Principal | undefined): Pending<Ownership> {
    const owned = this.#owned.get(id);
    if (!owned) return this.#loadShared ? this.#findShared(this.#loadShared(), id, caller) : OTHER;
    if (owned.owner !== ownerKey(caller)) return OTHER;
    this.#remove(id);
    this.#add(id, owned);
    return { kind: "own", note: owned.note };
  }

  async #findShared(
    shared: Promise<SharedOwners>,
    id: string,
    caller: Principal | undefined,
  ): Promise<Ownership> {
    try {
      const { owner, note } = await (await shared).find(digestOf(id));
      if (owner !== ownerKey(caller)) return OTHER;
      this.#remember(id, caller, note);
      return { kind: "own", note };
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
    const added = this.#loadShared?.().then((shared) => shared.add(digestOf(id), ownerKey(caller), note));
    // This process knows the owner. If the store fails, others refuse the id, and the client starts again.
    return added?.catch(() => undefined);
  }

  end(id: string): void {
    this.#remove(id);
    ignoreRejection(this.#loadShared?.().then((shared) => shared.remove(digestOf(id))));
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

/** A store receives the digest of an id, because the id is a secret. */
function digestOf(text: string): string {
  return hash("sha256", text, "base64url");
}
