/**
 * Changes the core and the capabilities in many small ways, and prints which changes no test notices.
 *
 *     npm run test:mutation                                      one mutant in five; continues an interrupted run
 *     npm run test:mutation -- --only src/core/policy            of these files
 *     npm run test:mutation -- --only src/core/scopes --every 1  all of their mutants
 *     npm run test:mutation -- --fresh                           forgets what an interrupted run found
 *     npm run test:mutation -- --again --seconds 300             tries the survivors of an earlier run for longer
 *     npm run test:mutation -- --report                          writes report.json from what is known
 *     npm run test:mutation -- --checks                          removes each check of checks.ts instead; --only too
 *
 * A mutant is tried with the tests of its folder (homes.ts): first those that killed others of its file.
 */
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { type Check, CHECKS } from "./checks.ts";
import { findTests, homesOf } from "./homes.ts";
import { findMutants, type Mutant, sampleMutants } from "./mutants.ts";
import { isExplained, type Result, survivorsOf, writeReport } from "./report.ts";
import { WorkerProcess } from "./worker-process.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FOLDERS = ["src/core", "src/capabilities"];
const REPORTS = join(ROOT, "reports/mutation");
const RESULTS = join(REPORTS, "results.jsonl");
const SEED = 6749;

const { values: options } = parseArgs({
  options: {
    again: { type: "boolean", default: false },
    checks: { type: "boolean", default: false },
    every: { type: "string", default: "5" },
    fresh: { type: "boolean", default: false },
    only: { type: "string", default: "src/" },
    report: { type: "boolean", default: false },
    seconds: { type: "string", default: "40" },
    workers: { type: "string", default: "2" },
  },
});

const every = Number(options.every);
const workers = Number(options.workers);
for (const count of [every, workers])
  if (!Number.isInteger(count) || count < 1)
    throw new TypeError("--every and --workers take a number from 1.");
mkdirSync(REPORTS, { recursive: true });
if (options.fresh) rmSync(RESULTS, { force: true });
process.exitCode = options.checks ? await removeChecks() : await sampleCode();

/** Returns the exit code: 1 if a mutant survives that report.json doesn't explain. */
async function sampleCode(): Promise<number> {
  const mutants = await findMutants(ROOT, FOLDERS);
  const sample = sampleMutants(mutants, SEED, every).filter(({ file }) => file.startsWith(options.only));
  const results = readResults();
  if (!options.report) await tryMutants(sample, results);
  const survivors = survivorsOf(sample, results);
  for (const { file, line, original, replacement } of survivors)
    console.log(`survived  ${file}:${line}  ${shorten(original)}  ->  ${shorten(replacement)}`);
  const unknown = sample.filter(({ id }) => !results.has(id)).length;
  const killed = sample.length - survivors.length - unknown;
  console.log(`${killed} of ${sample.length} mutants are killed, and ${unknown} are unknown.`);
  if (options.report) writeReport({ seed: SEED, every, sample, results });
  return unknown === 0 && survivors.every(isExplained) ? 0 : 1;
}

/** Returns the exit code: 1 if the tests of a sentence pass without its check. */
async function removeChecks(): Promise<number> {
  const checks = CHECKS.filter(({ file }) => file.startsWith(options.only));
  const tasks = checks.map((check) => ({
    check,
    mutant: mutantOf(check),
    tests: findTests(ROOT, [check.tests]),
  }));
  let noticed = 0;
  await inWorkers(tasks, async ({ check: { sentence, tests: home }, mutant, tests }, worker) => {
    const finding = await worker.run({ mutant, tests, seconds: Number(options.seconds) });
    if (finding.kind === "killed") noticed += 1;
    const by = finding.kind === "survived" ? home : finding.test;
    console.log(`${finding.kind.padEnd(8)}  ${sentence}  (${by})`);
  });
  console.log(`${noticed} of ${checks.length} removed checks are noticed.`);
  return noticed === checks.length ? 0 : 1;
}

function mutantOf({ file, text, replacement }: Check): Mutant {
  const source = readFileSync(join(ROOT, file), "utf8");
  const start = source.indexOf(text);
  if (start < 0 || source.includes(text, start + 1)) throw new Error(`${file} must have once: ${text}`);
  const place = { file, line: 0, start, end: start + text.length };
  return { id: "", ...place, original: text, replacement };
}

async function inWorkers<Item>(
  items: readonly Item[],
  use: (item: Item, worker: WorkerProcess) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const running = Array.from({ length: workers }, async (_, index) => {
    const worker = new WorkerProcess(ROOT, join(REPORTS, `worker-${index}`));
    for (let item = left.shift(); item !== undefined; item = left.shift()) await use(item, worker);
    worker.stop();
  });
  await Promise.all(running);
}

async function tryMutants(sample: readonly Mutant[], results: Map<string, Result>): Promise<void> {
  const isLeft = ({ id }: Mutant): boolean =>
    options.again ? results.get(id)?.killedBy === null : !results.has(id);
  const unknown = sample.filter(isLeft);
  console.log(`${unknown.length} mutants to try, ${sample.length - unknown.length} known.`);
  const kills = new Map<string, number>();
  await inWorkers(unknown, async (mutant, worker) => {
    const started = Date.now();
    const tests = chooseTests(mutant, kills);
    const finding = await worker.run({ mutant, tests, seconds: Number(options.seconds) });
    if (finding.kind === "broken") {
      console.log(`unknown   ${mutant.file}:${mutant.line}  fails without a mutant: ${finding.test}`);
      return;
    }
    const killedBy = finding.kind === "killed" ? finding.test : null;
    const [test] = killedBy?.split(" > ") ?? [];
    const pair = `${mutant.file} ${test}`;
    kills.set(pair, (kills.get(pair) ?? 0) + 1);
    const result: Result = { id: mutant.id, killedBy };
    results.set(mutant.id, result);
    appendFileSync(RESULTS, `${JSON.stringify({ ...result, ms: Date.now() - started })}\n`);
  });
}

/** The test files to try, most promising first: those that killed many, and those with the name of the file. */
function chooseTests({ file }: Mutant, kills: ReadonlyMap<string, number>): readonly string[] {
  const name = `${basename(file, ".ts")}.test.ts`;
  const rank = (test: string): number =>
    (kills.get(`${file} ${test}`) ?? 0) + (basename(test) === name ? 0.5 : 0);
  return findTests(ROOT, homesOf(file)).sort((one, other) => rank(other) - rank(one));
}

function readResults(): Map<string, Result> {
  if (!existsSync(RESULTS)) return new Map();
  const lines = readFileSync(RESULTS, "utf8").split("\n").filter(Boolean);
  return new Map(lines.map((line) => JSON.parse(line) as Result).map((result) => [result.id, result]));
}

function shorten(code: string): string {
  return code.replace(/\s+/g, " ").slice(0, 70);
}
