/** Reads a table as people write it: the object of a program, JSON, or YAML. Nothing is evaluated. */
import { type Document, parseDocument, visit } from "yaml";
import type { ScopeMappings } from "../../src/index.ts";

export type ReadTable =
  | { readonly kind: "table"; readonly table: ScopeMappings }
  | { readonly kind: "mistake"; readonly message: string };

/** A string, or a comment of a program. */
const STRING_OR_COMMENT = /("(?:[^"\\]|\\.)*"|'[^']*')|\/\/.*/g;

export function readTable(written: string): ReadTable {
  const text = written.replaceAll(STRING_OR_COMMENT, (_, string: string | undefined) => string ?? "").trim();
  const asWritten = parseDocument(text.replace(/^scopeMappings:|,$/g, ""));
  // The lines of an object, without its braces.
  const isBare = asWritten.errors.length > 0 && /^["']/.test(text);
  const document = isBare ? parseDocument(`{${text}}`) : asWritten;
  const [error] = document.errors;
  if (error) return { kind: "mistake", message: describe(error.code, error.message) };
  if (hasAlias(document)) return { kind: "mistake", message: "Aliases of YAML aren't supported here." };
  const table: unknown = document.toJS();
  if (typeof table === "object" && table !== null && !Array.isArray(table))
    return { kind: "table", table: table as ScopeMappings };
  return { kind: "mistake", message: 'The table must be an object: { "GET /orders": ["orders:read"] }' };
}

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
