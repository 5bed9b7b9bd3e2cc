import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

/** `npm run test:package` needs a registry, to install compilers and frameworks. It starts the examples too. */
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: ["test/package/**/*.test.ts", "test/examples/{programs,starters}.test.ts"],
    exclude: [],
    globalSetup: "test/package/full/setup.ts",
    // Compilers use a whole small machine.
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
