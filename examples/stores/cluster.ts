/** Redis Cluster. While a node fails, only callers whose keys are on it are affected. */
import { Cluster } from "ioredis";
import { redisStore } from "scopegate/store";

const nodes = process.env["REDIS_NODES"]!.split(","); // such as redis://node-1:6379
const client = new Cluster(nodes, { redisOptions: { socketTimeout: 3_000, connectTimeout: 3_000 } });
client.on("error", ({ message }) => console.error("Redis:", message));

export const store = redisStore(client);
