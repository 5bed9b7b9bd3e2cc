/** Where revocations are kept: in this process, or in a Redis that several processes share. */
import { inMemoryRevocation, type Revocations, sharedRevocation } from "scopegate/revocation";
import { redisStore } from "scopegate/store";

export interface RevocationStore {
  readonly revocation: Revocations;
  readonly close: () => void;
}

/**
 * Opens `redis://host:port`, or a store in memory without a URL. `?stale_seconds=5` sets how long the service
 * continues without Redis. The client is loaded only for Redis.
 */
export async function openStore(given: string | undefined): Promise<RevocationStore> {
  if (given === undefined) return { revocation: inMemoryRevocation(), close: () => undefined };
  const url = new URL(given);
  const staleSeconds = Number(url.searchParams.get("stale_seconds") ?? 30);
  url.search = "";
  const { Redis } = await import("ioredis");
  // With `socketTimeout`, the client notices a connection that has died without an error.
  const client = new Redis(url.href, { retryStrategy: () => 100, socketTimeout: 2_000 });
  // Without a listener, a lost connection would end the process. The store reports it.
  client.on("error", () => undefined);
  return {
    revocation: sharedRevocation(redisStore(client), { staleSeconds }),
    close: () => {
      client.disconnect();
    },
  };
}
