/** Operations of the Model Context Protocol, and their keys in the table: `MCP tools/call search`. */
import { orUndefined } from "../../core/errors.ts";
import type { KeyMistake } from "../../core/policy/key-language.ts";
import type { OperationKey as Key } from "../../core/policy/operation-key.ts";
import { contains, matchName, type NamePattern, parsePrefix, parseTemplate } from "./name-pattern.ts";
import type { OperationMethods } from "./operation-methods.ts";

/** One operation that a request calls. */
export interface Operation {
  /** The JSON-RPC method: `tools/call`. */
  readonly method: string;
  /** The name of a tool or prompt, or the URI of a resource. */
  readonly name?: string | undefined;
  /** The arguments, for the templates of scopes and for `where`: strings and integers fill them. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** For completions and lists: the URI may be a template, and every unusable argument is as if absent. */
  readonly isPartial?: boolean;
}

/** Renders an operation as in a key, without `MCP`. */
export const renderOperation = ({ method, name }: Pick<Operation, "method" | "name">): string =>
  name === undefined ? method : `${method} ${name}`;

/** Splits a rendered operation into its method and name. */
export function splitOperation(text: string): Pick<Operation, "method" | "name"> {
  const space = text.indexOf(" ");
  return space < 0 ? { method: text } : { method: text.slice(0, space), name: text.slice(space + 1) };
}

/** The part of a key after `MCP`, parsed. */
export interface OperationKey extends Key {
  /** Absent for a method without names, and for a rule for every name. */
  readonly name?: string;
  /** A name with a variable part. */
  readonly pattern?: NamePattern;
}

/** Parses the part of a key after `MCP`, or explains what is wrong with it. */
export function parseOperationKey(text: string, methods: OperationMethods): OperationKey | KeyMistake {
  const { method, name } = splitOperation(text);
  const mistake = methods.findMistake(method, name);
  if (mistake) return mistake;
  if (name === undefined || name === "*") return toKey({ method, identity: text });
  if (name.trim() !== name || /\p{Cc}/u.test(name))
    return {
      message: `${JSON.stringify(name)} isn't a name.`,
      hint: "Write the name without spaces around it.",
    };
  const parsed = methods.get(method)?.nameParameter === "uri" ? parseUri(method, name) : parseName(name);
  if ("message" in parsed) return parsed;
  return toKey({ method, ...parsed, identity: `${method} ${parsed.pattern?.identity ?? name}` });
}

/** A table has keys of one language only. */
const toKey = (key: Omit<OperationKey, "includes">): OperationKey => ({
  ...key,
  includes: (other) => includes(key, other),
});

function includes(wider: Omit<OperationKey, "includes">, other: OperationKey): boolean {
  if (wider.method !== other.method) return false;
  if (wider.identity === other.identity) return true;
  if (!wider.pattern) return wider.name === undefined;
  if (other.pattern) return contains(wider.pattern, other.pattern);
  return other.name !== undefined && matchName(wider.pattern, other.name) !== undefined;
}

type ParsedName = Pick<OperationKey, "name" | "pattern">;

/** A whole name in one of the notations for a variable: `:id`, `{id}` or `<id>`. */
const PLACEHOLDER = /^(?::\w+|\{.*\}|<.*>)$/;

function parseName(name: string): ParsedName | KeyMistake {
  if (PLACEHOLDER.test(name))
    return {
      message: `${JSON.stringify(name)} is a variable, but names are compared exactly.`,
      hint: "Write `*` for every name, `docs_*` for names that begin with the same text, or write one key for each name.",
    };
  const star = name.indexOf("*");
  if (star < 0) return { name };
  if (star === name.length - 1) return { pattern: parsePrefix(name) };
  return {
    message: `${JSON.stringify(name)} has \`*\` before its end.`,
    hint: "Write `*` at the end, as in `docs_*`, or the whole name.",
  };
}

function parseUri(method: string, uri: string): ParsedName | KeyMistake {
  const spelled = /\*|[<>]|\/:\w/.exec(uri);
  if (spelled)
    return {
      message: `${JSON.stringify(uri)} has \`${spelled[0]}\`, which isn't a variable of a URI template.`,
      hint: "Write `{name}` for one segment of the URI, `{+name}` for the rest of it, or `*` alone for every resource.",
    };
  if (/[{}]/.test(uri)) {
    const pattern = parseTemplate(uri);
    return "message" in pattern ? pattern : { pattern };
  }
  const href = orUndefined(() => new URL(uri).href);
  if (href === undefined || href === uri) return { name: uri };
  return { message: `\`${uri}\` isn't spelled as a URL is.`, hint: `Write \`MCP ${method} ${href}\`.` };
}
