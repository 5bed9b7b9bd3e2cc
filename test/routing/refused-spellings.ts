/**
 * Kinds of requests that a router serves and the guard refuses, although the caller holds the scopes: the price of
 * refusing what two routers read in different ways. What is listed here is in the documentation.
 */
import { type Summary } from "./harness.ts";

export interface RefusedSpelling {
  readonly spelling: string;
  readonly reason: string;
  /** Whether routes were refused that everyone may call, protected ones, or both. */
  readonly of: ReadonlySet<"public" | "protected">;
  readonly frameworks: ReadonlySet<string>;
  readonly example: string;
}

/** The kinds that were found, by `spelling: reason`, in the order of the alphabet. */
export function refusedSpellings(summaries: readonly Summary[]): ReadonlyMap<string, RefusedSpelling> {
  const kinds = new Map<string, RefusedSpelling>();
  for (const { configuration, canonicalRefusals, servedButRefused } of summaries) {
    // Where plain spellings are refused already, the others tell nothing.
    if (canonicalRefusals.length > 0) continue;
    const [framework = ""] = configuration.split(" ");
    for (const { spelling, reason, isPublic, request } of servedButRefused) {
      // The answer to HEAD does not tell it.
      if (reason === "") continue;
      const key = `${spelling}: ${reason}`;
      const known = kinds.get(key) ?? { of: [], frameworks: [], example: request };
      kinds.set(key, {
        spelling,
        reason,
        of: new Set([...known.of, isPublic ? "public" : "protected"]),
        frameworks: new Set([...known.frameworks, framework]),
        example: known.example,
      });
    }
  }
  return new Map([...kinds].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** All kinds there are. */
export const DOCUMENTED: readonly string[] = [
  // Read in two ways by some router, proxy or parser.
  "NUL or control character: request_ambiguous",
  "backslash: request_ambiguous",
  "dot segment: request_ambiguous",
  "doubled slash: request_ambiguous",
  "empty parameter: request_ambiguous",
  "encoded dot segment: request_ambiguous",
  "encoded slash: request_ambiguous",
  "invalid percent-encoding: request_ambiguous",
  "odd absolute form: request_ambiguous",
  "raw #: request_ambiguous",
  // A public path that is not spelled as the table spells it, or a spelling that reaches no rule without decoding.
  "encoded letters: request_ambiguous",
  "encoded unicode: request_ambiguous",
  "extension: request_ambiguous",
  "letter case: request_ambiguous",
  "long path: request_ambiguous",
  "optional parameter left out: request_ambiguous",
  "semicolon parameter: request_ambiguous",
  "several at once: request_ambiguous",
  "space: request_ambiguous",
  "trailing slash: request_ambiguous",
  "unicode folding: request_ambiguous",
  // A path that is not spelled as the table spells it: every rule that some reading of it reaches must be satisfied.
  "empty parameter: scope_insufficient",
  "encoded letters: credential_missing",
  "encoded letters: scope_insufficient",
  "letter case: credential_missing",
  "several at once: credential_missing",
  "trailing slash: credential_missing",
  "trailing slash: scope_insufficient",
  "unicode folding: scope_insufficient",
  // Fastify: the path spells a part of the matched route, and the scopes of that part are asked as well.
  "letter case: scope_insufficient",
  "letters encoded twice: scope_insufficient",
  "long path: scope_insufficient",
  "semicolon parameter: scope_insufficient",
  "several at once: scope_insufficient",
  // Fastify: a route that no rule covers as a whole is denied.
  "route wider than every rule: request_ambiguous",
  "route wider than every rule: route_unmapped",
  // A method overridden behind the guard: both methods are asked.
  "method overridden: route_unmapped",
  "method overridden: scope_insufficient",
  // A wildcard of Express 4 and Fastify takes nothing as well, one of a rule takes at least one segment.
  "empty parameter: credential_missing",
  "empty parameter: route_unmapped",
  // Handlers of `use` answer for every path below theirs, decoded and trimmed: a path without a rule is refused.
  "encoded unicode: route_unmapped",
  "encoded unicode: scope_insufficient",
  "long path: route_unmapped",
  "more segments: route_unmapped",
  "odd absolute form: credential_missing",
  "odd absolute form: route_unmapped",
  "semicolon parameter: route_unmapped",
  "several at once: route_unmapped",
  "absolute form: request_ambiguous",
  "letters encoded twice: request_ambiguous",
  "rewritten by @fastify/express: request_ambiguous",
  "rewritten by @fastify/express: route_unmapped",
  "rewritten by @fastify/express: scope_insufficient",
  "space: route_unmapped",
  "space: scope_insufficient",
];
