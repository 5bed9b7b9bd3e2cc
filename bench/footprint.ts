/** The cost of loading each entry point: the time of an import in a new process, and the size of a bundle. */
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { gzipSync } from "node:zlib";
import { type Benchmark, createBudget, type Row } from "./benchmark.ts";
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

/** What a service loads with scopegate, beside its framework. */
const FRAMEWORK = "express";
const WITH_GUARD = `${FRAMEWORK} scopegate scopegate/express`;

/** Prints what imports cost, without the start of the process. */
const PROGRAM = `
const [cpu, memory] = [process.cpuUsage(), process.memoryUsage.rss()];
for (const entry of process.env.ENTRIES.split(" ")) await import(entry);
const { user, system } = process.cpuUsage(cpu);
console.log(JSON.stringify({ ms: (user + system) / 1000, mb: (process.memoryUsage.rss() - memory) / 1e6 }));
`;

interface ImportCost {
  /** CPU time, in milliseconds. */
  readonly ms: number;
  /** Memory of the process, in megabytes. */
  readonly mb: number;
}

export const footprint: Benchmark = {
  name: "footprint",
  title: "Loading: CPU time of an import, size of a bundle",
  isGuard: false,
  async run({ quick }) {
    const entries = [...OURS, ...PEERS];
    const imports = [...entries, FRAMEWORK, WITH_GUARD];
    const samples = new Map(imports.map((entry) => [entry, [] as ImportCost[]]));
    for (let round = 0; round < (quick ? 3 : 9); round += 1)
      for (const entry of imports) samples.get(entry)?.push(importCost(entry));
    const rowsOf = (group: string, unit: keyof ImportCost): readonly Row[] =>
      imports.map((name) => {
        const values = (samples.get(name) ?? []).map((cost) => cost[unit]);
        const [low, high] = [quantile(values, 0.25), quantile(values, 0.75)];
        return {
          group,
          name: name.replaceAll(" ", ", "),
          value: medianOf(values),
          unit: unit === "mb" ? "MB" : unit,
          low,
          high,
        };
      });
    const added = (unit: keyof ImportCost): number => {
      const [without, withGuard] = [FRAMEWORK, WITH_GUARD].map((name) => samples.get(name) ?? []);
      return medianOf((withGuard ?? []).map((cost, round) => cost[unit] - (without?.[round]?.[unit] ?? 0)));
    };
    const cpuOf = (name: string): number => medianOf((samples.get(name) ?? []).map(({ ms }) => ms));
    const rows: Row[] = [...rowsOf("import", "ms"), ...rowsOf("memory of an import", "mb")];
    for (const name of entries)
      rows.push(await bundleSize("minified, gzip, dependencies included", name, []));
    for (const name of OURS) {
      const dependencies = ["jose", "path-to-regexp", "on-headers"];
      rows.push(await bundleSize("minified, gzip, dependencies left out", name, dependencies));
    }
    const what = `scopegate and scopegate/express, in addition to ${FRAMEWORK}`;
    const budgets = [
      createBudget(`${what}: CPU time, against jose alone`, added("ms") / cpuOf("jose"), 1.2),
      createBudget(`${what}: memory`, added("mb"), 3, "MB"),
    ];
    return { rows, budgets };
  },
};

function importCost(entries: string): ImportCost {
  const args = ["--input-type=module", "--eval", PROGRAM];
  const env = { ...process.env, ENTRIES: entries };
  return JSON.parse(execFileSync(process.execPath, args, { cwd: ROOT, env, encoding: "utf8" })) as ImportCost;
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
