/** Prints the first claim that does not hold, and fails. A mutant of the library is expected to. */
import {
  findMisreadTargets,
  findWrongCallers,
  findWrongIds,
  findWrongScopes,
  findWrongTables,
} from "./claims.ts";

for (const differences of [
  findMisreadTargets(2),
  findWrongIds(),
  findWrongCallers(),
  findWrongTables([8, 60, 100]),
  findWrongScopes(),
])
  for (const difference of differences) {
    process.stdout.write(`DIFFERENCE ${difference}\n`);
    process.exit(1);
  }
