/** Frameworks that run the first route that matches: a route that an earlier one hides is reported. */
import Router from "@koa/router";
import express5 from "express";
import express4 from "express4";
import fastify from "fastify";
import { Hono } from "hono";
import { audit, type ListedRoute, routesOf } from "scopegate/audit";
import { describe, expect, it } from "vitest";
import { server } from "./routes/support.ts";

/** The routes that an audit reports as hidden, with the message. */
const hiddenIn = (routes: Iterable<ListedRoute>): readonly string[] =>
  audit(server, routes)
    .findings.filter(({ kind }) => kind === "route_hidden")
    .map(({ message }) => message);

const MESSAGE =
  "`GET /agents/me` is registered after `GET /agents/:id`, which runs for the same requests: such a request needs the scopes of both rules.";

const handler = (): void => undefined;

/** Registers GET routes in this order, and lists them. */
const FRAMEWORKS: readonly (readonly [string, (...paths: readonly string[]) => Iterable<ListedRoute>])[] = [
  ["Express 4", (...paths) => routesOf(paths.reduce((app, path) => app.get(path, handler), express4()))],
  ["Express 5", (...paths) => routesOf(paths.reduce((app, path) => app.get(path, handler), express5()))],
  ["Koa", (...paths) => routesOf(paths.reduce((router, path) => router.get(path, handler), new Router()))],
  [
    "Hono",
    (...paths) => {
      const app = new Hono();
      for (const path of paths) app.get(path, (c) => c.text("ran"));
      return routesOf(app);
    },
  ],
];

describe.each(FRAMEWORKS)("%s", (_, list) => {
  it("reports a route that an earlier, wider one hides", () => {
    expect(hiddenIn(list("/agents/:id", "/agents/me"))).toEqual([MESSAGE]);
  });

  it("reports it if the routes are filtered and spread into another array", () => {
    const routes = [...list("/agents/:id", "/x", "/agents/me")].filter(({ pattern }) => pattern !== "/x");
    expect(hiddenIn([{ method: "GET", pattern: "/other" }, ...routes])).toEqual([MESSAGE]);
  });

  it("reports nothing in the right order, and for two routes of one pattern", () => {
    expect(hiddenIn(list("/agents/me", "/agents/:id"))).toEqual([]);
    expect(hiddenIn(list("/agents/:id", "/agents/:name"))).toEqual([]);
    expect(hiddenIn(list("/agents/:id", "/agents/:id/runs"))).toEqual([]);
  });

  it("compares only routes of one list, because another application may have another order", () => {
    expect(hiddenIn([...list("/agents/:id"), ...list("/agents/me")])).toEqual([]);
  });
});

describe("the audit", () => {
  it("reports a route that a handler for every method hides, but not one behind middleware with a wildcard", () => {
    const app = express5();
    app.all("/agents/:id", handler);
    app.get("/agents/me", handler);
    expect(hiddenIn(routesOf(app))).toHaveLength(1);
    const behind = express5();
    behind.all("/{*path}", handler);
    behind.get("/agents/me", handler);
    expect(hiddenIn(routesOf(behind))).toEqual([]);
  });

  it("reports no route of another method", () => {
    const app = express5();
    app.post("/agents/:id", handler);
    app.get("/agents/me", handler);
    expect(hiddenIn(routesOf(app))).toEqual([]);
  });

  it("does not count a route with a regular expression, which may match fewer paths, as wider", () => {
    const app = express4();
    app.get("/agents/:id(\\d+)", handler);
    app.get("/agents/me", handler);
    expect(hiddenIn(routesOf(app))).toEqual([]);
    const hono = new Hono();
    hono.get("/agents/:id{[0-9]+}", (c) => c.text("id"));
    hono.get("/agents/me", (c) => c.text("me"));
    expect(hiddenIn(routesOf(hono))).toEqual([]);
  });

  it("reports nothing about Fastify, which runs the narrowest route, and about a list by hand", async () => {
    const app = fastify();
    const routes = routesOf(app);
    app.get("/agents/:id", () => "id");
    app.get("/agents/me", () => "me");
    await app.ready();
    expect(hiddenIn(routes)).toEqual([]);
    const byHand = ["/agents/:id", "/agents/me"].map((pattern) => ({ method: "GET", pattern }));
    expect(hiddenIn(byHand)).toEqual([]);
  });
});
