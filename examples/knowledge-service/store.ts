/** Where revocations are kept: in this process, or in a Redis that several processes share. */
import type { RevocationStore } from "scopegate/revocation";
import { inMemoryRevocation, redisRevocation } from "scopegate/revocation";

export interface Store {
  readonly revocation: RevocationStore;
  readonly close: () => void;
}

/**
 * Opens `redis://host:port`, or a store in memory without a URL. `?stale_seconds=5` sets how long the service
 * continues without Redis. The client is loaded only for Redis.
 */
export async function openStore(given: string | undefined): Promise<Store> {
  if (given === undefined) return { revocation: inMemoryRevocation(), close: () => undefined };
  const url = new URL(given);
  const staleSeconds = Number(url.searchParams.get("stale_seconds") ?? 30);
  url.search = "";
  const { Redis } = await import("ioredis");
  const client = new Redis(url.href, { maxRetriesPerRequest: null, retryStrategy: () => 100 });
  // Without a listener, a lost connection would end the process. The store reports it.
  client.on("error", () => undefined);
  return {
    revocation: redisRevocation(client, { staleSeconds }),
    close: () => {
      client.disconnect();
    },
  };
}
