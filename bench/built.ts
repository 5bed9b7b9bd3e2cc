/**
 * The built package. Importing the sources instead would double the measured times, because a TypeScript
 * loader wraps every function.
 */
import { build } from "esbuild";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type * as scopegate from "scopegate";

export const ROOT = fileURLToPath(new URL("../", import.meta.url));

const entry = new URL("../dist/index.js", import.meta.url);
if (!existsSync(entry)) throw new Error("The package is not built. Run `npm run build` first.");

export const { createResourceServer } = (await import(entry.href)) as typeof scopegate;

/** Imports a file of `src` that the package does not export, built like the package. */
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
