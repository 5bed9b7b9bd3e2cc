import { type Configuration } from "./configuration.ts";
import { CANONICAL, SPELLINGS } from "./spellings.ts";
import { METHOD_SWEEP, STANDARD_TARGETS, type Target } from "./targets.ts";

/** `"small"` takes a part of the spellings for each target, another one in each configuration; `"full"` takes all. */
export type Scale = "small" | "full";

/** One request as it is sent. */
export interface Probe {
  readonly method: string;
  readonly target: string;
  readonly headers: Target["headers"];
  /** The name of its spelling, or what is special about its target. */
  readonly spelling: string;
  readonly isCanonical: boolean;
  /** Whether `"small"` takes it as well. */
  readonly isSmall: boolean;
}

/** About how many requests `"small"` picks from the others of a configuration. */
const SMALL = 40;

/** The requests for a configuration, each once. */
export function probesFor(configuration: Configuration, scale: Scale): readonly Probe[] {
  const all = [...allProbes(configuration)];
  const probes = scale === "full" ? all : takeSome(all, configuration.name);
  const keyOf = ({ method, target, headers }: Probe) => `${method} ${target} ${JSON.stringify(headers)}`;
  return [...new Map(probes.toReversed().map((probe) => [keyOf(probe), probe])).values()].toReversed();
}

function* allProbes({ prefix = "", targets }: Configuration): Iterable<Probe> {
  for (const [index, target] of (targets ?? STANDARD_TARGETS).entries()) {
    const { method, headers, special } = target;
    const path = target.path === "/" && prefix !== "" ? prefix : prefix + target.path;
    const isCanonical = special === undefined;
    yield { method, target: path, headers, spelling: special ?? CANONICAL, isCanonical, isSmall: true };
    const probe = { method, headers, isCanonical: false };
    for (const { name, write } of SPELLINGS) {
      const spelling = special ?? name;
      for (const [count, spelled] of write(path).entries())
        yield { ...probe, target: spelled, spelling, isSmall: index === 0 && count < 2 };
    }
  }
  for (const { method, path, headers } of targets ? [] : METHOD_SWEEP)
    yield { method, target: prefix + path, headers, spelling: "method", isCanonical: false, isSmall: false };
}

/** The canonical ones, some of the first target, and of the others a few; other ones in another configuration. */
function takeSome(probes: readonly Probe[], name: string): readonly Probe[] {
  const stride = Math.max(1, Math.floor(probes.length / SMALL));
  const offset = Buffer.from(name).reduce((sum, byte) => (sum * 31 + byte) % stride, 0);
  return probes.filter(({ isSmall }, index) => isSmall || index % stride === offset);
}
