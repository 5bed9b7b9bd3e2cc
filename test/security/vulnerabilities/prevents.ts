/** Registers the tests of published vulnerabilities. */
import { it } from "vitest";
import { GROUPS } from "./records/index.ts";

const vulnerabilities = GROUPS.flatMap((group) => group.vulnerabilities);

/** Registers the test of the vulnerability whose first identifier is `id`. */
export function itPrevents(id: string, test: () => Promise<void> | void): void {
  const vulnerability = vulnerabilities.find(({ ids }) => ids[0] === id);
  if (!vulnerability) throw new Error(`No file in records/ contains ${id}.`);
  const { ids, packageName, here } = vulnerability;
  it(`prevents ${ids.join(", ")} of ${packageName}: ${here}`, test);
}
