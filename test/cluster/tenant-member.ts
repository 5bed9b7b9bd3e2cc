/** One process of a service whose issuers are records in Redis. Its settings are the first argument. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Redis } from "ioredis";
import { untilExpiry } from "scopegate/connections";
import { issuersFrom } from "scopegate/issuers";
import { remoteKeys } from "scopegate/keys";
import { principalOf, protect } from "scopegate/node";
import { createResourceServer } from "../support/server.ts";
import { type IssuerRow, RECORDS, type TenantSettings } from "./tenants.ts";

const { port, freshSeconds, audience } = JSON.parse(process.argv[2] ?? "") as TenantSettings;
const redis = new Redis(port);
let questions = 0;
const server = createResourceServer({
  audience,
  scopesClaim: "scope",
  issuers: issuersFrom(
    async (issuer) => {
      questions += 1;
      const row = await redis.hget(RECORDS, issuer);
      if (row === null) return undefined;
      const { tenant } = JSON.parse(row) as IssuerRow;
      const keys = remoteKeys({ discovery: true });
      return { issuer, tenant, keys, algorithms: ["RS256"], scopes: ["orgs:read"] };
    },
    // The providers listen on this machine.
    { freshSeconds, allowPrivate: true },
  ),
  scopeMappings: { "GET /orgs/:org{/*path}": { scopes: ["orgs:read"], where: { org: { tenant: true } } } },
});
const guard = protect(server);
const http = createServer((request, response) => {
  void guard(request, response).then((isAllowed) => {
    const principal = principalOf(request);
    if (!isAllowed || !principal) return;
    if (!request.url?.endsWith("/stream")) {
      response.end("ok");
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    const stop = untilExpiry(principal, {
      server,
      checkEverySeconds: freshSeconds / 2,
      onEnd: ({ event }) => response.end(event),
    });
    response.on("close", stop);
  });
});
http.listen(0, "127.0.0.1", () => process.send?.({ port: (http.address() as AddressInfo).port }));
process.on("message", () => process.send?.({ questions }));
