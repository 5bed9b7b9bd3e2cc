import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { Retries } from "./test/support/retries.ts";
import { vitePage } from "./scripts/page-script.ts";

const source = (file: string) => fileURLToPath(new URL(`./src/${file}`, import.meta.url));

const { CI, FUZZ_RUNS = "100000", RETRIED_TESTS } = process.env;

/** Builds and packs the package, unless `.ci/run` did. */
const PACKED = "test/package/full/setup.ts";

/** The tests with proxies and with programs of their own. */
const TLS = ["test/tls/{external-authorization,programs,proxies,sessions,sockets}.test.ts"];

/** The tests that measure what stays in memory, CPU time, or how many functions are called. */
const MEASURED = [
  "test/adapters/mcp/cost.test.ts",
  "test/core/policy/startup-work.test.ts",
  "test/core/token/token-cache-memory.test.ts",
  "test/security/{linear,memory,proofs/cost,proofs/memory}.test.ts",
  "test/tools/testing/test-key.test.ts",
];

/** The projects that `npm test` leaves out. Each has its own script in package.json. */
const SUITES = {
  package: {
    include: ["test/package/**/*.test.ts", "test/examples/{programs,starters}.test.ts"],
    globalSetup: PACKED,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
  runtimes: {
    include: ["test/runtimes/*.test.ts"],
    globalSetup: PACKED,
    fileParallelism: false,
    hookTimeout: 300_000,
  },
  docs: { include: ["test/documentation/documentation.test.ts"] },
  // Garbage is collected fast only in a process that has loaded little else.
  measured: { include: MEASURED },
  mcp: {
    include: [
      "test/adapters/mcp/hostile.test.ts",
      "test/mcp/**/*.test.ts",
      "test/examples/mcp-server.test.ts",
      "test/proofs/interop/mcp.test.ts",
    ],
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
  page: { include: ["test/tools/page/browser/*.test.ts"] },
  site: { include: ["test/site/**/*.test.ts"], globalSetup: PACKED },
  cli: {
    include: ["test/tools/cli/packed/*.test.ts"],
    globalSetup: PACKED,
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
  // Its tests build on each other.
  cluster: { include: ["test/cluster/*.test.ts"], retry: 0, bail: 1 },
  tls: { include: TLS },
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
      { find: /^scopegate\/complete$/, replacement: source("complete/index.ts") },
      {
        find: /^scopegate\/(conditions|connections|explain|grants|issuers|keys|resource|sender-constraint|shadow)$/,
        replacement: source("capabilities/$1/index.ts"),
      },
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
            "test/package/**",
            "test/runtimes/**",
            "test/site/**",
            "test/cluster/**",
            ...TLS,
            "test/documentation/documentation.test.ts",
            ...MEASURED,
            "test/examples/{programs,starters,mcp-server}.test.ts",
            "test/adapters/mcp/hostile.test.ts",
            "test/mcp/**",
            "test/proofs/interop/mcp.test.ts",
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
    // The default of one second is too short for a page that a busy browser loads.
    expect: { poll: { timeout: 20_000 } },
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
