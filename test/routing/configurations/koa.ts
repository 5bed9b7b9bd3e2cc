import Router, { type RouterMiddleware } from "@koa/router";
import type Koa from "koa";
import mount from "koa-mount";
import { type Configuration } from "../configuration.ts";
import { createStandardRouter, forEachKoa, type KoaKit, type KoaSetup, routesOf } from "./koa-application.ts";

/** The router minds letter case for its middleware, and for its routes only where it is told to. */
function guardPrefix(app: Koa, kit: KoaKit, sensitive: boolean): void {
  const router = new Router({ prefix: "/api", sensitive });
  router.use(kit.guard.koa() as RouterMiddleware);
  router.use(createStandardRouter(kit, { sensitive }).routes());
  app.use(routesOf(router));
}

const setups: readonly KoaSetup[] = [
  {
    name: "default",
    build: (app, kit) => {
      app.use(kit.guard.koa()).use(routesOf(createStandardRouter(kit)));
    },
  },
  {
    name: "strict and sensitive, declared",
    build: (app, kit) => {
      app.use(kit.guard.koa({ caseSensitive: true, strict: true }));
      app.use(routesOf(createStandardRouter(kit, { sensitive: true, strict: true })));
    },
  },
  {
    name: "strict and sensitive, not declared",
    build: (app, kit) => {
      app.use(kit.guard.koa()).use(routesOf(createStandardRouter(kit, { sensitive: true, strict: true })));
    },
  },
  {
    name: "prefix",
    prefix: "/api",
    build: (app, kit) => {
      app.use(kit.guard.koa()).use(routesOf(createStandardRouter(kit, { prefix: "/api" })));
    },
  },
  {
    name: "exclusive",
    build: (app, kit) => {
      app.use(kit.guard.koa()).use(routesOf(createStandardRouter(kit, { exclusive: true })));
    },
  },
  {
    name: "guard on the router only",
    build: (app, kit) => {
      const router = new Router();
      router.use(kit.guard.koa() as RouterMiddleware);
      router.use(createStandardRouter(kit).routes());
      app.use(routesOf(router));
    },
  },
  ...[true, false].map((sensitive): KoaSetup => ({
    name: `guard on a router with a prefix, sensitive ${sensitive}`,
    prefix: "/api",
    build: (app, kit) => guardPrefix(app, kit, sensitive),
  })),
  {
    name: "guard on a router with a prefix, asked for in another case",
    prefix: "/API",
    isOpen: true,
    build: (app, kit) => guardPrefix(app, kit, false),
  },
  {
    name: "nested router",
    prefix: "/outer/inner",
    build: (app, kit) => {
      const outer = new Router({ prefix: "/outer" });
      outer.use("/inner", createStandardRouter(kit).routes());
      app.use(kit.guard.koa()).use(routesOf(outer));
    },
  },
  {
    name: "koa-mount",
    prefix: "/api",
    build: (app, kit) => {
      const inner = new kit.Koa().use(routesOf(createStandardRouter(kit)));
      app.use(kit.guard.koa()).use(mount("/api", inner));
    },
  },
  {
    name: "guard inside of koa-mount",
    prefix: "/api",
    build: (app, kit) => {
      const inner = new kit.Koa().use(kit.guard.koa()).use(routesOf(createStandardRouter(kit)));
      app.use(mount("/api", inner));
    },
  },
  {
    name: "guard inside of nested koa-mount",
    prefix: "/outer/inner",
    build: (app, kit) => {
      const inner = new kit.Koa().use(kit.guard.koa()).use(routesOf(createStandardRouter(kit)));
      app.use(mount("/outer", new kit.Koa().use(mount("/inner", inner))));
    },
  },
  {
    name: "koa-mount in another case than the table",
    prefix: "/api",
    build: (app, kit) => {
      const inner = new kit.Koa().use(routesOf(createStandardRouter(kit)));
      app.use(kit.guard.koa()).use(mount("/API", inner));
    },
  },
];

export const koaConfigurations: readonly Configuration[] = setups.flatMap(forEachKoa);
