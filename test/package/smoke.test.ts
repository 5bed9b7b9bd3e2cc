/** The packed package in ECMAScript and CommonJS modules. */
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { ENTRIES, manifest, findPacked, run, unpack } from "./packed.ts";
import { serve } from "./server-program.ts";
import { temporaryFolder } from "../support/folder.ts";

const project = temporaryFolder("package");
const packed = findPacked();

beforeAll(() => unpack(packed, project, "express", "@opentelemetry/api"));

const ADAPTERS = [...ENTRIES].filter(([name]) =>
  ["express", "koa", "fastify", "fetch", "node"].includes(name),
);

describe("the tarball", () => {
  it("exports each entry for both module systems, each with its own types", () => {
    const conditions = (name: string) => ({
      import: { types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` },
      require: {
        types: `./dist/${name}.d.cts`,
        // Node.js and bundlers require the ECMAScript module, so that a program has one copy.
        "module-sync": `./dist/${name}.js`,
        module: `./dist/${name}.js`,
        default: `./dist/${name}.cjs`,
      },
    });
    const entries = [...ENTRIES].map(([name, entry]) => [entry.replace("scopegate", "."), conditions(name)]);
    expect(manifest.exports).toEqual({
      ...(Object.fromEntries(entries) as object),
      "./configuration.schema.json": "./configuration.schema.json",
      "./package.json": "./package.json",
    });
    expect(manifest.typesVersions["*"]).toEqual(
      Object.fromEntries(
        [...ENTRIES.keys()]
          .filter((name) => name !== "index")
          .map((name) => [name, [`./dist/${name}.d.cts`]]),
      ),
    );
  });

  it("runs no install script", () => {
    const names = Object.keys(manifest.scripts);
    expect(names.filter((name) => /^(?:pre|post)?(?:install|prepare)$|^prepublish$/.test(name))).toEqual([]);
  });
});

const IMPORTED = `import express from "express";
  import { ConfigurationError, createResourceServer } from "scopegate";
  import { principalOf, protect, requireScopes } from "scopegate/express";`;
const requiredFrom = (core: string, adapter: string): string => `const express = require("express");
  const { ConfigurationError, createResourceServer } = require("${core}");
  const { principalOf, protect, requireScopes } = require("${adapter}");`;
const BUILD = "./node_modules/scopegate/dist/";

/** The expected output of `serve`. */
const ANSWERS = "401 Bearer\n200 user-1\ntrue";

describe("the package in plain JavaScript", () => {
  it.each([
    ["an ECMAScript module", "server.mjs", IMPORTED],
    ["a CommonJS module", "server.cjs", requiredFrom("scopegate", "scopegate/express")],
    // As tools do that cannot require an ECMAScript module.
    [
      "a module that requires the CommonJS build",
      "fallback.cjs",
      requiredFrom(`${BUILD}index.cjs`, `${BUILD}express.cjs`),
    ],
  ])("serves requests in %s", async (_, file, imports) => {
    expect(await serve(project, file, imports)).toBe(ANSWERS);
  });

  it.each(["import first", "require first"])("loads one copy of each entry: %s", (order) => {
    // Loading that of NestJS needs NestJS, which is not installed here.
    const entries = [...ENTRIES.values()].filter((entry) => entry !== "scopegate/nest");
    const code = `const entries = ${JSON.stringify(entries)};
      const loaders = [(entry) => import(entry), (entry) => require(entry)];
      ${order === "require first" ? "loaders.reverse();" : ""}
      (async () => {
        for (const entry of entries) {
          const [one, other] = [await loaders[0](entry), await loaders[1](entry)];
          const names = Object.keys(one).filter((name) => name !== "default");
          console.log(entry, names.length > 0 && names.every((name) => one[name] === other[name]));
        }
      })();`;
    expect(run(project, "copies.cjs", code).split("\n")).toEqual(entries.map((entry) => `${entry} true`));
  });

  it.each([
    [
      "issuer.mjs",
      `import { ConfigurationError, createResourceServer } from "scopegate";
       import { check, createTestIssuer } from "scopegate/testing";`,
    ],
    [
      "issuer.cjs",
      `const { ConfigurationError, createResourceServer } = require("scopegate");
       const { check, createTestIssuer } = require("scopegate/testing");`,
    ],
  ])("tests an application in %s, and lets the process exit while the keys are served", (file, imports) => {
    const program = `
      (async () => {
        const issuer = createTestIssuer();
        const { keys } = await issuer.listen();
        const scopeMappings = { "GET /agents": ["agents:read"] };
        const server = createResourceServer({ ...issuer.resourceServerOptions, keys, scopeMappings });
        const { allowed } = await check(server, "GET /agents", issuer.caller({ scopes: ["agents:read"] }));
        const mistake = await issuer.token({ scope: [] }).catch((error) => error);
        console.log(allowed, mistake instanceof ConfigurationError);
      })();`;
    expect(run(project, file, imports + program)).toBe("true true");
  });

  it("loads code that signs tokens only in the entries testing and introspection", () => {
    const folder = join(project, "node_modules/scopegate/dist");
    const signs = (file: string, seen = new Set<string>()): boolean => {
      if (seen.has(file)) return false;
      seen.add(file);
      const text = readFileSync(join(folder, file), "utf8");
      const loaded = [...text.matchAll(/(?:\bfrom|\bimport|\brequire\() ?"\.\/([^"]+)"/g)].map(
        ([, path = ""]) => path,
      );
      return text.includes("SignJWT") || loaded.some((path) => signs(path, seen));
    };
    const entries = [...ENTRIES.keys()].flatMap((name) => [`${name}.js`, `${name}.cjs`]);
    // `private_key_jwt` is how a server proves to an introspection endpoint who it is.
    const expected = ["introspection.cjs", "introspection.js", "testing.cjs", "testing.js"];
    expect(entries.filter((file) => signs(file)).sort()).toEqual(expected);
  });

  it("contains a CommonJS build that requires no ECMAScript module, with the licenses of what it contains", () => {
    const folder = join(project, "node_modules/scopegate/dist");
    const code = packed.files.filter((path) => path.endsWith(".cjs"));
    const required = code.flatMap((path) => {
      const text = readFileSync(join(folder, "..", path), "utf8");
      return [...text.matchAll(/\brequire\("([^"]+)"\)/g)].map(([, name = ""]) => name);
    });
    const packages = required.filter((name) => !/^(?:node:|\.\/[\w-]+\.cjs$)/.test(name));
    const external = ["@nestjs/common", "@opentelemetry/api", "on-headers"];
    expect([...new Set(packages)].sort()).toEqual(external);
    const licenses = readFileSync(join(folder, "licenses.txt"), "utf8");
    const bundled = [...Object.keys(manifest.dependencies).filter((name) => name !== "on-headers"), "zod"];
    for (const name of bundled) expect(licenses).toContain(`\n${name}\n\n`);
    expect(licenses.match(/Permission is hereby granted/g)).toHaveLength(bundled.length);
  });

  it("prints one line for each refusal with NODE_DEBUG=scopegate, and none without", () => {
    const code = `import { createResourceServer } from "scopegate";
      const server = createResourceServer({
        serviceId: "a",
        verificationKeys: ["k".repeat(32)],
        algorithm: "HS256",
        scopeMappings: { "GET /agents": ["agents:read"] },
      });
      await server.check({ method: "GET", target: "/agents?token=secret" });
      await server.check({ method: "GET", target: "/agents", authorization: "Bearer secret" });`;
    expect(run(project, "debug.mjs", code)).toBe("");
    const lines = run(project, "debug.mjs", code, { NODE_DEBUG: "scopegate" }).split("\n");
    expect(lines.map((line) => line.replace(/^SCOPEGATE \d+: /, ""))).toEqual([
      '"GET /agents" credential_missing; rule "GET /agents"',
      '"GET /agents" token_rejected, malformed; rule "GET /agents"',
    ]);
  });

  it.each([
    ["the entry", "scopegate/openapi"],
    ["the CommonJS build", `${BUILD}openapi.cjs`],
  ])("reads and writes YAML with the package yaml, which JSON does not need: %s", (_, entry) => {
    const code = `
      const { parseDocument, renderDocument } = require("${entry}");
      const attempt = (run) => { try { return run(); } catch (error) { return error.message; } };
      const json = '{"openapi":"3.1.0","paths":{}}';
      console.log(attempt(() => renderDocument(parseDocument(json), "json").length));
      console.log(attempt(() => parseDocument("openapi: 3.1.0").openapi));
      console.log(attempt(() => renderDocument({}, "yaml").trim()));`;
    const withYaml = join(project, "with-yaml");
    const withoutYaml = join(project, "without-yaml");
    for (const folder of [withYaml, withoutYaml]) rmSync(folder, { recursive: true, force: true });
    unpack(packed, withYaml, "yaml");
    unpack(packed, withoutYaml);
    expect(run(withYaml, "yaml.cjs", code).split("\n")).toEqual(["40", "3.1.0", "{}"]);
    const problem =
      "document: needs the package `yaml`, which isn't installed. Run `npm install yaml` in the project of scopegate, or use JSON in which each key is unique.";
    expect(run(withoutYaml, "yaml.cjs", code).split("\n")).toEqual(["40", problem, problem]);
  });

  it("loads each adapter without its framework", () => {
    const bare = join(project, "bare");
    unpack(packed, bare);
    const code = `for (const entry of ${JSON.stringify(ADAPTERS.map(([, entry]) => entry))}) {
      const { protect, requireScopes, principalOf } = await import(entry);
      console.log(entry, typeof protect, typeof requireScopes, typeof principalOf);
    }`;
    expect(run(bare, "entries.mjs", code).split("\n")).toEqual(
      ADAPTERS.map(([, entry]) => `${entry} function function function`),
    );
  });
});
