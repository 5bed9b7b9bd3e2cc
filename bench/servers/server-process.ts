/** Servers in processes of their own, of compiled files and the package as it is published. */
import { build } from "esbuild";
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type Trust } from "./serve.ts";

export const FRAMEWORKS = ["express", "koa", "fastify"] as const;
export type Framework = (typeof FRAMEWORKS)[number];

export interface ServerProcess {
  readonly framework: Framework;
  readonly variant: string;
  readonly origin: string;
  /** All of the CPU time that the process has used, of every thread, in microseconds. */
  readonly cpuTime: () => Promise<number>;
  readonly stop: () => void;
}

const compiled = (file: string) => fileURLToPath(new URL(`../.build/servers/${file}`, import.meta.url));

export async function compileServers(): Promise<void> {
  await build({
    entryPoints: FRAMEWORKS.map((name) => fileURLToPath(new URL(`${name}.ts`, import.meta.url))),
    outdir: compiled(""),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    packages: "external",
    // Without the `paths` of tsconfig.json, which would put the sources of the package in its place.
    tsconfigRaw: {},
    logLevel: "warning",
  });
}

export async function startServer(
  framework: Framework,
  variant: string,
  trust: Trust,
): Promise<ServerProcess> {
  const child = fork(compiled(`${framework}.mjs`), [variant, JSON.stringify(trust)], {
    // Neither the loader nor the flags of the process that measures.
    execArgv: [],
    env: { NODE_ENV: "production" },
  });
  const port = await hear(child);
  return {
    framework,
    variant,
    origin: `http://127.0.0.1:${port as number}`,
    cpuTime: async () => {
      child.send("cpu");
      const { user, system } = (await hear(child)) as NodeJS.CpuUsage;
      return user + system;
    },
    stop: () => child.kill(),
  };
}

async function hear(child: ChildProcess): Promise<unknown> {
  const ended = new AbortController();
  const onExit = () => ended.abort(new Error("A server ended."));
  child.once("exit", onExit);
  try {
    const [message] = (await once(child, "message", { signal: ended.signal })) as [unknown];
    return message;
  } finally {
    child.off("exit", onExit);
  }
}
