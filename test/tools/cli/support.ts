/** Runs the command line in this process. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { run } from "../../../src/tools/cli/run.ts";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly notes: string;
}

interface Setting {
  readonly input?: string;
  readonly isTerminal?: boolean;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs the command line with arguments, or with a line of arguments that contain no spaces. */
export async function scopegate(line: readonly string[] | string, setting: Setting = {}): Promise<Ran> {
  let [out, notes] = ["", ""];
  const code = await run(typeof line === "string" ? line.split(" ") : line, {
    write: (text) => (out += text),
    note: (text) => (notes += text),
    isTerminal: setting.isTerminal ?? false,
    read: () => Promise.resolve(setting.input ?? ""),
    env: setting.env ?? {},
  });
  return { code, out, notes };
}

export const folder = mkdtempSync(join(tmpdir(), "scopegate-cli-"));
/** Each test file calls this: one process runs several of them, and the first must not remove it for all. */
export function useFolder(): void {
  mkdirSync(folder, { recursive: true });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
}

let count = 0;
/** Writes a file of its own, and returns its path. */
export function fileOf(content: unknown, name = "file.json"): string {
  const path = join(folder, `${(count += 1)}-${name}`);
  writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

export const appOf = (name: string): string => new URL(`apps/${name}`, import.meta.url).pathname;
