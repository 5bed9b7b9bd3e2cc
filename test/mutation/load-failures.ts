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
    // Stryker cannot render the errors of a worker, which have no prototype.
    for (const { message } of module.errors())
      this.#vitest?.state.catchError(new Error(message), "Unhandled Error");
  }
}
