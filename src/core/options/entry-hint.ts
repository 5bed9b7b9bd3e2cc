import { suggest } from "../errors.ts";
import { CONDITION_NAMES } from "../policy/table-entry.ts";
import { isPlainObject } from "./values.ts";

const NAMES: readonly string[] = ["scopes", "anyOf", ...CONDITION_NAMES];
const TOKEN = "Write [] for any valid token, or an array of scopes.";
const NO_TOKEN = 'Remove the key to have no rule. Write "public" if the route needs no token.';
const SCOPES = 'Write an array of scopes, such as ["agents:read"], or "public" if the route needs no token.';

/** Returns what to write instead of a value that no rule can have; `undefined` for a right value. */
export function findEntryHint(entry: unknown): string | undefined {
  if (typeof entry === "string") return findStringHint(entry);
  if (entry === true) return TOKEN;
  if (entry === false || entry === null || entry === undefined) return NO_TOKEN;
  if (Array.isArray(entry)) return isStrings(entry) ? undefined : "Write each scope as a string.";
  if (typeof entry !== "object") return SCOPES;
  return isPlainObject(entry) ? findObjectHint(entry as Entry) : "Write a plain object: { scopes: [...] }.";
}

function findStringHint(text: string): string | undefined {
  if (text === "public" || text === "optional") return undefined;
  if (text.includes(":")) return `Write ${listScopes(text)}.`;
  return text === "authenticated" ? TOKEN : suggest(text.toLowerCase(), ["public", "optional"], SCOPES);
}

const listScopes = (text: string): string =>
  JSON.stringify(text.match(/[^\s,]+/g) ?? []).replaceAll(",", ", ");
const isStrings = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && [...(value as readonly unknown[])].every((element) => typeof element === "string");

type Entry = Readonly<Record<string, unknown>>;

/** The names are sorted, so that the hint doesn't depend on the order in which they are written. */
function findObjectHint(entry: Entry): string | undefined {
  const names = Object.keys(entry).toSorted();
  const unknown = names.filter((name) => !NAMES.includes(name));
  if (unknown.length > 0) return unknown.map((name) => hintForName(name, entry)).join(" ");
  const [name, other] = ["scopes", "anyOf"].filter((each) => names.includes(each));
  if (other) return "Keep one: { scopes } requires all of its scopes, { anyOf } at least one.";
  if (!name)
    return names.length === 0 ? TOKEN : `Write { scopes: [], ${names.join(", ")} }: [] is any valid token.`;
  const scopes = entry[name];
  if (!isStrings(scopes))
    return `Write { ${name}: ${typeof scopes === "string" && scopes !== "" ? listScopes(scopes) : '["agents:read"]'} }.`;
  return name === "anyOf" && scopes.length === 0 ? `{ anyOf: [] } allows nobody. ${TOKEN}` : undefined;
}

function hintForName(name: string, { filtered }: Entry): string {
  if (name === "filtered")
    return `Write ["${String(filtered).replace(":", ":<any>:")}"] instead of { filtered }.`;
  // Configuration files have names in snake_case.
  const key = name.replaceAll("_", "").toLowerCase();
  return Object.hasOwn(OTHER_NAMES, key)
    ? String(OTHER_NAMES[key])
    : suggest(name, NAMES, `Remove \`${name}\`: rules have no such property.`);
}

const ACR = 'Write acr: { anyOf: ["..."] }, with the `acr` that your issuer sets after this login.';
const MAX_AGE = "Write `maxAuthAgeSeconds`: the seconds since the login.";

/** What to write instead of properties that rules had, or that other libraries have. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  roles: "Write the scopes that these roles have. scopeSources: [{ claim, map }] turns roles into scopes.",
  allof: "Write `scopes`: all of them are required.",
  mfa: ACR,
  amr: ACR,
  maxage: MAX_AGE,
  maxauthage: MAX_AGE,
  override: "Write the value without { override }: it replaces the base rule, whatever it requires.",
  report: "Write what isn't enforced yet as a second table: shadow: shadowTable({ scopeMappings }).",
};
