/**
 * Installs the tarball with npm into projects like those of users, which must compile without skipLibCheck
 * and run.
 */
import { mkdtempSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { findPacked, run } from "../packed.ts";
import {
  bundle,
  compile,
  type Compiler,
  COMPILERS,
  createProject,
  install,
  installStrangers,
  OLDEST_FRAMEWORKS,
  PROJECTS,
} from "./strangers.ts";
import { temporaryFolder } from "../../support/folder.ts";

const root = temporaryFolder("strangers");
/** Each mistake has a comment `@ts-expect-error`. Without `peers.ts`, whose types need other packages. */
const MISTAKES = ["adapters.ts", "decisions.ts", "internals.ts", "options.ts", "stores.ts", "tools.ts"];
beforeAll(() => installStrangers(root, findPacked()));

const line = "401, 200 web for reader, 403";
const SERVED = ["credential_missing 401 option_missing true", "true", line, line, line, line].join("\n");

describe.each(Object.keys(COMPILERS) as Compiler[])("TypeScript %s", (compiler) => {
  const own = Object.entries(PROJECTS).filter(([, { compilers }]) => compilers?.includes(compiler) ?? true);

  it.each(own)("compiles and runs the service: %s", (name, project) => {
    const folder = createProject(root, name, project, compiler);
    expect(compile(root, folder, compiler)).toEqual([]);
    const file = name === "a bundler" ? "bundle.mjs" : "out/service.js";
    if (name === "a bundler") bundle(root, join(folder, "out/service.js"), join(folder, file), "esm");
    expect(readFileSync(join(folder, "out/service.js"), "utf8").includes("require(")).toBe(
      project.type === "commonjs",
    );
    expect(run(folder, file)).toBe(SERVED);
  });
});

describe.each(["5.4", "7.0"] as const)("a project with both module systems, TypeScript %s", (compiler) => {
  it("shares types, classes and functions between both module systems", () => {
    const files = ["mixed.mts", "parts.cts"];
    const project = { type: "module", compilerOptions: { module: "nodenext" }, files } as const;
    const folder = createProject(root, "both kinds", project, compiler);
    expect(compile(root, folder, compiler)).toEqual([]);
    expect(run(folder, "out/mixed.mjs")).toBe("nobody nobody true function,function\ntrue true");
  });
});

describe.each(["5.9", "7.0"] as const)("invalid programs, TypeScript %s", (compiler) => {
  it("cause a compiler error at every mistake, and nowhere else", () => {
    const compilerOptions = { module: "nodenext", noEmit: true };
    const project = { type: "module", compilerOptions, folder: "mistakes", files: MISTAKES } as const;
    const folder = createProject(root, "mistakes", project, compiler);
    expect(compile(root, folder, compiler)).toEqual([]);
  });
});

it("installs next to a version of a framework that it does not support, and that it does not guard", () => {
  const folder = mkdtempSync(join(root, "peers-"));
  // install throws for ERESOLVE.
  install(folder, ["@nestjs/common@10", "reflect-metadata", "rxjs", findPacked().tarball]);
  const { version } = JSON.parse(
    readFileSync(join(folder, "node_modules/@nestjs/common/package.json"), "utf8"),
  ) as { readonly version: string };
  expect(version).toMatch(/^10\./);
});

describe("the compiled service", () => {
  const folder = (): string => join(root, "CommonJS-node16-5.9");

  it("runs from a CommonJS bundle with one copy of the package", () => {
    bundle(root, join(folder(), "out/service.js"), join(folder(), "bundle.cjs"), "cjs");
    expect(run(folder(), "bundle.cjs")).toBe(SERVED);
    const code = readFileSync(join(folder(), "bundle.cjs"), "utf8");
    expect(code.match(/"configuration_invalid"/g)).toHaveLength(1);
  });

  it(`runs with the oldest frameworks that are supported: ${OLDEST_FRAMEWORKS.join(", ")}`, () => {
    install(folder(), OLDEST_FRAMEWORKS);
    for (const name of OLDEST_FRAMEWORKS) {
      const [framework = "", version] = name.split("@");
      const found = readFileSync(join(folder(), "node_modules", framework, "package.json"), "utf8");
      expect((JSON.parse(found) as { version: string }).version).toBe(version);
    }
    expect(run(folder(), "out/service.js")).toBe(SERVED);
  });
});
