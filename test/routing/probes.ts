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
  /** Whether it is a target as it is written. */
  readonly isPlain: boolean;
}

/** About how many requests `"small"` makes of a configuration, beside the canonical ones. */
const SMALL = 60;

/** The requests for a configuration, each once. */
export function probesFor(configuration: Configuration, scale: Scale): readonly Probe[] {
  const all = [...allProbes(configuration)];
  const probes = scale === "full" ? all : takeSome(all, configuration.name);
  const keyOf = ({ method, target, headers }: Probe) => `${method} ${target} ${JSON.stringify(headers)}`;
  return [...new Map(probes.toReversed().map((probe) => [keyOf(probe), probe])).values()].toReversed();
}

function* allProbes({ prefix = "", targets }: Configuration): Iterable<Probe> {
  for (const target of targets ?? STANDARD_TARGETS) {
    const { method, headers, special } = target;
    const path = target.path === "/" && prefix !== "" ? prefix : prefix + target.path;
    yield {
      method,
      target: path,
      headers,
      spelling: special ?? CANONICAL,
      isCanonical: special === undefined,
      isPlain: true,
    };
    for (const { name, write } of SPELLINGS) {
      for (const spelled of write(path))
        yield {
          method,
          target: spelled,
          headers,
          spelling: special ?? name,
          isCanonical: false,
          isPlain: false,
        };
    }
  }
  for (const { method, path, headers } of targets ? [] : METHOD_SWEEP)
    yield { method, target: prefix + path, headers, spelling: "method", isCanonical: false, isPlain: false };
}

/** The canonical ones, and of the others some; other ones in another configuration. */
function takeSome(probes: readonly Probe[], name: string): readonly Probe[] {
  const stride = Math.max(1, Math.floor(probes.length / SMALL));
  const offset = Buffer.from(name).reduce((sum, byte) => (sum * 31 + byte) % stride, 0);
  return probes.filter((probe, index) => probe.isPlain || index % stride === offset);
}
