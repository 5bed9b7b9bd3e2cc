/** One Redis server, with `ioredis`. `socketTimeout` counts only while a command waits for its reply. */
import { Redis } from "ioredis";
import { redisStore } from "scopegate/store";

const client = new Redis(process.env["REDIS_URL"]!, { socketTimeout: 3_000, connectTimeout: 3_000 });
client.on("error", ({ message }) => console.error("Redis:", message));

export const store = redisStore(client);
