import { ConfigurationError, type ConfigurationIssue, type Report, suggest } from "../errors.ts";
import { agentScopeMappings } from "../policy/agent-scope-mappings.ts";
import { type ResourceServerOptions } from "./options.ts";
import { checkShape, UNKNOWN_HINT } from "./schema.ts";
import { KEY_SOURCE_NAMES } from "./key-source-shape.ts";
import { JSON_OPTION_NAMES, RESOURCE_NAMES, TOKEN_CACHE_NAMES, TRUSTED_ISSUER_NAMES } from "./shape.ts";

type Path = ConfigurationIssue["path"];
type Names = ReadonlyMap<string, string>;

const toSnakeCase = (name: string): string =>
  name.includes(" ") ? name : name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const byJsonName = (all: readonly string[]): Names => new Map(all.map((one) => [toSnakeCase(one), one]));

const OPTIONS = byJsonName(JSON_OPTION_NAMES);
const KEY_SOURCE = byJsonName(KEY_SOURCE_NAMES.filter((name) => name !== "fetch"));
const ISSUER = byJsonName(TRUSTED_ISSUER_NAMES);
const RESOURCE = byJsonName(RESOURCE_NAMES);
const TOKEN_CACHE = byJsonName(TOKEN_CACHE_NAMES);
const NAMES: ReadonlySet<string> = new Set([...JSON_OPTION_NAMES, ...KEY_SOURCE_NAMES]);
const RULE_HINT = "A rule belongs in `scope_mappings`, and the names of options contain no spaces.";

/**
 * Converts a configuration with the JSON names (`verification_keys`, `scope_mappings`, `service_id`, and the
 * snake_case form of every other option that JSON can represent) to options for `createResourceServer`. The
 * base table is `agentScopeMappings` unless the configuration has `default_scope_mappings`. It adds no other
 * defaults, and reads no files and no environment variables.
 *
 * @throws ConfigurationError listing every unknown name and invalid value, by its JSON name
 * @example
 * ```ts
 * import { readFileSync } from "node:fs";
 * import { createResourceServer, parseConfiguration } from "scopegate";
 *
 * const json: unknown = JSON.parse(readFileSync("scopegate.json", "utf8"));
 * const server = createResourceServer({ ...parseConfiguration(json), onDecision: console.log });
 * ```
 */
export function parseConfiguration(json: unknown): ResourceServerOptions {
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    const hint = 'Write a JSON object: { "verification_keys": [...], "service_id": "..." }.';
    throw new ConfigurationError([{ code: "option_invalid", path: [], message: "are not an object.", hint }]);
  }
  const issues: ConfigurationIssue[] = [];
  const options = rename(json, OPTIONS, [], (issue) => issues.push(issue));
  checkShape(options, (issue) => issues.push(toJsonIssue(issue)));
  if (issues.length > 0) throw new ConfigurationError(issues);
  return { defaultScopeMappings: agentScopeMappings, ...(options as ResourceServerOptions) };
}

/** Renames the properties of an object and of the objects in it. Reports and drops unknown properties. */
function rename(value: unknown, names: Names, path: Path, report: Report): unknown {
  return mapProperties(value, (name, property) => {
    const option = names.get(name);
    if (option !== undefined) return [option, readProperty(option, property, [...path, name], report)];
    report({
      code: "option_unknown",
      path: [...path, name],
      message: `received unknown option \`${name}\`.`,
      hint: name.includes(" ") ? RULE_HINT : suggest(toSnakeCase(name), [...names.keys()], UNKNOWN_HINT),
    });
    return undefined;
  });
}

function readProperty(option: string, value: unknown, path: Path, report: Report): unknown {
  switch (option) {
    case "keys":
      return rename(value, KEY_SOURCE, path, report);
    case "tokenCache":
      return rename(value, TOKEN_CACHE, path, report);
    case "resource":
      return rename(value, RESOURCE, path, report);
    case "issuers":
      return Array.isArray(value)
        ? value.map((entry: unknown, index) => rename(entry, ISSUER, [...path, index], report))
        : value;
    case "scopeMappings":
    case "defaultScopeMappings":
      return mapProperties(value, (key, requirement) => [key, mapProperties(requirement, readRequirement)]);
    default:
      return value;
  }
}

const readRequirement = (name: string, value: unknown): [string, unknown] => [
  name === "any_of" ? "anyOf" : name,
  name === "report" ? mapProperties(value, readRequirement) : value,
];

function mapProperties(
  value: unknown,
  map: (name: string, property: unknown) => [string, unknown] | undefined,
): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(([name, property]: [string, unknown]) => map(name, property));
  return Object.fromEntries(entries.filter((entry) => entry !== undefined));
}

/** An option of an issuer, and a property of it: `issuers[0].keys.jwks_uri`. */
const ISSUER_PATH = 4;

/** Route keys, roles and scopes are the same in JSON, so that only the names of options are converted. */
function toJsonPath(path: Path): Path {
  const named = path[0] === "keys" ? path.length : path[0] === "issuers" ? ISSUER_PATH : 1;
  return path.map((step, index) => (index < named && typeof step === "string" ? toSnakeCase(step) : step));
}

/** Names options as a file does, in the path, the message and the hint of an issue. */
export const toJsonIssue = (issue: ConfigurationIssue): ConfigurationIssue => ({
  ...issue,
  path: toJsonPath(issue.path),
  // An unknown option is quoted as the file has it.
  message: issue.code === "option_unknown" ? issue.message : toJsonText(issue.message),
  hint: toJsonText(issue.hint),
});

const toJsonText = (text: string): string =>
  text.replaceAll(/`(\w+)(?=[`:])/g, (quoted, name: string) =>
    NAMES.has(name) ? `\`${toSnakeCase(name)}` : quoted,
  );
