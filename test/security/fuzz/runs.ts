/** How often a property is tried: `few` in the suite of every day, as often as `FUZZ_RUNS` says in `npm run test:fuzz`. */
export const fuzzRuns = (few = 300): number => Number(process.env["FUZZ_RUNS"] ?? few);
