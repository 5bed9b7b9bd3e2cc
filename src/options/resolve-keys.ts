import { type ConfigurationIssue, type Report } from "../errors.ts";
import { createKeyResolver, type KeySource } from "../keys/key-source.ts";
import { type KeyUse } from "../keys/key-use.ts";
import { type KeyResolver } from "../keys/verification-key.ts";
import { KEY_SOURCE_HINT, KEY_SOURCES } from "./key-source-shape.ts";

/** A source as the schema lets it through: any of the members of all kinds of sources. */
type GivenSource = Readonly<Record<string, unknown>>;

const REMOTE_SOURCES = ["jwksUri", "discovery"];

/** The resolver of a key source of the right shape, or a report of what is wrong with it as a whole. */
export function resolveKeySource(source: KeySource, use: KeyUse, report: Report): KeyResolver | undefined {
  const given = Object.fromEntries(Object.entries(source).filter(([, value]) => value !== undefined));
  const mistake = mistakeOf(given, use.path);
  if (mistake) report(mistake);
  return mistake ? undefined : createKeyResolver(given as unknown as KeySource, use, report);
}

function mistakeOf(given: GivenSource, path: KeyUse["path"]): ConfigurationIssue | undefined {
  const [source, other] = KEY_SOURCES.filter((name) => name in given);
  if (source === undefined) {
    return { code: "option_missing", path, message: "names no source of keys.", hint: KEY_SOURCE_HINT };
  }
  if (other !== undefined) {
    const message = `stands beside \`${source}\`.`;
    return { code: "option_conflict", path: [...path, other], message, hint: "Give one source of keys." };
  }
  const idle = REMOTE_SOURCES.includes(source)
    ? undefined
    : Object.keys(given).find((name) => name !== source);
  if (idle === undefined) return undefined;
  return {
    code: "option_conflict",
    path: [...path, idle],
    message: `is of no use beside \`${source}\`.`,
    hint: "It is for keys that are fetched: `jwksUri` or `discovery`.",
  };
}
