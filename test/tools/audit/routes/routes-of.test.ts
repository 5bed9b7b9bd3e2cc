/** What `routesOf` recognizes, and what it says about everything else. */
import { createServer } from "node:http";
import Router from "@koa/router";
import { initTRPC } from "@trpc/server";
import express from "express";
import express4 from "express4";
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
  it.each<[string, object]>([
    ["an application of Express 4", express4().get("/a", handler)],
    ["an application of Express 5", express().get("/a", handler)],
    ["a router of Express", express.Router().get("/a", handler)],
    ["an application of Koa", new Koa().use(new Router().get("/a", handler).routes())],
    ["a router of Koa", new Router().get("/a", handler)],
    ["an array of Koa's routers", [new Router().get("/a", handler)]],
    ["an application of Hono", new Hono().get("/a", (context) => context.text("ran"))],
  ])("lists the routes of %s", (_, app) => {
    expect(written(routesOf(app))).toEqual(["GET /a"]);
  });

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
    ["null", null],
    ["a string", "app"],
    ["a function", handler],
    ["an array", []],
    ["an array", [{}]],
    ["an array", [express()]],
    ["an object", {}],
    ["an object", { middleware: {} }],
    ["an object", { _def: {} }],
    ["an object", Object.create(null)],
    ["an object of the class Server", createServer()],
  ])("throws for %s, and says what it takes", (received, value) => {
    expect(() => routesOf(value as object)).toThrow(
      new TypeError(
        `routesOf takes an application of Express, Koa, Fastify, Hono or NestJS, or a router of Express, Koa or tRPC. It received ${received}.`,
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
