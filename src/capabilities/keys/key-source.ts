import { createCapability } from "../../core/create-capability.ts";
import type { ConfigurationIssue, Report } from "../../core/errors.ts";
import { importJwk } from "../../core/keys/import-key.ts";
import type { KeySourceContext } from "../../core/keys/key-event.ts";
import { createFixedResolver, type Keys, type PlainKeys } from "../../core/keys/key-source.ts";
import type { KeyResolver } from "../../core/keys/verification-key.ts";
import { conflict, type Path } from "../../core/options/mistakes.ts";
import { createJwksFileResolver } from "./jwks-file.ts";
import { importerFor, requireJwks } from "./jwks.ts";
import { createRemoteResolver } from "./remote-source.ts";
import { KEY_SOURCE_HINT, KEY_SOURCE_NAMES, KEY_SOURCES, type KeySource, shape } from "./shape.ts";

/** Creates the value of `keys` for any source. */
export const keysFrom = (written: KeySource): Keys & PlainKeys =>
  createCapability<Keys & PlainKeys>({
    option: "keys",
    written,
    shape,
    names: { keys: KEY_SOURCE_NAMES },
    create(context, report) {
      const present = Object.entries(written).filter(([, value]) => value !== undefined);
      // Without a prototype: a polluted one must not set an option.
      const source = Object.assign(Object.create(null) as KeySource, Object.fromEntries(present));
      const mistake = findSourceMistake(Object.keys(source), context.path);
      if (!mistake) return createKeyResolver(source, context, report);
      report(mistake);
      return undefined;
    },
  });

/** Creates the resolver of a key source, or reports why its keys can't be used. */
function createKeyResolver(
  source: KeySource,
  context: KeySourceContext,
  report: Report,
): KeyResolver | undefined {
  if ("jwksUri" in source || "discovery" in source) return createRemoteResolver(source, context, report);
  if ("jwksFile" in source) return createJwksFileResolver(source, context, report);
  const { algorithms, path } = context;
  const importEntry = importerFor(source.use, importJwk);
  const keys = requireJwks(source.jwks, algorithms, [...path, "jwks"], report, importEntry);
  return keys && createFixedResolver("jwks", keys);
}

/** The options besides the source itself that have an effect, for sources without a URL. */
const FURTHER_OPTIONS: Readonly<Record<string, readonly string[]>> = {
  jwks: ["use"],
  jwksFile: ["use", "staleMs"],
};

/** The schema allows the options of all kinds of sources in one object, so this checks combinations. */
function findSourceMistake(names: readonly string[], path: Path): ConfigurationIssue | undefined {
  const [source, otherSource] = KEY_SOURCES.filter((name) => names.includes(name));
  if (source === undefined)
    return { code: "option_missing", path, message: "contains no key source.", hint: KEY_SOURCE_HINT };
  if (otherSource !== undefined)
    return conflict([...path, otherSource], source, "Use only one source of keys.");
  if (source === "jwksUri" || source === "discovery") return undefined;
  const allowed = FURTHER_OPTIONS[source] ?? [];
  const unused = names.find((name) => name !== source && !allowed.includes(name));
  if (unused === undefined) return undefined;
  return {
    code: "option_conflict",
    path: [...path, unused],
    message: `has no effect with \`${source}\`.`,
    hint: "Remove it: `jwks` accepts only `use`, and `jwksFile` only `use` and `staleMs`. `jwksUri` and `discovery` accept all.",
  };
}
