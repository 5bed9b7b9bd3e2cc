import type { Configuration } from "./configuration.ts";
import { CANONICAL, SPELLINGS } from "./spellings.ts";
import { METHOD_SWEEP, STANDARD_TARGETS, type Target } from "./targets.ts";

/**
 * `"small"` and `"medium"` use some spellings for each target, which differ between configurations. `"full"`
 * uses all of them.
 */
export type Scale = "small" | "medium" | "full";

/** One request to send. */
export interface Probe {
  readonly method: string;
  readonly target: string;
  readonly headers: Target["headers"];
  /** The name of its spelling, or the special property of its target. */
  readonly spelling: string;
  readonly isCanonical: boolean;
  /** Whether a refusal of it counts as `servedButRefused`. */
  readonly isListed: boolean;
}

/** One of this many spellings is used. */
const STRIDES: Readonly<Record<Scale, number>> = { small: 60, medium: 2, full: 1 };

/**
 * How many standard targets `"small"` uses in every configuration. Of the others, each configuration uses
 * half.
 */
const EVERYWHERE = 12;

const sumOf = (name: string): number => Buffer.from(name).reduce((sum, byte) => sum + byte, 0);

/** The requests for a configuration, without duplicates. */
export function probesFor(configuration: Configuration, scale: Scale): readonly Probe[] {
  const probes = new Map<string, Probe>();
  for (const probe of allProbes(configuration, scale)) {
    const key = `${probe.method} ${probe.target} ${JSON.stringify(probe.headers)}`;
    if (!probes.has(key)) probes.set(key, probe);
  }
  return [...probes.values()];
}

function* allProbes({ name, prefix = "", targets }: Configuration, scale: Scale): Iterable<Probe> {
  const stride = STRIDES[scale];
  const isPicked = createPicker(name, targets ? Math.max(1, Math.floor(stride / 5)) : stride);
  for (const [index, target] of (targets ?? STANDARD_TARGETS).entries()) {
    if (scale === "small" && !targets && index >= EVERYWHERE && (index + sumOf(name)) % 2 === 0) continue;
    const { method, headers, special } = target;
    const path = target.path === "/" && prefix !== "" ? prefix : prefix + target.path;
    const isCanonical = special === undefined;
    const probe = { method, headers, isCanonical: false, isListed: isCanonical };
    yield { ...probe, target: path, spelling: special ?? CANONICAL, isCanonical, isListed: true };
    for (const { name: spelling, write } of SPELLINGS) {
      // The first target is requested in every kind of spelling.
      const isTaken = isPicked() || (index === 0 && !targets);
      const written = isTaken ? write(path) : [];
      const some = scale === "full" ? written : takeOne(written, name.length + index);
      for (const spelled of some) yield { ...probe, target: spelled, spelling: special ?? spelling };
    }
  }
  for (const { method, path, headers } of targets ? [] : METHOD_SWEEP) {
    if (isPicked())
      yield {
        method,
        target: prefix + path,
        headers,
        spelling: "method",
        isCanonical: false,
        isListed: true,
      };
  }
}

/** Returns a function that picks one of `stride` calls. Which call it picks depends on the configuration. */
function createPicker(name: string, stride: number): () => boolean {
  let count = sumOf(name);
  return () => {
    count += 1;
    return count % stride === 0;
  };
}

const takeOne = (list: readonly string[], at: number): readonly string[] =>
  list.slice(at % list.length).slice(0, 1);
