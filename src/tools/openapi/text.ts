/** Reads and writes documents as JSON and YAML; the only use of yaml. */
import { Document, parseDocument as parse, visit } from "yaml";
import { orUndefined, ConfigurationError } from "../../core/errors.ts";
import { isOnlyReading } from "../../core/runtime/json.ts";
import { escapeHidden, isHidden } from "../escape.ts";
import { issueAt, membersOf, type OpenApiDocument, requireDocument } from "./document.ts";

/**
 * Reads an OpenAPI document from JSON or YAML. It resolves aliases, but no references.
 *
 * @throws ConfigurationError for text that cannot be read, with the line and without its content, for
 *   repeated keys, circular aliases, more than 1,000 uses of an alias, and versions other than 3.0 and 3.1
 */
export function parseDocument(text: string): OpenApiDocument {
  if (typeof (text as unknown) !== "string")
    throw new TypeError('parseDocument takes a string: write readFileSync("api.yaml", "utf8").');
  const json = orUndefined(() => JSON.parse(text) as object);
  if (membersOf(json) && isOnlyReading(json ?? {}, Buffer.from(text))) return requireDocument(json);
  const yaml = isDeep(text) ? undefined : orUndefined(() => parse(text, { merge: true, logLevel: "error" }));
  const [error] = yaml?.errors ?? [];
  // As JSON, so that an alias is neither a shared object nor a circle.
  const plain = orUndefined(() => JSON.stringify(error ? undefined : yaml?.toJS({ maxAliasCount: 1_000 })));
  if (plain !== undefined) return requireDocument(JSON.parse(plain));
  const why = error?.linePos
    ? `${error.code} at line ${error.linePos[0].line}`
    : "it is nested too deeply, or repeats aliases too often";
  const hint = "Write each key once, and every anchor before its aliases.";
  throw new ConfigurationError([issueAt(["document"], `cannot be read as JSON or YAML: ${why}.`, hint)]);
}

/** Deep nesting can overflow the stack of the YAML parser and end the process, which no `catch` prevents. */
function isDeep(text: string): boolean {
  let depth = 0;
  for (const [bracket] of text.matchAll(/[[\]{}]/g)) {
    depth += "[{".includes(bracket) ? 1 : -1;
    if (depth > 500) return true;
  }
  // Each use of an alias may repeat the whole text.
  const uses = text.match(/(?<![^\s,[{:-])\*[^\s,\]}]/g)?.length ?? 0;
  return uses * text.length > 100_000_000 || /^ {1000}|(?:[-?:][ \t]+){200}/m.test(text);
}

/**
 * Writes an OpenAPI document as JSON or YAML. Comments of the text that it was read from are lost. Control
 * characters, and characters that change the direction of text, are escaped.
 */
export function renderDocument(document: object, format: "json" | "yaml"): string {
  if (format === "json") return escapeHidden(`${JSON.stringify(document, null, 2)}\n`);
  const yaml = new Document(document, { aliasDuplicateObjects: false, compat: "yaml-1.1" });
  // Only double quotes have escapes.
  visit(yaml, {
    Scalar(_, node) {
      if (isHidden(node.value)) node.type = "QUOTE_DOUBLE";
    },
  });
  return escapeHidden(yaml.toString({ lineWidth: 0 }));
}
