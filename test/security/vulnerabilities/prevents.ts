/** How a test says which published vulnerability it is about. */
import { it } from "vitest";
import { GROUPS } from "./records/index.ts";

const vulnerabilities = GROUPS.flatMap((group) => group.vulnerabilities);

/** Registers the test of a vulnerability, by its first identifier. */
export function itPrevents(id: string, test: () => Promise<void> | void): void {
  const vulnerability = vulnerabilities.find(({ ids }) => ids[0] === id);
  if (!vulnerability) throw new Error(`No file in records/ contains ${id}.`);
  const { ids, packageName, here } = vulnerability;
  it(`prevents ${ids.join(", ")} of ${packageName}: ${here}`, test);
}
