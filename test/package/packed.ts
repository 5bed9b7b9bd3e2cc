/** Builds, packs and unpacks the package, as publishing and installing it would. */
import { execFileSync, execSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import config from "../../tsup.config.ts";
import { LONG_CHILD_LIMIT, runChild } from "../support/child-limit.ts";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The import specifier of each entry, by the name of its file: `express` is `scopegate/express`. */
export const ENTRIES: ReadonlyMap<string, string> = new Map(
  Object.keys(config.entry)
    // A program, which nobody imports.
    .filter((name) => name !== "cli")
    .map((name) => [name, name === "index" ? "scopegate" : `scopegate/${name}`]),
);

export interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly scripts: Readonly<Record<string, string>>;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly typesVersions: Readonly<Record<"*", object>>;
}

export const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as Manifest;

export interface Packed {
  readonly tarball: string;
  readonly files: readonly string[];
  readonly unpackedBytes: number;
}

/** Returns the tarball of the global setup, or packs one without types, which take most of the time of a build. */
export const pack = (folder: string): Packed =>
  inject("packed") ?? buildAndPack(folder, ["npx tsup --no-dts", "npx tsx scripts/commonjs.ts"]);

export function buildAndPack(folder: string, commands: readonly string[] = ["npm run build"]): Packed {
  for (const command of commands) execSync(command, { ...LONG_CHILD_LIMIT, cwd: ROOT, stdio: "ignore" });
  const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", folder];
  const out = execFileSync("npm", args, {
    ...LONG_CHILD_LIMIT,
    cwd: ROOT,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [{ filename, files, unpackedSize }] = JSON.parse(out) as [
    { filename: string; files: { path: string }[]; unpackedSize: number },
  ];
  return {
    tarball: join(folder, filename),
    files: files.map(({ path }) => path),
    unpackedBytes: unpackedSize,
  };
}

/**
 * Installs the tarball without a registry. Its dependencies and the named packages are linked from this
 * project.
 */
export function unpack({ tarball }: Packed, project: string, ...others: readonly string[]): void {
  const folder = join(project, "node_modules/scopegate");
  mkdirSync(folder, { recursive: true });
  execFileSync("tar", ["-xzf", tarball, "-C", folder, "--strip-components", "1"], LONG_CHILD_LIMIT);
  link(project, [...Object.keys(manifest.dependencies), ...others]);
}

/** Links installed packages into a project. */
export function link(
  project: string,
  names: readonly string[],
  modules: string = join(ROOT, "node_modules"),
): void {
  for (const name of names) {
    mkdirSync(dirname(join(project, "node_modules", name)), { recursive: true });
    symlinkSync(join(modules, name), join(project, "node_modules", name));
  }
}

/** Writes the files of a project, by their paths. */
export function writeFiles(project: string, files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(project, path)), { recursive: true });
    writeFileSync(join(project, path), text);
  }
}

/** Runs a program in a project, and returns its standard output and error. */
export function run(project: string, file: string, code?: string, env: Record<string, string> = {}): string {
  if (code !== undefined) writeFileSync(join(project, file), code);
  const { stdout, stderr } = runChild(process.execPath, [file], {
    cwd: project,
    env: { ...process.env, ...env },
  });
  return (stdout + stderr).trim();
}
