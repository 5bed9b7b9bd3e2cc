/** Reads and writes the files of commands. */
import { constants, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { closeSync, fstatSync, linkSync, mkdtempSync, openSync, rmSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { orUndefined, ConfigurationError, type ConfigurationIssue } from "../../core/errors.ts";
import { toJsonIssue } from "../../complete/configuration.ts";
import { isOnlyReading } from "../../core/runtime/json.ts";
import { quote } from "./arguments.ts";
import { UsageError } from "./command.ts";

export function readText(path: string): string {
  const text = orUndefined(() => readFileSync(path, "utf8"));
  if (text === undefined)
    throw new UsageError(`${quote(path)} can't be read. A relative path starts at the working directory.`);
  return text;
}

export const isFolder = (path: string): boolean => orUndefined(() => statSync(path))?.isDirectory() === true;

/** Finds a file in the folder above, or in one above that, up to the first one with a `package.json`. */
export function findAbove(folder: string, names: readonly string[]): string | undefined {
  const parent = dirname(resolve(folder));
  const file = names.map((name) => relative("", join(parent, name))).find((path) => existsSync(path));
  const isLast = existsSync(join(parent, "package.json")) || parent === resolve(folder);
  if (file !== undefined || isLast) return file;
  return findAbove(parent, names);
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

/** Reads a JSON object. A name that is written twice is a mistake: only one of its values would count. */
export function readJson(path: string): Readonly<Record<string, unknown>> {
  // Some editors write a byte order mark at the start of a file.
  const text = readText(path).replace(/^\uFEFF/, "");
  if (text.trim() === "") throw new UsageError(`${quote(path)} is empty: write a JSON object.`);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // Only the position is read from the message, because the rest may quote a key.
    const [place = ""] = / \(line \d+ column \d+\)/.exec(String(error)) ?? [];
    throw new UsageError(`${quote(path)} isn't valid JSON${place}: is a comma or a quotation mark missing?`);
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
    throw new UsageError(`${quote(path)} can't be written. Does its folder exist?`);
  }
}

/** Doesn't follow links or wait for pipes. Windows doesn't have these flags. */
const SAFELY = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Reads a secret that only its owner can read. Creates an absent file with this mode, in one step. */
export function readSecret(path: string, create: () => string): string {
  const existing = openSecret(path);
  if (existing !== undefined) return existing;
  const folder = orUndefined(() => mkdtempSync(join(dirname(path), ".scopegate-")));
  if (folder === undefined) throw new UsageError(`${quote(path)} can't be written. Does its folder exist?`);
  try {
    writeFileSync(join(folder, "key"), create(), { mode: 0o600 });
    // Fails if another process was first. In this case, that process's key is used.
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
    throw new UsageError(`${quote(path)} is a symbolic link or can't be read: pass another file with --key.`);
  }
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new UsageError(`${quote(path)} isn't a file: pass another one with --key.`);
    requirePrivate(path, ", or delete it for a new key", stats);
    return readFileSync(file, "utf8");
  } finally {
    closeSync(file);
  }
}

/** @throws UsageError for a file that other users can read or own, but not for an absent file */
export function requirePrivate(
  path: string,
  otherwise = "",
  stats = orUndefined(() => statSync(path)),
): void {
  if (!stats) return;
  const isForeign = process.getuid !== undefined && stats.uid !== process.getuid();
  // Windows doesn't have such modes.
  if (isForeign || (process.platform !== "win32" && (stats.mode & 0o077) !== 0))
    throw new UsageError(
      `Other users can read ${quote(path)}, or it belongs to another user: run chmod 600${otherwise}.`,
    );
}
