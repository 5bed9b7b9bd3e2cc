/** From a token to whom it speaks for: first and remembered, and the whole of a request around it. */
import { type Benchmark, type Budget, createBudget, type Row } from "./benchmark.ts";
import { findMeasured, ratioOf, toRows } from "./compare.ts";
import { inOwnProcess } from "./own-process.ts";
import { ALGORITHMS } from "./tokens.ts";
import type { AlgorithmOrder, MeasuredAlgorithm } from "./verify-algorithm.ts";
import { FIRST, REMEMBERED } from "./verify-names.ts";

export const verify: Benchmark = {
  name: "verify",
  title: "Verification, CPU time per token",
  isGuard: true,
  async run({ quick, check }) {
    const all: MeasuredAlgorithm[] = [];
    for (const algorithm of check ? (["RS256"] as const) : ALGORITHMS) {
      // A service has tokens of one algorithm: code that has met several is slower with each.
      const order: AlgorithmOrder = { algorithm, quick, check };
      all.push(await inOwnProcess<MeasuredAlgorithm>("verify-algorithm.ts", order));
    }
    const alone = all.filter((measured) => measured.alone.length > 0);
    return {
      rows: [
        ...all.flatMap(({ algorithm, tokenBytes, together }) =>
          toRows(`${algorithm}, ${tokenBytes} bytes`, together, "jose"),
        ),
        ...alone.flatMap((one): readonly Row[] =>
          toRows(`${one.algorithm}, one at a time`, one.alone, "jose"),
        ),
      ],
      budgets: [...all.flatMap((one) => (check ? judgeByJose(one) : judge(one))), ...alone.map(judgeAlone)],
    };
  },
};

function judge({ algorithm, together }: MeasuredAlgorithm): readonly Budget[] {
  const hit = ratioOf(findMeasured(together, REMEMBERED), findMeasured(together, "fast-jwt, its cache"));
  return [
    judgeFirst({ algorithm, together }),
    createBudget(`${algorithm}: remembered over fast-jwt's cache`, hit, 0.75),
  ];
}

/** By jose alone, the one peer of a guard against regressions. */
function judgeByJose({ algorithm, together }: MeasuredAlgorithm): readonly Budget[] {
  const hit = ratioOf(findMeasured(together, REMEMBERED), findMeasured(together, "jose"));
  return [judgeFirst({ algorithm, together }), createBudget("remembered over jose alone", hit, 0.05)];
}

function judgeFirst({ algorithm, together }: Pick<MeasuredAlgorithm, "algorithm" | "together">): Budget {
  const ratio = ratioOf(findMeasured(together, FIRST), findMeasured(together, "jose"));
  return createBudget(`${algorithm}: first verification over jose alone`, ratio, 1.15);
}

function judgeAlone({ algorithm, alone }: MeasuredAlgorithm): Budget {
  const ratio = ratioOf(findMeasured(alone, FIRST), findMeasured(alone, "jose"));
  return createBudget(`${algorithm}: first verification over jose alone, one at a time`, ratio, 1.15);
}
