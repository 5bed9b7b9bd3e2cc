/** CORS preflights that reach `protect`: every browser is locked out, so the process is warned once. */
import { createServer } from "node:http";
import express from "express";
import { Hono } from "hono";
import Koa from "koa";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createResourceServer } from "scopegate";
import { ask, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [createIssuer().publicPem],
  scopeMappings: { "GET /agents": [], "OPTIONS /closed": ["closed:read"] },
});
const PREFLIGHT: [string, string][] = [
  ["origin", "https://app.example"],
  ["access-control-request-method", "GET"],
];

const warn = vi.fn();
beforeEach(() => {
  // The process is warned once by each copy of the package.
  vi.resetModules();
  vi.spyOn(process, "emitWarning").mockImplementation(warn);
});
afterEach(() => {
  vi.restoreAllMocks();
  warn.mockReset();
});

const expectOneWarning = () => {
  expect(warn.mock.calls).toEqual([
    [expect.stringContaining("Register CORS middleware in front of protect"), "ScopegateWarning"],
  ]);
};

async function preflight(
  listener: Parameters<typeof createServer>[1],
  headers = PREFLIGHT,
  path = "/agents",
) {
  const { port, close } = await listen(createServer(listener as never));
  try {
    for (let turn = 0; turn < 2; turn += 1) await ask(port, { method: "OPTIONS", path, headers });
  } finally {
    await close();
  }
}

it("warns once of a preflight without a rule in Express", async () => {
  const { protect } = await import("scopegate/express");
  await preflight(express().use(protect(server)));
  expectOneWarning();
});

it("warns once of a preflight without a rule in Koa", async () => {
  const { protect } = await import("scopegate/koa");
  const handle = new Koa().use(protect(server)).callback();
  await preflight((...given: Parameters<typeof handle>) => void handle(...given));
  expectOneWarning();
});

it("warns once of a preflight without a rule in Hono", async () => {
  const { protect } = await import("scopegate/hono");
  const app = new Hono().use(protect(server));
  for (let turn = 0; turn < 2; turn += 1)
    await app.request("/agents", { method: "OPTIONS", headers: PREFLIGHT });
  expectOneWarning();
});

it("warns of no other OPTIONS request, and of no preflight that a rule decides", async () => {
  const { protect } = await import("scopegate/express");
  const app = express().use(protect(server));
  await preflight(app, []);
  await preflight(app, PREFLIGHT.slice(0, 1));
  await preflight(app, PREFLIGHT, "/closed");
  expect(warn).not.toHaveBeenCalled();
});
