/** Reads and writes the files of commands. */
import { constants, readFileSync, statSync, writeFileSync } from "node:fs";
import { closeSync, fstatSync, linkSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { orUndefined, ConfigurationError, type ConfigurationIssue } from "../../core/errors.ts";
import { toJsonIssue } from "../../core/options/configuration.ts";
import { isOnlyReading } from "../../core/runtime/json.ts";
import { quote } from "./arguments.ts";
import { UsageError } from "./command.ts";

export function readText(path: string): string {
  const text = orUndefined(() => readFileSync(path, "utf8"));
  if (text === undefined)
    throw new UsageError(`${quote(path)} cannot be read. A relative path starts at the working directory.`);
  return text;
}

/** Names the file in every mistake that is found in it. */
export function inFile<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const render = (issue: ConfigurationIssue) =>
      `${quote(path)}: ${new ConfigurationError([toJsonIssue(issue)]).message}`;
    throw new UsageError(...error.issues.map(render));
  }
}

/** Reads one JSON object. A name that is written twice is a mistake: only one of its values would count. */
export function readJson(path: string): Readonly<Record<string, unknown>> {
  // Editors may begin a file with a byte order mark.
  const text = readText(path).replace(/^\uFEFF/, "");
  if (text.trim() === "") throw new UsageError(`${quote(path)} is empty: write a JSON object.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // Nothing else of the message: it may quote a key.
    const [place = ""] = / \(line \d+ column \d+\)/.exec(String(error)) ?? [];
    throw new UsageError(`${quote(path)} is not valid JSON${place}: is a comma or a quotation mark missing?`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new UsageError(`${quote(path)} must contain a JSON object: write { ... }.`);
  if (!isOnlyReading(value, Buffer.from(text)))
    throw new UsageError(`${quote(path)} has one name twice in an object: keep one of the two.`);
  return value as Readonly<Record<string, unknown>>;
}

export function writeText(path: string, text: string): void {
  try {
    writeFileSync(path, text);
  } catch {
    throw new UsageError(`${quote(path)} cannot be written. Does its folder exist?`);
  }
}

/** Does not follow a link or wait for a pipe. Windows does not have these flags. */
const SAFELY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Reads a secret that only its owner can read. If it is absent, creates it with that mode, in one step. */
export function readSecret(path: string, create: () => string): string {
  const existing = openSecret(path);
  if (existing !== undefined) return existing;
  const folder = orUndefined(() => mkdtempSync(join(dirname(path), ".scopegate-")));
  if (folder === undefined) throw new UsageError(`${quote(path)} cannot be written. Does its folder exist?`);
  try {
    writeFileSync(join(folder, "key"), create(), { mode: 0o600 });
    // Fails if another process was first: then its key counts.
    orUndefined(() => linkSync(join(folder, "key"), path));
  } finally {
    rmSync(folder, { recursive: true });
  }
  return openSecret(path) ?? "";
}

function openSecret(path: string): string | undefined {
  let file: number;
  try {
    file = openSync(path, SAFELY);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new UsageError(
      `${quote(path)} is a symbolic link or cannot be read: pass another file with --key.`,
    );
  }
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new UsageError(`${quote(path)} is not a file: pass another one with --key.`);
    requirePrivate(path, ", or delete it for a new key", stats);
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

/** @throws UsageError for a file that others can read or own; not for one that is absent */
export function requirePrivate(
  path: string,
  otherwise = "",
  stats = orUndefined(() => statSync(path)),
): void {
  if (!stats) return;
  const isForeign = process.getuid !== undefined && stats.uid !== process.getuid();
  // Windows has no such modes.
  if (isForeign || (process.platform !== "win32" && (stats.mode & 0o077) !== 0))
    throw new UsageError(
      `Others can read ${quote(path)}, or it belongs to another user: run chmod 600${otherwise}.`,
    );
}
