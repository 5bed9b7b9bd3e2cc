import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { LoadFailures } from "./load-failures.ts";
import { Mirrors } from "./mirrors.ts";
import { generateKey } from "../../src/tools/testing/test-key.ts";
import base from "../../vitest.config.ts";

/** RSA keys that all runs share. Generating one takes a quarter of the time of a run. */
const RSA_KEYS = Array.from({ length: 4 }, () =>
  generateKey("rsa", { modulusLength: 2048 }).export({ type: "pkcs8", format: "pem" }),
);

/**
 * The tests that specify the files that `npm run test:mutation` mutates. Almost none of them uses ports, child
 * processes or frameworks.
 */
export default defineConfig({
  ...(base.resolve && { resolve: base.resolve }),
  root: fileURLToPath(new URL("../..", import.meta.url)),
  test: {
    include: [
      "test/core/{scopes,policy,response,token}/**/*.test.ts",
      "test/core/issuers/{audience,claimed-issuer,isolation,lifecycle,settings}.test.ts",
      "test/stores/{introspection/requirements,revocation/revoke}.test.ts",
      "test/security/{tokens,fuzz/challenge,fuzz/paths,proofs/rules}.test.ts",
      "test/tls/readings.test.ts",
      "test/core/{diagnostics,pipeline,request,server}.test.ts",
      "test/capabilities/*.test.ts",
    ],
    env: { RSA_KEYS: JSON.stringify(RSA_KEYS) },
    setupFiles: ["test/mutation/setup.ts"],
    isolate: false,
    // Instrumented code is several times slower.
    testTimeout: 120_000,
    reporters: [new LoadFailures()],
    sequence: { sequencer: Mirrors },
  },
});
