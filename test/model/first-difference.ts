/** Prints the first claim that does not hold, and fails. A mutant of the library is expected to. */
import {
  findMisreadTargets,
  findWrongEndings,
  findWrongCallers,
  findWrongIds,
  findWrongLists,
  findWrongPairs,
  findWrongRoutes,
  findWrongScopes,
  findWrongTables,
} from "./claims.ts";

for (const differences of [
  findMisreadTargets(2),
  findWrongIds(),
  findWrongLists(),
  findWrongPairs(),
  findWrongCallers(),
  findWrongRoutes(),
  findWrongScopes(),
  findWrongEndings(),
  // Tables of one rule take longest, and find least.
  findWrongTables([0, 60, 100]),
  findWrongTables([8, 0, 0]),
])
  for (const difference of differences) {
    process.stdout.write(`DIFFERENCE ${difference}\n`);
    process.exit(1);
  }
