/** One process of a service: it answers each request with the status of `check`. Its settings are the first argument. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { protect } from "scopegate/node";
import { sharedRevocation } from "scopegate/revocation";
import { redisStore } from "scopegate/store";
import { createResourceServer } from "../support/server.ts";
import { type ClientSettings, connectClient } from "./clients.ts";

export interface MemberSettings {
  readonly client: ClientSettings;
  readonly publicPem: string;
  readonly staleSeconds: number;
  readonly freshMs: number;
  readonly whenDown?: "refuse" | "accept";
  /** How far its clock is ahead. */
  readonly aheadSeconds?: number;
}

const settings = JSON.parse(process.argv[2] ?? "") as MemberSettings;
const { publicPem, staleSeconds, freshMs, whenDown = "refuse", aheadSeconds = 0 } = settings;
const now = () => Date.now() + aheadSeconds * 1000;
const { client } = await connectClient(settings.client);
const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [publicPem],
  clockToleranceSeconds: Math.abs(aheadSeconds),
  now,
  scopeMappings: { "GET /": [] },
  revocation: sharedRevocation(redisStore(client), {
    staleSeconds,
    freshMs,
    whenDown,
    now,
    onEvent: ({ type }) => process.send?.({ event: type }),
  }),
});
const guard = protect(server);
const http = createServer((request, response) => {
  void guard(request, response).then((isAllowed) => isAllowed && response.end("ok"));
});
http.listen(0, "127.0.0.1", () => process.send?.({ port: (http.address() as AddressInfo).port }));
process.on("message", (message) => {
  if (message !== "heap") return;
  globalThis.gc?.();
  process.send?.({ heap: process.memoryUsage().heapUsed });
});
process.once("SIGTERM", () => process.exit());
