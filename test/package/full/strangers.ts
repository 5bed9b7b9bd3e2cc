/** Projects like those of users, with their dependencies and compiler options. */
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Packed } from "../packed.ts";
import { LONG_CHILD_LIMIT, runChild } from "../../support/child-limit.ts";

const folderOf = (name: string): string => fileURLToPath(new URL(`../${name}`, import.meta.url));

/** The supported versions of TypeScript, each installed under its own name. */
export const COMPILERS = { "5.4": "5.4.5", "5.9": "5.9.3", "6.0": "6.0.3", "7.0": "7.0.2" } as const;
export type Compiler = keyof typeof COMPILERS;

const LIBRARIES = [
  "express@5.3.0",
  "koa@3.3.0",
  "fastify@5.12.8",
  "@types/express@5.0.6",
  "@types/koa@3.0.3",
  "@types/node@20.19.43",
  "esbuild@0.27.7",
];

export interface Project {
  readonly type: "module" | "commonjs";
  readonly compilerOptions: object;
  /** The folder of its files, and the files to compile. Default: the service. */
  readonly folder?: "programs" | "mistakes";
  readonly files?: readonly string[];
  /** Default: all of them. */
  readonly compilers?: readonly Compiler[];
}

export const PROJECTS: Readonly<Record<string, Project>> = {
  "ECMAScript modules, nodenext": { type: "module", compilerOptions: { module: "nodenext" } },
  "ECMAScript modules, node16": { type: "module", compilerOptions: { module: "node16" }, compilers: ["5.4"] },
  "CommonJS, nodenext": {
    type: "commonjs",
    compilerOptions: { module: "nodenext" },
    compilers: ["5.4", "7.0"],
  },
  "CommonJS, node16": { type: "commonjs", compilerOptions: { module: "node16" } },
  "CommonJS, node10": {
    type: "commonjs",
    compilerOptions: { module: "commonjs", moduleResolution: "node10" },
    // Later versions do not support `node10`.
    compilers: ["5.9"],
  },
  "a bundler": { type: "module", compilerOptions: { module: "esnext", moduleResolution: "bundler" } },
};

/** Strict options that also check the declarations of libraries. */
const STRICT = {
  target: "es2022",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  esModuleInterop: true,
  skipLibCheck: false,
  types: ["node"],
  rootDir: ".",
  outDir: "out",
};

export function install(folder: string, packages: readonly string[]): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "stranger", private: true }));
  const args = ["install", "--no-audit", "--no-fund", "--prefer-offline", ...packages];
  const { status, stderr } = runChild("npm", args, { cwd: folder });
  if (status !== 0) throw new Error(stderr);
}

export const installStrangers = (folder: string, { tarball }: Packed): void =>
  install(folder, [
    tarball,
    ...LIBRARIES,
    ...Object.entries(COMPILERS).map(([name, version]) => `typescript-${name}@npm:typescript@${version}`),
  ]);

/**
 * The oldest supported version of each framework. The peer dependencies allow every version, because an adapter
 * that is not used must not keep npm from installing the package.
 */
const OLDEST: Readonly<Record<string, string>> = {
  "@nestjs/common": "11.0.0",
  "@opentelemetry/api": "1.9.0",
  "@trpc/server": "11.0.0",
  express: "4.17.0",
  fastify: "4.10.0",
  hono: "4.8.0",
  koa: "2.13.0",
  "socket.io": "4.6.0",
};

export const oldestOf = (name: string): string => OLDEST[name] ?? "";

/** The frameworks of the service. */
export const OLDEST_FRAMEWORKS = ["express", "fastify", "koa"].map((name) => `${name}@${oldestOf(name)}`);

/** Creates a project inside the folder in which everything is installed. */
export function createProject(
  root: string,
  name: string,
  { type, compilerOptions, folder: source = "programs", files = ["service.ts"] }: Project,
  compiler: Compiler,
): string {
  const folder = join(root, `${name.replaceAll(/\W+/g, "-")}-${compiler}`);
  cpSync(folderOf(source), folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type }));
  const tsconfig = { compilerOptions: { ...STRICT, ...compilerOptions }, files };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(tsconfig));
  return folder;
}

/**
 * Compiles a project. Returns the errors in its own files and in scopegate, but not those in other packages.
 */
export function compile(root: string, folder: string, compiler: Compiler): readonly string[] {
  const tsc = join(root, `node_modules/typescript-${compiler}/bin/tsc`);
  const { stdout, error } = runChild(process.execPath, [tsc, "-p", ".", "--pretty", "false"], {
    cwd: folder,
  });
  if (error) throw error;
  return stdout
    .split("\n")
    .filter((line) => line.includes(": error TS"))
    .filter((line) => !line.includes("node_modules/") || line.includes("node_modules/scopegate/"));
}

/** Bundles a compiled file with its imports, as a user's build would. */
export function bundle(root: string, file: string, outfile: string, format: "esm" | "cjs"): void {
  // esbuild cannot bundle packages that require modules of Node into an ECMAScript module.
  const external = ["express", "koa", "fastify"].map((name) => `--external:${name}`);
  const options = [
    "--bundle",
    "--platform=node",
    `--format=${format}`,
    `--outfile=${outfile}`,
    "--log-level=error",
  ];
  execFileSync(join(root, "node_modules/.bin/esbuild"), [file, ...options, ...external], LONG_CHILD_LIMIT);
}
