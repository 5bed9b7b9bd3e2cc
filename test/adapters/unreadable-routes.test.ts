/** Routes whose pattern is not in the syntax of the table: the rule of every path that they may match is required. */
import Router from "@koa/router";
import express5, { type RequestHandler } from "express";
import express4 from "express4";
import fastify5 from "fastify";
import { fastify as fastify4 } from "fastify4";
import { Hono } from "hono";
import Koa from "koa";
import { describe, expect, it, onTestFinished } from "vitest";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import { RawClient } from "../routing/raw-client.ts";
import { koaListener, serve, serverFor, statusWith } from "../support/frameworks.ts";
import { listenerOf } from "../support/hosts.ts";

const server = serverFor({ "GET /health": "public", "GET /{*path}": ["files:read"] });
const respond: RequestHandler = (_request, response) => void response.end("ran");

const express = (host: typeof express5, route: string | RegExp): Promise<number> =>
  serve(host().use(forExpress.protect(server)).get(route, respond));

async function koa(route: string | RegExp): Promise<number> {
  const router = new Router().get(route, (context) => void (context.body = "ran"));
  return serve(koaListener(new Koa().use(forKoa.protect(server)).use(router.routes())));
}

const hono = (route: string): Promise<number> =>
  serve(
    listenerOf(new Hono().use(forHono.protect(server)).get(route, (context) => context.text("ran")).fetch),
  );

async function fastify(create: typeof fastify5, route: string): Promise<number> {
  const app = create();
  app.register(forFastify.protect(server));
  app.register((instance, _options, done) => {
    instance.get(route, () => "ran");
    done();
  });
  onTestFinished(() => app.close());
  const address = await app.listen({ port: 0, host: "127.0.0.1" });
  return Number(new URL(address).port);
}

const starts: readonly (readonly [name: string, start: () => Promise<number>])[] = [
  ...["/*splat", "*splat", "{*splat}", "{/*splat}", "{/:a}", "{/:a}{/:b}", /^\/h/].map(
    (route) => [`Express 5 with ${String(route)}`, () => express(express5, route)] as const,
  ),
  ...["/:a?", "/:a?/:b?", "/:a(.*)", "/:a(*)", "/:p(.+)", "/(:x)", "/:x/?", "/*?"].map(
    (route) =>
      [`Express 4 with ${route}`, () => express(express4 as unknown as typeof express5, route)] as const,
  ),
  ...["{/:a}", "{/*splat}", "{/:a}{/:b}"].map((route) => [`Koa with ${route}`, () => koa(route)] as const),
  ["Fastify 5 with /:x?", () => fastify(fastify5, "/:x?")],
  ["Fastify 4 with /:x?", () => fastify(fastify4 as unknown as typeof fastify5, "/:x?")],
  ...["/:x{.+}", "/:x{[^/]+}"].map((route) => [`Hono with ${route}`, () => hono(route)] as const),
];

describe("a route that may match every path", () => {
  it.each(starts)(
    "requires the rule for all paths, although a public rule is narrower: %s",
    async (_name, start) => {
      const port = await start();
      expect(await statusWith(port, "/health", undefined)).toBe(401);
      expect(await statusWith(port, "/health", [])).toBe(403);
      expect(await statusWith(port, "/health", ["files:read"])).toBe(200);
    },
  );
});

describe("an absolute target with a query directly after the host", () => {
  it.each([
    ["Fastify 5", () => fastify(fastify5, "/*")],
    ["Fastify 4", () => fastify(fastify4 as unknown as typeof fastify5, "/*")],
  ] as const)("refuses it, because find-my-way before 9.9 reads another path: %s", async (_name, start) => {
    const client = new RawClient(await start());
    onTestFinished(() => client.close());
    for (const target of ["http://h?/admin/x.txt", "http://h?a/admin", "http://h?%2fadmin"]) {
      const { status } = await client.ask({ method: "GET", target, headers: [["host", "h"]] });
      expect(status, target).toBe(400);
    }
  });
});
