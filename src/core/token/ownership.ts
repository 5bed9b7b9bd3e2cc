import { isAdmin } from "../scopes/scope-sets.ts";
import type { Principal } from "./principal.ts";

/** Whose data a caller may see: that of every owner, of one owner, or of none. */
export type Ownership =
  | { readonly kind: "all" }
  | {
      readonly kind: "owner";
      /** The `userId` of the caller. */
      readonly id: string;
    }
  | { readonly kind: "none" };

/** The options of `owned`. */
export interface OwnedOptions {
  /** A scope that allows a caller to see the data of every owner. Default: only the admin scope. */
  readonly all?: string;
}

/**
 * Returns whose data a principal may see: the data of every owner, if it has the admin scope or the scope of
 * the option `all`; otherwise its own. A principal without a user id, or no principal, may see nothing.
 *
 * It does not check the scopes of a route: the table does.
 *
 * @example
 * ```ts
 * import { owned, type Principal } from "scopegate";
 *
 * function sessionsOf(principal: Principal, sessions: readonly { readonly owner: string }[]) {
 *   const whose = owned(principal, { all: "sessions:manage" });
 *   if (whose.kind === "all") return sessions;
 *   return whose.kind === "owner" ? sessions.filter(({ owner }) => owner === whose.id) : [];
 * }
 * console.log(sessionsOf.name);
 * ```
 */
export function owned(
  principal: Pick<Principal, "userId" | "scopes" | "has"> | undefined,
  options: OwnedOptions = {},
): Ownership {
  if (!principal) return { kind: "none" };
  // A polluted prototype must not open the data of every owner.
  const all = Object.hasOwn(options, "all") ? options.all : undefined;
  if (isAdmin(principal.scopes) || (all !== undefined && principal.has(all))) return { kind: "all" };
  const { userId } = principal;
  if (userId === undefined || userId === "") return { kind: "none" };
  return { kind: "owner", id: userId };
}
