/** A tenant with an issuer of its own attacks the other tenants. `npm run test:security` tries more. */
import { expect, it } from "vitest";
import { KINDS, runTenants } from "./hostile-tenants.ts";

it("accepts nothing, and asks only for names at a bounded rate: 1,250 attacks", async () => {
  const summaries = await runTenants({ tries: 1_250, seed: 54 });
  expect(summaries.map(({ kind, tried, successes }) => ({ kind, tried, successes }))).toEqual(
    KINDS.map((kind) => ({ kind, tried: 250, successes: [] })),
  );
});
