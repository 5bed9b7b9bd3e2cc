import { execFileSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, rmSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { CHILD_LIMIT } from "../support/child-limit.ts";

/** A copy of what Git tracks in `root`, or would track, and a link to the packages. */
export function createSandbox(root: string, folder: string): void {
  rmSync(folder, { recursive: true, force: true });
  const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  const files = execFileSync("git", list, { ...CHILD_LIMIT, cwd: root, encoding: "utf8" }).split("\0");
  for (const file of files) {
    if (file === "" || !existsSync(join(root, file))) continue;
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(root, file), join(folder, file));
  }
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
}
