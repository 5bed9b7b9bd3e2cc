/**
 * Kinds of requests that a router serves and the guard refuses, although the caller holds the scopes: the price of
 * refusing what two routers read in different ways. What is listed here is in the documentation.
 */
import { type Summary } from "./harness.ts";

export interface RefusedSpelling {
  readonly spelling: string;
  readonly reason: string;
  /** Whether it was refused for routes that everyone may call, or for protected ones. */
  readonly of: "public" | "protected";
  readonly example: string;
  readonly configurations: readonly string[];
}

/** The kinds that were found, in the order of the alphabet. */
export function refusedSpellings(summaries: readonly Summary[]): readonly RefusedSpelling[] {
  const kinds = new Map<string, RefusedSpelling>();
  for (const { configuration, servedButRefused } of summaries) {
    for (const { spelling, reason, isPublic, request } of servedButRefused) {
      if (reason === "") continue;
      const of = isPublic ? "public" : "protected";
      const key = `${spelling}: ${reason}, ${of}`;
      const known = kinds.get(key) ?? { spelling, reason, of, example: request, configurations: [] };
      const configurations = [...new Set([...known.configurations, configuration])];
      kinds.set(key, { ...known, configurations });
    }
  }
  return [...kinds].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, kind]) => kind);
}

export const keyOf = ({ spelling, reason, of }: RefusedSpelling): string => `${spelling}: ${reason}, ${of}`;

export const DOCUMENTED: readonly string[] = [];
