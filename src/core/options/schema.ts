import { types } from "node:util";
import { orUndefined, type ConfigurationIssue, findSimilar, suggest } from "../errors.ts";
import { KEY_SOURCE_NAMES, KEY_SOURCES } from "./key-source-shape.ts";
import {
  ENTRY_NAMES,
  OPTION_NAMES,
  optionsSchema,
  MCP_NAMES,
  RESOURCE_NAMES,
  SENDER_CONSTRAINT_NAMES,
  SCOPE_SOURCE_NAMES,
  type ShapeIssue,
  TOKEN_CACHE_NAMES,
  TRUSTED_ISSUER_NAMES,
} from "./shape.ts";
import { isPlainObject } from "./values.ts";

type Path = ConfigurationIssue["path"];

/** A mistake in the shape of the options. */
export interface ShapeMistake {
  readonly issue: ConfigurationIssue;
  /** For an unknown option, the options of the server that it probably means: they aren't missing. */
  readonly meantOptions: readonly string[];
}

export const UNKNOWN_HINT = "Remove it, or check its name in the table of options.";

/** Finds each unknown option and wrong shape. Coerces no value, and quotes no value that may be secret. */
export function findShapeMistakes(options: unknown): readonly ShapeMistake[] {
  const { error } = optionsSchema.safeParse(options);
  return (error?.issues ?? []).flatMap((shapeIssue) => {
    const path = shapeIssue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
    if (shapeIssue.code === "unrecognized_keys")
      return shapeIssue.keys.map((name) => describeUnknownOption(path, name));
    return [{ issue: describeWrongValue(path, shapeIssue, options), meantOptions: [] }];
  });
}

function describeUnknownOption(path: Path, name: string): ShapeMistake {
  const names = optionNamesAt(path);
  const alias = findAlias(path, name);
  const issue: ConfigurationIssue = {
    code: "option_unknown",
    path: [...path, name],
    message: `received unknown option \`${name}\`.`,
    hint: alias?.hint ?? suggest(name, names, UNKNOWN_HINT),
  };
  if (path.length > 0) return { issue, meantOptions: [] };
  return { issue, meantOptions: alias?.options ?? [findSimilar(name, names) ?? []].flat() };
}

function describeWrongValue(path: Path, shapeIssue: ShapeIssue, options: unknown): ConfigurationIssue {
  const { message: hint, path: steps } = shapeIssue;
  const lastStep = steps.at(-1);
  const parent = toObject(valueAt(options, steps.slice(0, -1)));
  if (path.length > 1 && typeof lastStep === "string" && !Object.hasOwn(parent, lastStep))
    return { code: "option_missing", path, message: "is missing.", hint };
  const value = valueAt(options, steps);
  const isRule = (path[0] === "scopeMappings" || path[0] === "defaultScopeMappings") && path.length > 1;
  if (!isRule)
    return { code: "option_invalid", path, message: `can't be ${describeValue(value, path)}.`, hint };
  // The most common mistake: one scope without the array.
  const fix = path.length === 2 && isScope(value) ? `Write ["${value}"]. ` : explainProperty(value);
  return {
    code: "requirement_invalid",
    path,
    message: `can't be ${quoteStart(value)}.`,
    hint: `${fix}${hint}`,
  };
}

/** Describes a value. Shows only the type of a value that may be a secret. */
function describeValue(value: unknown, path: Path): string {
  if (value === undefined || value === null) return String(value);
  if (value === "") return "an empty string";
  if (Array.isArray(value)) return value.length === 0 ? "an empty array" : "an array";
  if (types.isUint8Array(value)) return Buffer.isBuffer(value) ? "a Buffer" : "a Uint8Array";
  const isKey = path.includes("keys") || path.includes("verificationKeys");
  if (!isKey && (typeof value === "number" || typeof value === "boolean")) return `\`${value}\``;
  return typeof value === "string" || typeof value === "object"
    ? `this ${typeof value}`
    : `a ${typeof value}`;
}

/** Quotes the start of a requirement, which isn't secret. */
function quoteStart(value: unknown): string {
  const json = orUndefined(() => JSON.stringify(value) as string | undefined) ?? typeof value;
  return `\`${json.length > 80 ? `${json.slice(0, 80)}...` : json}\``;
}

