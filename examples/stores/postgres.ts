/** A store in PostgreSQL. */
import type { Store } from "scopegate/store";

/** A pool of `pg`, or PGlite. */
interface Database {
  query(sql: string, values?: unknown[]): Promise<{ rows: unknown[] }>;
  /** Whether a pool of `pg` is closed. */
  readonly ending?: boolean;
  /** Whether PGlite is closed. */
  readonly closed?: boolean;
}

export async function postgresStore(database: Database): Promise<Store> {
  await database.query(
    "CREATE TABLE IF NOT EXISTS scopegate (key text PRIMARY KEY, value text NOT NULL, until timestamptz)",
  );
  await database.query("CREATE INDEX IF NOT EXISTS scopegate_until ON scopegate (until)");
  const deleteExpired = () => database.query("DELETE FROM scopegate WHERE until <= now()");
  const timer = setInterval(() => {
    if (database.ending || database.closed) clearInterval(timer);
    else void deleteExpired().catch(console.error);
  }, 60_000).unref();
  const set = (isReplacing: boolean) => `INSERT INTO scopegate
    VALUES ($1, $2, now() + $3 * interval '1 millisecond')
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, until = excluded.until
    WHERE ${isReplacing} OR scopegate.until <= now() RETURNING key`;
  return {
    async get(keys) {
      const sql = "SELECT key, value FROM scopegate WHERE key = ANY($1) AND (until IS NULL OR until > now())";
      const rows = (await database.query(sql, [keys])).rows as { key: string; value: string }[];
      const values = new Map(rows.map(({ key, value }) => [key, value]));
      return keys.map((key) => values.get(key));
    },
    async set(key, value, { ttlMs = null, ifAbsent = false } = {}) {
      return (await database.query(set(!ifAbsent), [key, value, ttlMs])).rows.length > 0;
    },
    async delete(key) {
      await database.query("DELETE FROM scopegate WHERE key = $1", [key]);
    },
    async now() {
      const { rows } = await database.query("SELECT extract(epoch FROM now()) * 1000 AS now");
      return Number((rows[0] as { now: unknown }).now);
    },
  };
}
