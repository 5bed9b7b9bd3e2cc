/** A store of API keys in a file. */
import { type FileHandle, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { orUndefined } from "../../core/errors.ts";
import { type ApiKeyRecord, requireRecord } from "./record.ts";
import { type ApiKeyStore, duplicate, withoutHash, withRevocation } from "./store.ts";

type Records = ReadonlyMap<string, ApiKeyRecord>;
type Edit<T> = (records: Map<string, ApiKeyRecord>) => T;

/** Writing takes milliseconds. After this time, the process that created a lock has ended or hangs. */
const ABANDONED_MS = 5_000;
/** How long a process waits for others. Longer than `ABANDONED_MS`: an abandoned lock only delays it. */
const LOCK_MS = 6_000;

/**
 * Creates a store in a JSON file, for one machine and up to a thousand keys. `add` creates the file with mode
 * 0600. Each change replaces the whole file, with its owner and mode, and processes read it again when it has
 * changed. Several processes can write: each creates `<path>.lock` while it writes. A lock of a process that
 * has ended is removed after five seconds. All functions reject if the file is invalid, belongs to a user
 * other than this one and root, or can be written by other users.
 */
export function apiKeyFile(path: string): ApiKeyStore {
  let lastRead: { readonly version: string; readonly records: Records } | undefined;
  const read = async (): Promise<Records> => {
    const stats = await stat(path, { bigint: true });
    assertPrivate(path, stats);
    const version = [stats.mtimeNs, stats.ctimeNs, stats.size, stats.ino].join(" ");
    if (lastRead?.version !== version) lastRead = { version, records: parse(await readFile(path, "utf8")) };
    return lastRead.records;
  };
  const write = async <T>(edit: Edit<T>): Promise<T> => {
    // Replaces the target of a symbolic link, not the link.
    const target = await realpath(path).catch(() => path);
    const lock = await openLock(`${target}.lock`);
    try {
      const old = await read().catch(emptyIfAbsent);
      const records = new Map(old);
      const result = edit(records);
      const text = render(records);
      if (text !== render(old)) await replaceFile(target, text, lock);
      return result;
    } finally {
      await lock.close();
    }
  };
  let last: Promise<unknown> = Promise.resolve();
  /** Runs the edits of this process in turn. */
  const change = <T>(edit: Edit<T>): Promise<T> => {
    const next = last.then(() => write(edit));
    last = next.catch(() => undefined);
    return next;
  };
  // One edit saves all uses so far.
  const uses = new Map<string, number>();
  return {
    find: async (id) => (await read()).get(id),
    add: (record) =>
      change((records) => {
        if (records.has(record.id)) throw duplicate(record);
        records.set(record.id, { ...record });
      }),
    list: async () => [...(await read()).values()].map(withoutHash),
    revoke: (id, reason) =>
      change((records) => {
        const record = records.get(id);
        if (record) records.set(id, withRevocation(record, reason));
        return record !== undefined;
      }),
    remove: (id) => change((records) => records.delete(id)),
    markUsed(id, at) {
      uses.set(id, at);
      return change((records) => {
        for (const [used, lastUsedAt] of uses) {
          const record = records.get(used);
          if (record) records.set(used, { ...record, lastUsedAt });
        }
        uses.clear();
      });
    },
  };
}

/** Anyone who can write the file can give any scope to a key. Windows has no such modes and owners. */
function assertPrivate(
  path: string,
  stats: { isFile(): boolean; readonly mode: bigint; readonly uid: bigint },
): void {
  const user = process.getuid?.();
  if (!stats.isFile() || (user !== undefined && (stats.mode & 0o022n) !== 0n))
    throw new Error(`${path} must be a file that only its owner can write: run chmod 600.`);
  if (user !== undefined && stats.uid !== 0n && stats.uid !== BigInt(user))
    throw new Error(`${path} belongs to another user, who can change it: run chown.`);
}

/** Writes another file and renames it, so that readers see either the old file or the new one. */
async function replaceFile(target: string, text: string, { next, isOurs }: Lock): Promise<void> {
  const file = await open(next, "wx", 0o600);
  try {
    const old = await stat(target).catch(() => undefined);
    if (old) {
      // If root writes a file that the group of a service may read, the service must still read it.
      if (process.getuid?.() === 0) await file.chown(old.uid, old.gid);
      await file.chmod(old.mode & 0o777);
    }
    await file.writeFile(text);
    await file.sync();
    await file.close();
    if (!(await isOurs()))
      throw new Error(`${target}.lock was removed, because writing took too long. Try again.`);
    await rename(next, target);
  } finally {
    await file.close();
    await rm(next, { force: true });
  }
}

interface Lock {
  /** The file that the owner of the lock writes. A process that removes the lock also removes this file. */
  readonly next: string;
  /** Returns whether the lock still exists: another process may have removed it. */
  readonly isOurs: () => Promise<boolean>;
  readonly close: () => Promise<void>;
}

async function openLock(path: string, waitedMs = 0): Promise<Lock> {
  let file: FileHandle;
  try {
    file = await open(path, "wx", 0o600);
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    if (await removeAbandoned(path)) return openLock(path, waitedMs);
    if (waitedMs >= LOCK_MS)
      throw new Error(`${path} exists: another process is changing keys. Try again.`, { cause: error });
    await setTimeout(20);
    return openLock(path, waitedMs + 20);
  }
  const { ino } = await file.stat();
  const isOurs = async (): Promise<boolean> => (await stat(path).catch(() => undefined))?.ino === ino;
  return {
    next: nextFor(path, ino),
    isOurs,
    async close() {
      await file.close();
      if (await isOurs()) await rm(path, { force: true });
    },
  };
}

const nextFor = (lock: string, ino: number): string => `${lock}.${ino}`;

/**
 * Removes a lock whose process has ended. Only one process may do this at a time: otherwise it could remove a
 * new lock.
 */
async function removeAbandoned(path: string): Promise<boolean> {
  if (!(await findAbandoned(path))) return false;
  const breaking = `${path}.breaking`;
  try {
    await (await open(breaking, "wx", 0o600)).close();
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    // A process may also have ended here, and left this lock.
    if (await findAbandoned(breaking)) await rm(breaking, { force: true });
    return false;
  }
  try {
    const abandoned = await findAbandoned(path);
    if (abandoned) {
      await rm(nextFor(path, abandoned.ino), { force: true });
      await rm(path, { force: true });
    }
  } finally {
    await rm(breaking, { force: true });
  }
  return true;
}

/** @throws Error for a lock of another user, who may keep it for any reason */
async function findAbandoned(path: string): Promise<{ readonly ino: number } | undefined> {
  const stats = await stat(path).catch(() => undefined);
  // A time in the future comes from a clock that was set back.
  if (!stats || Math.abs(Date.now() - stats.mtimeMs) < ABANDONED_MS) return undefined;
  const user = process.getuid?.();
  if (user !== undefined && user !== 0 && stats.uid !== user)
    throw new Error(`${path} belongs to another user: delete it if no process is changing keys.`);
  return stats;
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

function emptyIfAbsent(error: unknown): Records {
  if (codeOf(error) === "ENOENT") return new Map();
  throw error;
}

const codeOf = (error: unknown): unknown => (error as NodeJS.ErrnoException).code;
