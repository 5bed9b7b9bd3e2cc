/** One process that shares a store: it reports when it first refuses a token. */
import { setImmediate } from "node:timers/promises";
import { Redis } from "ioredis";
import type * as revocations from "scopegate/revocation";
import { createResourceServer } from "./built.ts";
import { readInput } from "./own-process.ts";
import { AUDIENCE } from "./tokens.ts";

const { url, secret } = readInput() as { readonly url: string; readonly secret: string };
const built = new URL("../dist/revocation.js", import.meta.url).href;
const { redisRevocation } = (await import(built)) as typeof revocations;
const server = createResourceServer({
  serviceId: AUDIENCE,
  algorithm: "HS256",
  verificationKeys: [secret],
  revocation: redisRevocation(new Redis(url)),
});
await server.ready();

async function watch(token: string): Promise<void> {
  await server.authenticate(token);
  process.send?.("watching");
  for (;;) {
    try {
      await server.authenticate(token);
    } catch {
      process.send?.(performance.timeOrigin + performance.now());
      return;
    }
    await setImmediate();
  }
}

process.on("message", (token) => void watch(String(token)));
process.send?.("ready");
