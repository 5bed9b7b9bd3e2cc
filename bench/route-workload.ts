/** Tables of a given size, and the paths to look up in them. */

/** The five routes of one service, and five paths that miss them. */
const ROUTES = ["/health", "/things", "/things/:id", "/things/:id/parts", "/things/:id/parts/:part"] as const;
const HITS = ["/health", "/things", "/things/a-17", "/things/a-17/parts", "/things/a-17/parts/9"] as const;
const MISSES = ["/healthy", "/thing", "/things/a-17/part", "/things/a-17/parts/9/10", ""] as const;

/** The number of different paths, so that caching the last path does not help. */
const PATHS = 1_000;

export interface Workload {
  readonly patterns: readonly string[];
  /** Each call returns a new string, as a request does. */
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
    // Continues across rounds, because a slow finder looks up only a few paths in each round.
    let next = 0;
    return () => (paths[next++ % PATHS] ?? Buffer.alloc(0)).toString("latin1");
  };
  return {
    patterns: services.flatMap((service) => ROUTES.map((route) => service + route)),
    hit: spread(HITS),
    miss: spread(MISSES),
  };
}
