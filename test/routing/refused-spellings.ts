/**
 * Kinds of requests that a router serves and that the guard refuses despite sufficient scopes, because
 * routers disagree about the path. The documentation describes every kind listed here.
 */
import type { Summary } from "./harness.ts";

interface RefusedSpelling {
  readonly frameworks: ReadonlySet<string>;
  readonly example: string;
}

/** The kinds that were found, keyed by `spelling: reason`, in alphabetical order. */
export function refusedSpellings(summaries: readonly Summary[]): ReadonlyMap<string, RefusedSpelling> {
  const kinds = new Map<string, RefusedSpelling>();
  for (const { configuration, canonicalRefusals, servedButRefused } of summaries) {
    // If canonical spellings are refused, the other refusals mean nothing.
    if (canonicalRefusals.length > 0) continue;
    const [framework = ""] = configuration.split(" ");
    for (const { spelling, reason, request } of servedButRefused) {
      // A response to HEAD has no body and so no reason.
      if (reason === "") continue;
      const key = `${spelling}: ${reason}`;
      const kind = kinds.get(key) ?? { frameworks: new Set<string>(), example: request };
      kinds.set(key, { ...kind, frameworks: new Set([...kind.frameworks, framework]) });
    }
  }
  return new Map([...kinds].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** All documented kinds. */
export const DOCUMENTED: readonly string[] = [
  // Routers, proxies or parsers read these paths differently.
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
  // A public path in another spelling than in the table, or a spelling that matches a rule only after
  // decoding.
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
  // A path in another spelling than in the table: every rule that one of its readings matches must be
  // satisfied.
  "empty parameter: scope_insufficient",
  "encoded letters: credential_missing",
  "encoded letters: scope_insufficient",
  "letter case: credential_missing",
  "several at once: credential_missing",
  "trailing slash: credential_missing",
  "trailing slash: scope_insufficient",
  "unicode folding: scope_insufficient",
  // Fastify: the path also matches a rule for a part of the matched route, so that rule must be satisfied
  // too.
  "letter case: scope_insufficient",
  "letters encoded twice: scope_insufficient",
  "long path: scope_insufficient",
  "semicolon parameter: scope_insufficient",
  "several at once: scope_insufficient",
  // Fastify: a route that no single rule covers is denied.
  "route wider than every rule: request_ambiguous",
  "route wider than every rule: route_unmapped",
  // A method overridden after the guard: the rules of both methods must be satisfied.
  "method overridden: route_unmapped",
  "method overridden: scope_insufficient",
  // A wildcard matches the empty path in Express 4 and Fastify, but at least one segment in a rule.
  "empty parameter: credential_missing",
  "empty parameter: route_unmapped",
  // A handler of `use` serves every path below its own, decoded and trimmed. A path without a rule is
  // refused.
  "encoded unicode: route_unmapped",
  "encoded unicode: scope_insufficient",
  "long path: route_unmapped",
  "more segments: route_unmapped",
  "odd absolute form: credential_missing",
  "odd absolute form: route_unmapped",
  "odd absolute form: scope_insufficient",
  "semicolon parameter: route_unmapped",
  "several at once: route_unmapped",
  "absolute form: request_ambiguous",
  "letters encoded twice: request_ambiguous",
  "rewritten by @fastify/express: request_ambiguous",
  "rewritten by @fastify/express: route_unmapped",
  "rewritten by @fastify/express: scope_insufficient",
  "space: route_unmapped",
  "space: scope_insufficient",
  // Hono: the URL parser has removed dot segments before the guard, so that the path is one without a rule, or
  // with another; a method that is overridden behind the guard is not that of the route; and a wide route that
  // runs before a narrow one needs the scopes of both.
  "dot segment: credential_missing",
  "dot segment: route_unmapped",
  "dot segment: scope_insufficient",
  "encoded dot segment: credential_missing",
  "encoded dot segment: route_unmapped",
  "encoded dot segment: scope_insufficient",
  "encoded slash: scope_insufficient",
  "extension: scope_insufficient",
  "method overridden: credential_missing",
  "method overridden: request_ambiguous",
  "other character: scope_insufficient",
];
