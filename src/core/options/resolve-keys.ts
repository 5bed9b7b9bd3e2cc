import { type ConfigurationIssue, type Report } from "../errors.ts";
import { type KeySourceContext } from "../keys/key-event.ts";
import { createKeyResolver, type KeySource } from "../keys/key-source.ts";
import { type KeyResolver } from "../keys/verification-key.ts";
import { KEY_SOURCE_HINT, KEY_SOURCES } from "./key-source-shape.ts";

/** Creates the resolver of a key source, or reports properties that cannot be combined. */
export function resolveKeySource(
  source: KeySource,
  context: KeySourceContext,
  report: Report,
): KeyResolver | undefined {
  const given = Object.fromEntries(Object.entries(source).filter(([, value]) => value !== undefined));
  const mistake = mistakeOf(Object.keys(given), context.path);
  if (mistake) report(mistake);
  return mistake ? undefined : createKeyResolver(given as unknown as KeySource, context, report);
}

/** The shape allows the properties of all kinds of sources together. */
function mistakeOf(names: readonly string[], path: KeySourceContext["path"]): ConfigurationIssue | undefined {
  const [source, other] = KEY_SOURCES.filter((name) => names.includes(name));
  if (source === undefined)
    return { code: "option_missing", path, message: "contains no key source.", hint: KEY_SOURCE_HINT };
  if (other !== undefined) {
    const message = `cannot be combined with \`${source}\`.`;
    return { code: "option_conflict", path: [...path, other], message, hint: "Use only one source of keys." };
  }
  if (source === "jwksUri" || source === "discovery") return undefined;
  const unused = names.find((name) => name !== source && !(source === "jwksFile" && name === "staleMs"));
  if (unused === undefined) return undefined;
  return {
    code: "option_conflict",
    path: [...path, unused],
    message: `has no effect with \`${source}\`.`,
    hint: "Remove it: it applies only to `jwksUri` and `discovery`, and `staleMs` to `jwksFile` as well.",
  };
}
