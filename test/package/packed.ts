/** Builds, packs and unpacks the package, as publishing and installing it would. */
import { execFileSync } from "node:child_process";
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

/** Returns the package that the global setup built. */
export const findPacked = (): Packed => inject("packed");

/** The file beside a tarball with what `npm pack --json` printed. */
const REPORT = "pack.json";

/** Builds the package, and packs it into a folder. */
export function buildAndPack(folder: string): void {
  const npm = (...args: readonly string[]): string => {
    const { status, stdout, stderr } = runChild("npm", args, { cwd: ROOT });
    if (status !== 0) throw new Error(stderr);
    return stdout;
  };
  npm("run", "build");
  writeFileSync(
    join(folder, REPORT),
    npm("pack", "--json", "--ignore-scripts", "--pack-destination", folder),
  );
}

export function readPacked(folder: string): Packed {
  const [{ filename, files, unpackedSize }] = JSON.parse(readFileSync(join(folder, REPORT), "utf8")) as [
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
