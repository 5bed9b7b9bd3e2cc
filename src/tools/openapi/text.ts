/** Reads and writes documents as JSON and YAML. */
import { orUndefined, ConfigurationError } from "../../core/errors.ts";
import { isOnlyReading } from "../../core/runtime/json.ts";
import { escapeHidden, isHidden } from "../escape.ts";
import { issueAt, membersOf, type OpenApiDocument, requireDocument } from "./document.ts";
import { loadYaml } from "./yaml.ts";

/**
 * Reads an OpenAPI document from JSON or YAML. It resolves aliases, but no references.
 *
 * Only YAML needs the package `yaml`.
 *
 * @throws TypeError for anything but a string
 * @throws ConfigurationError for a string that can't be read (with the line, without its content), for
 *   repeated keys, circular aliases, more than 1,000 uses of an alias, and versions other than 3.0 and 3.1,
 *   and for YAML if the package `yaml` isn't installed
 */
export function parseDocument(text: string): OpenApiDocument {
  if (typeof (text as unknown) !== "string")
    throw new TypeError('parseDocument takes a string: write readFileSync("api.yaml", "utf8").');
  const object = membersOf(orUndefined(() => JSON.parse(text) as unknown));
  // JSON with repeated keys is read as YAML below, because that error has the line of the key.
  if (object && isOnlyReading(object, Buffer.from(text))) return requireDocument(object);
  const result = readYaml(text);
  if ("value" in result) return requireDocument(result.value);
  const hint = "Write each key once, and every anchor before its aliases.";
  throw new ConfigurationError([
    issueAt(["document"], `can't be read as JSON or YAML: ${result.why}.`, hint),
  ]);
}

/** Reads one YAML document, or returns why it can't be read. */
function readYaml(text: string): { readonly value: unknown } | { readonly why: string } {
  const yaml = loadYaml();
  const document = isTooCostly(text)
    ? undefined
    : orUndefined(() => yaml.parseDocument(text, { merge: true, logLevel: "error" }));
  const [error] = document?.errors ?? [];
  // As JSON, so that an alias becomes neither a shared object nor a circular reference.
  const json = orUndefined(() =>
    JSON.stringify(error ? undefined : document?.toJS({ maxAliasCount: 1_000 })),
  );
  if (json !== undefined) return { value: JSON.parse(json) as unknown };
  const why = error?.linePos
    ? `${error.code} at line ${error.linePos[0].line}`
    : "it's nested too deeply, or has aliases that are circular, too many or without an anchor";
  return { why };
}

/** The start of an alias such as `*name`, where a value or a key can start. */
const ALIAS = /(?<![^\s,[{:-])\*[^\s,\]}]/g;
/** Nesting without brackets: by indentation, or by indicators on one line, such as `- - - value`. */
const DEEP_NESTING = /^ {1000}|(?:[-?:][ \t]+){200}/m;

/**
 * Deep nesting can overflow the stack of the YAML parser and end the process, which no `catch` prevents. Many
 * aliases in a long document take too much memory.
 */
function isTooCostly(text: string): boolean {
  let depth = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth += "[{".includes(bracket) ? 1 : -1;
    if (depth > 500) return true;
  }
  // Each use of an alias may repeat the whole document.
  const aliasCount = text.match(ALIAS)?.length ?? 0;
  return aliasCount * text.length > 100_000_000 || DEEP_NESTING.test(text);
}

/**
 * Writes an OpenAPI document as JSON or YAML. Comments in the source are lost. Control characters, and
 * characters that change the direction of text, are escaped.
 * @throws ConfigurationError for YAML if the package `yaml` isn't installed
 */
export function renderDocument(document: object, format: "json" | "yaml"): string {
  if (format === "json") return escapeHidden(`${JSON.stringify(document, null, 2)}\n`);
  const yaml = loadYaml();
  const yamlDocument = new yaml.Document(document, { aliasDuplicateObjects: false, compat: "yaml-1.1" });
  // Only double quotes have escapes.
  yaml.visit(yamlDocument, {
    Scalar(_, node) {
      if (isHidden(node.value)) node.type = "QUOTE_DOUBLE";
    },
  });
  return escapeHidden(yamlDocument.toString({ lineWidth: 0 }));
}
