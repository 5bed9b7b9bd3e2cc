/** The Redis stream of all revocations: one entry each, in the order in which they were written. */
import { attempt } from "../errors.ts";
import { commandsOf, type RedisClient, type SendCommand } from "../redis/client.ts";
import { type RevokedEntry } from "../token/revocation.ts";

/** An entry of the stream; `entry` is `undefined` if it cannot be read. */
export interface StreamEntry {
  readonly id: string;
  readonly entry: RevokedEntry | undefined;
}

/** How many entries one command reads or writes: about one megabyte. */
const BATCH = 10_000;

/** Entries stay in Redis for this much longer than `keepSeconds`, because the clocks of machines differ. */
const MARGIN_MS = 3_600_000;

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

  /** Appends entries, and deletes entries that were written more than `keepSeconds` ago. */
  async append(entries: readonly RevokedEntry[], keepSeconds: number, nowMs: number): Promise<void> {
    const oldest = Math.max(0, Math.floor(nowMs) - keepSeconds * 1000 - MARGIN_MS);
    const write = (entry: RevokedEntry) =>
      this.#send("XADD", this.#key, "MINID", "~", String(oldest), "*", "e", JSON.stringify(entry));
    for (let start = 0; start < entries.length; start += BATCH)
      await Promise.all(entries.slice(start, start + BATCH).map(write));
  }

  /** Whether this process may restore lost entries. Only one process at a time may do this. */
  async lock(seconds: number): Promise<boolean> {
    return (await this.#send("SET", this.#lock, "1", "NX", "EX", String(seconds))) === "OK";
  }

  /** Lets another process restore entries. */
  async unlock(): Promise<void> {
    await this.#send("DEL", this.#lock);
  }

  /** Returns the time of the clock of Redis, in milliseconds since the epoch. */
  async time(): Promise<number> {
    const [seconds, microseconds] = (await this.#send("TIME")) as readonly unknown[];
    return Number(seconds) * 1000 + Number(microseconds) / 1000;
  }
}

function toStreamEntry([id, fields]: readonly [unknown, readonly unknown[]]): StreamEntry {
  const value = attempt(() => JSON.parse(String(fields[1])) as unknown);
  return { id: String(id), entry: isEntry(value) ? value : undefined };
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
