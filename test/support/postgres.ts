/** The PostgreSQL server for tests: `POSTGRES_URL`, or the one on this machine. */
import { randomUUID } from "node:crypto";
import { userInfo } from "node:os";
import pg from "pg";

const url = process.env["POSTGRES_URL"] ?? `postgres://${userInfo().username}@127.0.0.1:5432/test`;
const connect = async (): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  await client.connect();
  return client;
};

export const HAS_POSTGRES = await connect().then(
  (client) => client.end().then(() => true),
  () => false,
);

// The workflows have no PostgreSQL, so this is no error there.
if (!HAS_POSTGRES)
  console.log(`Skipped: the test of the store in PostgreSQL, because none listens at ${new URL(url).host}.`);

/** A schema of its own, until `drop`. */
export interface PostgresSchema {
  /** The URL through another port, such as that of a proxy. */
  readonly urlAt: (port: number) => string;
  readonly port: number;
  readonly query: (sql: string) => Promise<readonly unknown[]>;
  readonly drop: () => Promise<void>;
}

export async function createSchema(): Promise<PostgresSchema> {
  const client = await connect();
  const name = `scopegate_${randomUUID().replaceAll("-", "")}`;
  await client.query(`CREATE SCHEMA ${name}`);
  await client.query(`SET search_path TO ${name}`);
  return {
    port: Number(new URL(url).port || 5432),
    urlAt(port) {
      const other = new URL(url);
      other.port = String(port);
      other.searchParams.set("options", `-c search_path=${name}`);
      return other.href;
    },
    query: async (sql) => (await client.query<Record<string, unknown>>(sql)).rows,
    async drop() {
      await client.query(`DROP SCHEMA ${name} CASCADE`);
      await client.end();
    },
  };
}
