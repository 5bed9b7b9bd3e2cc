/** PostgreSQL. With `query_timeout`, the pool replaces a connection that does not respond. */
import pg from "pg";
import { postgresStore } from "./postgres.js";

const pool = new pg.Pool({
  connectionString: process.env["DATABASE_URL"]!,
  query_timeout: 2_000,
  connectionTimeoutMillis: 2_000,
});
pool.on("error", ({ message }) => console.error("PostgreSQL:", message));

export const store = await postgresStore(pool);
