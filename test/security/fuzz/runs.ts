/** How often to test a property: `few` times by default, `FUZZ_RUNS` times in `npm run test:fuzz`. */
export const fuzzRuns = (few = 300): number => Number(process.env["FUZZ_RUNS"] ?? few);
