import {
  ConfigurationError,
  type ConfigurationIssue,
  orUndefined,
  type Report,
  suggest,
} from "../core/errors.ts";
import { SENDER_CONSTRAINT_NAMES } from "../capabilities/sender-constraint/shape.ts";
import { agentScopeMappings } from "../core/policy/agent-scope-mappings.ts";
import { CONDITION_NAMES } from "../core/policy/table-entry.ts";
import { mcpOperations } from "../capabilities/mcp-operations/index.ts";
import { isObject, isOnlyReading } from "../core/runtime/json.ts";
import { KEY_SOURCE_NAMES } from "../capabilities/keys/shape.ts";
import { RESOURCE_NAMES } from "../capabilities/resource/shape.ts";
import { SHADOW_NAMES } from "../capabilities/shadow/index.ts";
import type { Path } from "../core/options/mistakes.ts";
import { type ResourceServerOptions, type TrustedIssuer, withCapabilities } from "./create.ts";
import { findShapeMistakes, UNKNOWN_HINT } from "../core/options/schema.ts";
import { JSON_OPTION_NAMES, TOKEN_CACHE_NAMES, TRUSTED_ISSUER_NAMES } from "../core/options/shape.ts";

/** The names of options, by their JSON names. */
type JsonNames = ReadonlyMap<string, string>;

export const toSnakeCase = (name: string): string =>
  name.includes(" ") ? name : name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const byJsonName = (names: readonly string[]): JsonNames =>
  new Map(names.map((name) => [toSnakeCase(name), name]));

const OPTIONS = byJsonName(JSON_OPTION_NAMES);
const ISSUER = byJsonName(TRUSTED_ISSUER_NAMES);
/** The options whose values are objects of options. */
const NESTED: ReadonlyMap<string, JsonNames> = new Map([
  ["keys", byJsonName(KEY_SOURCE_NAMES.filter((name) => name !== "fetch"))],
  ["tokenCache", byJsonName(TOKEN_CACHE_NAMES)],
  ["resource", byJsonName(RESOURCE_NAMES)],
  ["shadow", byJsonName(SHADOW_NAMES)],
  ["mcp", byJsonName(mcpOperations().names["mcp"] ?? [])],
  // A store can't be written as JSON.
  ...Object.entries(SENDER_CONSTRAINT_NAMES).map(
    ([name, names]) => [name, byJsonName(names.filter((inner) => inner !== "replay"))] as const,
  ),
]);
const RULE_HINT = "A rule belongs in `scope_mappings`, and the names of options contain no spaces.";

/** What the interface adds to the rules of a file that doesn't say otherwise. */
const INTERFACE = { defaultScopeMappings: agentScopeMappings, adminScope: "platform:admin" };

/**
 * Converts the content of a JSON file with the JSON names (`verification_keys`, `scope_mappings`,
 * `service_id`, and the snake_case form of every other option that JSON can represent) to options for
 * `createResourceServer`. It also converts an object with these names, but only finds a name that is written
 * twice in a string. `$schema` is ignored. Without `default_scope_mappings`, the base table is
 * `agentScopeMappings`, and `adminScope` is `"platform:admin"` unless `admin_scope` is written. The function
 * adds no other defaults, and reads no files or environment variables.
 *
 * @throws ConfigurationError listing every unknown name and invalid value, by its JSON name
 * @example
 * ```ts
 * import { readFileSync } from "node:fs";
 * import { createResourceServer, parseConfiguration } from "scopegate/complete";
 *
 * const text = readFileSync("scopegate.json", "utf8");
 * const server = createResourceServer({ ...parseConfiguration(text), onDecision: console.log });
 * ```
 */
export function parseConfiguration(
  configuration: unknown,
): ResourceServerOptions & { readonly issuers?: readonly TrustedIssuer[] } {
  const json = typeof configuration === "string" ? parseText(configuration) : configuration;
  if (!isObject(json))
    throw unusable(
      "aren't an object.",
      'Write a JSON object: { "verification_keys": [...], "service_id": "..." }.',
    );
  const issues: ConfigurationIssue[] = [];
  // For editors.
  const { $schema: _, ...written } = json;
  const options = renameOptions(written, OPTIONS, [], (issue) => issues.push(issue));
  for (const issue of findShapeMistakes(withCapabilities(options as ResourceServerOptions)))
    issues.push(toJsonIssue(issue));
  if (issues.length > 0) throw new ConfigurationError(issues);
  const defaults = Object.hasOwn(json, "default_scope_mappings") ? {} : INTERFACE;
  return { ...defaults, ...(options as ReturnType<typeof parseConfiguration>) };
}

/** It's an error to write a name twice, because parsers disagree about which of the two properties counts. */
function parseText(text: string): unknown {
  const withoutMark = text.replace(/^\uFEFF/, "");
  const json = orUndefined(() => JSON.parse(withoutMark) as unknown);
  if (json === undefined) throw unusable("aren't valid JSON.", "Is a comma or a quotation mark missing?");
  if (isObject(json) && !isOnlyReading(json, Buffer.from(withoutMark)))
    throw unusable("have one name twice in an object.", "Keep one of the two.");
  return json;
}

