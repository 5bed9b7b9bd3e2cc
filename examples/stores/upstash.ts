/** Redis over HTTP, as Upstash. Without `automaticDeserialization: false`, the client parses values as JSON. */
import { Redis } from "@upstash/redis";
import type { Store } from "scopegate/store";

const client = new Redis({
  url: process.env["UPSTASH_REDIS_REST_URL"]!,
  token: process.env["UPSTASH_REDIS_REST_TOKEN"]!,
  automaticDeserialization: false,
  retry: false,
  signal: () => AbortSignal.timeout(2_000),
});
const prefixed = (key: string): string => `scopegate:${key}`;

export const store: Store = {
  async get(keys) {
    if (keys.length === 0) return [];
    const values = await client.mget<(string | null)[]>(keys.map(prefixed));
    return values.map((value) => value ?? undefined);
  },
  async set(key, value, { ttlMs, ifAbsent } = {}) {
    const px = ttlMs === undefined ? [] : ["PX", Math.max(1, Math.ceil(ttlMs))];
    const command = ["SET", prefixed(key), value, ...px, ...(ifAbsent ? ["NX"] : [])] as const;
    return (await client.exec([...command])) === "OK";
  },
  async delete(key) {
    await client.del(prefixed(key));
  },
  async now() {
    const [seconds, microseconds] = await client.time();
    return Number(seconds) * 1000 + Number(microseconds) / 1000;
  },
};
