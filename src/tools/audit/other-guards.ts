/**
 * Finds out which server guards a route. An application may have several servers, and `protect` of another
 * one doesn't count.
 */
import { withGuardsOf } from "./routes/guards.ts";
import type { ListedRoute } from "../../core/policy/listed-route.ts";

/** Lists the routes of an application again. */
const relists = new WeakMap<ListedRoute, () => Iterable<ListedRoute>>();

/** Lets an audit list these routes again, so that only the guards of one server count. */
export function rememberRelisting(
  routes: Iterable<ListedRoute>,
  relist: () => Iterable<ListedRoute>,
): readonly ListedRoute[] {
  const list = [...routes];
  for (const route of list) relists.set(route, relist);
  return list;
}

/** Lets any guard count, for a server that replaces the one of the application. */
export function countEveryGuard(routes: readonly ListedRoute[]): void {
  for (const route of routes) relists.delete(route);
}

const OTHER_SERVER = Object.freeze({
  message: "is behind protect of another resource server: this one doesn't check it.",
  hint: "Register protect with this server, or audit the route with the server that guards it.",
});

/** Marks routes that only other servers guard as unguarded. */
export function withoutOtherGuards(routes: readonly ListedRoute[], server: object): readonly ListedRoute[] {
  const unguardedKeys = new Map<() => Iterable<ListedRoute>, ReadonlySet<string>>();
  const findUnguarded = (relist: () => Iterable<ListedRoute>): ReadonlySet<string> => {
    const keys =
      unguardedKeys.get(relist) ??
      new Set([...withGuardsOf(server, () => [...relist()])].filter(({ unguarded }) => unguarded).map(keyOf));
    unguardedKeys.set(relist, keys);
    return keys;
  };
  return routes.map((route) => {
    const relist = relists.get(route);
    const isOther = relist && !route.unguarded && findUnguarded(relist).has(keyOf(route));
    return isOther ? Object.freeze({ ...route, unguarded: OTHER_SERVER }) : route;
  });
}

const keyOf = ({ method, pattern }: ListedRoute): string => `${method} ${pattern}`;
