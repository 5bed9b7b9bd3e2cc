/** Two copies of the package in one process, as when two dependencies of a project install one each. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { findPacked, unpack } from "../packed.ts";
import { serve } from "../server-program.ts";
import { temporaryFolder } from "../../support/folder.ts";

const project = temporaryFolder("copies");
const other = join(project, "node_modules/other");

beforeAll(() => {
  const packed = findPacked();
  unpack(packed, project, "express");
  unpack(packed, other);
  const code = `exports.core = require("scopegate"); exports.adapter = require("scopegate/express");`;
  writeFileSync(join(other, "index.cjs"), code);
});

const IMPORTS = `import express from "express";
  import * as core from "scopegate";
  import * as adapter from "scopegate/express";
  import { remoteKeys } from "scopegate/keys";
  import other from "./node_modules/other/index.cjs";
  if (core.createResourceServer === other.core.createResourceServer) throw new Error("Both imports are the same copy.");
  const { createResourceServer } = core;
`;

it("protects an application with the server of another copy, and recognizes the errors of that server", async () => {
  const code = `const { ConfigurationError } = other.core; const { principalOf, protect, requireScopes } = other.adapter;`;
  expect(await serve(project, "server.mjs", IMPORTS + code)).toBe("401 Bearer\n200 user-1\ntrue");
});

it("guards one request with the ECMAScript modules and the CommonJS build", async () => {
  const code = `import { createRequire } from "node:module";
    const require = createRequire(import.meta.url);
    const { ConfigurationError } = core;
    const { principalOf, requireScopes } = adapter;
    const second = require("./node_modules/scopegate/dist/express.cjs");
    if (second.protect === adapter.protect) throw new Error("Both guards are of the same copy.");
    const protect = (server) => [second.protect(server), adapter.protect(server)];`;
  expect(await serve(project, "guards.mjs", IMPORTS + code)).toBe("401 Bearer\n200 user-1\ntrue");
});

it("audits, in one copy, the guards that another copy has registered", async () => {
  const code = `const { audit, routesOf } = await import("scopegate/audit");
    const { ConfigurationError } = core;
    const { principalOf, protect, requireScopes } = other.adapter;
    const options = { keys: remoteKeys({ jwksUri: "https://keys.example/" }), verifyAudience: false, scopeMappings: { "GET /a": [] } };
    const [first, second] = [createResourceServer(options), createResourceServer(options)];
    const audited = express().use(protect(first)).get("/a", (request, response) => response.end());
    if (!audit(first, routesOf(audited)).ok || audit(second, routesOf(audited)).ok) throw new Error("Wrong guard.");
  `;
  expect(await serve(project, "audit.mjs", IMPORTS + code)).toBe("401 Bearer\n200 user-1\ntrue");
});
