import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

/** `npm run test:package`: needs a registry, for the compilers and frameworks that strangers install. */
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: ["test/package/**/*.test.ts"],
    exclude: [],
    globalSetup: "test/package/full/setup.ts",
    // Compilers and frameworks fill a small machine on their own.
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
