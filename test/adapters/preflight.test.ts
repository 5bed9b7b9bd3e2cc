/** CORS preflights that reach `protect`: every browser is locked out, so the process is warned once. */
import type { RequestListener } from "node:http";
import express from "express";
import { Hono } from "hono";
import Koa from "koa";
import { beforeEach, expect, it, vi } from "vitest";
import { koaListener, serve, serverFor, statusWith } from "../support/frameworks.ts";
import { listenerOf } from "../support/hosts.ts";

const server = serverFor({ "GET /agents": [], "OPTIONS /closed": ["closed:read"] });
const PREFLIGHT: [string, string][] = [
  ["origin", "https://app.example"],
  ["access-control-request-method", "GET"],
];

// The process is warned once by each copy of the package.
beforeEach(() => void vi.resetModules());

/** The warnings of two preflights. */
async function warningsOf(listener: RequestListener, headers = PREFLIGHT, path = "/agents") {
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
  const port = await serve(listener);
  for (let turn = 0; turn < 2; turn += 1)
    await statusWith(port, path, undefined, { method: "OPTIONS", headers });
  return warn.mock.calls;
}

it.each<[string, () => Promise<RequestListener>]>([
  ["Express", async () => express().use((await import("scopegate/express")).protect(server))],
  ["Koa", async () => koaListener(new Koa().use((await import("scopegate/koa")).protect(server)))],
  ["Hono", async () => listenerOf(new Hono().use((await import("scopegate/hono")).protect(server)).fetch)],
])("warns once of a preflight without a rule in %s", async (_, create) => {
  expect(await warningsOf(await create())).toEqual([
    [expect.stringContaining("Register CORS middleware before protect"), "ScopegateWarning"],
  ]);
});

it("warns of no other OPTIONS request, and of no preflight that a rule decides", async () => {
  const app = express().use((await import("scopegate/express")).protect(server));
  expect(await warningsOf(app, [])).toEqual([]);
  expect(await warningsOf(app, PREFLIGHT.slice(0, 1))).toEqual([]);
  expect(await warningsOf(app, PREFLIGHT, "/closed")).toEqual([]);
});
