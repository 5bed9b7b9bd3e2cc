/**
 * The package as it is published. A loader that translates TypeScript follows the paths of tsconfig.json to `src` and
 * wraps every function: that doubles what these times are.
 */
import { build } from "esbuild";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type * as scopegate from "scopegate";

export const ROOT = fileURLToPath(new URL("../", import.meta.url));

const entry = new URL("../dist/index.js", import.meta.url);
if (!existsSync(entry)) throw new Error("There is no build to measure: `npm run build` makes one.");

export const { createResourceServer } = (await import(entry.href)) as typeof scopegate;

/** A file of `src` that the package does not export, built the way the package is. */
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
