import { ConfigurationError, type ConfigurationIssue, suggest } from "./errors.ts";
import { type ResourceServerOptions } from "./options/options.ts";
import { checkShape } from "./options/schema.ts";

/** The options that JSON can hold; the others are functions. */
const SERIALISABLE = [
  "verificationKeys",
  "keys",
  "algorithm",
  "algorithms",
  "issuer",
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
  "realm",
  "resourceMetadataUrl",
] as const satisfies readonly (keyof ResourceServerOptions)[];

const toSnakeCase = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

const OPTION_BY_NAME = new Map<string, string>(SERIALISABLE.map((option) => [toSnakeCase(option), option]));

/** Names inside the values of options that have a snake_case form too. */
const MEMBER_BY_NAME = new Map([
  ["any_of", "anyOf"],
  ["verification_keys", "verificationKeys"],
  ["jwks_file", "jwksFile"],
]);

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
    const option = OPTION_BY_NAME.get(name);
    if (option === undefined) issues.push(unknownName(name));
    else options[option] = readMembers(option, value);
  }
  checkShape(options, (issue) => issues.push({ ...issue, path: issue.path.map(toNameInJson) }));
  if (issues.length > 0) throw new ConfigurationError(issues);
  return options;
}

/** `{ any_of }` in a table and the members of `keys`; everything else is the same in both spellings. */
function readMembers(option: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  if (option === "keys") return renameMembers(value);
  if (option !== "scopeMappings" && option !== "defaultScopeMappings") return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, requirement]: [string, unknown]) => [key, renameMembers(requirement)]),
  );
}

function renameMembers(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]: [string, unknown]) => [
      MEMBER_BY_NAME.get(name) ?? name,
      member,
    ]),
  );
}

const toNameInJson = (step: string | number, index: number): string | number =>
  index === 0 && typeof step === "string" ? toSnakeCase(step) : step;

function unknownName(name: string): ConfigurationIssue {
  return {
    code: "option_unknown",
    path: [name],
    message: `received unknown option \`${name}\`.`,
    hint: suggest(
      name,
      [...OPTION_BY_NAME.keys()],
      "Remove it, or look its name up in the table of options.",
    ),
  };
}
