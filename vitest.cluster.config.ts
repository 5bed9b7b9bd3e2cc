import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

/** `npm run test:cluster` runs processes of the example with a Redis that fails. Its tests build on each other. */
export default defineConfig({
  ...config,
  test: { ...config.test, include: ["test/cluster/*.test.ts"], exclude: [], retry: 0, bail: 1 },
});
