import type { Reporter, TestModule, Vitest } from "vitest/node";

/**
 * Reports test files that fail to load. Otherwise a mutant that breaks the import would count as survived.
 */
export class LoadFailures implements Reporter {
  #vitest: Vitest | undefined;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestModuleEnd(module: TestModule): void {
    for (const error of module.errors()) this.#vitest?.state.catchError(error, "Unhandled Error");
  }
}
