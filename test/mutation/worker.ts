/** Runs test files with one mutant after the other. Answers each message of the type `Task` with a `Finding`. */
import { readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { createVitest, type TestModule } from "vitest/node";
import type { Mutant } from "./mutants.ts";

export interface Task {
  readonly mutant: Mutant;
  /** Test files below the root, those that probably fail first. */
  readonly tests: readonly string[];
  /** After so many seconds, no further test files are tried. */
  readonly seconds: number;
}

/** Which test failed, if one did. A broken test fails without the mutant too, so nothing is known about it. */
export type Finding =
  | { readonly kind: "killed"; readonly test: string }
  | { readonly kind: "survived" }
  | { readonly kind: "broken"; readonly test: string };

/** Test files that run together: most mutants fail in the first of them, and each run starts a process. */
const TOGETHER = 4;

const [sandbox = ""] = process.argv.slice(2);

const vitest = await createVitest("test", {
  root: sandbox,
  config: join(sandbox, "test/mutation/vitest.config.ts"),
  watch: false,
  bail: 1,
  maxWorkers: 1,
  reporters: [{}],
});
await vitest.standalone();
const project = vitest.getRootProject();

/** Test files that pass without a mutant. The others would kill each mutant. */
const passing = new Set<string>();

process.on("message", (task: Task) => {
  void runTests(task).then((finding) => process.send?.(finding));
});
process.send?.("ready");

async function runTests({ mutant, tests, seconds }: Task): Promise<Finding> {
  const file = join(sandbox, mutant.file);
  const original = readFileSync(file, "utf8");
  const change = (content: string): void => {
    writeFileSync(file, content);
    vitest.invalidateFile(file);
  };
  const mutated = original.slice(0, mutant.start) + mutant.replacement + original.slice(mutant.end);
  const endsAt = Date.now() + seconds * 1000;
  try {
    for (let start = 0; start < tests.length && Date.now() < endsAt; start += TOGETHER) {
      const files = tests.slice(start, start + TOGETHER);
      change(mutated);
      const failure = await findFailure(files);
      if (failure === undefined) continue;
      change(original);
      const broken = await findBroken(files);
      return broken === undefined ? { kind: "killed", test: failure } : { kind: "broken", test: broken };
    }
    return { kind: "survived" };
  } finally {
    change(original);
  }
}

async function findBroken(tests: readonly string[]): Promise<string | undefined> {
  const unknown = tests.filter((test) => !passing.has(test));
  const failure = unknown.length === 0 ? undefined : await findFailure(unknown);
  if (failure === undefined) for (const test of unknown) passing.add(test);
  return failure;
}

async function findFailure(tests: readonly string[]): Promise<string | undefined> {
  // Vitest keeps the results of earlier runs, which would count for this one.
  vitest.state.filesMap.clear();
  vitest.state.clearErrors();
  const specifications = tests.map((test) => project.createSpecification(join(sandbox, test)));
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(specifications);
  const [failure] = testModules.flatMap(failuresOf);
  return failure ?? (unhandledErrors.length > 0 ? "an error outside of tests" : undefined);
}

function failuresOf(module: TestModule): readonly string[] {
  const tests = Array.from(module.children.allTests("failed"), ({ fullName }) => fullName);
  if (tests.length === 0 && module.state() === "failed") tests.push("(loading)");
  return tests.map((test) => `${relative(sandbox, module.moduleId)} > ${test}`);
}
