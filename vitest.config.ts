import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (file: string) => fileURLToPath(new URL(`./src/${file}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: /^scopegate$/, replacement: source("index.ts") },
      { find: /^scopegate\/(express|koa|fastify|node)$/, replacement: source("adapters/$1/index.ts") },
      { find: /^scopegate\/testing$/, replacement: source("testing/index.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/package/full/**"],
    // The library has no global state, so test files can share an environment. Loading frameworks once saves
    // a third of the time.
    isolate: false,
    // The default is one worker fewer than cores, which is a single worker on a machine with two cores.
    maxWorkers: "100%",
    // Child processes start slowly on a busy machine.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    coverage: {
      provider: "v8",
      include: ["src/**"],
      thresholds: { lines: 100, branches: 100, functions: 100, statements: 100 },
    },
  },
});
