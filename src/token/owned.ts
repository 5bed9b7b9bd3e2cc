/** Whose things a caller may see, for handlers that filter by owner. */
import { isAdmin } from "../scopes/scope-sets.ts";
import { type Principal } from "./principal.ts";

/** Whose things a caller may see. */
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
  /** A scope that lets its holder see the things of every owner. Default: only the admin scope does. */
  readonly all?: string;
}

/**
 * Returns whose things a principal may see: those of every owner with the admin scope or the scope `all`,
 * otherwise its own. A principal without a user id owns nothing, and nothing is owned by a missing principal.
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
  // A polluted prototype must not open the things of every owner.
  const all = Object.hasOwn(options, "all") ? options.all : undefined;
  if (isAdmin(principal.scopes) || (all !== undefined && principal.has(all))) return { kind: "all" };
  const { userId } = principal;
  return userId === undefined || userId === "" ? { kind: "none" } : { kind: "owner", id: userId };
}
