import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const SRC = fileURLToPath(new URL("../src", import.meta.url));

/** What each room may import, besides its own files. */
const WALLS: Readonly<Record<string, readonly string[]>> = {
  "index.ts": ["core"],
  core: [],
  capabilities: ["core"],
  adapters: ["core", "capabilities"],
  stores: ["core", "capabilities"],
  complete: ["core", "capabilities", "index.ts"],
  tools: ["core", "capabilities", "adapters", "stores", "complete", "index.ts"],
};

/** The order in which data flows in the core: a file imports from its own line and from lines above it only. */
const ORDER = [
  ["errors.ts", "runtime/", "capability.ts", "create-capability.ts"],
  ["scopes/"],
  ["request.ts", "observed-request.ts"],
  ["keys/"],
  ["token/"],
  ["policy/"],
  ["response/"],
  ["options/"],
  [
    "health.ts",
    "refusal-log.ts",
    "observer.ts",
    "verdict.ts",
    "pipeline.ts",
    "port.ts",
    "resource-server.ts",
    "server.ts",
  ],
].map((line) => line.map((part) => `core/${part}`));

/** The files through which each third-party package, and each way to do I/O, enters. */
const DOORS: Readonly<Record<string, readonly string[]>> = {
  jose: [
    "stores/introspection/client.ts",
    "tools/testing/sign-token.ts",
    "tools/cli/development-key.ts",
    "core/token/verifier.ts",
    "capabilities/sender-constraint/dpop.ts",
  ],
  "path-to-regexp": ["core/policy/parse-pattern.ts"],
  yaml: ["tools/openapi/yaml.ts"],
  zod: [
    "stores/introspection/options.ts",
    "core/options/verification-keys.ts",
    "capabilities/keys/shape.ts",
    "core/options/shape.ts",
    "core/options/values.ts",
    "core/capability.ts",
    "capabilities/conditions/index.ts",
    "capabilities/grants/index.ts",
    "capabilities/issuers/index.ts",
    "capabilities/resource/shape.ts",
    "capabilities/sender-constraint/shape.ts",
    "capabilities/shadow/index.ts",
    "capabilities/mcp-operations/index.ts",
  ],
  "on-headers": ["adapters/mcp/frameworks/node-response.ts"],
  // The metadata of decorators belongs to NestJS.
  "@nestjs/common": ["adapters/nest/call.ts", "adapters/nest/index.ts", "adapters/nest/routes.ts"],
  "node:fs": ["tools/cli/files.ts", "capabilities/keys/jwks-file.ts"],
  "node:fs/promises": ["stores/api-keys/file-store.ts", "tools/audit/routes/next.ts"],
  "node:timers/promises": ["stores/api-keys/file-store.ts"],
  "node:crypto": [
    "stores/api-keys/api-keys.ts",
    "stores/api-keys/key-format.ts",
    "tools/decision-log/decision-log.ts",
    "tools/decision-log/record.ts",
    "stores/introspection/client.ts",
    "core/keys/algorithm.ts",
    "core/keys/hmac-secret.ts",
    "core/keys/import-key.ts",
    "core/options/policy-digest.ts",
    "core/keys/low-order.ts",
    "core/keys/verification-key.ts",
    "tools/page/document.ts",
    "tools/testing/sign-token.ts",
    "tools/testing/test-key.ts",
    "core/token/token-cache.ts",
    "capabilities/sender-constraint/client-certificate.ts",
    "capabilities/sender-constraint/dpop.ts",
    "capabilities/sender-constraint/nonces.ts",
    "capabilities/sender-constraint/options.ts",
    "capabilities/sender-constraint/public-key.ts",
    "core/runtime/constant-time.ts",
    "core/runtime/breaker.ts",
    "tools/testing/proofs.ts",
    "adapters/mcp/hidden.ts",
    "adapters/mcp/owners.ts",
    "stores/revocation/entries.ts",
    "stores/revocation/target.ts",
  ],
  "@opentelemetry/api": ["tools/otel/index.ts"],
  // What a build bundles for browsers.
  "virtual:policy-page": ["tools/page/document.ts"],
  "node:buffer": ["adapters/mcp/messages.ts"],
  "node:events": ["adapters/node/upgrade.ts"],
  "node:dns": ["capabilities/issuers/public-fetch.ts"],
  "node:net": [
    "capabilities/issuers/public-fetch.ts",
    "core/keys/http-request.ts",
    "capabilities/sender-constraint/client-certificate.ts",
    "capabilities/sender-constraint/options.ts",
  ],
  "node:http": [
    "adapters/mcp/body.ts",
    "adapters/mcp/frameworks/node-response.ts",
    "adapters/mcp/frameworks/express.ts",
    "adapters/mcp/frameworks/fastify.ts",
    "adapters/mcp/frameworks/koa.ts",
    "adapters/fastify/reply.ts",
    "adapters/shared/node-request.ts",
    "adapters/shared/node-response.ts",
    "core/keys/http-request.ts",
    "adapters/mcp/frameworks/node-exchange.ts",
    "core/policy/route-key.ts",
    "tools/testing/key-server.ts",
  ],
  "node:https": ["core/keys/http-request.ts"],
  "node:zlib": ["stores/api-keys/key-format.ts", "core/keys/http-request.ts"],
  "node:stream": [
    "adapters/node/upgrade-socket.ts",
    "tools/decision-log/line-queue.ts",
    "core/keys/http-request.ts",
    "adapters/mcp/frameworks/fastify.ts",
  ],
  "node:diagnostics_channel": ["tools/cli/application.ts", "core/runtime/channels.ts"],
  "node:module": ["tools/cli/run.ts", "tools/openapi/yaml.ts"],
  "node:path": ["tools/cli/application.ts", "tools/cli/files.ts"],
  "node:url": ["tools/cli/application.ts"],
  "node:util": [
    "tools/cli/arguments.ts",
    "stores/introspection/client.ts",
    "core/keys/import-key.ts",
    "core/options/verification-keys.ts",
    "core/options/schema.ts",
    "core/observer.ts",
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
const USER_MODULES = "tools/cli/application.ts";

interface Import {
  readonly from: string;
  readonly isTypeOnly: boolean;
  /** Whether it is loaded when the code runs, by `import()`. */
  readonly isLazy?: boolean;
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
        found.push({ from: isNamed ? from.text : "anything", isTypeOnly: false, isLazy: true });
    }
    if (ts.isImportTypeNode(node))
      found.push({ from: node.argument.getText().slice(1, -1), isTypeOnly: true });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function isTypeOnly(node: ts.ImportDeclaration | ts.ExportDeclaration): boolean {
  if (ts.isExportDeclaration(node)) {
    const names = node.exportClause;
    return (
      node.isTypeOnly ||
      (names !== undefined &&
        ts.isNamedExports(names) &&
        names.elements.every(({ isTypeOnly }) => isTypeOnly))
    );
  }
  const bindings = node.importClause?.namedBindings;
  if (node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword) return true;
  return (
    bindings !== undefined && ts.isNamedImports(bindings) && bindings.elements.every((one) => one.isTypeOnly)
  );
}

const roomOf = (file: string): string => file.split("/")[0] ?? file;

/** The folder of a capability. None imports another one. */
const folderOf = (file: string): string => file.split("/")[1] ?? "";

const lineOf = (file: string): number =>
  ORDER.findIndex((line) =>
    line.some((part) => (part.endsWith("/") ? file.startsWith(part) : file === part)),
  );

const isLocal = (from: string): boolean => from.startsWith(".");
const targetOf = (file: string, from: string): string => relative(SRC, resolve(SRC, dirname(file), from));
const packageOf = (from: string): string =>
  from.startsWith("node:") ? from : (/^(?:@[^/]+\/)?[^/]+/.exec(from)?.[0] ?? from);

/** The imports of files of this package. */
const imports = [...sources].flatMap(([file, source]) =>
  importsOf(source)
    .filter(({ from }) => isLocal(from))
    .map(({ from }) => ({ file, target: targetOf(file, from) })),
);

/** Comments included (docs/decisions/0026-lines-that-a-service-loads.md). */
const LOADED_LINES = 9_795;

/** A type that is only named inside of another one is not exported, unless programs need to write it. */
const FRONT_DOOR_NAMES = 35;

/**
 * The same for entry points by themselves: an adapter finds the pipeline of a server by a symbol, and must not
 * load the code that decides.
 */
const LOADED_BY_ENTRY: Readonly<Record<string, number>> = {
  "adapters/express/index.ts": 1_907,
  "adapters/fastify/index.ts": 1_600,
  "adapters/fetch/index.ts": 1_750,
  "tools/otel/index.ts": 660,
};

/** The lines of a service with MCP: its adapter loads what the core once loaded for every service. */
const LOADED_BY_MCP = 11_660;

/** Packages that are installed only by projects that need them. */
const PEERS = ["@nestjs/common", "@opentelemetry/api", "yaml"];

const manifest = JSON.parse(readFileSync(join(SRC, "../package.json"), "utf8")) as {
  readonly dependencies: Record<string, string>;
  readonly peerDependencies: Record<string, string>;
};

/** Packages whose code is in the build (docs/decisions/0030-zod-is-bundled.md). */
const BUNDLED = ["zod"];

describe("the architecture", () => {
  it("consists of six rooms and a front door", () => {
    expect(readdirSync(SRC).sort()).toEqual(Object.keys(WALLS).sort());
  });

  it("allows imports through the walls in one direction only, types included", () => {
    const against = imports.filter(({ file, target }) => {
      const [room, imported] = [roomOf(file), roomOf(target)];
      const isOtherCapability = room === "capabilities" && folderOf(file) !== folderOf(target);
      if (room === "stores" && imported === "capabilities") return folderOf(target) !== "opaque";
      if (room === imported) return isOtherCapability;
      return !WALLS[room]?.includes(imported);
    });
    expect(against.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
  });

  it("assigns every file of the core to a line of its order", () => {
    const core = files.filter((file) => roomOf(file) === "core");
    expect(core.filter((file) => lineOf(file) < 0)).toEqual([]);
    expect(core.length).toBeGreaterThan(30);
  });

  it("allows imports within the core in one direction only, types included", () => {
    const against = imports.filter(
      ({ file, target }) =>
        roomOf(file) === "core" && roomOf(target) === "core" && lineOf(target) > lineOf(file),
    );
    expect(against.map(({ file, target }) => `${file} -> ${target}`)).toEqual([]);
  });

  it("allows no circular imports", () => {
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
    const packages = Object.keys(DOORS).filter(
      (name) => !/^(?:node|virtual):/.test(name) && !BUNDLED.includes(name),
    );
    expect(packages.sort()).toEqual([...Object.keys(manifest.dependencies), ...PEERS].sort());
    expect(Object.keys(manifest.peerDependencies)).toEqual(expect.arrayContaining(PEERS));
  });

  it("names every dependency in the README, and installs nothing else", () => {
    const names = Object.keys(manifest.dependencies).sort();
    const count = ["no", "one", "two", "three", "four", "five"][names.length] ?? "";
    const readme = readFileSync(join(SRC, "../README.md"), "utf8");
    expect(readme).toContain(
      `\nscopegate has ${count} dependencies: ${names.join(", ").replace(/, ([^,]*)$/, " and $1")}.`,
    );
    const lock = JSON.parse(readFileSync(join(SRC, "../package-lock.json"), "utf8")) as {
      readonly packages: Record<string, { readonly dev?: boolean }>;
    };
    // npm marks what only the development of this package needs.
    const installed = Object.keys(lock.packages).filter((path) => path !== "" && !lock.packages[path]?.dev);
    expect(installed.sort()).toEqual(names.map((name) => `node_modules/${name}`));
  });

  it("uses no asynchronous code, clock or random number in scopes, policy, audit and response", () => {
    const impure = [...sources]
      .filter(([file]) => /^(?:core\/(?:policy|response|scopes)|tools\/audit(?!\/routes))\//.test(file))
      .flatMap(([file, source]) => identifiersOf(source).map((name) => `${file}: ${name}`))
      .filter((entry) =>
        /: (?:async|await|Promise|Date|performance|setTimeout|setImmediate|process|random)$/.test(entry),
      );
    expect(impure).toEqual([]);
  });

  it("lets no timer keep a process alive, except those that end with the work of a caller", () => {
    const holding = [...sources].filter(([, source]) => holdsTimer(source)).map(([file]) => file);
    expect(holding.filter((file) => !file.startsWith("tools/page/browser")).sort()).toEqual(HOLDING);
  });

  it("writes WWW-Authenticate in one place", () => {
    const writers = [...sources]
      .filter(([, source]) =>
        stringsOf(source).some((text) => /WWW-Authenticate|error_description/.test(text)),
      )
      .map(([file]) => file);
    // The other file only describes responses.
    expect(writers.sort()).toEqual(["core/response/challenge.ts", "tools/openapi/to-security.ts"]);
  });

  it("keeps the lines that a service with Express loads within their budget", () => {
    expect(linesLoadedBy("index.ts", "adapters/express/index.ts")).toBeLessThanOrEqual(LOADED_LINES);
  });

  it("keeps the lines that a service with MCP loads within their budget", () => {
    expect(linesLoadedBy("index.ts", "adapters/mcp/index.ts")).toBeLessThanOrEqual(LOADED_BY_MCP);
  });

  it("loads no capability, store or tool in a plain service", () => {
    for (const adapter of ["express", "koa", "fastify", "hono", "fetch", "node"])
      expect(
        loadedBy("index.ts", `adapters/${adapter}/index.ts`).filter((file) =>
          /^(?:capabilities|complete|stores|tools)\//.test(file),
        ),
      ).toEqual([]);
  });

  it("keeps the names of the front door within their budget", () => {
    const names = sources.get("index.ts")?.statements.flatMap(exportedNamesOf) ?? [];
    expect(names).toContain("createResourceServer");
    expect(names.length).toBeLessThanOrEqual(FRONT_DOOR_NAMES);
  });

  it.each(Object.entries(LOADED_BY_ENTRY))("keeps the lines that %s loads within %i", (entry, lines) => {
    expect(linesLoadedBy(entry)).toBeLessThanOrEqual(lines);
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

/** Returns the names that a statement exports. Throws for an export without a list of names. */
function exportedNamesOf(statement: ts.Statement): readonly string[] {
  if (
    !ts.isExportDeclaration(statement) ||
    !statement.exportClause ||
    !ts.isNamedExports(statement.exportClause)
  )
    throw new Error(`index.ts contains something else than lists of exports: ${statement.getText()}`);
  return statement.exportClause.elements.map(({ name }) => name.text);
}

/** Returns these files, and all files that they import at once for more than types. */
function loadedBy(...entries: readonly string[]): readonly string[] {
  const loaded = new Set<string>();
  const pending = [...entries];
  for (let file = pending.pop(); file !== undefined; file = pending.pop()) {
    const source = sources.get(file);
    if (!source || loaded.has(file)) continue;
    loaded.add(file);
    for (const { from, isTypeOnly, isLazy } of importsOf(source))
      if (isLocal(from) && !isTypeOnly && !isLazy) pending.push(targetOf(file, from));
  }
  return [...loaded];
}

const linesLoadedBy = (...entries: readonly string[]): number =>
  loadedBy(...entries).reduce(
    (lines, file) => lines + (sources.get(file)?.getLineStarts().length ?? 1) - 1,
    0,
  );

/** Files whose timers wait at most seconds, for a lock, a connection or the end of a program. */
const HOLDING = [
  "adapters/node/authenticate-first.ts",
  "adapters/node/upgrade-socket.ts",
  "core/runtime/change-key.ts",
  "stores/api-keys/file-store.ts",
  "tools/decision-log/line-queue.ts",
];

/** Returns whether a file sets a timer without calling its `unref`. */
function holdsTimer(source: ts.SourceFile): boolean {
  let isHolding = false;
  const visit = (node: ts.Node): void => {
    const isTimer = ts.isCallExpression(node) && /^set(?:Timeout|Interval)$/.test(node.expression.getText());
    if (isTimer && !/^\.unref\b/.test(source.text.slice(node.end))) isHolding = true;
    ts.forEachChild(node, visit);
  };
  visit(source);
  return isHolding;
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
