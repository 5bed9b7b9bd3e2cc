/** Routes and middleware that serve many paths, each of which may have a rule of its own. */
import type { RouteCoverage } from "../../adapters/shared/route-coverage.ts";
import type { ListedRoute } from "../../core/policy/listed-route.ts";
import { identityOf } from "../../core/policy/pattern.ts";

/** The values of `serves` in a listed route. */
export const SERVES = {
  /** CORS middleware after `protect`. Before it, it isn't listed. */
  lateCors: "CORS middleware",
  /** A handler of `app.use(path, handler)`, which is only listed if `protect` doesn't run before it. */
  handler: "app.use",
  files: "static files",
  swaggerUi: "Swagger UI",
  application: "a mounted application",
  procedure: "a tRPC procedure",
  procedures: "tRPC procedures",
  listedProcedures: "the listed tRPC procedures",
  page: "a page",
  rewrite: "a rewrite",
} as const;

export const PROCEDURES: readonly unknown[] = [SERVES.procedures, SERVES.listedProcedures];

const { lateCors, handler, files, swaggerUi, application, procedure, listedProcedures, rewrite } = SERVES;

/** Folders and handlers before `protect` are public on purpose, unless a rule is meant for them. */
export const isServedBeforeGuard = ({ serves, unguarded }: ListedRoute): boolean =>
  unguarded !== undefined && [handler, files, swaggerUi].some((each) => each === serves);

/** Returns whether a route needs no rule, or rules for only some of its paths. */
export function needsNoOwnRule({ route, touching }: RouteCoverage): boolean {
  const { serves, pattern } = route;
  if (serves === lateCors || serves === listedProcedures || isServedBeforeGuard(route)) return true;
  // The page of Swagger UI needs its scripts and styles, so it needs a rule for every path.
  const isInParts =
    [files, application, rewrite].some((each) => each === serves) ||
    (serves === swaggerUi && pattern === ROOT);
  return isInParts && touching.length > 0;
}

/** The pattern of middleware for every path. */
export const ROOT = "/{*path}";

/** Finds the routes that serve the listed procedures: `* /trpc/:path` for example, or `* /trpc/*path`. */
export function withProcedures(coverages: readonly RouteCoverage[]): readonly RouteCoverage[] {
  const paths = coverages.flatMap(({ route, alternatives }) =>
    route.serves === procedure ? alternatives : [],
  );
  const prefixes = new Set(paths.map((path) => identityOf(path.slice(0, -1))));
  return coverages.map((coverage) => {
    const { route, alternatives } = coverage;
    const isTransport = alternatives.every((path) => {
      const endsInVariable = ["parameter", "wildcard"].includes(path.at(-1)?.kind ?? "");
      if (endsInVariable) return prefixes.has(identityOf(path.slice(0, -1)));
      // Hono lists `* /trpc` for `/trpc/*`, too.
      return route.method === "*" && prefixes.has(identityOf(path));
    });
    return isTransport ? { ...coverage, route: { ...route, serves: listedProcedures } } : coverage;
  });
}
