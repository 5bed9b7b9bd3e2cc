/**
 * Compares the library with the specification, in every universe, and then with the random model.
 *
 *     npm run test:model                      for five minutes, evenly spread over all tables
 *     npm run test:model -- --seconds 60      for another time
 *     npm run test:model -- --random 100000   with so many decisions of random tables afterwards (5,000,000)
 *     npm run test:model -- --full            every table; continues where an interrupted run ended
 *     npm run test:model -- --mutants         each sentence of the specification, with a library that ignores it
 */
import { once } from "node:events";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { printTable } from "../support/table.ts";
import { addCounts, type Counts, noCounts, type Violation } from "./compare.ts";
import type { RandomResult } from "./random-comparison.ts";
import { runMutants } from "./run-mutants.ts";
import { countTables, UNIVERSES } from "./universe.ts";
import { type Batch, type BatchResult, countBatches } from "./worker.ts";

/** What is done of each universe. It is kept in a file, so that a full run can be continued. */
interface Progress {
  /** Hash of the library and the specification. If it changes, a full run starts again. */
  readonly fingerprint: string;
  readonly universes: readonly { readonly done: number[]; readonly counts: Counts }[];
}

const ROOT = new URL("../../", import.meta.url);
const STATE_FILE = new URL("reports/model.json", ROOT);
const RESULTS_FILE = new URL("results.json", import.meta.url);

const WORKER = new URL("worker.ts", import.meta.url).href;
/** In Node.js 20, worker threads do not inherit the TypeScript loader from the process. */
const LOAD_TYPESCRIPT = `
  const { workerData } = require("node:worker_threads");
  import("tsx/esm/api").then((tsx) => tsx.register() && import(workerData));
`;

const { values: options } = parseArgs({
  options: {
    full: { type: "boolean", default: false },
    mutants: { type: "boolean", default: false },
    random: { type: "string", default: "5000000" },
    seconds: { type: "string", default: "300" },
  },
});

async function run(): Promise<number> {
  const seconds = Number(options.seconds);
  if (!(seconds > 0)) throw new TypeError("--seconds takes a number of seconds above 0.");
  const progress = (options.full ? readProgress() : undefined) ?? createProgress();
  const endsAt = options.full ? Infinity : Date.now() + seconds * 1000;
  const violations: Violation[] = [];
  const save = setInterval(() => {
    if (options.full) writeProgress(progress);
  }, 10_000);
  const workers = Array.from({ length: availableParallelism() }, () =>
    work(progress, violations, () => Date.now() < endsAt && violations.length === 0),
  );
  await Promise.all(workers).finally(() => clearInterval(save));
  if (options.full) writeProgress(progress);
  printTable(
    ["universe", "tables", "of all", "that start", "rulings by path", "by route", "400"],
    ...UNIVERSES.map((universe, index) => {
      const { tables, started, paths, routes, ambiguous } = progress.universes[index]?.counts ?? noCounts();
      return [universe.name, tables, countTables(universe), started, paths, routes, ambiguous];
    }),
  );
  for (const violation of violations.slice(0, 20)) console.log(JSON.stringify(violation));
  console.log(`${violations.length} violations`);
  if (violations.length > 0) return 1;
  if (options.full) {
    const universes = UNIVERSES.map(({ name }, index) => ({ name, ...progress.universes[index]?.counts }));
    writeFileSync(RESULTS_FILE, `${JSON.stringify({ universes }, undefined, 2)}\n`);
    rmSync(STATE_FILE);
  }
  return 0;
}

const RANDOM_BATCH = 20_000;

/** Compares random tables, the same in each run. */
async function runRandomly(): Promise<number> {
  const decisions = Number(options.random);
  if (!(decisions >= 0)) throw new TypeError("--random takes a number of decisions.");
  const tally = new Map<string, number>();
  const differences: object[] = [];
  let seed = 0;
  const compareBatches = async (): Promise<void> => {
    const worker = startWorker();
    while (seed * RANDOM_BATCH < decisions && differences.length === 0) {
      seed += 1;
      worker.postMessage({ seed, decisions: RANDOM_BATCH });
      const [result] = (await once(worker, "message")) as [RandomResult];
      for (const [name, count] of Object.entries(result.tally))
        tally.set(name, (tally.get(name) ?? 0) + count);
      differences.push(...result.differences);
    }
    await worker.terminate();
  };
  await Promise.all(Array.from({ length: availableParallelism() }, compareBatches));
  printTable(["random tables", "count"], ...tally);
  for (const difference of differences.slice(0, 20)) console.log(JSON.stringify(difference));
  console.log(`${differences.length} differences`);
  return differences.length > 0 ? 1 : 0;
}

const startWorker = (): Worker => new Worker(LOAD_TYPESCRIPT, { eval: true, workerData: WORKER });

/** Lets one thread work until nothing is left, or until it should stop. */
async function work(
  progress: Progress,
  violations: Violation[],
  shouldContinue: () => boolean,
): Promise<void> {
  const worker = startWorker();
  try {
    for (let batch = nextBatch(progress); batch && shouldContinue(); batch = nextBatch(progress)) {
      worker.postMessage(batch);
      // Rejects if the thread fails.
      const [result] = (await once(worker, "message")) as [BatchResult];
      const universe = progress.universes[batch.universe];
      if (universe) addCounts(universe.counts, result.counts);
      // A batch with violations is tried again.
      if (result.violations.length === 0) universe?.done.push(batch.number);
      violations.push(...result.violations);
    }
  } finally {
    await worker.terminate();
  }
}

/** The batches that a thread works on, which no other may take. */
const taken = UNIVERSES.map(() => new Set<number>());

/** Returns a batch from the universe with the smallest assigned share. */
function nextBatch({ universes }: Progress): Batch | undefined {
  const shares = UNIVERSES.map((universe, index) => {
    const assigned = new Set([...(universes[index]?.done ?? []), ...(taken[index] ?? [])]);
    return { index, assigned, share: assigned.size / countBatches(universe) };
  });
  const [least] = shares.filter(({ share }) => share < 1).sort((a, b) => a.share - b.share);
  if (!least) return undefined;
  let number = 0;
  while (least.assigned.has(number)) number += 1;
  taken[least.index]?.add(number);
  return { universe: least.index, number };
}

const createProgress = (): Progress => ({
  fingerprint: fingerprint(),
  universes: UNIVERSES.map(() => ({ done: [], counts: noCounts() })),
});

function readProgress(): Progress | undefined {
  try {
    const progress = JSON.parse(readFileSync(STATE_FILE, "utf8")) as Progress;
    return progress.fingerprint === fingerprint() ? progress : undefined;
  } catch {
    return undefined;
  }
}

function writeProgress(progress: Progress): void {
  mkdirSync(new URL("./", STATE_FILE), { recursive: true });
  writeFileSync(STATE_FILE, JSON.stringify(progress));
}

function fingerprint(): string {
  const hash = createHash("sha256");
  for (const folder of ["src/core/", "test/model/"])
    for (const file of readdirSync(new URL(folder, ROOT), { recursive: true, encoding: "utf8" }).sort())
      if (file.endsWith(".ts")) hash.update(readFileSync(new URL(folder + file, ROOT)));
  return hash.digest("hex");
}

process.exitCode = options.mutants ? runMutants() : (await run()) || (await runRandomly());
