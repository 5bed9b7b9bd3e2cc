import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { Retries } from "./test/support/retries.ts";
import { vitePage } from "./scripts/page-script.ts";

const source = (file: string) => fileURLToPath(new URL(`./src/${file}`, import.meta.url));

const { CI, RETRIED_TESTS } = process.env;

export default defineConfig({
  plugins: [vitePage],
  resolve: {
    alias: [
      { find: /^scopegate$/, replacement: source("index.ts") },
      {
        find: /^scopegate\/(express|koa|fastify|node|trpc|fetch|hono|socketio|nest)$/,
        replacement: source("adapters/$1/index.ts"),
      },
      {
        find: /^scopegate\/(api-keys|introspection|mcp|openapi|otel|page|replay|revocation|testing)$/,
        replacement: source("$1/index.ts"),
      },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: [
      "test/package/full/**",
      "test/runtimes/**",
      "test/page/**",
      "test/site/**",
      "test/mcp/{clients,hostile}.test.ts",
      "test/cli/packed/**",
      "test/examples/{programs,starters}.test.ts",
      "test/cluster/**",
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
      exclude: ["src/page/browser/{dom,main,table}.ts", "src/cli/main.ts"],
      thresholds: { lines: 100, branches: 100, functions: 100, statements: 100 },
    },
  },
});
