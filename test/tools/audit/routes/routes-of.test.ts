/** What `routesOf` recognizes, and what it says about everything else. */
import { createServer } from "node:http";
import { initTRPC } from "@trpc/server";
import express from "express";
import fastify from "fastify";
import fastify4 from "fastify4";
import { Hono } from "hono";
import Koa from "koa";
import { describe, expect, it } from "vitest";
import { ConfigurationError } from "scopegate";
import { routesOf, type RoutesOptions } from "scopegate/audit";
import { written } from "./support.ts";

const handler = (): void => undefined;
const t = initTRPC.create();

describe("routesOf", () => {
  it("recognizes a tRPC router whose procedures have the names of other frameworks' properties", async () => {
    const procedure = t.procedure.query(() => 1);
    const router = t.router({
      stack: procedure,
      routes: procedure,
      printRoutes: procedure,
      handle: procedure,
    });
    const routes = await routesOf(router, { prefix: "/trpc" });
    expect(written(routes)).toContain("GET /trpc/printRoutes");
  });

  it.each<[string, unknown]>([
    ["undefined", undefined],
    ["object", null],
    ["Function", handler],
    ["Array", []],
    ["Array", [{}]],
    ["Array", [express()]],
    ["Object", {}],
    ["Object", { middleware: {} }],
    ["Object", { _def: {} }],
    ["undefined", Object.create(null)],
    ["Server", createServer()],
  ])("throws for %s, and says what it takes", (received, value) => {
    expect(() => routesOf(value as object)).toThrow(
      new TypeError(
        `routesOf takes an application of Express, Koa, Fastify, Hono or NestJS, a router of Express, Koa or tRPC, or the path of the folder app of Next.js, but received ${received}.`,
      ),
    );
  });

  it.each<[string, object, string]>([
    ["an Express application", express(), "The options are mounted."],
    ["a Koa application", new Koa(), "The options are prefix."],
    ["a Hono application", new Hono(), "It takes no options."],
    ["a Fastify application", fastify(), "It takes no options."],
    ["a Fastify application", fastify4(), "It takes no options."],
    ["a NestJS application", { getHttpAdapter: handler }, "It takes no options."],
  ])("rejects an unknown option of %s", (_application, app, hint) => {
    const list = () => routesOf(app, { pathSeparator: "~" } as RoutesOptions);
    expect(list).toThrow(ConfigurationError);
    expect(list).toThrow(`received unknown option \`pathSeparator\`. ${hint}`);
  });

  it.each([[express()], [[{}]], [["/admin"]]])("throws for %j as the mounted applications", (mounted) => {
    expect(() => routesOf(express(), { mounted } as unknown as RoutesOptions)).toThrow(
      "routesOf(app, { mounted: [admin] })",
    );
  });
});
