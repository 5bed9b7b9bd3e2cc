import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { generateKey } from "../../src/tools/testing/test-key.ts";
import base from "../../vitest.config.ts";

/** RSA keys that all runs share. Generating one takes a quarter of the time of a run. */
const RSA_KEYS = Array.from({ length: 4 }, () =>
  generateKey("rsa", { modulusLength: 2048 }).export({ type: "pkcs8", format: "pem" }),
);

export default defineConfig({
  ...(base.resolve && { resolve: base.resolve }),
  ...(base.plugins && { plugins: base.plugins }),
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: {
    include: ["test/**/*.test.ts"],
    env: { RSA_KEYS: JSON.stringify(RSA_KEYS) },
    setupFiles: ["test/mutation/setup.ts"],
    isolate: false,
    restoreMocks: true,
    // A mutant can make a test wait forever.
    testTimeout: 20_000,
    hookTimeout: 60_000,
    reporters: [],
  },
});
