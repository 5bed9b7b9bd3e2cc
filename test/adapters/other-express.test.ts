/**
 * Two copies of Express. In a file of its own: a guard that ran in an application of a copy before would hide a fault.
 */
import express5 from "express";
import express4 from "express4";
import { expect, it } from "vitest";
import { protect } from "scopegate/express";
import { serve, serverFor, statusWith } from "../support/frameworks.ts";

const server = serverFor({ "GET /sub/agents/me": [], "GET /sub/agents/:id": ["agents:read"] });
const sub = express5().get("/agents/:id", (_request, response) => void response.end("ran"));
const app = express4().use(protect(server)).use(express4.Router().use("/sub", sub));

it("checks the routes of an application of another copy of Express inside a router", async () => {
  const port = await serve(app);
  expect(await statusWith(port, "/sub/agents/me", [])).toBe(403);
  expect(await statusWith(port, "/sub/agents/me", ["agents:read"])).toBe(200);
});
