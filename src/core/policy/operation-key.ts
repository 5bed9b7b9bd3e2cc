/** Operations of the Model Context Protocol, and their keys in the table: `MCP tools/call search`. */
import { orUndefined } from "../errors.ts";
import { OPERATION_METHOD } from "../request.ts";
import { type NameMistake, type NamePattern, parsePrefix, parseTemplate } from "./name-pattern.ts";
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

/** Returns whether a request is for an operation. A path begins with a slash or a scheme. */
export const isOperation = (method: string, target: string): boolean =>
  method === OPERATION_METHOD && /^(?!https?:)[a-z]/i.test(target);

/** Renders an operation as in a key, without `MCP`. */
export const renderOperation = ({ method, name }: Pick<Operation, "method" | "name">): string =>
  name === undefined ? method : `${method} ${name}`;

/** Splits a rendered operation into its method and name. */
export function splitOperation(text: string): Pick<Operation, "method" | "name"> {
  const space = text.indexOf(" ");
  return space < 0 ? { method: text } : { method: text.slice(0, space), name: text.slice(space + 1) };
}

/** The part of a key after `MCP`, parsed. */
export interface OperationKey {
  readonly method: string;
  /** Absent for a method without names, and for a rule for every name. */
  readonly name?: string;
  /** A name with a variable part. */
  readonly pattern?: NamePattern;
  /** Equal for keys that differ only in the names of variables. */
  readonly identity: string;
}

/** Parses the part of a key after `MCP`, or explains what is wrong with it. */
export function parseOperationKey(text: string, methods: OperationMethods): OperationKey | NameMistake {
  const { method, name } = splitOperation(text);
  const mistake = methods.findMistake(method, name);
  if (mistake) return mistake;
  if (name === undefined || name === "*") return { method, identity: text };
  if (name.trim() !== name || /\p{Cc}/u.test(name))
    return {
      message: `${JSON.stringify(name)} isn't a name.`,
      hint: "Write the name without spaces around it.",
    };
  const parsed = methods.get(method)?.nameParameter === "uri" ? parseUri(method, name) : parseName(name);
  if ("message" in parsed) return parsed;
  return { method, ...parsed, identity: `${method} ${parsed.pattern?.identity ?? name}` };
}

type ParsedName = Pick<OperationKey, "name" | "pattern">;

/** A whole name in one of the notations for a variable: `:id`, `{id}` or `<id>`. */
const PLACEHOLDER = /^(?::\w+|\{.*\}|<.*>)$/;

function parseName(name: string): ParsedName | NameMistake {
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

function parseUri(method: string, uri: string): ParsedName | NameMistake {
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
