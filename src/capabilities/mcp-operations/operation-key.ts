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

/** Splits a rendered operation into the path of the transport, if it has one, its method and its name. */
export function splitOperation(
  text: string,
): Pick<Operation, "method" | "name"> & { readonly path: string | undefined } {
  const [, path, method = "", name] = /^(?:(\/[^ ]*) )?([^ ]*)(?: (.*))?$/s.exec(text) ?? [];
  return { path, method, name };
}

/** The part of a key after `MCP`, parsed. */
export interface OperationKey extends Key {
  /** The path of the transport that it's for; absent if it's for all of them. */
  readonly path?: string | undefined;
  /** Absent for a method without names, and for a rule for every name. */
  readonly name?: string | undefined;
  /** A name with a variable part. */
  readonly pattern?: NamePattern | undefined;
  /** The method and the name, as written. */
  readonly text: string;
  /** The same, but equal for names that differ only in the names of variables. */
  readonly ofName: string;
}

/** Parses the part of a key after `MCP`, or explains what is wrong with it. */
export function parseOperationKey(source: string, methods: OperationMethods): OperationKey | KeyMistake {
  const { path, method, name } = splitOperation(source);
  const mistake = methods.findMistake(method, name);
  if (mistake) return mistake;
  const text = renderOperation({ method, name });
  if (name === undefined || name === "*") return toKey({ path, method, ofName: text }, text);
  if (name.trim() !== name || /\p{Cc}/u.test(name))
    return {
      message: `${JSON.stringify(name)} isn't a name.`,
      hint: "Write the name without spaces around it.",
    };
  const parsed = methods.get(method)?.nameParameter === "uri" ? parseUri(method, name) : parseName(name);
  if ("message" in parsed) return parsed;
  const ofName = `${method} ${parsed.pattern?.identity ?? name}`;
  return toKey({ path, method, ...parsed, ofName }, text);
}

type Parts = Pick<OperationKey, "path" | "method" | "name" | "pattern" | "ofName">;

/** A table has keys of one language only. */
const toKey = (parts: Parts, text: string): OperationKey => ({
  ...parts,
  text,
  identity: at(parts.path, parts.ofName),
  meet: (other) => meet({ ...parts, text }, other as OperationKey),
});

const at = (path: string | undefined, text: string): string =>
  path === undefined ? text : `${path} ${text}`;

/** Of two names that meet, one includes the other. One of the keys may have a path, or both have the same. */
function meet(key: Parts & { readonly text: string }, other: OperationKey): string | undefined {
  if (key.path !== undefined && other.path !== undefined && key.path !== other.path) return undefined;
  const path = key.path ?? other.path;
  if (includesName(other, key)) return at(path, key.text);
  return includesName(key, other) ? at(path, other.text) : undefined;
}

/** Returns whether an operation matches every name that another one matches, wherever they are called. */
export function includesName(wider: Parts, other: Parts): boolean {
  if (wider.method !== other.method) return false;
  if (wider.ofName === other.ofName) return true;
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
