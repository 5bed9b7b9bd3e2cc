/** The Redis server for tests: `REDIS_URL`, or the one on this machine. `undefined` if there is none. */
import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { afterAll, beforeAll } from "vitest";
import { reportMissing } from "./missing.ts";

const url = process.env["REDIS_URL"] ?? "redis://127.0.0.1:6379";

const isThere = await new Promise<boolean>((resolve) => {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port || 6379) });
  socket.once("connect", () => {
    socket.destroy();
    resolve(true);
  });
  socket.once("error", () => resolve(false));
});

export const REDIS_URL = isThere ? url : undefined;

if (!isThere) reportMissing("the tests that need Redis", `none listens at ${url}`);

/** One client of each package for a suite, and a prefix whose keys are deleted at its end. */
export function useRedisClients() {
  const prefix = `scopegate-test:${randomUUID()}:`;
  const clients = { ioredis: new Redis(url, { lazyConnect: true }), redis: createClient({ url }) };
  beforeAll(async () => {
    await clients.ioredis.connect();
    await clients.redis.connect();
  });
  afterAll(async () => {
    const keys = await clients.ioredis.keys(`${prefix}*`);
    if (keys.length > 0) await clients.ioredis.del(...keys);
    await clients.ioredis.quit();
    await clients.redis.close();
  });
  return { prefix, clients };
}
