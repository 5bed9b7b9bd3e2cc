/** Runs a program with each supported version of Node. */
import { spawnSync } from "node:child_process";

const VERSIONS = ["20.20.2", "22.23.3", "24.21.0", "26.10.0"];

const { platform, arch } = process;
/** An npm package that only contains the Node binary and has no install script. */
const PACKAGE = `node-${platform === "win32" ? "win" : platform}-${arch}`;

/** Returns whether the program exited with 0 in every version. */
export function runWithEachNode(program: readonly string[]): boolean {
  const failed = VERSIONS.filter((version) => {
    console.log(`\nNode ${version}`);
    const [command, args] =
      version === process.versions.node
        ? [process.execPath, program]
        : ["npx", ["-y", "-p", `${PACKAGE}@${version}`, "node", ...program]];
    return spawnSync(command, args, { stdio: "inherit" }).status !== 0;
  });
  console.log(failed.length > 0 ? `\nFailed with Node ${failed.join(", ")}.` : "\nAll versions passed.");
  return failed.length === 0;
}
