import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { LoadFailures } from "./load-failures.ts";
import { Mirrors } from "./mirrors.ts";
import base from "../../vitest.config.ts";

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
      "test/security/{tokens,fuzz/challenge,fuzz/paths,proofs/{rules,routing,nonces,honest}}.test.ts",
      "test/tls/{readings,trusted,headers}.test.ts",
      "test/tools/conditions.test.ts",
      "test/core/{diagnostics,pipeline,report-only,request,server,until-expiry}.test.ts",
    ],
    setupFiles: ["test/mutation/setup.ts"],
    isolate: false,
    // Instrumented code is several times slower.
    testTimeout: 120_000,
    reporters: [new LoadFailures()],
    sequence: { sequencer: Mirrors },
  },
});
