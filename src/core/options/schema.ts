import { types } from "node:util";
import { isCapability } from "../capability.ts";
import { orUndefined, type ConfigurationIssue, suggest } from "../errors.ts";
import {
  OPTION_NAMES,
  optionsSchema,
  SCOPE_SOURCE_NAMES,
  type ShapeIssue,
  TOKEN_CACHE_NAMES,
  TRUSTED_ISSUER_NAMES,
} from "./shape.ts";
import type { Path } from "./mistakes.ts";
import { isPlainObject } from "./values.ts";

export const UNKNOWN_HINT = "Remove it, or check its name in the table of options.";

/** Finds each unknown option and wrong shape. Coerces no value, and quotes no value that may be secret. */
export function findShapeMistakes(options: unknown): readonly ConfigurationIssue[] {
  const { error } = optionsSchema.safeParse(options);
  return (error?.issues ?? []).flatMap((shapeIssue) => {
    const path = shapeIssue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
    if (shapeIssue.code === "unrecognized_keys")
      return shapeIssue.keys.map((name) => describeUnknownOption(path, name, options));
    return [describeWrongValue(path, shapeIssue, options)];
  });
}

function describeUnknownOption(path: Path, name: string, options: unknown): ConfigurationIssue {
  const names = namesInCapability(options, path) ?? optionNamesAt(path);
  return {
    code: "option_unknown",
    path: [...path, name],
    message: `received unknown option \`${name}\`.`,
    hint: findAlias(path, name) ?? suggest(name, names, UNKNOWN_HINT),
  };
}

function describeWrongValue(path: Path, shapeIssue: ShapeIssue, options: unknown): ConfigurationIssue {
  const { message: hint, path: steps } = shapeIssue;
  const lastStep = steps.at(-1);
  const parent = toObject(contentOf(valueAt(options, steps.slice(0, -1))));
  if (path.length > 1 && typeof lastStep === "string" && !Object.hasOwn(parent, lastStep))
    return { code: "option_missing", path, message: "is missing.", hint };
  const value = contentOf(valueAt(options, steps));
  const isRule = ["scopeMappings", "defaultScopeMappings"].includes(String(path.at(-2)));
  if (!isRule)
    return { code: "option_invalid", path, message: `can't be ${describeValue(value, path)}.`, hint };
  return { code: "requirement_invalid", path, message: `can't be ${quoteStart(value)}.`, hint };
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
  const sorted = isPlainObject(value)
    ? Object.fromEntries(Object.entries(toObject(value)).toSorted())
    : value;
  const json = orUndefined(() => JSON.stringify(sorted) as string | undefined) ?? typeof value;
  return `\`${json.length > 80 ? `${json.slice(0, 80)}...` : json}\``;
}

const toObject = (value: unknown): object => Object(value) as object;

const valueAt = (options: unknown, steps: readonly PropertyKey[]): unknown =>
  steps.reduce<unknown>((value, step) => Reflect.get(toObject(contentOf(value)), step), options);

/** What was written to create a capability, if anything was: the paths of its mistakes begin there. */
const contentOf = (value: unknown): unknown =>
  isCapability(value) && value.written !== undefined ? value.written : value;

/** Returns the names of the options in the object at a path inside a capability. */
function namesInCapability(options: unknown, path: Path): readonly string[] | undefined {
  const value = path.map((_, index) => valueAt(options, path.slice(0, index + 1))).find(isCapability);
  return value?.names[String(path.at(-1))];
}

function optionNamesAt(path: Path): readonly string[] {
  if (path.includes("scopeSources")) return SCOPE_SOURCE_NAMES;
  if (path[0] === "tokenCache") return TOKEN_CACHE_NAMES;
  return path[0] === "issuers" ? TRUSTED_ISSUER_NAMES : OPTION_NAMES;
}

/** Returns what to write instead of a name that another library, or another part of the options, uses. */
function findAlias(path: Path, name: string): string | undefined {
  if (path.at(-1) === "keys" && /^verification_?keys$/i.test(name)) return "Write it instead of `keys`.";
  const isOption = path.length === 0 || (path.length === 2 && path[0] === "issuers");
  return isOption && Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined;
}

const keySource = (call: string, plain: string): string =>
  `Write \`keys: ${call}\`, imported from scopegate/keys; in a file or with scopegate/complete, \`keys: { ${plain} }\`.`;
const remoteKeys = (property: string): string => keySource(`remoteKeys({ ${property} })`, property);
const JWKS_URI = remoteKeys("jwksUri");
const DISCOVERY = remoteKeys("discovery: true");
const OPTIONAL_TOKEN =
  'Write "optional" for the routes that need no token: `scopeMappings: { "GET /news": "optional" }`.';

const ALIASES: Readonly<Record<string, string>> = {
  jwks: keySource("jwks(set)", "jwks"),
  jwksFile: keySource("jwksFile(path)", "jwksFile"),
  jwksUri: JWKS_URI,
  jwksUrl: JWKS_URI,
  jwks_uri: JWKS_URI,
  discovery: DISCOVERY,
  issuerBaseURL: DISCOVERY,
  issuerBaseUrl: DISCOVERY,
  key: "Write `verificationKeys: [key]`.",
  publicKey: "Write `verificationKeys: [publicKey]`.",
  secret: "Write `verificationKeys: [secret]` and the algorithm HS256.",
  tokenSigningAlg: "Write `algorithms: [tokenSigningAlg]`.",
  clockTolerance: "Write `clockToleranceSeconds`, in seconds.",
  maxTokenAge: "Write `maxTokenAgeSeconds`, in seconds.",
  getToken: 'Write `tokenSources`, such as [{ header: "authorization" }, { cookie: "access_token" }].',
  credentialsRequired: OPTIONAL_TOKEN,
  authRequired: OPTIONAL_TOKEN,
  passthrough: OPTIONAL_TOKEN,
  enforcement:
    'Write the table that isn\'t enforced yet as `shadow: shadowTable({ scopeMappings })`, imported from scopegate/shadow, and enforce { "* /{*path}": [] } and your public and optional rules.',
  aud: "Write `audience`, or `serviceId` for the whole server.",
  iss: "Write `issuer`.",
  // Options of the server that have other names in an issuer.
  algorithm: "Write `algorithms: [algorithm]`.",
  serviceId: "Write `audience`.",
};
