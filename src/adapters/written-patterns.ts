import { type PlainPattern, writeOutWidely } from "../policy/plain-pattern.ts";

/** All that a route is written as: its patterns without optional groups. */
export interface WrittenPatterns {
  readonly each: readonly PlainPattern[];
  readonly sources: readonly string[];
}

export function writeOutAll(patterns: readonly string[]): WrittenPatterns {
  const each = patterns.flatMap(writeOutWidely);
  return { each, sources: each.map(({ source }) => source) };
}
