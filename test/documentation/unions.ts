import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";
import { ROOT } from "./markdown.ts";

/** The string literals of a union type, as its file declares it. */
export function unionOf(file: string, name: string): readonly string[] {
  const source = ts.createSourceFile(file, readFileSync(join(ROOT, file), "utf8"), ts.ScriptTarget.Latest);
  const texts: string[] = [];
  const collect = (node: ts.Node): void => {
    if (ts.isStringLiteral(node)) texts.push(node.text);
    ts.forEachChild(node, collect);
  };
  for (const statement of source.statements)
    if (ts.isTypeAliasDeclaration(statement) && statement.name.text === name) collect(statement.type);
  if (texts.length === 0) throw new Error(`${file} has no union ${name}.`);
  return texts;
}
