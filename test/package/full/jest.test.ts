/** Projects that are tested with Jest and its default configuration, which loads no ECMAScript module. */
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { ENTRIES, findPacked, writeFiles } from "../packed.ts";
import { runChild } from "../../support/child-limit.ts";
import { temporaryFolder } from "../../support/folder.ts";
import { install } from "./strangers.ts";

const root = temporaryFolder("jest");

beforeAll(() => {
  install(root, [
    findPacked().tarball,
    "express@5.3.0",
    "@types/express@5.0.6",
    "@types/node@20.19.43",
    "jest@30.5.2",
    "@types/jest@30.0.0",
    "ts-jest@29.4.15",
    "typescript@5.9.3",
    "@babel/core@7",
    "@babel/preset-env@7",
    "@nestjs/common@11",
    "@opentelemetry/api",
    "@nestjs/core@11",
    "@nestjs/platform-express@11",
    "@nestjs/testing@11",
    "reflect-metadata@0.2",
    "rxjs@7",
  ]);
});

/** Runs Jest in a project of these files, and returns what it printed. */
function jest(name: string, files: Readonly<Record<string, string>>): string {
  const folder = join(root, name);
  writeFiles(folder, files);
  const program = join(root, "node_modules/jest/bin/jest.js");
  const { stdout, stderr } = runChild(process.execPath, [program, "--ci"], { cwd: folder });
  return stdout + stderr;
}

/** The test of a service, after its imports. */
const TESTS = `
const issuer = createTestIssuer();
const server = createResourceServer({ ...issuer.resourceServerOptions, scopeMappings: { "GET /agents": ["agents:read"] } });
let listening, address;
beforeAll(async () => {
  const app = express();
  app.use(protect(server));
  app.get("/agents", (req, res) => { res.json(principalOf(req).userId); });
  await new Promise((ready) => { listening = app.listen(0, "127.0.0.1", () => ready()); });
  address = "http://127.0.0.1:" + listening.address().port + "/agents";
});
afterAll(() => new Promise((done) => { listening.close(done); }));
test("answers", async () => {
  const authorization = "Bearer " + (await issuer.token({ scopes: ["agents:read"] }));
  expect((await fetch(address)).status).toBe(401);
  expect((await fetch(address, { headers: { authorization: authorization + "x" } })).status).toBe(401);
  expect((await fetch(address, { headers: { authorization } })).status).toBe(200);
});
test("reports mistakes", () => {
  expect(() => createResourceServer({})).toThrow(ConfigurationError);
});`;

const REQUIRED = `
const express = require("express");
const { ConfigurationError, createResourceServer } = require("scopegate");
const { principalOf, protect } = require("scopegate/express");
const { createTestIssuer } = require("scopegate/testing");`;

const IMPORTED = `
import express from "express";
import { ConfigurationError, createResourceServer } from "scopegate";
import { principalOf, protect } from "scopegate/express";
import { createTestIssuer } from "scopegate/testing";`;

/** The same in TypeScript, which checks the types of the package too. */
const TYPED = TESTS.replace("let listening, address;", "let listening: Server, address: string;")
  .replace("principalOf(req).userId", "principalOf(req)?.userId")
  .replace("new Promise((", "new Promise<void>((")
  .replace("listening.address().port", "(listening.address() as AddressInfo).port");
const TYPES = `import type { Server } from "node:http"; import type { AddressInfo } from "node:net";`;

it("loads every entry without configuration", () => {
  const entries = `test.each(${JSON.stringify([...ENTRIES.values()])})("%s", (entry) => {
    expect(Object.keys(require(entry)).length).toBeGreaterThan(0);
  });`;
  const out = jest("plain", { "package.json": "{}", "service.test.js": REQUIRED + TESTS + entries });
  expect(out).toContain(`Tests:       ${String(2 + ENTRIES.size)} passed`);
});

it("works with babel-jest", () => {
  const preset = `module.exports = { presets: [["@babel/preset-env", { targets: { node: "current" } }]] };`;
  const files = { "package.json": "{}", "babel.config.js": preset, "service.test.js": IMPORTED + TESTS };
  expect(jest("babel", files)).toContain("Tests:       2 passed");
});

it.each(["commonjs", "nodenext"])("works with ts-jest and module %s", (module) => {
  const isolatedModules = module === "nodenext";
  const compilerOptions = { module, target: "es2022", strict: true, esModuleInterop: true, isolatedModules };
  const out = jest(`typescript-${module}`, {
    "package.json": JSON.stringify({ jest: { preset: "ts-jest" } }),
    "tsconfig.json": JSON.stringify({ compilerOptions }),
    "service.test.ts": TYPES + IMPORTED + TYPED,
  });
  expect(out).toContain("Tests:       2 passed");
});

it("works in a project as NestJS creates it", () => {
  // From the block that `nest new` writes.
  const block = {
    moduleFileExtensions: ["js", "json", "ts"],
    rootDir: "src",
    testRegex: String.raw`.*\.spec\.ts$`,
    transform: { [String.raw`^.+\.(t|j)s$`]: "ts-jest" },
    testEnvironment: "node",
  };
  // Those of `nest new` that a compiler of single files reads.
  const compilerOptions = {
    module: "nodenext",
    moduleResolution: "nodenext",
    resolvePackageJsonExports: true,
    esModuleInterop: true,
    isolatedModules: true,
    emitDecoratorMetadata: true,
    experimentalDecorators: true,
    target: "ES2023",
    skipLibCheck: true,
    strictNullChecks: true,
  };
  const code = `
import { Controller, Get, type INestApplication } from "@nestjs/common";
import { Test } from "@nestjs/testing";
import { createResourceServer, type Principal, type ResourceServer } from "scopegate";
import { CurrentPrincipal, RequireScopes, ScopegateModule } from "scopegate/nest";
import { createTestIssuer } from "scopegate/testing";

@Controller("agents")
class Agents {
  @Get() @RequireScopes("agents:list") list(@CurrentPrincipal() caller: Principal) { return [caller.userId]; }
}

const issuer = createTestIssuer();
const server = createResourceServer({ ...issuer.resourceServerOptions, scopeMappings: { "GET /agents": ["agents:read"] } });
describe.each([
  ["forRoot", ScopegateModule.forRoot(server)],
  ["forRootAsync", ScopegateModule.forRootAsync({ useFactory: (): ResourceServer => server })],
])("the application with %s", (_, scopegate) => {
  let app: INestApplication;
  beforeAll(async () => {
    const module = await Test.createTestingModule({ imports: [scopegate], controllers: [Agents] }).compile();
    app = module.createNestApplication();
    await app.listen(0, "127.0.0.1");
  });
  afterAll(() => app.close());
  it("answers", async () => {
    const url = (await app.getUrl()) + "/agents";
    const statuses: number[] = [(await fetch(url)).status];
    for (const scopes of [["agents:read"], ["agents:read", "agents:list"]]) {
      const authorization = "Bearer " + (await issuer.token({ scopes }));
      statuses.push((await fetch(url, { headers: { authorization } })).status);
    }
    expect(statuses).toEqual([401, 403, 200]);
  });
});`;
  const out = jest("nest", {
    "package.json": JSON.stringify({ jest: block }),
    "tsconfig.json": JSON.stringify({ compilerOptions }),
    "src/app.spec.ts": code,
  });
  expect(out).toContain("Tests:       2 passed");
});
