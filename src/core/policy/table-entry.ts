/** The values of the table: requirements, and what may be written around them. */
import type { Requirement } from "./requirement.ts";

/** Scopes as an object, to which `report` can be added. */
type ScopesOfEntry =
  | { readonly scopes: readonly string[] }
  | { readonly anyOf: readonly string[] }
  | { readonly filtered: string };

/**
 * Scopes that are not enforced yet: a request that lacks them passes, and its decision is `reported`. What is
 * written beside `report`, or else the rule that would decide without this one, is enforced all the same, and
 * always a valid token.
 */
interface ReportOfEntry {
  readonly report: Requirement | ScopesOfEntry;
}

type EntryValue = Requirement | ScopesOfEntry | ReportOfEntry | (ScopesOfEntry & ReportOfEntry);

/** A value of the table. A rule that requires less than the rule it replaces is written as `{ override }`. */
export type TableEntry = EntryValue | { readonly override: EntryValue };

/** The table: `METHOD /pattern` to what the route requires. METHOD is upper case, or `*` for every method. */
export type ScopeMappings = Readonly<Record<string, TableEntry>>;

/** One of the requirements in an entry of the table. */
interface WrittenRequirement {
  readonly requirement: Requirement;
  /** Where the entry contains it. */
  readonly path: readonly string[];
}

/** An entry of the table, taken apart. */
export interface ReadEntry {
  readonly enforced: WrittenRequirement | undefined;
  readonly reported: WrittenRequirement | undefined;
  readonly isOverride: boolean;
}

/** Takes an entry apart. Own properties only: a polluted prototype must not turn a rule into a weaker one. */
export function readEntry(entry: TableEntry): ReadEntry {
  if (typeof entry === "string")
    return { enforced: readValue(entry, []), reported: undefined, isOverride: false };
  const isOverride = "override" in entry && Object.hasOwn(entry, "override");
  const value = isOverride ? entry.override : (entry as EntryValue);
  const path = isOverride ? ["override"] : [];
  const report = typeof value === "object" && "report" in value && Object.hasOwn(value, "report");
  return {
    enforced: readValue(value, path),
    reported: report ? readValue(value.report, [...path, "report"]) : undefined,
    isOverride,
  };
}

function readValue(value: EntryValue, path: readonly string[]): WrittenRequirement | undefined {
  if (typeof value === "string" || isScopeList(value)) return { requirement: value, path };
  if ("anyOf" in value && Object.hasOwn(value, "anyOf")) return { requirement: { anyOf: value.anyOf }, path };
  if ("filtered" in value && Object.hasOwn(value, "filtered"))
    return { requirement: { filtered: value.filtered }, path };
  if ("scopes" in value && Object.hasOwn(value, "scopes"))
    return { requirement: value.scopes, path: [...path, "scopes"] };
  return undefined;
}

const isScopeList = (value: object): value is readonly string[] => Array.isArray(value);

/** Writes the entry of a report-only rule: the opposite of `readEntry`, without `override`. */
export function writeEntry(enforced: Requirement | undefined, reported: Requirement): TableEntry {
  if (enforced === undefined || typeof enforced === "string") return { report: reported };
  return { ...(isScopeList(enforced) ? { scopes: enforced } : enforced), report: reported };
}
