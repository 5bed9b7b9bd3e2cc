/** One program of all snippets and of the package: one compiler for each of them would take minutes. */
import { writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";
import tsup from "../../tsup.config.ts";
import { pageOf, ROOT, rowsOf, sectionOf } from "./markdown.ts";
import { examples, FOLDER, type Snippet, snippets } from "./snippets.ts";

const ENTRIES = Object.values(tsup.entry).map((file) => join(ROOT, file));

/** The options of the libraries that the page of migration compares with. */
const PEERS = join(FOLDER, "peers.ts");
const PEERS_CODE = `
import type { Params } from "express-jwt";
import type { AuthOptions } from "express-oauth2-jwt-bearer";
import type { Options } from "koa-jwt";
import type { FastifyJWTOptions } from "@fastify/jwt";
import type { StrategyOptions } from "passport-jwt";
export type Peers = {
  "express-jwt": Params;
  "express-oauth2-jwt-bearer": AuthOptions;
  "koa-jwt": Options;
  "@fastify/jwt": FastifyJWTOptions & NonNullable<FastifyJWTOptions["verify"]>;
  "passport-jwt": StrategyOptions;
};
`;

/**
 * The names that the newest version with such a table has removed: the name, its entry points, and what to write.
 * A row can have several names.
 */
export const removedNames = rowsOf(sectionOf(pageOf("CHANGELOG.md"), "Removed names"))
  .slice(2)
  .flatMap(([cell = "", was = "", write = ""]) =>
    cell.split(", ").map((name) => {
      const [, entry] = /^the same from `(.*)`$/.exec(write) ?? [];
      const isMoved = entry !== undefined;
      return [name, was, isMoved ? `\`import { type ${name.replaceAll("`", "")} } from "${entry}"\`` : write];
    }),
  );

/** What to write instead of removed names: an import, or a type made of exported names. */
const RENAMES = join(FOLDER, "renames.ts");

function renamesCode(): string {
  const codes = removedNames.map(([, , write = ""]) => /`([^`]*)`/.exec(write)?.[1] ?? "");
  const imports = codes.filter((code) => code.startsWith("import "));
  const types = removedNames.flatMap(([, was, write = ""], index) =>
    was === "`scopegate`" && !write.startsWith("`import ")
      ? [`export type Type${index} = ${codes[index]};`]
      : [],
  );
  const names = [...types.join("\n").matchAll(/(?<![."\w])(?!Type\d)[A-Z]\w+|(?<=typeof )\w+/g)].map(String);
  const isImported = (name: string) => imports.some((line) => line.match(/\w+/g)?.includes(name));
  const exported = [...new Set(names)].filter((name) => !UTILITIES.has(name) && !isImported(name));
  return [...imports, `import type { ${exported.join(", ")} } from "scopegate";`, ...types].join("\n");
}

/** Types of TypeScript itself. */
const UTILITIES = new Set(["Awaited", "Extract", "NonNullable", "Parameters", "ReturnType"]);

let compiled: ts.Program | undefined;

const files = [...snippets, ...examples];

/**
 * A peer gives each request of Express an `auth` of its own, and the SDK of MCP another one. A block that declares
 * `req.user` does not compile with the types of passport, which declare it, too.
 */
const isCompiledApart = ({ code }: Snippet): boolean =>
  code.includes("@modelcontextprotocol/") || code.includes("namespace Express");

/** Compiles all snippets except those of `compileApart`, once. `writeSnippets` must have been called. */
export function compileAll(): ts.Program {
  if (!compiled) {
    writeFileSync(PEERS, PEERS_CODE);
    writeFileSync(RENAMES, renamesCode());
  }
  return (compiled ??= createProgram([
    ...files.filter((snippet) => !isCompiledApart(snippet)).map(({ file }) => file),
    ...ENTRIES,
    PEERS,
    RENAMES,
  ]));
}

/**
 * Compiles the snippets that declare properties of a request as other libraries do, most of them with the SDK of MCP.
 * Its types do not fit Node's with one of the strict options.
 */
export const compileApart = (): ts.Program =>
  createProgram(
    files.filter(isCompiledApart).map(({ file }) => file),
    { exactOptionalPropertyTypes: false },
    compileAll(),
  );

/** Frees the program: test files share a process, and its memory slows every garbage collection down. */
export const forgetProgram = (): void => void (compiled = undefined);

function createProgram(
  names: readonly string[],
  others: ts.CompilerOptions = {},
  parsed?: ts.Program,
): ts.Program {
  const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), (file) => ts.sys.readFile(file)) as {
    config: object;
  };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  // As most users write it: `process.env.NAME`, and scripts of plain JavaScript.
  const own = { ...options, noPropertyAccessFromIndexSignature: false, allowJs: true, ...others };
  return ts.createProgram(names, own, undefined, parsed);
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
        if (!String(member).startsWith("__") && (own.flags & ts.SymbolFlags.TypeParameter) === 0)
          found.set(`${name}.${String(member)}`, commentOf(own));
    }
  }
  return found;
}

/** The names of the options of each library. */
export function peerOptions(program: ts.Program): ReadonlyMap<string, readonly string[]> {
  const checker = program.getTypeChecker();
  const file = program.getSourceFile(PEERS);
  const alias = file?.statements.find(ts.isTypeAliasDeclaration);
  if (!alias) throw new Error("The peers are not compiled.");
  return new Map(
    checker
      .getTypeAtLocation(alias)
      .getProperties()
      .map((library) => {
        const type = checker.getTypeOfSymbol(library);
        return [library.name, type.getProperties().map(({ name }) => name)] as const;
      }),
  );
}
