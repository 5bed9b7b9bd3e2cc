/** The lists that an MCP server offers, and what is changed in them for a caller. */
import type { Json } from "../../core/runtime/json.ts";
import { ownObject } from "./messages.ts";
import type { Operation } from "../../capabilities/mcp-operations/operation-key.ts";

/** A list: the property that holds it, the operation that its entries stand for, and where their name is. */
export interface List {
  readonly method: string;
  readonly property: string;
  readonly operation: string;
  readonly name: string;
}

/** The operations that the entries of lists stand for. */
export const LISTS: readonly List[] = [
  { method: "tools/list", property: "tools", operation: "tools/call", name: "name" },
  { method: "prompts/list", property: "prompts", operation: "prompts/get", name: "name" },
  { method: "resources/list", property: "resources", operation: "resources/read", name: "uri" },
  {
    method: "resources/templates/list",
    property: "resourceTemplates",
    operation: "resources/read",
    name: "uriTemplate",
  },
];

/** Returns the entries of one page. */
export const entriesOf = (result: Json, { property }: List): readonly Json[] =>
  (result[property] ?? []) as readonly Json[];

export const operationOf = (entry: Json, { operation, name }: List): Pick<Operation, "method" | "name"> => ({
  method: operation,
  name: String((Object(entry) as Json)[name]),
});

/** What is sent in place of an entry: nothing, or the entry with other properties. */
export type EditEntry = (entry: Json, operation: Pick<Operation, "method" | "name">) => readonly Json[];

/** Edits each entry of a message with the result of a list. */
export function editLists(message: Json, editEntry: EditEntry): Json {
  const result = ownObject(message, "result");
  const present = LISTS.filter(({ property }) => Array.isArray(result?.[property]));
  if (!result || present.length === 0) return message;
  const edited: Record<string, unknown> = { ...result };
  for (const list of present)
    edited[list.property] = entriesOf(result, list).flatMap((entry) =>
      editEntry(entry, operationOf(entry, list)),
    );
  // Another caller must not receive this list from a cache.
  if (Object.hasOwn(result, "cacheScope")) edited["cacheScope"] = "private";
  return { ...message, result: edited };
}
