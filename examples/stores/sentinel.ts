/** Redis with Sentinel. */
import { Redis } from "ioredis";
import { redisStore } from "scopegate/store";

const client = new Redis({
  sentinels: process.env["REDIS_SENTINELS"]!.split(",").map((address) => {
    const { hostname: host, port } = new URL(`redis://${address}`); // such as sentinel-1:26379
    return { host, port: Number(port) };
  }),
  name: "main",
  socketTimeout: 3_000,
  connectTimeout: 3_000,
});
client.on("error", ({ message }) => console.error("Redis:", message));

export const store = redisStore(client);
