/** Adapters load other adapters when they need them for the first time. */
import middie from "@fastify/middie";
import fastify from "fastify";
import { expect, it, vi } from "vitest";
import { protect } from "scopegate/fastify";
import { protectMcp, withMcp } from "scopegate/mcp";
import { createMcpResourceServer } from "./mcp/support/tools.ts";

const { fail } = vi.hoisted(() => ({
  fail: () => {
    throw new Error("This module cannot be loaded.");
  },
}));
vi.mock("../../src/adapters/mcp/frameworks/express.ts", fail);
vi.mock("../../src/adapters/mcp/frameworks/koa.ts", fail);
vi.mock("../../src/adapters/mcp/frameworks/fastify.ts", fail);
vi.mock("../../src/adapters/mcp/frameworks/fetch.ts", fail);
vi.mock("../../src/adapters/fastify/middleware.ts", fail);

const server = createMcpResourceServer();
const gate = protectMcp(server) as (...parameters: readonly unknown[]) => Promise<unknown>;

it.each([
  ["Express", { headers: {}, originalUrl: "/mcp" }],
  // The application does not start.
  ["Fastify", { addHook: vi.fn(), register: vi.fn() }],
])("protectMcp passes an error to the callback of %s if its adapter cannot be loaded", async (_, first) => {
  expect(await new Promise((next) => void gate(first, {}, next))).toBeInstanceOf(Error);
});

it("protectMcp rejects in Koa and for the Fetch standard, and does not continue, if its adapter cannot be loaded", async () => {
  const next = vi.fn();
  const request = new Request("https://api.example/mcp");
  await expect(gate({ req: {}, res: {}, originalUrl: "/mcp" }, next)).rejects.toThrow();
  await expect(gate(request)).rejects.toThrow();
  await expect(withMcp(server, next)(request)).rejects.toThrow();
  expect(next).not.toHaveBeenCalled();
});

it("protect in Fastify keeps an instance with `use` from starting if its guard of middleware cannot be loaded", async () => {
  const app = fastify();
  await app.register(middie);
  await expect(app.register(protect(server)).ready()).rejects.toThrow();
});

it("protect in Fastify fails only the requests of an instance that receives `use` later", async () => {
  const app = fastify();
  await app.register(protect(server));
  const handler = vi.fn(() => "reached");
  app.register(async (inner) => {
    await inner.register(middie);
    inner.all("/inner", handler);
  });
  app.all("/mcp", handler);
  expect(await app.inject({ method: "POST", url: "/inner" })).toMatchObject({ statusCode: 500 });
  expect(await app.inject({ method: "POST", url: "/mcp" })).toMatchObject({ statusCode: 401 });
  expect(handler).not.toHaveBeenCalled();
});
