/**
 * Two copies of Express. In a file of its own: a guard that ran in an application of a copy before would hide a fault.
 */
import { createServer } from "node:http";
import express5 from "express";
import express4 from "express4";
import { afterAll, expect, it } from "vitest";
import { createResourceServer } from "scopegate";
import { protect } from "scopegate/express";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const issuer = createIssuer();
const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [issuer.publicPem],
  scopeMappings: { "GET /sub/agents/me": [], "GET /sub/agents/:id": ["agents:read"] },
});
const sub = express5().get("/agents/:id", (_request, response) => void response.end("ran"));
const app = express4().use(protect(server)).use(express4.Router().use("/sub", sub));
const { port, close } = await listen(createServer(app));
afterAll(close);

it("checks the routes of an application of another copy of Express inside a router", async () => {
  const statusOf = async (...scopes: readonly string[]) =>
    (await ask(port, { path: "/sub/agents/me", token: await issuer.token({ scopes }) })).status;
  expect(await statusOf()).toBe(403);
  expect(await statusOf("agents:read")).toBe(200);
});
