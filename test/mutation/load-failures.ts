import { type Reporter, type TestModule, type Vitest } from "vitest/node";

/** Tells of a test file that a mutant keeps from loading: without tests that fail, the mutant would count as survived. */
export class LoadFailures implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestModuleEnd(module: TestModule): void {
    for (const error of module.errors()) this.#vitest?.state.catchError(error, "Unhandled Error");
  }
}
