/**
 * A project of a user for each host with an entry of its own. It has no other framework, compiles without
 * skipLibCheck, and runs as ECMAScript modules and as CommonJS, with the newest and the oldest version of its host.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { manifest, findPacked, run } from "../packed.ts";
import { compile, COMPILERS, createProject, install, oldestOf, type Project } from "./strangers.ts";
import { temporaryFolder } from "../../support/folder.ts";

interface Host {
  /** Its packages: the newest version that was tested, or any version that fits the oldest. */
  readonly packages: Readonly<Record<string, string>>;
  /** Packages of the host that must have the same version as its peer dependency. */
  readonly sameVersion?: readonly string[];
  readonly peer?: string;
  /** Frameworks of other entries that its packages install. */
  readonly brings?: readonly string[];
  readonly compilerOptions?: object;
  readonly output: readonly string[];
}

const HOSTS: Readonly<Record<string, Host>> = {
  fetch: {
    packages: {},
    output: ["401, 200 web in here for reader, 403", "401, 200 true for reader, 200 true for other"],
  },
  hono: {
    peer: "hono",
    packages: { hono: "4.13.19", "@hono/node-server": "2.1.8" },
    output: ["GET /agents/:agent_id", "401, 200 web for reader, 403"],
  },
  nest: {
    peer: "@nestjs/common",
    packages: {
      "@nestjs/common": "12.5.1",
      "@nestjs/core": "12.5.1",
      "@nestjs/platform-express": "12.5.1",
      "reflect-metadata": "0.2.2",
      rxjs: "7.8.2",
    },
    brings: ["express"],
    sameVersion: ["@nestjs/core", "@nestjs/platform-express"],
    compilerOptions: { experimentalDecorators: true, emitDecoratorMetadata: true },
    output: ["GET /agents/:agent_id", "401, 200 web for reader, 403", "true"],
  },
  trpc: {
    peer: "@trpc/server",
    packages: { "@trpc/server": "11.25.2" },
    output: ["GET /trpc/whoami,GET /trpc/note.count", "401, 200 reader done by reader, 403"],
  },
  mcp: {
    packages: { "@modelcontextprotocol/server": "2.4.0" },
    output: [
      "MCP tools/list,MCP tools/call run_agent,MCP subscriptions/listen",
      "401, 200 api true for reader, 403",
    ],
  },
  socketio: {
    peer: "socket.io",
    packages: { "socket.io": "4.8.4", "socket.io-client": "4.8.4" },
    output: ["401, hello reader, 403"],
  },
};

const COMPILER = "5.9";
const root = temporaryFolder("hosts");

/** Installs the package and a host, each with exactly these versions and without other frameworks. */
function installHost(
  name: string,
  { peer, brings = [], packages }: Host,
  versions: Readonly<Record<string, string>>,
): string {
  const folder = join(root, name);
  const named = Object.entries({ ...packages, ...versions }).map(([one, version]) => `${one}@${version}`);
  const compiler = `typescript-${COMPILER}@npm:typescript@${COMPILERS[COMPILER]}`;
  install(folder, [findPacked().tarball, ...named, "@types/node@20.19.43", compiler]);
  const found = Object.keys(manifest.peerDependencies).filter((one) => existsSync(manifestOf(folder, one)));
  expect(found).toEqual(peer === undefined ? [] : [peer, ...brings]);
  return folder;
}

const manifestOf = (folder: string, name: string): string =>
  join(folder, "node_modules", name, "package.json");

describe.each(Object.entries(HOSTS))("a project with only scopegate/%s", (name, host) => {
  let newest: string;
  beforeAll(() => {
    newest = installHost(name, host, {});
  });

  function compileAndRun(installed: string, type: Project["type"]): void {
    const compilerOptions = { module: "nodenext", ...host.compilerOptions };
    const folder = createProject(installed, type, { type, compilerOptions, files: [`${name}.ts`] }, COMPILER);
    expect(compile(installed, folder, COMPILER)).toEqual([]);
    const code = readFileSync(join(folder, `out/${name}.js`), "utf8");
    expect(code.includes("require(")).toBe(type === "commonjs");
    expect(run(folder, `out/${name}.js`).split("\n")).toEqual(host.output);
  }

  it.each(["module", "commonjs"] as const)("compiles and responds: type %s", (type) => {
    compileAndRun(newest, type);
  });

  const { peer, sameVersion = [] } = host;
  if (peer === undefined) return;
  const oldest = oldestOf(peer);

  it.each(["module", "commonjs"] as const)(
    `compiles and responds with ${peer} ${oldest}: type %s`,
    (type) => {
      const versions = Object.fromEntries([peer, ...sameVersion].map((one) => [one, oldest]));
      const installed = installHost(`${name}-oldest`, host, versions);
      const { version } = JSON.parse(readFileSync(manifestOf(installed, peer), "utf8")) as {
        version: string;
      };
      expect(version).toBe(oldest);
      compileAndRun(installed, type);
    },
  );
});
