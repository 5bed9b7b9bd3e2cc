/** The Redis server for tests: `REDIS_URL`, or the one on this machine. `undefined` if there is none. */
import { connect } from "node:net";

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

if (!isThere) console.log(`Skipped: the tests that need Redis, because none listens at ${url}.`);
