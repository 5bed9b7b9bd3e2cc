/** Routes and middleware that serve many paths, each of which may have a rule of its own. */
import type { RouteCoverage } from "../../adapters/shared/route-coverage.ts";
import type { ListedRoute } from "../../core/policy/listed-route.ts";
import { identityOf } from "../../core/policy/pattern.ts";

/** The values of `serves` in a listed route. */
export const SERVES = {
  /** CORS middleware after `protect`. Before it, it isn't listed. */
  lateCors: "CORS middleware",
  lateNestCors: "CORS middleware of NestJS",
  /** A handler of `app.use(path, handler)`, which is only listed if `protect` doesn't run before it. */
  handler: "app.use",
  files: "static files",
  swaggerUi: "Swagger UI",
  application: "a mounted application",
  procedure: "a tRPC procedure",
  procedures: "tRPC procedures",
  listedProcedures: "the listed tRPC procedures",
  page: "a page",
  publicFile: "a public file",
  /** A handler of Next.js that isn't wrapped. */
  unwrapped: "a handler",
  rewrite: "a rewrite",
  /** By its path, clients can request an intercepting page of Next.js. */
  folder: "the folder of an intercepting route",
} as const;

const { lateCors, lateNestCors, handler, files, swaggerUi, application, procedure, rewrite, unwrapped } =
  SERVES;
const { procedures, listedProcedures, publicFile, folder } = SERVES;

export const isLateCors = ({ serves }: ListedRoute): boolean =>
  serves === lateCors || serves === lateNestCors;

/** What a public rule doesn't replace a guard for. */
export const ALWAYS_GUARDED: readonly unknown[] = [procedures, listedProcedures, unwrapped];

/** Folders and handlers before `protect` are public on purpose, unless a rule is meant for them. */
export const isServedBeforeGuard = ({ serves, unguarded }: ListedRoute): boolean =>
  unguarded !== undefined && [handler, files, swaggerUi].some((each) => each === serves);

/** What needs no rule: it's public, or other routes and rules decide its requests. */
const WITHOUT_RULE: readonly unknown[] = [lateCors, lateNestCors, listedProcedures, publicFile, folder];
/** What serves many paths: rules for some of them are enough. */
const WITH_PARTIAL_RULES: readonly unknown[] = [files, application, rewrite];

/** Returns whether a route needs no rule that covers all of its paths. */
export function needsNoOwnRule({ route, touching }: RouteCoverage): boolean {
  if (isServedBeforeGuard(route) || WITHOUT_RULE.includes(route.serves)) return true;
  // Below a path of its own, Swagger UI needs one rule for its page, scripts and styles.
  const isSwaggerUiAtRoot = route.serves === swaggerUi && route.pattern === ROOT;
  return touching.length > 0 && (isSwaggerUiAtRoot || WITH_PARTIAL_RULES.includes(route.serves));
}

/** Keeps one of the files in `public` that have the same rules, because there may be thousands. */
export function withoutSimilarFiles(coverages: readonly RouteCoverage[]): readonly RouteCoverage[] {
  const kept = new Set<string>();
  return coverages.filter(({ route, touching }) => {
    const key = JSON.stringify([touching.map(({ rule }) => rule.key), route.unguarded]);
    return route.serves !== publicFile || (!kept.has(key) && kept.add(key));
  });
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
