/** Builds and packs the package once for all files of `npm run test:package`. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { buildAndPack, type Packed } from "../packed.ts";

declare module "vitest" {
  interface ProvidedContext {
    packed?: Packed;
  }
}

export default function setup({ provide }: TestProject): () => void {
  const folder = mkdtempSync(join(tmpdir(), "scopegate-packed-"));
  provide("packed", buildAndPack(folder));
  return () => rmSync(folder, { recursive: true, force: true });
}
