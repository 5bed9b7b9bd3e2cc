/** Starts the application on each runtime, from the packed package. */
import { spawn } from "node:child_process";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { LONG_CHILD_LIMIT } from "../support/child-limit.ts";

export interface Started {
  readonly port: number;
  readonly stop: () => Promise<void>;
}

interface Command {
  readonly file: string;
  readonly args: readonly string[];
  readonly folder: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The file descriptor on which the process prints its port. */
  readonly portAt: number;
}

export interface Runtime {
  readonly name: string;
  /** `undefined` if npm has not installed it: it has no build for this platform. */
  readonly binary: string | undefined;
  readonly start: (project: string, binary: string, settings: string) => Promise<Started>;
}

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** Install scripts do not run, so the binary is in the package of the platform, the only one that npm installs. */
function findBinary(scope: string, file: string): string | undefined {
  const folder = join(HERE, "node_modules", scope);
  const packages = existsSync(folder) ? readdirSync(folder) : [];
  return packages.map((name) => join(folder, name, file)).find((path) => existsSync(path));
}

/** Bundles a program of this folder. The package stays outside the bundle, except for workers. */
export async function bundle(project: string, program: string): Promise<string> {
  const outfile = join(project, `${program}.mjs`);
  const isWorker = program === "worker";
  await build({
    entryPoints: [join(HERE, "programs", `${program}.ts`)],
    outfile,
    bundle: true,
    format: "esm",
    target: "es2022",
    platform: "node",
    // Not that of the project: its paths lead to the sources of the package.
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
    // Programs of this folder have no packages of their own: the packed package is in the project.
    ...(isWorker
      ? { nodePaths: [join(project, "node_modules")], alias: aliases(project) }
      : { packages: "external" }),
  });
  return outfile;
}

/** Without them, a bundler that resolves from this folder finds the sources of the package itself. */
const aliases = (project: string): Record<string, string> => ({
  "scopegate/fetch": join(project, "node_modules/scopegate/dist/fetch.js"),
  "scopegate/hono": join(project, "node_modules/scopegate/dist/hono.js"),
  "scopegate/keys": join(project, "node_modules/scopegate/dist/keys.js"),
  scopegate: join(project, "node_modules/scopegate/dist/index.js"),
});

/** Starts a process, and waits for the line with its port. */
export async function launch({ file, args, folder, env, portAt }: Command): Promise<Started> {
  const child = spawn(file, args, {
    ...LONG_CHILD_LIMIT,
    cwd: folder,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe", "pipe"],
  });
  const exited = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  let errors = "";
  child.stderr?.on("data", (text: Buffer) => (errors += String(text)));
  child.stdout?.resume();
  const lines = createInterface({ input: child.stdio[portAt] as Readable });
  const port = await new Promise<number>((resolve, reject) => {
    lines.on("line", (line) => {
      const found = /(?:"port": ?|http:\/\/127\.0\.0\.1:)(\d+)/.exec(line)?.[1];
      if (found !== undefined) resolve(Number(found));
    });
    child.once("error", reject);
    child.once("close", () => reject(new Error(`${file} has ended: ${errors}`)));
  });
  return {
    port,
    stop: async () => {
      child.kill("SIGKILL");
      await exited;
    },
  };
}

const WORKER_CONFIG = `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "internet", network = (allow = ["public", "private", "local"])),
  ],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const worker :Workerd.Worker = (
  modules = [(name = "worker.mjs", esModule = embed "worker.mjs")],
  compatibilityDate = "2026-08-04",
  bindings = [(name = "SETTINGS", fromEnvironment = "SETTINGS")],
);
`;

export const runtimes: readonly Runtime[] = [
  {
    name: "Bun",
    binary: findBinary("@oven", "bin/bun"),
    start: async (folder, file, SETTINGS) =>
      launch({ file, args: [await bundle(folder, "bun")], folder, env: { SETTINGS }, portAt: 1 }),
  },
  {
    name: "Deno",
    binary: findBinary("@deno", "deno"),
    start: async (folder, file, SETTINGS) => {
      const program = await bundle(folder, "deno");
      // The rights that the package needs: the environment for options of its dependencies, and the network.
      const rights = ["--allow-env", "--allow-net", "--allow-read", "--no-prompt"];
      const args = ["run", "--node-modules-dir=manual", ...rights, program];
      return launch({ file, args, folder, env: { SETTINGS }, portAt: 1 });
    },
  },
  {
    name: "workerd",
    binary: findBinary("@cloudflare", "bin/workerd"),
    start: async (folder, file, SETTINGS) => {
      await bundle(folder, "worker");
      writeFileSync(join(folder, "worker.capnp"), WORKER_CONFIG);
      const args = ["serve", "worker.capnp", "--control-fd=3"];
      return launch({ file, args, folder, env: { SETTINGS }, portAt: 3 });
    },
  },
];
