import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

/** `npm run test:site` builds the documentation site, checks its links, and opens it in a real Chromium. */
export default defineConfig({
  ...config,
  test: { ...config.test, include: ["test/site/**/*.test.ts"], exclude: [] },
});
