/** Routes and middleware that serve many paths, each of which may have a rule of its own. */
import type { RouteCoverage } from "../../adapters/shared/route-coverage.ts";
import { identityOf } from "../../core/policy/pattern.ts";

/** The values of `serves` in a listed route. */
export const SERVES = {
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

const { files, swaggerUi, application, procedure, listedProcedures, rewrite } = SERVES;

/** Returns whether rules for some paths of a route are enough. */
export const isCoveredInParts = ({ route: { serves }, touching }: RouteCoverage): boolean =>
  serves === listedProcedures ||
  ([files, swaggerUi, application, rewrite].some((each) => each === serves) && touching.length > 0);

/** Finds the routes that serve the listed procedures: `* /trpc/:path` for example, or `* /trpc/*path`. */
export function withProcedures(coverages: readonly RouteCoverage[]): readonly RouteCoverage[] {
  const paths = coverages.flatMap(({ route, alternatives }) =>
    route.serves === procedure ? alternatives : [],
  );
  const prefixes = new Set(paths.map((path) => identityOf(path.slice(0, -1))));
  return coverages.map((coverage) => {
    const { route, alternatives } = coverage;
    const isTransport = alternatives.every((path) => {
      const isOpen = ["parameter", "wildcard"].includes(path.at(-1)?.kind ?? "");
      // Hono lists `* /trpc` for `/trpc/*`, too.
      return (isOpen || route.method === "*") && prefixes.has(identityOf(isOpen ? path.slice(0, -1) : path));
    });
    return isTransport ? { ...coverage, route: { ...route, serves: listedProcedures } } : coverage;
  });
}
