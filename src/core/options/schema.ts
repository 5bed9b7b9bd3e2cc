import { types } from "node:util";
import { orUndefined, type ConfigurationIssue, type Report, suggest } from "../errors.ts";
import { KEY_SOURCE_NAMES, KEY_SOURCES } from "./key-source-shape.ts";
import {
  OPTION_NAMES,
  optionsSchema,
  RESOURCE_NAMES,
  SCOPE_SOURCE_NAMES,
  type ShapeIssue,
  TOKEN_CACHE_NAMES,
  TRUSTED_ISSUER_NAMES,
} from "./shape.ts";

type Path = readonly (string | number)[];

export const UNKNOWN_HINT = "Remove it, or check its name in the table of options.";

/** Reports each unknown option and wrong shape. Coerces no value, and quotes none that may be secret. */
export function checkShape(options: unknown, report: Report): void {
  const { error } = optionsSchema.safeParse(options);
  for (const issue of error?.issues ?? []) for (const one of toIssues(issue, options)) report(one);
}

function toIssues(issue: ShapeIssue, options: unknown): ConfigurationIssue[] {
  const path = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((name) => ({
      code: "option_unknown",
      path: [...path, name],
      message: `received unknown option \`${name}\`.`,
      hint: findAlias(path, name) ?? suggest(name, namesAt(path), UNKNOWN_HINT),
    }));
  }
  const parent = toObject(valueAt(options, issue.path.slice(0, -1)));
  const last = issue.path.at(-1);
  if (path.length > 1 && typeof last === "string" && !Object.hasOwn(parent, last)) {
    return [{ code: "option_missing", path, message: "is missing.", hint: issue.message }];
  }
  const isRule = /^(default)?scopeMappings$/i.test(String(path[0])) && path.length > 1;
  const value = valueAt(options, issue.path);
  return [
    {
      code: isRule ? "requirement_invalid" : "option_invalid",
      path,
      message: `cannot be ${isRule ? quote(value) : describeKind(value, path)}.`,
      // The most common mistake: one scope without the array.
      hint: `${isRule && path.length === 2 && isScope(value) ? `Write ["${value}"]. ` : ""}${issue.message}`,
    },
  ];
}

/** Names only the kind of a value that may be a secret. */
function describeKind(value: unknown, path: Path): string {
  if (value === undefined || value === null) return String(value);
  if (value === "") return "an empty string";
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : "an array";
  if (types.isUint8Array(value)) return Buffer.isBuffer(value) ? "a Buffer" : "a Uint8Array";
  const isKey = path.includes("keys") || path.includes("verificationKeys");
  if (!isKey && (typeof value === "number" || typeof value === "boolean")) return `\`${value}\``;
  return { string: "this string", object: "this object" }[typeof value as string] ?? `a ${typeof value}`;
}

/** Quotes the start of a requirement, which is not secret. */
function quote(value: unknown): string {
  const json = orUndefined(() => JSON.stringify(value) as string | undefined) ?? typeof value;
  return `\`${json.length > 80 ? `${json.slice(0, 80)}...` : json}\``;
}

const isScope = (value: unknown): value is string =>
  typeof value === "string" && /^[\w.-]+(?::[\w.*<>-]+)+$/.test(value);

const toObject = (value: unknown): object => Object(value) as object;

const valueAt = (options: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((value, step) => Reflect.get(toObject(value), step), options);

function namesAt(path: Path): readonly string[] {
  if (path.at(-1) === "keys") return KEY_SOURCE_NAMES;
  if (path.includes("scopeSources")) return SCOPE_SOURCE_NAMES;
  if (path[0] === "tokenCache") return TOKEN_CACHE_NAMES;
  if (path[0] === "resource") return RESOURCE_NAMES;
  return path[0] === "issuers" ? TRUSTED_ISSUER_NAMES : OPTION_NAMES;
}

/** Finds the hint for an option's name in another library, or in another part of the options. */
function findAlias(path: Path, name: string): string | undefined {
  const isOption = path.length === 0 || (path.length === 2 && path[0] === "issuers");
  return isOption && Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined;
}

const OPTIONAL =
  'Write "optional" for the routes that need no token: `scopeMappings: { "GET /news": "optional" }`.';

const ALIASES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(KEY_SOURCES.map((name) => [name, `Write \`keys: { ${name} }\`.`])),
  key: "Write `keys: { verificationKeys: [key] }`.",
  publicKey: "Write `keys: { verificationKeys: [publicKey] }`.",
  secret: "Write `keys: { verificationKeys: [secret] }` and the algorithm HS256.",
  jwksUrl: "Write `keys: { jwksUri }`.",
  jwks_uri: "Write `keys: { jwksUri }`.",
  issuerBaseURL: "Write `issuer` and `keys: { discovery: true }`.",
  issuerBaseUrl: "Write `issuer` and `keys: { discovery: true }`.",
  tokenSigningAlg: "Write `algorithms: [tokenSigningAlg]`.",
  clockTolerance: "Write `clockToleranceSeconds`, in seconds.",
  maxTokenAge: "Write `maxTokenAgeSeconds`, in seconds.",
  getToken: 'Write `tokenSources`, such as [{ header: "authorization" }, { cookie: "access_token" }].',
  ...Object.fromEntries(
    ["credentialsRequired", "authRequired", "passthrough"].map((name) => [name, OPTIONAL]),
  ),
  aud: "Write `audience`, or `serviceId` for the whole server.",
  iss: "Write `issuer`.",
  // Options of the server, which have other names in an issuer.
  algorithm: "Write `algorithms: [algorithm]`.",
  serviceId: "Write `audience`.",
};
