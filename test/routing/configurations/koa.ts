import Router, { type RouterOptions } from "@koa/router";
import mount from "koa-mount";
import { compact } from "../../../src/core/runtime/compact.ts";
import type { Configuration } from "../configuration.ts";
import { createStandardRouter, forEachKoa, type KoaSetup, Router14, routesOf } from "./koa-application.ts";

const OPTIONS: readonly (readonly [name: string, options: RouterOptions])[] = [
  ["default", {}],
  ["strict and sensitive", { sensitive: true, strict: true }],
  ["prefix", { prefix: "/api" }],
  ["exclusive", { exclusive: true }],
];

const VERSIONS = [
  ["nested router", Router],
  ["nested router of @koa/router 14.0.0", Router14],
] as const;

const setups: readonly KoaSetup[] = [
  ...OPTIONS.map(([name, options]): KoaSetup => ({
    name,
    ...compact({ prefix: options.prefix }),
    build: (app, kit) => {
      app.use(routesOf(createStandardRouter(kit, options)));
    },
  })),
  ...VERSIONS.map(([name, Version]): KoaSetup => ({
    name,
    prefix: "/outer/inner",
    build: (app, kit) => {
      const outer = new Version({ prefix: "/outer" });
      outer.use("/inner", createStandardRouter(kit, {}, Version).routes());
      app.use(routesOf(outer));
    },
  })),
  ...["/api", "/API"].map((path): KoaSetup => ({
    name: path === "/api" ? "koa-mount" : "koa-mount in other letter case than the table",
    prefix: "/api",
    build: (app, kit) => {
      app.use(mount(path, new kit.Koa().use(routesOf(createStandardRouter(kit)))));
    },
  })),
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
];

export const koaConfigurations: readonly Configuration[] = setups.flatMap(forEachKoa);
