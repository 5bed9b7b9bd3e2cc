/** One process of a service whose proofs are remembered in Redis. Its settings are the first argument. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Redis } from "ioredis";
import { protect } from "scopegate/node";
import { redisStore } from "scopegate/store";
import { createResourceServer } from "../../support/server.ts";

export interface MemberSettings {
  readonly redisPort: number;
  readonly publicPem: string;
  readonly origin: string;
}

const { redisPort, publicPem, origin } = JSON.parse(process.argv[2] ?? "") as MemberSettings;

const client = new Redis(redisPort, "127.0.0.1", {
  // A command fails at once while Redis is down.
  maxRetriesPerRequest: 0,
  retryStrategy: () => 20,
});
client.on("error", () => undefined);

const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [publicPem],
  scopeMappings: { "GET /agents/:id": ["agents:read"] },
  senderConstraint: { dpop: { origins: [origin], replay: redisStore(client) } },
});
const guard = protect(server);
const http = createServer((request, response) => {
  void guard(request, response).then((isAllowed) => {
    if (isAllowed) response.end("done");
  });
});
http.listen(0, "127.0.0.1", () => process.send?.({ port: (http.address() as AddressInfo).port }));
process.once("SIGTERM", () => process.exit());