const unusable = (message: string, hint: string): ConfigurationError =>
  new ConfigurationError([{ code: "option_invalid", path: [], message, hint }]);

/** Renames the options of an object and of the objects in it. Reports and drops unknown options. */
function renameOptions(value: unknown, names: JsonNames, path: Path, report: Report): unknown {
  if (!isObject(value)) return value;
  const options = new Map<string, unknown>();
  for (const [jsonName, property] of Object.entries(value) as readonly (readonly [string, unknown])[]) {
    const name = names.get(jsonName);
    const propertyPath = [...path, jsonName];
    if (name !== undefined) options.set(name, renameInside(name, property, propertyPath, report));
    else if (jsonName.includes(" ")) report(unknownOption(propertyPath, RULE_HINT));
    else report(unknownOption(propertyPath, suggest(toSnakeCase(jsonName), [...names.keys()], UNKNOWN_HINT)));
  }
  return Object.fromEntries(options);
}

const unknownOption = (path: Path, hint: string): ConfigurationIssue => ({
  code: "option_unknown",
  path,
  message: `received unknown option \`${path.at(-1)}\`.`,
  hint,
});

function renameInside(option: string, value: unknown, path: Path, report: Report): unknown {
  const nestedNames = NESTED.get(option);
  if (nestedNames) return renameOptions(value, nestedNames, path, report);
  if (option === "issuers" && Array.isArray(value))
    return value.map((entry, index) => renameOptions(entry, ISSUER, [...path, index], report));
  if ((option === "scopeMappings" || option === "defaultScopeMappings") && isObject(value))
    return Object.fromEntries(
      Object.entries(value).map(([key, entry]) => [key, renameEntry(entry, [...path, key], report)]),
    );
  return value;
}

/** The names inside an entry of the table. Keys, parameters, roles and scopes are the same in JSON. */
const ENTRY_NAMES: JsonNames = byJsonName(["anyOf", ...CONDITION_NAMES]);

/** The properties of an entry whose values contain names, too. */
const NESTED_IN_ENTRY: ReadonlySet<string> = new Set(["actors", "acr"]);

/** Tables of code have names in camelCase. Next to the same name in snake_case, one would be lost. */
function renameEntry(entry: unknown, path: Path, report: Report): unknown {
  if (!isObject(entry)) return entry;
  const properties: readonly (readonly [string, unknown])[] = Object.entries(entry);
  return Object.fromEntries(
    properties.map(([jsonName, value]) => {
      const propertyPath = [...path, jsonName];
      const snakeCase = toSnakeCase(jsonName);
      if (snakeCase !== jsonName && Object.hasOwn(entry, snakeCase))
        report(unknownOption(propertyPath, `Remove it, or \`${snakeCase}\`.`));
      const name = ENTRY_NAMES.get(jsonName) ?? jsonName;
      return [name, NESTED_IN_ENTRY.has(name) ? renameEntry(value, propertyPath, report) : value];
    }),
  );
}

/** The names that differ in a file. */
const RENAMED: ReadonlySet<string> = new Set(
  [OPTIONS, ISSUER, ENTRY_NAMES, ...NESTED.values()].flatMap((names) =>
    [...names].flatMap(([jsonName, name]) => (jsonName === name ? [] : name)),
  ),
);
/** Where a name is written in a message. It isn't a parameter such as `<name>` or `/:name`, or a scope. */
const RENAMED_IN_TEXT = new RegExp(`(?<=^|[\\s\`({.]|[{,]")(?:${[...RENAMED].join("|")})\\b`, "g");
/** A capability in code: `senderConstraint: senderConstraint({ ... })`. A file only contains its options. */
const CAPABILITY = /\b(\w+: )\w+\((\{.*?\})\)(?:, imported from scopegate\/[\w-]+)?/g;
/** The options whose properties are named by users, such as parameters and scopes. */
const NAMED_BY_USERS: ReadonlySet<unknown> = new Set(["where", "impliedScopes", "requiredClaims", "map"]);

function toJsonPath({ path, code }: ConfigurationIssue): Path {
  return path.map((step, index) => {
    // The name of an unknown option is kept as it's written in the file.
    const isWritten = code === "option_unknown" && index === path.length - 1;
    const isOption = typeof step === "string" && RENAMED.has(step) && !NAMED_BY_USERS.has(path[index - 1]);
    return isOption && !isWritten ? toSnakeCase(step) : step;
  });
}

/** Replaces the names of options by their JSON names, in the path, the message and the hint of an issue. */
export const toJsonIssue = (issue: ConfigurationIssue): ConfigurationIssue => ({
  ...issue,
  path: toJsonPath(issue),
  message: issue.code === "option_unknown" ? issue.message : toJsonText(issue.message),
  hint: toJsonText(issue.hint),
});

export const toJsonText = (text: string): string =>
  text.replaceAll(CAPABILITY, "$1$2").replaceAll(RENAMED_IN_TEXT, toSnakeCase);
