/**
 * The built package. A TypeScript loader would follow the paths of tsconfig.json to `src` and wrap every function, which
 * doubles the measured times.
 */
import { build } from "esbuild";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type * as scopegate from "scopegate";

export const ROOT = fileURLToPath(new URL("../", import.meta.url));

const entry = new URL("../dist/index.js", import.meta.url);
if (!existsSync(entry)) throw new Error("Run `npm run build` first: there is no build to measure.");

export const { agentScopeMappings, createResourceServer } = (await import(entry.href)) as typeof scopegate;

/** Imports another entry point of the build. */
export const importEntry = async <Module>(name: string): Promise<Module> =>
  (await import(new URL(`../dist/${name}.js`, import.meta.url).href)) as Module;

/** Builds and imports a file of `src` that the package does not export. */
export async function importInternal<Module>(file: string): Promise<Module> {
  const outfile = `${ROOT}bench/.build/${file.replaceAll("/", "-").replace(/\.ts$/, ".js")}`;
  await build({
    entryPoints: [`${ROOT}src/${file}`],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    logLevel: "silent",
  });
  return (await import(outfile)) as Module;
}
