/**
 * One Redis server, with the client `redis`. All three settings are needed: `socketTimeout` also ends an idle connection,
 * which `pingInterval` prevents, and after this timeout, the default `reconnectStrategy` closes the client for good.
 */
import { createClient } from "redis";
import { redisStore } from "scopegate/store";

const client = createClient({
  url: process.env["REDIS_URL"]!,
  pingInterval: 1_000,
  socket: {
    socketTimeout: 3_000,
    connectTimeout: 3_000,
    reconnectStrategy: (retries) => Math.min(50 * retries, 1_000),
  },
});
client.on("error", ({ message }: Error) => console.error("Redis:", message));
await client.connect();

export const store = redisStore(client);
