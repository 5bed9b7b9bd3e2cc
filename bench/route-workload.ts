/** Tables of a size, and the paths that are looked up in them. */

/** The five routes of one service, with five ways to miss them. */
const ROUTES = ["/health", "/things", "/things/:id", "/things/:id/parts", "/things/:id/parts/:part"] as const;
const HITS = ["/health", "/things", "/things/a-17", "/things/a-17/parts", "/things/a-17/parts/9"] as const;
const MISSES = ["/healthy", "/thing", "/things/a-17/part", "/things/a-17/parts/9/10", ""] as const;

/** How many different paths are asked for: a table of 10,000 must not fit a cache of one path. */
const PATHS = 1_000;

export interface Workload {
  readonly patterns: readonly string[];
  /** Each call cuts a new string, as a request does. */
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
    // Goes on where it stopped: a slow finder is asked for a few paths of each round only.
    let next = 0;
    return () => (paths[next++ % PATHS] ?? Buffer.alloc(0)).toString("latin1");
  };
  return {
    patterns: services.flatMap((service) => ROUTES.map((route) => service + route)),
    hit: spread(HITS),
    miss: spread(MISSES),
  };
}
