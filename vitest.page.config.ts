import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

/** `npm run test:page` tests pages in a real Chromium. */
export default defineConfig({
  ...config,
  test: { ...config.test, include: ["test/page/**/*.test.ts"], exclude: [] },
});
