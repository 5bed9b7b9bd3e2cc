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
    // The library has no state of its own to leak from file to file; loading the frameworks once saves a third of the time.
    isolate: false,
    // One worker fewer than there are cores would be one on a small machine.
    maxWorkers: "100%",
    // Programs of their own start slowly on a loaded machine.
    testTimeout: 30_000,
    hookTimeout: 60_000,
    coverage: {
      provider: "v8",
      include: ["src/**"],
      thresholds: { lines: 100, branches: 100, functions: 100, statements: 100 },
    },
  },
});
