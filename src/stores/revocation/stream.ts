/** The Redis stream of all revocations: one entry each, in the order in which they were written. */
import { orUndefined } from "../../core/errors.ts";
import { commandsOf, type RedisClient, type SendCommand } from "../redis.ts";
import type { RevokedEntry } from "../../core/token/revocation.ts";

/** An entry of the stream; `entry` is `undefined` if it cannot be read. */
export interface StreamEntry {
  readonly id: string;
  readonly entry: RevokedEntry | undefined;
}

/** How many entries one command reads or writes: about one megabyte. */
const BATCH = 10_000;

/** For how long only one process may restore entries. After that, another one tries. */
const RESTORING_SECONDS = "30";

/** Redis did not execute a command that writes: it may be a replica, or out of memory. */
export class WriteError extends Error {}

export class RevocationStream {
  readonly #send: SendCommand;
  readonly #key: string;
  readonly #lock: string;

  constructor(client: RedisClient, prefix: string) {
    this.#send = commandsOf(client);
    this.#key = `${prefix}entries`;
    this.#lock = `${prefix}restoring`;
  }

  /** Reads the entries from an id on, including the one with this id. Without an id, reads all entries. */
  async *read(from?: string): AsyncGenerator<readonly StreamEntry[]> {
    for (let start = from ?? "-"; ;) {
      const reply = await this.#send("XRANGE", this.#key, start, "+", "COUNT", String(BATCH));
      const entries = (reply as [unknown, unknown[]][]).map(toStreamEntry);
      yield entries;
      const last = entries.at(-1);
      if (!last || entries.length < BATCH) return;
      start = `(${last.id}`;
    }
  }

  /** Deletes the entries before this one. */
  async trim(first: string): Promise<void> {
    await this.#write("XTRIM", this.#key, "MINID", first);
  }

  async append(entries: readonly RevokedEntry[]): Promise<void> {
    const write = (entry: RevokedEntry) => this.#write("XADD", this.#key, "*", "e", JSON.stringify(entry));
    for (let start = 0; start < entries.length; start += BATCH)
      await Promise.all(entries.slice(start, start + BATCH).map(write));
  }

  /** Appends entries that were lost, unless another process is doing this. Returns whether it did. */
  async restore(entries: readonly RevokedEntry[]): Promise<boolean> {
    const locked = await this.#write("SET", this.#lock, "1", "NX", "EX", RESTORING_SECONDS);
    // A client may return buffers.
    if (String(locked) !== "OK") return false;
    try {
      await this.append(entries);
    } finally {
      // If this fails, the lock expires.
      await this.#send("DEL", this.#lock).catch(() => undefined);
    }
    return true;
  }

  async #write(command: string, ...values: readonly string[]): Promise<unknown> {
    try {
      return await this.#send(command, ...values);
    } catch (cause) {
      throw new WriteError((cause as Error).message, { cause });
    }
  }

  /** Returns the time of the clock of Redis, in milliseconds since the epoch. */
  async time(): Promise<number> {
    const [seconds, microseconds] = (await this.#send("TIME")) as readonly unknown[];
    return Number(seconds) * 1000 + Number(microseconds) / 1000;
  }
}

function toStreamEntry([id, fields]: readonly [unknown, readonly unknown[]]): StreamEntry {
  const value = orUndefined(() => JSON.parse(String(fields[1])) as unknown);
  return { id: String(id), entry: isEntry(value) ? value : undefined };
}

/** Entries are kept for longer than needed, because the clocks of machines differ. */
const MARGIN_MS = 3_600_000;

/** Returns whether an entry can be deleted from the stream. An unreadable entry ends after `keepSeconds`. */
export function hasEnded({ id, entry }: StreamEntry, keepSeconds: number, redisNowMs: number): boolean {
  const endMs = entry ? entry.until * 1000 : Number.parseInt(id, 10) + keepSeconds * 1000;
  return endMs + MARGIN_MS < redisNowMs;
}

const KINDS: ReadonlySet<unknown> = new Set<RevokedEntry["kind"]>([
  "token",
  "claims",
  "session",
  "user",
  "issuer",
]);

/** Other programs may write to the same Redis. */
function isEntry(value: unknown): value is RevokedEntry {
  if (typeof value !== "object" || value === null) return false;
  const { kind, id, issuer, before, until } = value as Partial<Record<keyof RevokedEntry, unknown>>;
  return (
    KINDS.has(kind) &&
    typeof id === "string" &&
    Number.isFinite(until) &&
    (issuer === undefined || typeof issuer === "string") &&
    (before === undefined || Number.isFinite(before))
  );
}
