import { defineConfig } from "vitest/config";
import { LoadFailures } from "./test/mutation/load-failures.ts";
import { Mirrors } from "./test/mutation/mirrors.ts";
import base from "./vitest.config.ts";

/**
 * The tests that specify the files that `npm run test:mutation` mutates. Almost none of them uses ports, child
 * processes or frameworks.
 */
export default defineConfig({
  ...(base.resolve && { resolve: base.resolve }),
  test: {
    include: [
      "test/{scopes,policy,response,token}/*.test.ts",
      "test/issuers/{audience,claimed-issuer,isolation,lifecycle,settings}.test.ts",
      "test/revocation/in-memory.test.ts",
      "test/{grants,pipeline,request,resource-server,until-expiry}.test.ts",
    ],
    setupFiles: ["test/mutation/setup.ts"],
    isolate: false,
    // Instrumented code is several times slower.
    testTimeout: 120_000,
    reporters: [new LoadFailures()],
    sequence: { sequencer: Mirrors },
  },
});
