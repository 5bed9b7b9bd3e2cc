import Router from "@koa/router";
import mount from "koa-mount";
import { type Configuration } from "../configuration.ts";
import { createStandardRouter, forEachKoa, type KoaSetup, Router14, routesOf } from "./koa-application.ts";

const setups: readonly KoaSetup[] = [
  {
    name: "default",
    build: (app, kit) => {
      app.use(routesOf(createStandardRouter(kit)));
    },
  },
  {
    name: "strict and sensitive",
    build: (app, kit) => {
      app.use(routesOf(createStandardRouter(kit, { sensitive: true, strict: true })));
    },
  },
  {
    name: "prefix",
    prefix: "/api",
    build: (app, kit) => {
      app.use(routesOf(createStandardRouter(kit, { prefix: "/api" })));
    },
  },
  {
    name: "exclusive",
    build: (app, kit) => {
      app.use(routesOf(createStandardRouter(kit, { exclusive: true })));
    },
  },
  {
    name: "nested router",
    prefix: "/outer/inner",
    build: (app, kit) => {
      const outer = new Router({ prefix: "/outer" });
      outer.use("/inner", createStandardRouter(kit).routes());
      app.use(routesOf(outer));
    },
  },
  {
    name: "nested router of @koa/router 14.0.0",
    prefix: "/outer/inner",
    build: (app, kit) => {
      const outer = new Router14({ prefix: "/outer" });
      outer.use("/inner", createStandardRouter(kit, {}, Router14).routes());
      app.use(routesOf(outer));
    },
  },
  {
    name: "koa-mount",
    prefix: "/api",
    build: (app, kit) => {
      const inner = new kit.Koa().use(routesOf(createStandardRouter(kit)));
      app.use(mount("/api", inner));
    },
  },
  {
    name: "guard inside koa-mount",
    prefix: "/api",
    placesGuard: true,
    build: (app, kit) => {
      const inner = new kit.Koa().use(kit.guard.koa()).use(routesOf(createStandardRouter(kit)));
      app.use(mount("/api", inner));
    },
  },
  {
    name: "guard inside nested koa-mount",
    prefix: "/outer/inner",
    placesGuard: true,
    build: (app, kit) => {
      const inner = new kit.Koa().use(kit.guard.koa()).use(routesOf(createStandardRouter(kit)));
      app.use(mount("/outer", new kit.Koa().use(mount("/inner", inner))));
    },
  },
  {
    name: "a guard on a mount and a guard on the application",
    prefix: "/api",
    placesGuard: true,
    build: (app, kit) => {
      const inner = new kit.Koa().use(mount("/agents", kit.guard.koa()));
      inner.use(kit.guard.koa()).use(routesOf(createStandardRouter(kit)));
      app.use(mount("/api", inner));
    },
  },
  {
    name: "koa-mount in other letter case than the table",
    prefix: "/api",
    build: (app, kit) => {
      const inner = new kit.Koa().use(routesOf(createStandardRouter(kit)));
      app.use(mount("/API", inner));
    },
  },
];

export const koaConfigurations: readonly Configuration[] = setups.flatMap(forEachKoa);
