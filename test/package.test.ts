/** The packed package, as a stranger's project gets it: what is in it, and that it loads and works. */
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createIssuer } from "./support/issuer.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const project = mkdtempSync(join(tmpdir(), "scopegate-package-"));
const installed = join(project, "node_modules/scopegate");
const manifest = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
  readonly dependencies: object;
};
let packed: readonly string[] = [];

/** Puts the tarball where an install would, its dependencies beside it; a framework only where the test wants one. */
beforeAll(() => {
  execFileSync("npm", ["run", "build"], { cwd: ROOT, stdio: "ignore" });
  const pack = ["pack", "--json", "--ignore-scripts", "--pack-destination", project];
  const out = execFileSync("npm", pack, { cwd: ROOT, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  const [{ filename, files }] = JSON.parse(out) as [{ filename: string; files: { path: string }[] }];
  packed = files.map(({ path }) => path);
  mkdirSync(installed, { recursive: true });
  execFileSync("tar", ["-xzf", join(project, filename), "-C", installed, "--strip-components", "1"]);
  for (const name of [...Object.keys(manifest.dependencies), "express", "@types/node"]) {
    mkdirSync(dirname(join(project, "node_modules", name)), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), join(project, "node_modules", name));
  }
}, 60_000);
afterAll(() => rmSync(project, { recursive: true, force: true }));

const node = (file: string, code: string): string => {
  writeFileSync(join(project, file), code);
  const env = { ...process.env, JWT_PUBLIC_KEY: createIssuer().publicPem };
  return execFileSync(process.execPath, [file], { cwd: project, encoding: "utf8", env });
};

const PROGRAM = `
const server = createResourceServer({ serviceId: "s", verificationKeys: [process.env.JWT_PUBLIC_KEY] });
let mistake;
try { createResourceServer({}); } catch (error) { mistake = error; }
const app = express();
app.use(protect(server));
app.get("/agents", (req, res) => res.json([]));
const listening = app.listen(0, async () => {
  const answer = await fetch("http://127.0.0.1:" + listening.address().port + "/agents");
  console.log(answer.status, answer.headers.get("www-authenticate"), mistake instanceof ConfigurationError);
  listening.close();
});`;

describe("the packed package", () => {
  it("holds the build, its types and its papers, and nothing else", () => {
    const others = packed.filter((path) => !/^dist\/[\w.-]+\.(?:js|d\.ts|js\.map)$/.test(path));
    expect(others.sort()).toEqual(["CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "package.json"]);
    for (const entry of ["index", "express", "koa", "fastify", "node", "testing"]) {
      expect(packed).toEqual(expect.arrayContaining([`dist/${entry}.js`, `dist/${entry}.d.ts`]));
    }
  });

  it("serves from an ECMAScript module", () => {
    const imports = `import express from "express";
      import { ConfigurationError, createResourceServer } from "scopegate";
      import { protect } from "scopegate/express";`;
    expect(node("server.mjs", imports + PROGRAM).trim()).toBe("401 Bearer true");
  });

  it("serves from a CommonJS module", () => {
    const imports = `const express = require("express");
      const { ConfigurationError, createResourceServer } = require("scopegate");
      const { protect } = require("scopegate/express");`;
    expect(node("server.cjs", imports + PROGRAM).trim()).toBe("401 Bearer true");
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
  ])("tests an application from %s, and ends though the keys are published still", (file, imports) => {
    const program = `
      (async () => {
        const issuer = createTestIssuer();
        const { keys } = await issuer.listen();
        const server = createResourceServer({ ...issuer.resourceServerOptions, keys });
        const { allowed } = await check(server, "GET /agents", issuer.caller({ scopes: ["agents:read"] }));
        const mistake = await issuer.token({ scope: [] }).catch((error) => error);
        console.log(allowed, mistake instanceof ConfigurationError);
      })();`;
    expect(node(file, imports + program).trim()).toBe("true true");
  });

  it("keeps what signs tokens out of the other entries, and the types of jose out of all", () => {
    const files = readdirSync(join(installed, "dist")).filter((file) => file.endsWith(".js"));
    const signing = files.filter((file) =>
      readFileSync(join(installed, "dist", file), "utf8").includes("jwt/sign"),
    );
    expect(signing).toEqual(["testing.js"]);
    const types = readdirSync(join(installed, "dist")).filter((file) => file.endsWith(".d.ts"));
    // The types of an ECMAScript module break the build of a CommonJS consumer.
    for (const file of types)
      expect(readFileSync(join(installed, "dist", file), "utf8"), file).not.toMatch(/from ["']jose/);
  });

  it("loads no framework: each adapter works where none is installed", () => {
    const code = `for (const entry of ["koa", "fastify", "node"]) {
      const { protect, requireScopes, principalOf } = await import("scopegate/" + entry);
      console.log(entry, typeof protect, typeof requireScopes, typeof principalOf);
    }`;
    const line = "function function function";
    expect(node("entries.mjs", code).trim().split("\n")).toEqual([
      `koa ${line}`,
      `fastify ${line}`,
      `node ${line}`,
    ]);
  });

  it("has types that compile in a strict project that checks its libraries", () => {
    const file = join(project, "consumer.mts");
    writeFileSync(
      file,
      `import { createResourceServer, hasScopes, parseConfiguration, type Decision, type Principal } from "scopegate";
       import { protect } from "scopegate/express";
       import { principalOf } from "scopegate/koa";
       import { requireScopes } from "scopegate/fastify";
       import { createServer } from "node:http";
       import { protectUpgrade } from "scopegate/node";
       import { check, createTestIssuer, type TestCaller } from "scopegate/testing";
       const server = createResourceServer({ ...parseConfiguration({}), serviceId: "s", verificationKeys: ["k"] });
       const decision: Decision = await server.check({ method: "GET", target: "/" });
       if (!decision.allowed) { const status: number = server.refuse(decision).status; console.log(status); }
       const caller: Principal | undefined = principalOf({ req: {} });
       console.log(protect(server), requireScopes("a:b"), caller?.userId, hasScopes([], "a:b"));
       createServer().on("upgrade", (request, socket, head) => void protectUpgrade(server)(request, socket, head));
       const issuer = createTestIssuer({ algorithm: "EdDSA" });
       const reader: TestCaller = issuer.caller({ scopes: ["a:b"] });
       const own = { serviceId: "s", verificationKeys: ["k"], ...issuer.resourceServerOptions };
       console.log((await check(createResourceServer(own), "GET /agents", reader)).allowed);
       await using published = await issuer.listen();
       console.log(published.requests.jwks);
       // @ts-expect-error -- a decision is not changed
       decision.allowed = true;
       // @ts-expect-error -- an option that does not exist
       createResourceServer({ scopeMapping: {} });`,
    );
    const options: ts.CompilerOptions = {
      module: ts.ModuleKind.NodeNext,
      target: ts.ScriptTarget.ES2022,
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      skipLibCheck: false,
      types: ["node"],
      typeRoots: [join(ROOT, "node_modules/@types")],
    };
    const host = ts.createCompilerHost(options);
    host.getCurrentDirectory = () => project;
    const diagnostics = ts.getPreEmitDiagnostics(ts.createProgram([file], options, host));
    expect(diagnostics.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, "\n"))).toEqual(
      [],
    );
  }, 60_000);
});
