/** One program of all snippets and of the package: one compiler for each of them would take minutes. */
import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";
import tsup from "../../tsup.config.ts";
import { ROOT } from "./markdown.ts";
import { examples, FOLDER, snippets } from "./snippets.ts";

const ENTRIES = Object.values(tsup.entry).map((file) => join(ROOT, file));

/** The options of the libraries that the pages of migration compare with. */
const PEERS = join(FOLDER, "peers.ts");
const PEERS_CODE = `
import { type Params } from "express-jwt";
import { type AuthOptions } from "express-oauth2-jwt-bearer";
import { type Options } from "koa-jwt";
import { type FastifyJWTOptions } from "@fastify/jwt";
export type Peers = {
  "docs/migration/express-jwt.md": Params;
  "docs/migration/express-oauth2-jwt-bearer.md": AuthOptions;
  "docs/migration/koa-jwt.md": Options;
  "docs/migration/fastify-jwt.md": FastifyJWTOptions & NonNullable<FastifyJWTOptions["verify"]>;
};
`;

let compiled: ts.Program | undefined;

/** Compiles all snippets, once. `writeSnippets` must have been called. */
export const compileAll = (): ts.Program => (compiled ??= createProgram());

function createProgram(): ts.Program {
  writeFileSync(PEERS, PEERS_CODE);
  const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), (file) => ts.sys.readFile(file)) as {
    config: object;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const files = [...snippets, ...examples].map(({ file }) => file);
  return ts.createProgram(
    [...files, ...ENTRIES, PEERS],
    // As most users write it: `process.env.NAME`, and scripts of plain JavaScript.
    { ...options, noPropertyAccessFromIndexSignature: false, allowJs: true },
  );
}

/** The compiler errors of the snippets. */
export function mistakesOf(program: ts.Program): readonly string[] {
  return program
    .getSourceFiles()
    .filter(({ fileName }) => fileName.startsWith(FOLDER))
    .flatMap((file) => ts.getPreEmitDiagnostics(program, file))
    .map(({ file, start = 0, messageText }) => {
      const line = file ? ts.getLineAndCharacterOfPosition(file, start).line + 1 : 0;
      const text = ts.flattenDiagnosticMessageText(messageText, "\n");
      return `${relative(ROOT, file?.fileName ?? "")}:${line}: ${text}`;
    });
}

/** Every exported name with its comment, and the own properties of classes and interfaces. */
export function exportedNames(program: ts.Program): ReadonlyMap<string, string> {
  const checker = program.getTypeChecker();
  const commentOf = (symbol: ts.Symbol): string =>
    ts.displayPartsToString(symbol.getDocumentationComment(checker));
  const found = new Map<string, string>();
  for (const entry of ENTRIES) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(entry) as ts.Node);
    for (const exported of module ? checker.getExportsOfModule(module) : []) {
      const isAlias = (exported.flags & ts.SymbolFlags.Alias) !== 0;
      const symbol = isAlias ? checker.getAliasedSymbol(exported) : exported;
      const name = `${relative(ROOT, entry)} ${exported.name}`;
      found.set(name, commentOf(symbol));
      if ((symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.Class)) === 0) continue;
      for (const [member, own] of symbol.members ?? [])
        if (!String(member).startsWith("__")) found.set(`${name}.${String(member)}`, commentOf(own));
    }
  }
  return found;
}

/** The names of the options of each library, by the page that covers it. */
export function peerOptions(program: ts.Program): ReadonlyMap<string, readonly string[]> {
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(PEERS);
  const alias = file?.statements.find(ts.isTypeAliasDeclaration);
  if (!alias) throw new Error("The peers are not compiled.");
  return new Map(
    checker
      .getTypeAtLocation(alias)
      .getProperties()
      .map((page) => {
        const type = checker.getTypeOfSymbol(page);
        return [page.name, type.getProperties().map(({ name }) => name)] as const;
      }),
  );
}
