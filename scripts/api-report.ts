/**
 * Writes the API report: what each entry of the package exports, with signatures, options and documented
 * defaults. `npm test` compares the report with the code, so that every change of the API is in a diff.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { format } from "prettier";
import ts from "typescript";
import tsup from "../tsup.config.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FOLDER = join(ROOT, "config/api-report");
const SRC = join(ROOT, "src/");

/** The page of types that no entry exports. */
const INTERNAL = "internal";

/** Defines `DEFAULTS`. The type of each property contains its value. */
const DEFAULTS = join(SRC, "core/options/defaults.ts");

/** The entries of the package, except the command line: nobody imports it. */
const ENTRIES = Object.entries(tsup.entry)
  .filter(([name]) => name !== "cli")
  .map(([name, file]) => ({
    page: name,
    specifier: name === "index" ? "scopegate" : `scopegate/${name}`,
    file: join(ROOT, file),
  }));

/**
 * Returns a program of declaration files for the entries and their imports. They contain every type, and no
 * function bodies.
 */
function declarationProgram(files: readonly string[]): ts.Program {
  const { config } = ts.readConfigFile(join(ROOT, "tsconfig.json"), (file) => ts.sys.readFile(file)) as {
    config: unknown;
  };
  const { options } = ts.parseJsonConfigFileContent(config, { ...ts.sys, readDirectory: () => [] }, ROOT);
  // Unlike a program, a language service can write declarations without checking the code.
  const service = ts.createLanguageService({
    fileExists: (file) => ts.sys.fileExists(file),
    readFile: (file) => ts.sys.readFile(file),
    getCompilationSettings: () => ({ ...options, noEmit: false, declaration: true }),
    getCurrentDirectory: () => ROOT,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    getScriptFileNames: () => [...files, join(SRC, "tools/page/script.d.ts")],
    getScriptSnapshot: (file) => ts.ScriptSnapshot.fromString(readFileSync(file, "utf8")),
    getScriptVersion: () => "1",
  });
  const declarationsOf = (file: string): string => {
    const [declarations] = service.getEmitOutput(file, true, true).outputFiles;
    if (!declarations) throw new Error(`${file} has no declarations.`);
    return declarations.text;
  };
  // The types of other packages are not part of the report, so nothing outside of `src` is loaded.
  const host: ts.CompilerHost = {
    ...ts.createCompilerHost({}),
    getSourceFile: (file, languageVersion) =>
      ts.createSourceFile(file, declarationsOf(file), languageVersion, true),
    resolveModuleNameLiterals: (literals, containingFile) =>
      literals.map(({ text }) => ({
        resolvedModule: text.startsWith(".")
          ? { resolvedFileName: join(containingFile, "..", text), extension: ts.Extension.Ts }
          : undefined,
      })),
  };
  return ts.createProgram(files, { noLib: true, types: [], allowImportingTsExtensions: true }, host);
}

/** Replaces each doc comment with its "Default: …" sentence, or removes it. */
const keepDefaults = (declaration: string): string =>
  declaration
    .replaceAll(/\/\*\*[^]*?\*\//g, (comment) => {
      const text = comment.slice(3, -2).replaceAll(/^ *\*/gm, "").replaceAll(/\s+/g, " ").trim();
      const [, value] = /\bDefault: (.*?)\.(?: |$)/.exec(text) ?? [];
      return value === undefined ? "" : `/** Default: ${value}. */`;
    })
    .split("\n")
    .filter((line) => line.trim() !== "")
    .join("\n");

/** Returns the top-level statements that declare a symbol. */
const statementsOf = (symbol: ts.Symbol): readonly ts.Statement[] =>
  (symbol.declarations ?? [])
    .map((declaration): ts.Node =>
      ts.isVariableDeclaration(declaration) ? declaration.parent.parent : declaration,
    )
    .filter(ts.isStatement)
    .filter(({ parent }) => ts.isSourceFile(parent));

const renderDeclaration = (symbol: ts.Symbol, keyword = ""): string =>
  statementsOf(symbol)
    .map((statement) => keepDefaults(statement.getFullText()).replaceAll(/^(?:export )?(?:declare )?/gm, ""))
    // Puts the keyword before the first word.
    .map((text) => text.replace(/^(?=[a-z])/m, keyword))
    .join("\n");

/**
 * Returns the page of each entry, by its file name. A name is declared on the page of the first entry that exports
 * it. Names that no entry exports, but that the exported ones are made of, have a page of their own.
 */
export async function currentReport(): Promise<ReadonlyMap<string, string>> {
  const program = declarationProgram([...ENTRIES.map(({ file }) => file), DEFAULTS]);
  const checker = program.getTypeChecker();
  const resolve = (symbol: ts.Symbol): ts.Symbol =>
    symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const exportsOf = (file: string): readonly ts.Symbol[] => {
    const source = program.getSourceFile(file);
    const module = source && checker.getSymbolAtLocation(source);
    if (!module) throw new Error(`${file} exports nothing.`);
    return checker.getExportsOfModule(module).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  };

  const firstSpecifiers = new Map<ts.Symbol, string>();
  const pages = new Map<string, string[]>();
  for (const { page, specifier, file } of ENTRIES) {
    const lines = exportsOf(file).map((exported) => {
      const symbol = resolve(exported);
      const names = symbol.name === exported.name ? symbol.name : `${symbol.name} as ${exported.name}`;
      const firstSpecifier = firstSpecifiers.get(symbol);
      if (firstSpecifier !== undefined) return `export { ${names} } from "${firstSpecifier}";`;
      firstSpecifiers.set(symbol, specifier);
      if (names === symbol.name) return renderDeclaration(symbol, "export ");
      throw new Error(`${specifier} exports ${names}. The report doesn't support renamed exports.`);
    });
    pages.set(page, lines);
  }

  const internal = new Set(exportsOf(DEFAULTS).filter(({ name }) => name === "DEFAULTS"));
  const addReferences = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) {
      const name = checker.getSymbolAtLocation(node);
      const symbol = name && resolve(name);
      if (symbol && !firstSpecifiers.has(symbol) && statementsOf(symbol).length > 0) internal.add(symbol);
    }
    ts.forEachChild(node, addReferences);
  };
  // A `Set` also visits values that are added while it is iterated.
  for (const symbol of firstSpecifiers.keys()) statementsOf(symbol).forEach(addReferences);
  for (const symbol of internal)
    for (const statement of statementsOf(symbol))
      // Functions are reached only through `ReturnType<typeof name>`.
      addReferences(ts.isFunctionDeclaration(statement) && statement.type ? statement.type : statement);
  pages.set(INTERNAL, [...internal].map((symbol) => renderDeclaration(symbol)).sort());

  const headings = new Map(ENTRIES.map(({ page, specifier }) => [page, `# ${specifier}`]));
  headings.set(INTERNAL, "# What no entry exports, but exported names are made of");
  const texts = [...pages].map(async ([page, lines]) => {
    const markdown = `${headings.get(page)}\n\n\`\`\`ts\n${lines.join("\n\n")}\n\`\`\`\n`;
    return [`${page}.md`, await format(markdown, { parser: "markdown", printWidth: 110 })] as const;
  });
  return new Map(await Promise.all(texts));
}

/** Returns the committed pages, by file name. */
export const committedReport = (): ReadonlyMap<string, string> =>
  new Map(readdirSync(FOLDER).map((file) => [file, readFileSync(join(FOLDER, file), "utf8")]));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const report = await currentReport();
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  for (const [file, text] of report) writeFileSync(join(FOLDER, file), text);
}
