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
  ["health.ts", "refusal-log.ts", "observer.ts", "pipeline.ts", "resource-server.ts", "until-expiry.ts"],
  ["decision-log/"],
  ["adapters/"],
  ["redis/"],
  ["api-keys/", "introspection/", "replay/"],
  ["mcp/", "openapi/", "otel/", "revocation/"],
  ["page/"],
  ["index.ts"],
  // After the main entry, so that the main entry cannot import it.
  ["testing/"],
  ["cli/"],
];

/** The files through which each third-party package, and each way to do I/O, enters. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  jose: ["introspection/client.ts", "testing/sign-token.ts", "token/verifier.ts"],
  "path-to-regexp": ["policy/parse-pattern.ts"],
  yaml: ["openapi/text.ts"],
  zod: ["introspection/options.ts", "options/key-source-shape.ts", "options/shape.ts", "options/values.ts"],
  leven: ["errors.ts"],
  "on-headers": ["adapters/edit-body.ts", "mcp/hosts/node.ts"],
  "fastify-plugin": ["adapters/fastify/index.ts"],
  // The metadata of decorators belongs to NestJS.
  "@nestjs/common": ["adapters/nest/call.ts", "adapters/nest/index.ts", "adapters/nest/routes.ts"],
  "node:fs": ["cli/files.ts", "keys/jwks-file.ts"],
  "node:fs/promises": ["api-keys/file-store.ts", "keys/jwks-file.ts"],
  "node:timers/promises": ["api-keys/file-store.ts"],
  "node:crypto": [
    "api-keys/api-keys.ts",
    "api-keys/key-format.ts",
    "decision-log/decision-log.ts",
    "decision-log/record.ts",
    "introspection/client.ts",
    "keys/algorithm.ts",
    "keys/hmac-secret.ts",
    "keys/import-key.ts",
    "keys/verification-key.ts",
    "page/document.ts",
    "testing/sign-token.ts",
    "testing/test-key.ts",
    "token/revocation.ts",
    "token/token-cache.ts",
  ],
  "@opentelemetry/api": ["otel/index.ts"],
  // What a build bundles for browsers.
  "virtual:policy-page": ["page/document.ts"],
  "node:buffer": ["mcp/messages.ts"],
  "node:events": ["adapters/node/upgrade.ts"],
  "node:http": [
    "adapters/body.ts",
    "adapters/edit-body.ts",
    "adapters/fastify/reply.ts",
    "adapters/handler.ts",
    "adapters/node-request.ts",
    "adapters/node-response.ts",
    "keys/http-request.ts",
    "mcp/hosts/node.ts",
    "cli/diff/samples.ts",
    "policy/route-key.ts",
    "testing/key-server.ts",
  ],
  "node:https": ["keys/http-request.ts"],
  "node:zlib": ["api-keys/key-format.ts", "keys/http-request.ts"],
  "node:stream": [
    "adapters/node/upgrade-socket.ts",
    "decision-log/line-queue.ts",
    "keys/http-request.ts",
    "mcp/hosts/node.ts",
  ],
  "node:diagnostics_channel": ["cli/application.ts", "runtime/channels.ts"],
  "node:module": ["cli/run.ts"],
  "node:path": ["cli/application.ts", "cli/files.ts"],
  "node:url": ["cli/application.ts"],
  "node:util": [
    "cli/arguments.ts",
    "introspection/client.ts",
    "keys/import-key.ts",
    "options/key-source-shape.ts",
    "options/schema.ts",
    "refusal-log.ts",
  ],
};

const files = readdirSync(SRC, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));

const sources = new Map(
  files.map((file) => {
    const text = readFileSync(join(SRC, file), "utf8");
    return [file, ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)] as const;
  }),
);

/** The file that imports a module whose name is an argument. */
const USER_MODULES = "cli/application.ts";

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
      const [from] = node.arguments;
      // Only the command line imports what its user names.
      const isNamed = from && ts.isStringLiteral(from);
      if (isNamed || !source.fileName.endsWith(USER_MODULES))
        found.push({ from: isNamed ? from.text : "anything", isTypeOnly: false });
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
const packageOf = (from: string): string =>
  from.startsWith("node:") ? from : (/^(?:@[^/]+\/)?[^/]+/.exec(from)?.[0] ?? from);

/** Comments included (docs/decisions/0026-lines-that-a-service-loads.md). */
const LOADED_LINES = 12_800;

/** Packages that only the applications of an adapter install. */
const PEERS = ["@nestjs/common", "@opentelemetry/api"];

describe("the architecture", () => {
  it("assigns every file in src to a layer", () => {
    expect(files.filter((file) => roomOf(file) < 0)).toEqual([]);
    expect(files.length).toBeGreaterThan(30);
  });

  it("allows imports in one direction only, types included", () => {
    const against = [...sources].flatMap(([file, source]) =>
      importsOf(source)
        .filter(({ from }) => isLocal(from) && roomOf(targetOf(file, from)) > roomOf(file))
        .map(({ from }) => `${file} -> ${targetOf(file, from)}`),
    );
    expect(against).toEqual([]);
  });

  it("allows no circular imports within a layer", () => {
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

  it("imports each package and I/O module only in the listed files", () => {
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
      readonly peerDependencies: Record<string, string>;
    };
    const packages = Object.keys(DOORS).filter((name) => !/^(?:node|virtual):/.test(name));
    expect(packages.sort()).toEqual([...Object.keys(manifest.dependencies), ...PEERS].sort());
    expect(Object.keys(manifest.peerDependencies)).toEqual(expect.arrayContaining(PEERS));
  });

  it("uses no asynchronous code, clock or random number in scopes, policy, audit and response", () => {
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

  it("keeps the lines that a service with Express loads within their budget", () => {
    expect(linesLoadedBy("index.ts", "adapters/express/index.ts")).toBeLessThanOrEqual(LOADED_LINES);
  });

  it("keeps every comment within 110 columns, except the code of examples", () => {
    const long = [...sources].flatMap(([file, source]) =>
      commentLinesOf(source)
        .filter((line) => line.length > 110)
        .map((line) => `${file}: ${line.trim()}`),
    );
    expect(long).toEqual([]);
  });
});

/** Returns the lines of these files and of all files that they import for more than types. */
function linesLoadedBy(...entries: readonly string[]): number {
  const loaded = new Set<string>();
  const pending = [...entries];
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    const source = sources.get(file);
    if (!source || loaded.has(file)) continue;
    loaded.add(file);
    for (const { from, isTypeOnly } of importsOf(source))
      if (isLocal(from) && !isTypeOnly) pending.push(targetOf(file, from));
  }
  return [...loaded].reduce((lines, file) => lines + (sources.get(file)?.getLineStarts().length ?? 1) - 1, 0);
}

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
