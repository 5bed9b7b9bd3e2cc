/** Folders that tests write to, outside of the project. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** Creates a folder that is removed after the tests of the file, or of the suite that calls this. */
export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `scopegate-${name}-`));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
