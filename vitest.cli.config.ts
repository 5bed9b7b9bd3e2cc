import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

/** `npm run test:cli` runs the program of the packed package on real applications. */
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: ["test/cli/packed/*.test.ts"],
    exclude: [],
    globalSetup: "test/package/full/setup.ts",
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
  },
});
