import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

/** `npm run test:runtimes` needs a registry, to install runtimes and hosts. */
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: ["test/runtimes/*.test.ts"],
    exclude: [],
    globalSetup: "test/package/full/setup.ts",
    fileParallelism: false,
    hookTimeout: 300_000,
  },
});
