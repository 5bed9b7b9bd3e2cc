import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { Retries } from "./test/support/retries.ts";
import { vitePage } from "./scripts/page-script.ts";

const source = (file: string) => fileURLToPath(new URL(`./src/${file}`, import.meta.url));

const { CI, FUZZ_RUNS = "100000", RETRIED_TESTS } = process.env;

/** The projects that `npm test` leaves out. Each has its own script in package.json. */
const SUITES = {
  package: {
    include: ["test/package/**/*.test.ts", "test/examples/{programs,starters}.test.ts"],
    globalSetup: "test/package/full/setup.ts",
    // Compilers use a whole small machine.
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
  runtimes: {
    include: ["test/runtimes/*.test.ts"],
    globalSetup: "test/package/full/setup.ts",
    fileParallelism: false,
    hookTimeout: 300_000,
  },
  mcp: {
    include: ["test/adapters/mcp/*.test.ts", "test/mcp/**/*.test.ts"],
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
  page: { include: ["test/tools/page/browser/*.test.ts"] },
  site: { include: ["test/site/**/*.test.ts"] },
  cli: {
    include: ["test/tools/cli/packed/*.test.ts"],
    globalSetup: "test/package/full/setup.ts",
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
  // Its tests build on each other.
  cluster: { include: ["test/cluster/*.test.ts"], retry: 0, bail: 1 },
  tls: { include: ["test/tls/*.test.ts"] },
  fuzz: {
    include: ["test/security/fuzz/*.test.ts"],
    env: { FUZZ_RUNS },
    testTimeout: 3_600_000,
  },
};

/** Without `--project`, vitest runs the tests of `npm test`. The type of the configuration lacks this option. */
const DEFAULT_PROJECT = { project: ["unit"] };

export default defineConfig({
  plugins: [vitePage],
  resolve: {
    alias: [
      { find: /^scopegate$/, replacement: source("index.ts") },
      {
        find: /^scopegate\/(express|koa|fastify|node|trpc|fetch|hono|socketio|nest|mcp)$/,
        replacement: source("adapters/$1/index.ts"),
      },
      {
        find: /^scopegate\/(api-keys|introspection|replay|revocation|store)$/,
        replacement: source("stores/$1/index.ts"),
      },
      {
        find: /^scopegate\/(audit|decision-log|openapi|otel|page|testing)$/,
        replacement: source("tools/$1/index.ts"),
      },
    ],
  },
  test: {
    ...DEFAULT_PROJECT,
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: [
            "test/package/full/**",
            "test/runtimes/**",
            "test/site/**",
            "test/cluster/**",
            "test/tls/{programs,proxies,sessions,sockets}.test.ts",
            "test/examples/{programs,starters}.test.ts",
            "test/adapters/mcp/{clients,hostile}.test.ts",
            "test/mcp/**",
            "test/tools/page/browser/**",
            "test/tools/cli/packed/**",
          ],
        },
      },
      ...Object.entries(SUITES).map(([name, test]) => ({ extends: true as const, test: { name, ...test } })),
    ],
    // The library has no global state, so test files can share an environment. Loading frameworks once saves
    // a third of the time.
    isolate: false,
    // The default is one worker fewer than cores, which is a single worker on a machine with two cores.
    maxWorkers: "100%",
    // Child processes start slowly on a busy machine.
    testTimeout: 60_000,
    // Real sockets and child processes may starve on a machine that is busy. On a quiet one, no test needs this.
    // `.ci/run` prints every test that did.
    retry: CI === undefined ? 0 : 2,
    reporters: ["default", ...(RETRIED_TESTS === undefined ? [] : [new Retries(RETRIED_TESTS)])],
    // A spy that a failed try leaves behind would remember its calls, and fail all other tries.
    restoreMocks: true,
    hookTimeout: 60_000,
    coverage: {
      provider: "v8",
      include: ["src/**"],
      // These run in Chromium only (npm run test:page), and as a program of their own (npm run test:cli).
      exclude: ["src/tools/page/browser/{dom,main,table}.ts", "src/tools/cli/main.ts"],
      thresholds: { lines: 100, branches: 100, functions: 100, statements: 100 },
    },
  },
});
