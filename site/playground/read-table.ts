/** Reads a table as people write it: the object of a program, JSON, or YAML. Nothing is evaluated. */
import { type Document, parseDocument, visit } from "yaml";
import type { ScopeMappings } from "../../src/index.ts";

/** Tags of YAML that name other types are ignored. */
const OPTIONS = { resolveKnownTags: false } as const;

export type ReadTable =
  | { readonly kind: "table"; readonly table: ScopeMappings }
  | { readonly kind: "mistake"; readonly message: string };

/** A string, or a comment of a program: `//` inside of other text, such as an address, is none. */
const STRING_OR_COMMENT = /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?<![^\s,{}[\]"'])\/\/.*/g;

/** More than a screen full. A longer table would block the browser while the reader types. */
const MAX_LENGTH = 20_000;

export function readTable(written: string): ReadTable {
  if (written.length > MAX_LENGTH)
    return { kind: "mistake", message: `The table must have at most ${MAX_LENGTH} characters here.` };
  const text = written
    .replaceAll(STRING_OR_COMMENT, (_, string = "") => asDoubleQuoted(String(string)))
    .trim();
  const asWritten = parseDocument(text.replace(/^scopeMappings:|,$/g, ""), OPTIONS);
  // The lines of an object, without its braces.
  const isBare = asWritten.errors.length > 0 && /^["']/.test(text);
  const document = isBare ? parseDocument(`{${text}}`, OPTIONS) : asWritten;
  const [error] = document.errors;
  if (error) return { kind: "mistake", message: describe(error.code, error.message) };
  if (hasAlias(document)) return { kind: "mistake", message: "Aliases of YAML aren't supported here." };
  const table: unknown = document.toJS();
  if (typeof table === "object" && table !== null && !Array.isArray(table))
    return { kind: "table", table: table as ScopeMappings };
  return { kind: "mistake", message: 'The table must be an object: { "GET /orders": ["orders:read"] }' };
}

/** In a program, a single-quoted string has escapes, and in YAML it has none. */
const asDoubleQuoted = (string: string): string =>
  string.startsWith("'") && string.includes("\\")
    ? `"${string.slice(1, -1).replaceAll("\\'", "'").replaceAll('"', '\\"')}"`
    : string;

function hasAlias(document: Document): boolean {
  let isFound = false;
  visit(document, {
    Alias: () => {
      isFound = true;
      return visit.BREAK;
    },
  });
  return isFound;
}

const describe = (code: string, message: string): string =>
  code === "DUPLICATE_KEY"
    ? "Two rules have the same key. Keep one of them."
    : (message.split("\n")[0] ?? "");
