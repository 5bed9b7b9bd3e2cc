/** Small random patterns, and paths that match them. */
import fc from "fast-check";

/**
 * One segment of a small pattern. `accent` is percent-encoded, `suffix` is `:name-b`, `prefix` is `a-:name`,
 * `pair` is `:name-:name`, and the empty string is a trailing slash.
 */
export type Kind = "a" | "A" | "b" | "accent" | "suffix" | "prefix" | "pair" | "parameter" | "wildcard" | "";

export type Kinds = readonly Kind[];

/** The source of a segment. Parameters are named after their index. */
function segmentSource(kind: Kind, index: number): string {
  switch (kind) {
    case "accent":
      return "%C3%A9";
    case "suffix":
      return `:p${index}-b`;
    case "prefix":
      return `a-:p${index}`;
    case "pair":
      return `:p${index}-:q${index}`;
    case "parameter":
      return `:p${index}`;
    case "wildcard":
      return `*p${index}`;
    default:
      return kind;
  }
}

/** The pattern with these segments. */
export const sourceOf = (kinds: Kinds): string => `/${kinds.map(segmentSource).join("/")}`;

/** Whether the pattern is valid: at most one wildcard, and the empty string only as the last segment. */
const isWritable = (all: Kinds): boolean =>
  all.filter((kind) => kind === "wildcard").length <= 1 && !all.slice(0, -1).includes("");

/** Patterns of up to four segments. */
export const kinds = (
  of: Kinds = ["a", "b", "suffix", "parameter", "wildcard"],
  maxLength = 4,
): fc.Arbitrary<Kinds> => fc.array(fc.constantFrom(...of), { maxLength }).filter(isWritable);

/** Patterns of rules: a wildcard is the last segment. */
export const ruleKinds = (...given: Parameters<typeof kinds>): fc.Arbitrary<Kinds> =>
  kinds(...given).filter((all) => !all.slice(0, -1).includes("wildcard"));

/** Several different patterns of rules. */
export const kindsTable = (pattern = ruleKinds()): fc.Arbitrary<Kinds[]> =>
  fc.uniqueArray(pattern, { minLength: 1, maxLength: 8, selector: sourceOf });

/** The path with these segments. */
export const textOf = (segments: readonly string[]): string => `/${segments.join("/")}`;

/**
 * Paths that match a pattern, with parameter values that also occur in other patterns and one that does not.
 */
export function samplePaths(pattern: Kinds): readonly string[] {
  const paths = pattern.reduce<readonly (readonly string[])[]>(
    (heads, kind) => heads.flatMap((head) => samplesOf(kind).map((tail) => [...head, ...tail])),
    [[]],
  );
  return paths.map(textOf);
}

function samplesOf(kind: Kind): readonly (readonly string[])[] {
  switch (kind) {
    case "suffix":
      return [["a-b"], ["z-b"]];
    case "prefix":
      return [["a-b"], ["a-z"]];
    case "pair":
      return [["a-b"], ["z-z"]];
    case "parameter":
      return [["a"], ["b"], ["z"], ["z-b"], ["a-z"]];
    case "wildcard":
      return [["a"], ["z"], ["z-b"], ["a", "b"], ["z", "z"], ["b", "z", "a"]];
    default:
      return [[segmentSource(kind, 0)]];
  }
}
