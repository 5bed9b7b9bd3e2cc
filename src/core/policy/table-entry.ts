/** The values of the table: requirements, and the objects that may contain them. */
import type { Conditions } from "./conditions.ts";
import type { Requirement } from "./requirement.ts";

/** The properties of an entry that are about the caller. Only a server with `conditions` can use them. */
export const CONDITION_NAMES: readonly (keyof Conditions)[] = [
  "also",
  "where",
  "actors",
  "clients",
  "senderConstrained",
  "acr",
  "maxAuthAgeSeconds",
  "unless",
  "except",
];

/** Scopes as an object, to which conditions can be added. */
type ScopesOfEntry = { readonly scopes: readonly string[] } | { readonly anyOf: readonly string[] };

/** A value of the table: what a rule requires, with conditions on its caller or without. */
export type TableEntry = Requirement | (ScopesOfEntry & Conditions);

/** An entry of the table, taken apart. */
export interface ReadEntry {
  readonly requirement: Requirement;
  /** Where the entry contains the scopes. */
  readonly path: readonly string[];
  readonly conditions: Conditions | undefined;
}

/** Takes an entry apart. It reads own properties only, so that a polluted prototype can't weaken a rule. */
export function readEntry(entry: TableEntry): ReadEntry {
  if (typeof entry === "string" || isScopeList(entry))
    return { requirement: entry, path: [], conditions: undefined };
  const conditions = readConditions(entry);
  if ("anyOf" in entry && Object.hasOwn(entry, "anyOf"))
    return { requirement: { anyOf: entry.anyOf }, path: [], conditions };
  const { scopes } = entry as { readonly scopes: readonly string[] };
  return { requirement: scopes, path: ["scopes"], conditions };
}

function readConditions(entry: object): Conditions | undefined {
  const written = CONDITION_NAMES.filter((name) => Object.hasOwn(entry, name));
  return written.length === 0
    ? undefined
    : Object.fromEntries(written.map((name) => [name, (entry as Conditions)[name]]));
}

const isScopeList = (value: object): value is readonly string[] => Array.isArray(value);

/** Creates an entry: the inverse of `readEntry`. */
export function writeEntry({ requirement, conditions }: Omit<ReadEntry, "path">): TableEntry {
  if (!conditions || typeof requirement === "string") return requirement;
  return { ...(isScopeList(requirement) ? { scopes: requirement } : requirement), ...conditions };
}
