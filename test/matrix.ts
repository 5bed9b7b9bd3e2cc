/**
 * Runs the test suite with each Node version that is supported, one after the other; arguments are handed on.
 *
 *     npm run test:matrix -- test/package
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { runWithEachNode } from "../scripts/node-versions.ts";

const vitest = join(dirname(createRequire(import.meta.url).resolve("vitest/package.json")), "vitest.mjs");
if (!runWithEachNode([vitest, "run", ...process.argv.slice(2)])) process.exitCode = 1;
