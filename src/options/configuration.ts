import { ConfigurationError, type ConfigurationIssue, type Report, suggest } from "../errors.ts";
import { type ResourceServerOptions } from "./options.ts";
import { checkShape } from "./schema.ts";
import { KEY_SOURCE_NAMES } from "./key-source-shape.ts";
import { TOKEN_CACHE_NAMES, TRUSTED_ISSUER_NAMES } from "./shape.ts";

/** The options that JSON can hold; the others are functions. */
const SERIALISABLE = [
  "verificationKeys",
  "keys",
  "algorithm",
  "algorithms",
  "issuer",
  "issuers",
  "serviceId",
  "audience",
  "verifyAudience",
  "authorization",
  "scopeMappings",
  "defaultScopeMappings",
  "unmappedRoutes",
  "adminScope",
  "impliedScopes",
  "scopesClaim",
  "userIdClaim",
  "sessionIdClaim",
  "requiredClaims",
  "tokenTypes",
  "clockToleranceSeconds",
  "maxTokenAgeSeconds",
  "maxTokenBytes",
  "tokenSources",
  "tokenCache",
  "realm",
  "resourceMetadataUrl",
] as const satisfies readonly (keyof ResourceServerOptions)[];

type Path = ConfigurationIssue["path"];

const toSnakeCase = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const byNameInJson = (names: readonly string[]): ReadonlyMap<string, string> =>
  new Map(names.map((name) => [toSnakeCase(name), name]));

const OPTIONS = byNameInJson(SERIALISABLE);
const KEY_SOURCE_MEMBERS = byNameInJson(KEY_SOURCE_NAMES.filter((name) => name !== "fetch"));
const ISSUER_MEMBERS = byNameInJson(TRUSTED_ISSUER_NAMES);
const TOKEN_CACHE_MEMBERS = byNameInJson(TOKEN_CACHE_NAMES);
const REQUIREMENT_MEMBERS = byNameInJson(["anyOf", "filtered"]);

/**
 * Reads a configuration written with the interface's own names (`verification_keys`, `scope_mappings`,
 * `verify_audience`, `service_id`, and the snake_case form of every other option that JSON can hold) to the options of
 * `createResourceServer`. Reads no file and no environment variable, and fills in no defaults.
 *
 * @throws ConfigurationError listing every unknown name and every value of the wrong shape, by the names of the JSON
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
    throw new ConfigurationError([{ code: "option_invalid", path: [], message: "is not an object.", hint }]);
  }
  const issues: ConfigurationIssue[] = [];
  const options: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(json)) {
    const option = OPTIONS.get(name);
    if (option === undefined) issues.push(unknownName([], name, OPTIONS));
    else options[option] = readMembers(option, value, [name], (issue) => issues.push(issue));
  }
  checkShape(options, (issue) => issues.push({ ...issue, path: toPathInJson(issue.path) }));
  if (issues.length > 0) throw new ConfigurationError(issues);
  return options;
}

/** What stands inside the value of an option: a table, a key source and issuers have members of their own. */
function readMembers(option: string, value: unknown, path: Path, report: Report): unknown {
  switch (option) {
    case "keys":
      return rename(value, KEY_SOURCE_MEMBERS, path, report);
    case "tokenCache":
      return rename(value, TOKEN_CACHE_MEMBERS, path, report);
    case "issuers":
      return Array.isArray(value)
        ? value.map((issuer: unknown, index) => readIssuer(issuer, [...path, index], report))
        : value;
    case "scopeMappings":
    case "defaultScopeMappings":
      return mapMembers(value, (key, requirement) => [key, mapMembers(requirement, readRequirement)]);
    default:
      return value;
  }
}

const readIssuer = (issuer: unknown, path: Path, report: Report): unknown =>
  mapMembers(rename(issuer, ISSUER_MEMBERS, path, report), (name, member) => [
    name,
    readMembers(name, member, [...path, name], report),
  ]);

const readRequirement = (name: string, member: unknown): [string, unknown] => [
  REQUIREMENT_MEMBERS.get(name) ?? name,
  member,
];

/** Members by the names of options; those that no configuration has are reported and left out. */
function rename(value: unknown, names: ReadonlyMap<string, string>, path: Path, report: Report): unknown {
  return mapMembers(value, (name, member) => {
    const known = names.get(name);
    if (known === undefined) report(unknownName(path, name, names));
    return known === undefined ? undefined : [known, member];
  });
}

function mapMembers(
  value: unknown,
  map: (name: string, member: unknown) => [string, unknown] | undefined,
): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
      const mapped = map(name, member);
      return mapped ? [mapped] : [];
    }),
  );
}

/** A path by the names of the JSON. The keys of a table, and of what a user named, are the same in both. */
function toPathInJson(path: Path): Path {
  const named = path[0] === "keys" || path[0] === "issuers" ? path.length : 1;
  return path.map((step, index) => (index < named && typeof step === "string" ? toSnakeCase(step) : step));
}

function unknownName(path: Path, name: string, names: ReadonlyMap<string, string>): ConfigurationIssue {
  return {
    code: "option_unknown",
    path: [...path, name],
    message: `received unknown option \`${name}\`.`,
    hint: suggest(
      toSnakeCase(name),
      [...names.keys()],
      "Remove it, or look its name up in the table of options.",
    ),
  };
}
