/** Adapters load other adapters when they need them for the first time. */
import middie from "@fastify/middie";
import fastify from "fastify";
import { describe, expect, it, vi } from "vitest";
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

describe("protectMcp whose adapter cannot be loaded", () => {
  const gate = protectMcp(createMcpResourceServer()) as (...parameters: readonly unknown[]) => unknown;

  it("passes an error to the callback of Express", async () => {
    const request = { headers: {}, originalUrl: "/mcp" };
    expect(await new Promise((next) => void gate(request, {}, next))).toBeInstanceOf(Error);
  });

  it("passes an error to the callback of Fastify, so that the application does not start", async () => {
    const instance = { addHook: vi.fn(), register: vi.fn() };
    expect(await new Promise((done) => void gate(instance, {}, done))).toBeInstanceOf(Error);
  });

  it("rejects the promise in Koa, and does not continue", async () => {
    const next = vi.fn();
    await expect(gate({ req: {}, res: {}, originalUrl: "/mcp" }, next)).rejects.toThrow();
    expect(next).not.toHaveBeenCalled();
  });

  it("rejects the promise for the Fetch standard, and does not continue", async () => {
    const handler = vi.fn();
    const request = new Request("https://api.example/mcp");
    await expect(gate(request)).rejects.toThrow();
    await expect(withMcp(createMcpResourceServer(), handler)(request)).rejects.toThrow();
    expect(handler).not.toHaveBeenCalled();
  });
});

describe("protect in Fastify whose guard of middleware cannot be loaded", () => {
  it("keeps an instance with `use` from starting", async () => {
    const app = fastify();
    await app.register(middie);
    await expect(app.register(protect(createMcpResourceServer())).ready()).rejects.toThrow();
  });

  it("fails the requests of an instance that receives `use` later", async () => {
    const app = fastify();
    await app.register(protect(createMcpResourceServer()));
    await app.register(middie);
    const handler = vi.fn(() => "reached");
    app.all("/mcp", handler);
    expect(await app.inject({ method: "POST", url: "/mcp" })).toMatchObject({ statusCode: 500 });
    expect(handler).not.toHaveBeenCalled();
  });

  it("does not load it for an instance without `use`", async () => {
    const app = fastify();
    await app.register(protect(createMcpResourceServer()));
    expect(await app.inject({ method: "POST", url: "/mcp" })).toMatchObject({ statusCode: 401 });
  });
});
