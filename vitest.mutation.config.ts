import { defineConfig } from "vitest/config";
import { LoadFailures } from "./test/mutation/load-failures.ts";
import { Mirrors } from "./test/mutation/mirrors.ts";
import base from "./vitest.config.ts";

/**
 * The unit tests of the files that `npm run test:mutation` mutates. They use no ports, child processes or
 * frameworks.
 */
export default defineConfig({
  ...(base.resolve && { resolve: base.resolve }),
  test: {
    include: ["test/{scopes,policy,response,token}/*.test.ts", "test/request.test.ts"],
    setupFiles: ["test/mutation/setup.ts"],
    isolate: false,
    // Instrumented code is several times slower.
    testTimeout: 120_000,
    reporters: [new LoadFailures()],
    sequence: { sequencer: Mirrors },
  },
});
