/**
 * Builds and packs the package once for all files of a suite. `.ci/run` does so once for all suites: it packs into
 * the folder `PACKED`.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestProject } from "vitest/node";
import { buildAndPack, type Packed, readPacked } from "../packed.ts";

declare module "vitest" {
  interface ProvidedContext {
    packed: Packed;
  }
}

export default function setup({ provide }: TestProject): (() => void) | undefined {
  const { PACKED } = process.env;
  if (PACKED !== undefined) {
    provide("packed", readPacked(PACKED));
    return undefined;
  }
  const folder = mkdtempSync(join(tmpdir(), "scopegate-packed-"));
  buildAndPack(folder);
  provide("packed", readPacked(folder));
  return () => rmSync(folder, { recursive: true, force: true });
}
