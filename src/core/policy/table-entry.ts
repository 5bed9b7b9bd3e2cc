/** The values of the table: requirements, and the objects that may contain them. */
import { CONDITION_NAMES } from "./conditions/conditions.ts";
import type { Conditions } from "./conditions/written.ts";
import type { Requirement } from "./requirement.ts";

/** Scopes as an object, to which conditions and `report` can be added. */
type ScopesOfEntry =
  | { readonly scopes: readonly string[] }
  | { readonly anyOf: readonly string[] }
  | { readonly filtered: string };

/** What a rule requires of its caller, as an object. */
type Conditioned = ScopesOfEntry & Conditions;

/**
 * The requirement that isn't enforced yet: a request that doesn't satisfy it passes, and its decision is
 * `reported`. A valid token is still required, and so is what is written next to `report` or, without that,
 * the rule that would decide without this one.
 */
interface ReportOfEntry {
  readonly report: Requirement | Conditioned;
}

type EntryValue = Requirement | Conditioned | ReportOfEntry | (Conditioned & ReportOfEntry);

/** A value of the table. A rule that requires less than the rule it replaces is written as `{ override }`. */
export type TableEntry = EntryValue | { readonly override: EntryValue };

/** The table: `METHOD /pattern` to what the route requires. METHOD is upper case, or `*` for every method. */
export type ScopeMappings = Readonly<Record<string, TableEntry>>;

/** One of the requirements in an entry of the table. */
interface WrittenRequirement {
  readonly requirement: Requirement;
  /** Where the entry contains the scopes. */
  readonly path: readonly string[];
  /** The conditions, and where the entry contains them. */
  readonly conditioned: { readonly written: Conditions; readonly path: readonly string[] } | undefined;
}

/** An entry of the table, taken apart. */
export interface ReadEntry {
  readonly enforced: WrittenRequirement | undefined;
  readonly reported: WrittenRequirement | undefined;
  readonly isOverride: boolean;
}

/** Takes an entry apart. It reads own properties only, so that a polluted prototype can't weaken a rule. */
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
  const written = readConditions(value);
  const withConditions = (requirement: Requirement, name?: string): WrittenRequirement => ({
    requirement,
    path: name === undefined ? path : [...path, name],
    conditioned: written && { written, path },
  });
  if (typeof value === "string" || isScopeList(value)) return withConditions(value);
  if ("anyOf" in value && Object.hasOwn(value, "anyOf")) return withConditions({ anyOf: value.anyOf });
  if ("filtered" in value && Object.hasOwn(value, "filtered"))
    return withConditions({ filtered: value.filtered });
  if ("scopes" in value && Object.hasOwn(value, "scopes")) return withConditions(value.scopes, "scopes");
  return undefined;
}

function readConditions(value: EntryValue): Conditions | undefined {
  if (typeof value === "string") return undefined;
  const written = CONDITION_NAMES.filter((name) => Object.hasOwn(value, name));
  return written.length === 0
    ? undefined
    : Object.fromEntries(written.map((name) => [name, (value as Conditions)[name]]));
}

const isScopeList = (value: object): value is readonly string[] => Array.isArray(value);

/** What a rule requires. */
interface EntryPart {
  readonly requirement: Requirement;
  readonly conditions?: Conditions;
}

/** Creates an entry: the inverse of `readEntry`, without `override`. */
export function writeEntry(enforced: EntryPart | undefined, reported: EntryPart | undefined): TableEntry {
  if (!reported) return enforced ? writePart(enforced) : [];
  const report = writePart(reported);
  if (!enforced || typeof enforced.requirement === "string") return { report };
  return { ...asObject(enforced), report };
}

const writePart = (part: EntryPart): Requirement | Conditioned =>
  part.conditions && typeof part.requirement !== "string" ? asObject(part) : part.requirement;

function asObject({ requirement, conditions }: EntryPart): Conditioned {
  const scopes = isScopeList(requirement as object)
    ? { scopes: requirement as readonly string[] }
    : (requirement as Exclude<ScopesOfEntry, { scopes: unknown }>);
  return { ...scopes, ...conditions };
}