/** Quotes only a property that no entry of the table has, because a whole entry is long. */
function explainProperty(entry: unknown): string {
  if (!isPlainObject(entry)) return "";
  const unknown = Object.keys(entry as object).find((name) => !ENTRY_NAMES.includes(name));
  return unknown === undefined ? "" : `${suggest(unknown, ENTRY_NAMES, `\`${unknown}\` is unknown.`)} `;
}

const isScope = (value: unknown): value is string =>
  typeof value === "string" && /^[\w.-]+(?::[\w.*<>-]+)+$/.test(value);

const toObject = (value: unknown): object => Object(value) as object;

const valueAt = (options: unknown, steps: readonly PropertyKey[]): unknown =>
  steps.reduce<unknown>((value, step) => Reflect.get(toObject(value), step), options);

function optionNamesAt(path: Path): readonly string[] {
  if (path.at(-1) === "keys") return KEY_SOURCE_NAMES;
  if (path.includes("scopeSources")) return SCOPE_SOURCE_NAMES;
  if (path[0] === "tokenCache") return TOKEN_CACHE_NAMES;
  if (path[0] === "resource") return RESOURCE_NAMES;
  if (path[0] === "mcp") return MCP_NAMES;
  if (path[0] === "senderConstraint") return SENDER_CONSTRAINT_NAMES[String(path.at(-1))] ?? [];
  return path[0] === "issuers" ? TRUSTED_ISSUER_NAMES : OPTION_NAMES;
}

/** What to write instead of a name that another library, or another part of the options, uses. */
interface Alias {
  /** The options of the server that the hint names. */
  readonly options: readonly string[];
  readonly hint: string;
}

function findAlias(path: Path, name: string): Alias | undefined {
  const isOption = path.length === 0 || (path.length === 2 && path[0] === "issuers");
  return isOption && Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined;
}

const meaning = (hint: string, ...options: readonly string[]): Alias => ({ options, hint });
const keySource = (properties: string): Alias => meaning(`Write \`keys: { ${properties} }\`.`, "keys");
const DISCOVERY = meaning("Write `issuer` and `keys: { discovery: true }`.", "issuer", "keys");
const OPTIONAL_TOKEN = meaning(
  'Write "optional" for the routes that need no token: `scopeMappings: { "GET /news": "optional" }`.',
  "scopeMappings",
);

const ALIASES: Readonly<Record<string, Alias>> = {
  ...Object.fromEntries(KEY_SOURCES.map((name) => [name, keySource(name)])),
  key: keySource("verificationKeys: [key]"),
  publicKey: keySource("verificationKeys: [publicKey]"),
  secret: meaning("Write `keys: { verificationKeys: [secret] }` and the algorithm HS256.", "keys"),
  jwksUrl: keySource("jwksUri"),
  jwks_uri: keySource("jwksUri"),
  issuerBaseURL: DISCOVERY,
  issuerBaseUrl: DISCOVERY,
  tokenSigningAlg: meaning("Write `algorithms: [tokenSigningAlg]`.", "algorithms"),
  clockTolerance: meaning("Write `clockToleranceSeconds`, in seconds.", "clockToleranceSeconds"),
  maxTokenAge: meaning("Write `maxTokenAgeSeconds`, in seconds.", "maxTokenAgeSeconds"),
  getToken: meaning(
    'Write `tokenSources`, such as [{ header: "authorization" }, { cookie: "access_token" }].',
    "tokenSources",
  ),
  credentialsRequired: OPTIONAL_TOKEN,
  authRequired: OPTIONAL_TOKEN,
  passthrough: OPTIONAL_TOKEN,
  aud: meaning("Write `audience`, or `serviceId` for the whole server.", "audience", "serviceId"),
  iss: meaning("Write `issuer`.", "issuer"),
  // Options of the server that have other names in an issuer.
  algorithm: meaning("Write `algorithms: [algorithm]`.", "algorithms"),
  serviceId: meaning("Write `audience`.", "audience"),
};
