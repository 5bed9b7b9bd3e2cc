/** A store of API keys in a file. */
import { type FileHandle, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { orUndefined } from "../../core/errors.ts";
import { requireRecord } from "./record.ts";
import { type ApiKeyStore, type Edit, type Records, storeOf } from "./stores.ts";

/** How long a process waits while another one writes. */
const LOCK_MS = 2_000;

/**
 * Creates a store in a JSON file, for one machine and up to a thousand keys. `add` creates the file with mode
 * 0600. Each change replaces the whole file, and processes read it again when it has changed. Several
 * processes can write: each creates `<path>.lock` while it writes. All functions reject if the file is
 * invalid, or if other users can write it.
 *
 * @example
 * ```ts
 * import { apiKeyFile } from "scopegate/api-keys";
 *
 * console.log(await apiKeyFile("keys.json").revoke("4fGhT0aZ19qL", "It was in a log."));
 * ```
 */
export function apiKeyFile(path: string): ApiKeyStore {
  let lastRead: { readonly version: string; readonly records: Records } | undefined;
  const read = async (): Promise<Records> => {
    const stats = await stat(path, { bigint: true });
    // Windows does not have these modes.
    if (!stats.isFile() || (process.platform !== "win32" && (stats.mode & 0o022n) !== 0n))
      throw new Error(`${path} must be a file that only its owner can write: run chmod 600.`);
    const version = [stats.mtimeNs, stats.ctimeNs, stats.size, stats.ino].join(" ");
    if (lastRead?.version !== version) lastRead = { version, records: parse(await readFile(path, "utf8")) };
    return lastRead.records;
  };
  const write = async <T>(edit: Edit<T>): Promise<T> => {
    // Replaces the target of a symbolic link, not the link.
    const target = await realpath(path).catch(() => path);
    const lock = `${target}.lock`;
    const file = await openLock(lock);
    let isOurs = true;
    try {
      const old = await read().catch(emptyIfAbsent);
      const records = new Map(old);
      const result = edit(records);
      const text = render(records);
      if (text !== render(old)) {
        await file.writeFile(text);
        await file.sync();
        await file.close();
        await rename(lock, target);
        // From here on, a lock file belongs to another process.
        isOurs = false;
      }
      return result;
    } finally {
      await file.close();
      if (isOurs) await rm(lock);
    }
  };
  let last: Promise<unknown> = Promise.resolve();
  return storeOf(read, (edit) => {
    const next = last.then(() => write(edit));
    last = next.catch(() => undefined);
    return next;
  });
}

const render = (records: Records): string =>
  `${JSON.stringify({ keys: [...records.values()] }, undefined, 2)}\n`;

function parse(json: string): Records {
  // The message of a syntax error would quote the file.
  const content = orUndefined(() => JSON.parse(json) as { readonly keys?: unknown } | null);
  if (!Array.isArray(content?.keys)) throw new TypeError("The file of API keys must be { keys: [...] }.");
  const records = content.keys.map((entry: unknown) =>
    requireRecord(entry, (entry as { id?: unknown } | null)?.id),
  );
  const byId = new Map(records.map((record) => [record.id, record]));
  if (byId.size < records.length) throw new TypeError("The file of API keys has two keys with the same id.");
  return byId;
}

async function openLock(lock: string, waitedMs = 0): Promise<FileHandle> {
  try {
    return await open(lock, "wx", 0o600);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    if (waitedMs >= LOCK_MS)
      throw new Error(`${lock} exists: delete it if no process is changing keys.`, { cause: error });
  }
  await setTimeout(20);
  return openLock(lock, waitedMs + 20);
}

function emptyIfAbsent(error: unknown): Records {
  if (codeOf(error) === "ENOENT") return new Map();
  throw error;
}

const codeOf = (error: unknown): unknown => (error as NodeJS.ErrnoException).code;
