/** Attacks on proxies, and on frameworks of other languages. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fastifyExpress from "@fastify/express";
import { Controller, Get } from "@nestjs/common";
import express from "express";
import express4 from "express4";
import fastify from "fastify";
import { expect, onTestFinished } from "vitest";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import { RequireScopes, ScopegateModule } from "scopegate/nest";
import { temporaryFolder } from "../../support/folder.ts";
import { serve, serveFastify, statusWith } from "../../support/frameworks.ts";
import { createApplication, createModule, listenOn } from "../../support/nest.ts";
import { itPrevents } from "./prevents.ts";
import { ADMIN_TABLE, type Application, bearer, createGuarded, findReached } from "./support.ts";

itPrevents("CVE-2020-17523", async () => {
  const open = async (isGuarded: boolean): Promise<Application> => {
    const ran: string[] = [];
    const app = fastify();
    if (isGuarded) await app.register(forFastify.protect(createGuarded(ADMIN_TABLE)));
    await app.register(fastifyExpress);
    // This plugin removes the space before Express reads the path.
    const router = express4.Router().get("/admin", (_request, response) => void response.json(ran.push("x")));
    (app as unknown as { use(handler: typeof router): void }).use(router);
    return { port: await serveFastify(app), ran };
  };
  const targets = ["/admin%20", "/admin%EF%BB%BF"];
  expect(await findReached(await open(false), targets)).toEqual(targets);
  expect(await findReached(await open(true), targets)).toEqual([]);
});

itPrevents("CVE-2024-38821", async () => {
  const root = temporaryFolder("express-static");
  mkdirSync(join(root, "admin"));
  writeFileSync(join(root, "admin", "secret.txt"), "secret");
  const open = async (isGuarded: boolean): Promise<Application> => {
    const ran: string[] = [];
    const app = express();
    if (isGuarded) app.use(forExpress.protect(createGuarded(ADMIN_TABLE)));
    app.use(express.static(root, { setHeaders: (_response, path) => void ran.push(path) }));
    return { port: await serve(app), ran };
  };
  const targets = [
    ...["/admin/secret.txt", "//admin/secret.txt", "/admin//secret.txt", "/admin%2fsecret.txt"],
    ...["/%61dmin/secret.txt", "/./admin/secret.txt", "/admin/%2e/secret.txt", "/admin/secret.txt%00"],
  ];
  expect(await findReached(await open(false), targets)).toEqual(
    expect.arrayContaining(["/admin%2fsecret.txt", "/%61dmin/secret.txt", "/admin//secret.txt"]),
  );
  const guarded = await open(true);
  expect(await findReached(guarded, targets)).toEqual([]);
  const canonical = targets.slice(0, 1);
  expect(await findReached(guarded, canonical, await bearer("admin:read"))).toEqual(canonical);
});

itPrevents("CVE-2025-41248", async () => {
  const ran: string[] = [];
  class Base<T> {
    readonly last?: T;
    report(): T | undefined {
      ran.push("report");
      return this.last;
    }
    admin(): string {
      ran.push("admin of the base class");
      return "";
    }
  }
  const decorate = (prototype: object, name: string, ...decorators: readonly MethodDecorator[]): void => {
    const descriptor = Object.getOwnPropertyDescriptor(prototype, name) ?? {};
    for (const decorator of decorators) decorator(prototype, name, descriptor);
  };
  decorate(Base.prototype, "report", RequireScopes("reports:read"), Get("report"));
  decorate(Base.prototype, "admin", RequireScopes("admin:read"), Get("admin"));
  class Reports extends Base<string> {
    // An override inherits no decorator.
    override admin(): string {
      ran.push("admin");
      return "";
    }
  }
  decorate(Reports.prototype, "admin", Get("admin"));
  Controller()(Reports);
  const server = createGuarded({ "GET /report": [], "GET /admin": ["admin:read"] });
  const imports = [ScopegateModule.forRoot(server)];
  const app = await createApplication("Express", createModule({ imports, controllers: [Reports] }));
  const { port, close } = await listenOn(app);
  onTestFinished(close);
  const statuses = async (path: string, scope: string): Promise<readonly number[]> => [
    await statusWith(port, path),
    await statusWith(port, path, ["other:read"]),
    await statusWith(port, path, [scope]),
  ];
  expect(await statuses("/report", "reports:read")).toEqual([401, 403, 200]);
  expect(await statuses("/admin", "admin:read")).toEqual([401, 403, 200]);
  expect(ran).toEqual(["report", "admin"]);
});
