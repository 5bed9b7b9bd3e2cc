/** One process that shares a store: it reports when it first refuses a token. */
import { setImmediate } from "node:timers/promises";
import { Redis } from "ioredis";
import { createResourceServer, importEntry } from "./built.ts";
import { readInput } from "./own-process.ts";
import { AUDIENCE } from "./tokens.ts";
import type * as revocations from "scopegate/revocation";
import type * as stores from "scopegate/store";

const { url, secret } = readInput() as { readonly url: string; readonly secret: string };
const { sharedRevocation } = await importEntry<typeof revocations>("revocation");
const { redisStore } = await importEntry<typeof stores>("store");
const server = createResourceServer({
  serviceId: AUDIENCE,
  algorithm: "HS256",
  verificationKeys: [secret],
  revocation: sharedRevocation(redisStore(new Redis(url))),
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
