import { basename } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The tests that specify a file, where they are not the one file of the same name. */
const SPECIFIED_BY: Readonly<Record<string, readonly string[]>> = {
  parameters: ["table", "rule-tree"],
  "parse-pattern": ["pattern"],
  "pattern-dialects": ["pattern", "route-fit"],
  rule: ["find-rules"],
  "required-scope": ["requirement", "decision"],
  "scope-rules": ["scope", "has-scopes"],
  verifier: ["verifier", "claims"],
};

/**
 * Asks a mutant's own specification only: the test file that mirrors the mutated one. What another room's tests would
 * notice by chance does not count, and asking them for every survivor would take an hour.
 */
export class Mirrors extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const [mutated, ...others] = [this.ctx.config.related ?? []].flat();
    if (mutated === undefined || others.length > 0) return sorted;
    const name = basename(mutated, ".ts");
    const names = (SPECIFIED_BY[name] ?? [name]).map((one) => `${one}.test.ts`);
    return sorted.filter(({ moduleId }) => names.includes(basename(moduleId)));
  }
}
