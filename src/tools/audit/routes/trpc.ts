import { createPathOf, TRPC_OPTIONS, type TrpcOptions } from "../../../adapters/trpc/procedure-path.ts";
import { checkOptions } from "../../../core/options/check-options.ts";
import { flag } from "../../../core/options/option-checks.ts";
import type { ListedRoute } from "../../../core/policy/listed-route.ts";
import { literalPattern } from "../../../core/policy/pattern-text.ts";
import { SERVES } from "../mounts.ts";

/** The part of a tRPC router (11) whose procedures are listed. */
export interface TrpcRouter {
  /** The definition of the router. */
  readonly _def: {
    /** Each procedure, by its name with dots. */
    readonly procedures: object;
    /** The routers that are loaded when one of their procedures is first called. */
    readonly lazy?: Readonly<Record<string, { readonly load: () => Promise<unknown> }>>;
  };
}

/** How a router is served. */
export interface TrpcRoutesOptions extends TrpcOptions {
  /** The `allowMethodOverride` of the tRPC adapter: queries and subscriptions also accept POST. */
  readonly allowMethodOverride?: boolean;
}

/** Returns whether a value is a tRPC router. */
export function isTrpc(value: unknown): value is TrpcRouter {
  const { _def: definition } = Object(value) as Partial<TrpcRouter>;
  return typeof definition?.procedures === "object";
}

/**
 * Lists the procedures of a tRPC router: queries and subscriptions are `GET`, mutations are `POST`. Routers
 * that tRPC would load later are loaded now. The result doesn't show whether `protect` runs before the
 * router.
 */
export async function listTrpc(
  router: TrpcRouter,
  options: TrpcRoutesOptions,
): Promise<readonly ListedRoute[]> {
  checkOptions("routesOf", options, { ...TRPC_OPTIONS, allowMethodOverride: flag });
  const pathOf = createPathOf(options);
  const { procedures, lazy = {} } = router._def;
  // A loaded router is removed from `lazy`, and may add others to it.
  for (let [next] = Object.values(lazy), last; next && next !== last; [next] = Object.values(lazy)) {
    last = next;
    await next.load();
  }
  const methodsOfReads = options.allowMethodOverride ? ["GET", "POST"] : ["GET"];
  const routes = Object.entries(procedures).flatMap(([name, procedure]) => {
    const { _def } = procedure as { readonly _def: { readonly type: string } };
    const pattern = literalPattern(pathOf(name));
    const methods = _def.type === "mutation" ? ["POST"] : methodsOfReads;
    return methods.map((method) => Object.freeze({ method, pattern, serves: SERVES.procedure }));
  });
  return Object.freeze(routes);
}
