/** Tables of different sizes, and paths to look up in them. */

/** The five routes of one service, with matching and missing paths. */
const ROUTES = ["/health", "/things", "/things/:id", "/things/:id/parts", "/things/:id/parts/:part"] as const;
const HITS = ["/health", "/things", "/things/a-17", "/things/a-17/parts", "/things/a-17/parts/9"] as const;
const MISSES = ["/healthy", "/thing", "/things/a-17/part", "/things/a-17/parts/9/10", ""] as const;

/** The number of different paths, so that a cache of the last path has no effect. */
const PATHS = 1_000;

export interface Workload {
  readonly patterns: readonly string[];
  /** Each call creates a new string, as a request does. */
  readonly hit: () => string;
  readonly miss: () => string;
}

export function createWorkload(mappings: number): Workload {
  const services = Array.from({ length: mappings / ROUTES.length }, (_, index) => `/service-${index}`);
  const spread = (endings: readonly string[]) => {
    const paths = Array.from({ length: PATHS }, (_, index) => {
      const service = services[(index * 7919) % services.length] ?? "";
      return Buffer.from(`${service}${endings[index % endings.length] ?? ""}`, "latin1");
    });
    // Each round continues where the last one stopped, because a slow finder only looks up a few paths in a
    // round.
    let next = 0;
    return () => (paths[next++ % PATHS] ?? Buffer.alloc(0)).toString("latin1");
  };
  return {
    patterns: services.flatMap((service) => ROUTES.map((route) => service + route)),
    hit: spread(HITS),
    miss: spread(MISSES),
  };
}
