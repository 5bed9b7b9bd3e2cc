/** The lists that an MCP server offers, and the filter that removes what a caller may not call. */
import { orUndefined } from "../../core/errors.ts";

/** A list: the property of its result, the operation that its entries stand for, and where their name is. */
export interface List {
  readonly method: string;
  readonly property: string;
  readonly operation: string;
  /** If absent, the operation is `<operation> *`. */
  readonly name?: string;
}

export const LISTS: readonly List[] = [
  { method: "tools/list", property: "tools", operation: "tools/call", name: "name" },
  { method: "prompts/list", property: "prompts", operation: "prompts/get", name: "name" },
  { method: "resources/list", property: "resources", operation: "resources/read", name: "uri" },
  { method: "resources/templates/list", property: "resourceTemplates", operation: "resources/read" },
];

export type Json = Readonly<Record<string, unknown>>;

/** Returns the entries of one page. */
export const entriesOf = (result: Json, { property }: List): readonly Json[] =>
  (result[property] ?? []) as readonly Json[];

/** Returns the operation that calls an entry. */
export const operationOf = (entry: Json, { operation, name }: List): string =>
  `${operation} ${name === undefined ? "*" : String(entry[name])}`;

type Message = Readonly<{ result?: Json }>;

/**
 * Removes the entries that the caller may not call from a response: JSON, or server-sent events with one
 * `data` line each. Any other body, such as a compressed one, becomes empty.
 */
export function filterLists(text: string, isCallable: (operation: string) => boolean): string {
  const filter = (message: Message): Message => {
    const result = { ...message.result };
    for (const list of LISTS)
      if (Array.isArray(result[list.property]))
        result[list.property] = entriesOf(result, list).filter((entry) =>
          isCallable(operationOf(entry, list)),
        );
    return message.result ? { ...message, result } : message;
  };
  const edit = (json: string): string => {
    if (json === "") return json;
    const value = JSON.parse(json) as Message | readonly Message[];
    return JSON.stringify(Array.isArray(value) ? value.map(filter) : filter(value as Message));
  };
  // Without the flag `m`: JSON may contain U+2028, which does not end a line of an event. Clients ignore a
  // byte order mark before the first event, so a list behind it must be filtered too.
  const editEvents = () =>
    text.replace(/(?<=^\uFEFF?|[\r\n])data: ?([^\r\n]*)/g, (_, data: string) => `data: ${edit(data)}`);
  if (/^\s*[{[]/.test(text)) return orUndefined(() => edit(text)) ?? "";
  return /^\s*(?:event|data|id|retry|):/.test(text) ? (orUndefined(editEvents) ?? "") : "";
}
