/** Each server runs in its own process, from compiled files and the built package. */
import { build } from "esbuild";
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import { hear } from "../own-process.ts";
import type { Issuer, Order } from "./serve.ts";

export const FRAMEWORKS = ["express", "koa", "fastify", "hono", "fetch", "nest"] as const;
export type Framework = (typeof FRAMEWORKS)[number];

/** Servers of MCP are only compared in process. */
export const MCP_SERVERS = ["mcp", "mcp-sdk"] as const;
export type ServerKind = Framework | (typeof MCP_SERVERS)[number];

export interface ServerProcess {
  readonly framework: ServerKind;
  readonly variant: string;
  readonly origin: string;
  /** Returns the CPU time that all threads of the process have used so far, in microseconds. */
  readonly cpuTime: (order?: Order) => Promise<number>;
  readonly stop: () => void;
}

const compiled = (file: string) => fileURLToPath(new URL(`../.build/servers/${file}`, import.meta.url));

export async function compileServers(): Promise<void> {
  await build({
    entryPoints: [...FRAMEWORKS, ...MCP_SERVERS].map((name) =>
      fileURLToPath(new URL(`${name}.ts`, import.meta.url)),
    ),
    outdir: compiled(""),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    // Ignores the `paths` of tsconfig.json, which would resolve to the sources of the package.
    tsconfigRaw: {},
    logLevel: "warning",
  });
}

export const startServers = (
  framework: ServerKind,
  variants: readonly string[],
  issuer: Issuer,
  flags: readonly string[] = [],
): Promise<readonly ServerProcess[]> =>
  Promise.all(variants.map((variant) => startServer(framework, variant, issuer, flags)));

async function startServer(
  framework: ServerKind,
  variant: string,
  issuer: Issuer,
  flags: readonly string[],
): Promise<ServerProcess> {
  const child = fork(compiled(`${framework}.mjs`), [variant, JSON.stringify(issuer)], {
    // The server must not inherit the loader and the flags of this process.
    execArgv: [...flags],
    env: { NODE_ENV: "production" },
  });
  const port = await hear<number>(child);
  return {
    framework,
    variant,
    origin: `http://127.0.0.1:${port}`,
    cpuTime: async (order = {}) => {
      child.send(order);
      const { user, system } = await hear<NodeJS.CpuUsage>(child);
      return user + system;
    },
    stop: () => child.kill(),
  };
}
