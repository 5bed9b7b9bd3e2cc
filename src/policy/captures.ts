import { endOfSegment, endWithout } from "../path.ts";
import { type TrieStep } from "./segment-trie.ts";

/** What the parameters of a pattern take of a path. */
export interface Captures {
  /** In the order of the pattern, as the client spelled them. */
  readonly texts: readonly string[];
  /** Whether every router would capture the same. */
  readonly isCertain: boolean;
}

/** Reads the parameters of a pattern without optional groups from a path that it takes. */
export function readCaptures(steps: readonly TrieStep[], path: string): Captures {
  const texts: string[] = [];
  let isCertain = true;
  let slash = 0;
  for (const [index, step] of steps.entries()) {
    const isWildcard = step.kind === "wildcard";
    const end = isWildcard ? endWithout(path, steps.length - index - 1) : endOfSegment(path, slash + 1);
    const text = path.slice(slash + 1, end);
    slash = end;
    if (step.kind === "static") continue;
    const mixed = step.kind === "mixed" ? step.match(text) : undefined;
    texts.push(...(mixed?.captures ?? [text]));
    if (mixed?.isCertain === false) isCertain = false;
  }
  return { texts, isCertain };
}
