import { defineConfig } from "vitest/config";
import config from "./vitest.config.ts";

/** `npm run test:mcp` tests MCP servers on real ports, with the official clients and hostile requests. */
export default defineConfig({
  ...config,
  test: { ...config.test, include: ["test/mcp/*.test.ts"], exclude: [] },
});
