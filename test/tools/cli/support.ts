/** Runs the command line in this process. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect } from "vitest";
import { run } from "../../../src/tools/cli/run.ts";

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly notes: string;
}

interface Setting {
  readonly input?: string;
  readonly isTerminal?: boolean;
  /** Called with each note, as soon as it's written. */
  readonly onNote?: (text: string) => void;
  /** Default: the command is stopped immediately. */
  readonly untilStopped?: () => Promise<void>;
  readonly env?: Readonly<Record<string, string>>;
}

/** Splits a line as a shell does: single quotes surround an argument that contains spaces, or nothing. */
const argumentsOf = (line: string): readonly string[] =>
  (line.match(/'[^']*'|\S+/g) ?? []).map((word) => word.replace(/^'([^']*)'$/, "$1"));

/** Runs the command line with arguments, or with a line of them. */
export async function scopegate(line: readonly string[] | string, setting: Setting = {}): Promise<Ran> {
  let [out, notes] = ["", ""];
  const code = await run(typeof line === "string" ? argumentsOf(line) : line, {
    write: (text) => (out += text),
    note: (text) => {
      notes += text;
      setting.onNote?.(text);
    },
    isTerminal: setting.isTerminal ?? false,
    read: () => Promise.resolve(setting.input ?? ""),
    untilStopped: setting.untilStopped ?? (() => Promise.resolve()),
    env: setting.env ?? {},
  });
  return { code, out, notes };
}

type Line = Parameters<typeof scopegate>[0];

/** Runs a line that must end with this code, and returns its output. */
export async function outputOf(line: Line, code = 0, setting?: Setting): Promise<string> {
  const ran = await scopegate(line, setting);
  expect(ran.code, ran.notes).toBe(code);
  return ran.out;
}

/** Runs a line that must end with this code, and returns the JSON that it prints. */
export const jsonOf = async (line: Line, code = 0, setting?: Setting): Promise<unknown> =>
  JSON.parse(await outputOf(line, code, setting));

/** Runs a line that must be rejected as wrong usage without an output, and returns its notes. */
export async function mistakesOf(line: Line, setting?: Setting): Promise<string> {
  const { code, out, notes } = await scopegate(line, setting);
  expect({ code, out }).toEqual({ code: 2, out: "" });
  return notes;
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
