import { types } from "node:util";
import { attempt, type ConfigurationIssue, type Report, suggest } from "../errors.ts";
import { KEY_SOURCE_NAMES } from "./key-source-shape.ts";
import {
  OPTION_NAMES,
  optionsSchema,
  type ShapeIssue,
  TOKEN_CACHE_NAMES,
  TRUSTED_ISSUER_NAMES,
} from "./shape.ts";

/** Reports every option that is unknown or of the wrong shape. Nothing is coerced; what may be a secret is not quoted. */
export function checkShape(options: unknown, report: Report): void {
  const { error } = optionsSchema.safeParse(options);
  for (const issue of error?.issues ?? []) for (const one of toIssues(issue, options)) report(one);
}

/** What kind of value was found: said of the mistake, because the value itself may be a secret. */
function describeFound(value: unknown, path: readonly (string | number)[]): string {
  if (value === undefined || value === null || value === "")
    return value === "" ? "an empty string" : String(value);
  if (Array.isArray(value)) return value.length === 0 ? "an empty list" : "a list";
  if (types.isUint8Array(value)) return Buffer.isBuffer(value) ? "a Buffer" : "a Uint8Array";
  const isKey = path.includes("keys") || path.includes("verificationKeys");
  if (!isKey && (typeof value === "number" || typeof value === "boolean")) return `\`${value}\``;
  return { string: "this text", object: "this object" }[typeof value as string] ?? `a ${typeof value}`;
}

/** What a route asks is no secret. */
function quote(value: unknown): string {
  const text = attempt(() => JSON.stringify(value) as string | undefined) ?? typeof value;
  return `\`${text.length > MAX_QUOTED ? `${text.slice(0, MAX_QUOTED)}...` : text}\``;
}

const MAX_QUOTED = 80;

const isScope = (value: unknown): value is string =>
  typeof value === "string" && /^[\w.-]+(?::[\w.*<>-]+)+$/.test(value);

const valueAt = (options: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((value, step) => Reflect.get(toObject(value), step), options);

function toIssues(issue: ShapeIssue, options: unknown): ConfigurationIssue[] {
  const path = issue.path.map((step) => (typeof step === "symbol" ? String(step) : step));
  if (issue.code === "unrecognized_keys") {
    return issue.keys.map((name) => ({
      code: "option_unknown",
      path: [...path, name],
      message: `received unknown option \`${name}\`.`,
      hint:
        aliasAt(path, name) ??
        suggest(name, namesAt(path), "Remove it, or look its name up in the table of options."),
    }));
  }
  const parent = toObject(valueAt(options, issue.path.slice(0, -1)));
  const last = issue.path.at(-1);
  if (path.length > 1 && typeof last === "string" && !Object.hasOwn(parent, last)) {
    return [{ code: "option_missing", path, message: "is missing.", hint: issue.message }];
  }
  const isEntry = /^(default)?scopeMappings$/i.test(String(path[0])) && path.length > 1;
  const value = valueAt(options, issue.path);
  const message = `cannot be ${isEntry ? quote(value) : describeFound(value, path)}.`;
  // One scope is a list of one.
  const line = isEntry && path.length === 2 && isScope(value) ? `Write ["${value}"]. ` : "";
  const hint = `${line}${issue.message}`;
  return [{ code: isEntry ? "requirement_invalid" : "option_invalid", path, message, hint }];
}

/** The names that could have been meant at a place. */
function namesAt(path: readonly (string | number)[]): readonly string[] {
  if (path.at(-1) === "keys") return KEY_SOURCE_NAMES;
  if (path[0] === "tokenCache") return TOKEN_CACHE_NAMES;
  return path[0] === "issuers" ? TRUSTED_ISSUER_NAMES : OPTION_NAMES;
}

/** What a name stands for that is known elsewhere: in another library, or in another place of the options. */
function aliasAt(path: readonly (string | number)[], name: string): string | undefined {
  const aliases =
    path.length === 0 ? ALIASES : path.length === 2 && path[0] === "issuers" ? ENTRY_ALIASES : {};
  return Object.hasOwn(aliases, name) ? aliases[name] : undefined;
}

/** Names that other libraries have for an option. */
const ALIASES: Readonly<Record<string, string>> = {
  key: "Write `verificationKeys: [key]`.",
  publicKey: "Write `verificationKeys: [publicKey]`.",
  secret: 'Write `verificationKeys: [secret]` and `algorithm: "HS256"`.',
  jwks: "Write `keys: { jwks }`.",
  jwksFile: "Write `keys: { jwksFile }`.",
  jwksUri: "Write `keys: { jwksUri }`.",
  jwksUrl: "Write `keys: { jwksUri }`.",
  jwks_uri: "Write `keys: { jwksUri }`.",
  discovery: "Write `keys: { discovery }`.",
  issuerBaseURL: "Write `issuer` and `keys: { discovery: true }`.",
  aud: "Write `serviceId` or `audience`.",
  iss: "Write `issuer`.",
};

const ENTRY_ALIASES: Readonly<Record<string, string>> = {
  verificationKeys: "Write `keys: { verificationKeys }`.",
  jwks: "Write `keys: { jwks }`.",
  jwksFile: "Write `keys: { jwksFile }`.",
  jwksUri: "Write `keys: { jwksUri }`.",
  discovery: "Write `keys: { discovery }`.",
  algorithm: "Write `algorithms: [algorithm]`.",
  serviceId: "Write `audience`.",
};

/** Nothing has no members. */
const toObject = (value: unknown): object => Object(value) as object;
