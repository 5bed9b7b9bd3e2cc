import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const SRC = fileURLToPath(new URL("../src", import.meta.url));

/** The order in which data flows: a file imports from its own room and from rooms to the left only. */
const ROOMS = [
  ["errors.ts", "runtime/"],
  ["scopes/"],
  ["request.ts"],
  ["keys/"],
  ["token/"],
  ["policy/"],
  ["audit/", "response/"],
  ["options/"],
  ["refusal-log.ts", "observer.ts", "pipeline.ts", "resource-server.ts"],
  ["adapters/"],
  ["index.ts"],
  // After the main entry, so that the main entry cannot import it.
  ["testing/"],
];

/** The files through which each third-party package, and each way to do I/O, enters. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  jose: ["testing/sign-token.ts", "token/verifier.ts"],
  "path-to-regexp": ["policy/parse-pattern.ts"],
  zod: ["options/key-source-shape.ts", "options/shape.ts", "options/values.ts"],
  leven: ["errors.ts"],
  "fastify-plugin": ["adapters/fastify/index.ts"],
  "node:fs": ["keys/jwks-file.ts"],
  "node:fs/promises": ["keys/jwks-file.ts"],
  "node:crypto": [
    "keys/algorithm.ts",
    "keys/hmac-secret.ts",
    "keys/import-key.ts",
    "keys/verification-key.ts",
    "testing/sign-token.ts",
    "testing/test-key.ts",
    "token/token-cache.ts",
  ],
  "node:http": [
    "adapters/node-request.ts",
    "adapters/node-response.ts",
    "keys/http-get.ts",
    "policy/route-key.ts",
    "testing/key-server.ts",
  ],
  "node:https": ["keys/http-get.ts"],
  "node:zlib": ["keys/http-get.ts"],
  "node:stream": ["adapters/node/upgrade-socket.ts", "keys/http-get.ts"],
  "node:util": ["keys/import-key.ts", "options/key-source-shape.ts", "options/schema.ts", "refusal-log.ts"],
};

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));

const sources = new Map(
  files.map((file) => {
    const text = readFileSync(join(SRC, file), "utf8");
    return [file, ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)] as const;
  }),
);

interface Import {
  readonly from: string;
  readonly isTypeOnly: boolean;
}

/** Static and dynamic imports, and re-exports, as the compiler's parser sees them. */
function importsOf(source: ts.SourceFile): readonly Import[] {
  const found: Import[] = [];
  const visit = (node: ts.Node): void => {
    if ((ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) && node.moduleSpecifier) {
      found.push({ from: (node.moduleSpecifier as ts.StringLiteral).text, isTypeOnly: isTypeOnly(node) });
    }
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) {
      found.push({ from: (node.arguments[0] as ts.StringLiteral).text, isTypeOnly: false });
    }
    if (ts.isImportTypeNode(node))
      found.push({ from: node.argument.getText().slice(1, -1), isTypeOnly: true });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function isTypeOnly(node: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  if (ts.isExportDeclaration(node)) return node.isTypeOnly;
  const bindings = node.importClause?.namedBindings;
  if (node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  return (
    bindings !== undefined && ts.isNamedImports(bindings) && bindings.elements.every((one) => one.isTypeOnly)
  );
}

const roomOf = (file: string): number =>
  ROOMS.findIndex((room) =>
    room.some((part) => (part.endsWith("/") ? file.startsWith(part) : file === part)),
  );

const isLocal = (from: string): boolean => from.startsWith(".");
const targetOf = (file: string, from: string): string => relative(SRC, resolve(SRC, dirname(file), from));
const packageOf = (from: string): string => (from.startsWith("node:") ? from : (from.split("/")[0] ?? from));

describe("the architecture", () => {
  it("gives every file a room", () => {
    expect(files.filter((file) => roomOf(file) < 0)).toEqual([]);
    expect(files.length).toBeGreaterThan(30);
  });

  it("lets imports run one way, types included", () => {
    const against = [...sources].flatMap(([file, source]) =>
      importsOf(source)
        .filter(({ from }) => isLocal(from) && roomOf(targetOf(file, from)) > roomOf(file))
        .map(({ from }) => `${file} -> ${targetOf(file, from)}`),
    );
    expect(against).toEqual([]);
  });

  it("has no circles within a room", () => {
    const graph = new Map(
      [...sources].map(([file, source]) => [
        file,
        importsOf(source)
          .filter(({ from }) => isLocal(from))
          .map(({ from }) => targetOf(file, from)),
      ]),
    );
    const reaches = (start: string): ReadonlySet<string> => {
      const seen = new Set<string>();
      const pending = [...(graph.get(start) ?? [])];
      for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
        if (seen.has(next)) continue;
        seen.add(next);
        pending.push(...(graph.get(next) ?? []));
      }
      return seen;
    };
    expect(files.filter((file) => reaches(file).has(file))).toEqual([]);
  });

  it("lets every package in through one door, and none unlisted", () => {
    const uninvited = [...sources].flatMap(([file, source]) =>
      importsOf(source)
        .filter(({ from }) => !isLocal(from) && !DOORS[packageOf(from)]?.includes(file))
        .map(({ from }) => `${file} -> ${from}`),
    );
    expect(uninvited).toEqual([]);
    const used = new Set(
      [...sources.values()].flatMap((source) => importsOf(source).map(({ from }) => packageOf(from))),
    );
    expect(Object.keys(DOORS).filter((name) => !used.has(name))).toEqual([]);
  });

  it("lists every package that is imported as a dependency, and no other", () => {
    const manifest = JSON.parse(readFileSync(join(SRC, "../package.json"), "utf8")) as {
      readonly dependencies: Record<string, string>;
    };
    const packages = Object.keys(DOORS).filter((name) => !name.startsWith("node:"));
    expect(packages.sort()).toEqual(Object.keys(manifest.dependencies).sort());
  });

  it("keeps asynchrony, clocks and randomness out of policy and response", () => {
    const impure = [...sources]
      .filter(([file]) => /^(?:policy|audit|response|scopes)\//.test(file))
      .flatMap(([file, source]) => identifiersOf(source).map((name) => `${file}: ${name}`))
      .filter((entry) =>
        /: (?:async|await|Promise|Date|performance|setTimeout|setImmediate|process|random)$/.test(entry),
      );
    expect(impure).toEqual([]);
  });

  it("writes WWW-Authenticate in one place", () => {
    const writers = [...sources]
      .filter(([, source]) => stringsOf(source).includes("Bearer"))
      .map(([file]) => file);
    // A test's request carries the scheme as well.
    expect(writers.sort()).toEqual(["response/challenge.ts", "testing/check.ts"]);
  });

  it("keeps files small", () => {
    const lengths = [...sources].map(([file, source]) => [file, source.getLineStarts().length] as const);
    expect(lengths.filter(([, lines]) => lines > 201)).toEqual([]);
    const sorted = lengths.map(([, lines]) => lines).sort((a, b) => a - b);
    expect(sorted[Math.floor(sorted.length / 2)]).toBeLessThan(100);
  });

  it("has no comment longer than 110 columns, except in the code of an example", () => {
    const long = [...sources].flatMap(([file, source]) =>
      commentLinesOf(source)
        .filter((line) => line.length > 110)
        .map((line) => `${file}: ${line.trim()}`),
    );
    expect(long).toEqual([]);
  });
});

/** The lines that hold a comment only. Not the code of examples, which readers copy as it is. */
function commentLinesOf(source: ts.SourceFile): readonly string[] {
  const text = source.text.replaceAll(/^ *\* ```[^]*?^ *\* ```$/gm, "");
  return text.split("\n").filter((line) => /^ *(?:\/\/|\/?\*)/.test(line));
}

function identifiersOf(source: ts.SourceFile): readonly string[] {
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) names.push(node.text);
    if (node.kind === ts.SyntaxKind.AsyncKeyword) names.push("async");
    if (ts.isAwaitExpression(node)) names.push("await");
    ts.forEachChild(node, visit);
  };
  visit(source);
  return names;
}

/** The texts of all literals, the first words of templates included. */
function stringsOf(source: ts.SourceFile): readonly string[] {
  const texts: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node)) texts.push(node.text.trim());
    ts.forEachChild(node, visit);
  };
  visit(source);
  return texts;
}
