/** The cost of loading each entry point: the time of an import in a new process, and the size of a bundle. */
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { gzipSync } from "node:zlib";
import type { Benchmark, Row } from "./benchmark.ts";
import { ROOT } from "./built.ts";
import { medianOf, quantile } from "./compare.ts";

const OURS = [
  "scopegate",
  "scopegate/express",
  "scopegate/koa",
  "scopegate/fastify",
  "scopegate/node",
] as const;
const PEERS = ["jose", "fast-jwt", "jsonwebtoken", "aws-jwt-verify", "express-oauth2-jwt-bearer"] as const;

/** Prints the CPU time of an import in milliseconds, without the start of the process. */
const TIMER = `
const before = process.cpuUsage();
await import(process.env.ENTRY);
const { user, system } = process.cpuUsage(before);
console.log((user + system) / 1000);
`;

export const footprint: Benchmark = {
  name: "footprint",
  title: "Loading: CPU time of an import, size of a bundle",
  isGuard: false,
  async run({ quick }) {
    const entries = [...OURS, ...PEERS];
    const samples = new Map(entries.map((entry) => [entry, [] as number[]]));
    for (let round = 0; round < (quick ? 3 : 9); round += 1)
      for (const entry of entries) samples.get(entry)?.push(importTime(entry));
    const rows: Row[] = entries.map((name) => {
      const times = samples.get(name) ?? [];
      return {
        group: "import",
        name,
        value: medianOf(times),
        unit: "ms",
        low: quantile(times, 0.25),
        high: quantile(times, 0.75),
      };
    });
    for (const name of entries)
      rows.push(await bundleSize("minified, gzip, dependencies included", name, []));
    for (const name of OURS) {
      const dependencies = ["jose", "path-to-regexp", "on-headers"];
      rows.push(await bundleSize("minified, gzip, dependencies left out", name, dependencies));
    }
    return { rows, budgets: [] };
  },
};

function importTime(entry: string): number {
  const args = ["--input-type=module", "--eval", TIMER];
  return Number(execFileSync(process.execPath, args, { cwd: ROOT, env: { ...process.env, ENTRY: entry } }));
}

async function bundleSize(group: string, name: string, external: readonly string[]): Promise<Row> {
  const { outputFiles } = await build({
    stdin: { contents: `export * from ${JSON.stringify(name)};`, resolveDir: ROOT },
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node20",
    external: external.flatMap((one) => [one, `${one}/*`]),
    // Ignore the paths of tsconfig.json, which lead to the sources.
    tsconfigRaw: {},
    logLevel: "error",
  });
  const [{ contents } = { contents: new Uint8Array() }] = outputFiles;
  const note = `${(contents.length / 1000).toFixed(1)} kB without gzip`;
  return { group, name, value: gzipSync(contents, { level: 9 }).length / 1000, unit: "kB", note };
}
