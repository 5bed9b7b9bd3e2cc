import { appendFileSync } from "node:fs";
import type { Reporter, TestCase } from "vitest/node";

/**
 * Appends the name of each repeated test to a file. In CI, a test that fails is repeated, so that a busy machine
 * does not fail a build. `.ci/run` prints the names, and fails if there are too many.
 */
export class Retries implements Reporter {
  readonly #file: string;

  constructor(file: string) {
    this.#file = file;
  }

  onTestCaseResult(test: TestCase): void {
    const retries = test.diagnostic()?.retryCount ?? 0;
    if (retries > 0)
      appendFileSync(this.#file, `${test.module.relativeModuleId} > ${test.fullName} (${retries})\n`);
  }
}
