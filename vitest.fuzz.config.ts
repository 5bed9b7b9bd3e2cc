import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

/** `npm run test:fuzz` tests each property 100,000 times. */
export default defineConfig({
  ...config,
  test: {
    ...config.test,
    include: ["test/security/fuzz/*.test.ts"],
    env: { FUZZ_RUNS: "100000" },
    testTimeout: 3_600_000,
  },
});
