/**
 * Runs the benchmarks with each supported version of Node, with the same arguments.
 *
 *     npm run bench:matrix -- --quick servers
 */
import { fileURLToPath } from "node:url";
import { runWithEachNode } from "../scripts/node-versions.ts";

const main = fileURLToPath(new URL("main.ts", import.meta.url));
if (!runWithEachNode(["--import", "tsx", main, ...process.argv.slice(2)])) process.exitCode = 1;
