/** Fails at boot for a server that could not revoke anything. */
import { assertResourceServer } from "../../adapters/shared/misuse.ts";
import { type ResourceServer } from "../../core/server.ts";

export function assertRevocation(server: ResourceServer, caller: string): void {
  assertResourceServer(server, caller);
  if (server.health().revocation) return;
  throw new TypeError(
    `${caller} needs a server with the option \`revocation\`: inMemoryRevocation() or redisRevocation(client).`,
  );
}
