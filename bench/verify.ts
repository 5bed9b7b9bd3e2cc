/** The cost of verifying a token, for the first time and from the cache, alone and as part of `check`. */
import { type Benchmark, type Budget, createBudget, type Row } from "./benchmark.ts";
import { findMeasured, ratioOf, toRows } from "./compare.ts";
import { ALGORITHMS } from "./tokens.ts";
import { measureAlgorithm, type MeasuredAlgorithm } from "./verify-algorithm.ts";
import { CACHED, FIRST, JOSE } from "./verify-names.ts";

export const verify: Benchmark = {
  name: "verify",
  title: "Verification, CPU time per token",
  isGuard: true,
  async run({ quick, check }) {
    const all: MeasuredAlgorithm[] = [];
    for (const algorithm of check ? (["RS256"] as const) : ALGORITHMS)
      all.push(await measureAlgorithm(algorithm, { quick, check }));
    const alone = all.filter((measured) => measured.alone.length > 0);
    return {
      rows: [
        ...all.flatMap(({ algorithm, tokenBytes, together }) =>
          toRows(`${algorithm}, ${tokenBytes} bytes`, together, JOSE),
        ),
        ...alone.flatMap((one): readonly Row[] => toRows(`${one.algorithm}, one at a time`, one.alone, JOSE)),
      ],
      budgets: [...all.flatMap((one) => (check ? judgeByJose(one) : judge(one))), ...alone.map(judgeAlone)],
    };
  },
};

function judge({ algorithm, together }: MeasuredAlgorithm): readonly Budget[] {
  const hit = ratioOf(findMeasured(together, CACHED), findMeasured(together, "fast-jwt, its cache"));
  return [
    judgeFirst({ algorithm, together }),
    createBudget(`${algorithm}: cached, against fast-jwt's cache`, hit, 0.45),
  ];
}

/** The check for regressions only compares with jose. */
function judgeByJose({ algorithm, together }: MeasuredAlgorithm): readonly Budget[] {
  const hit = ratioOf(findMeasured(together, CACHED), findMeasured(together, JOSE));
  return [judgeFirst({ algorithm, together }), createBudget("cached, against jose alone", hit, 0.05)];
}

function judgeFirst({ algorithm, together }: Pick<MeasuredAlgorithm, "algorithm" | "together">): Budget {
  const ratio = ratioOf(findMeasured(together, FIRST), findMeasured(together, JOSE));
  return createBudget(`${algorithm}: first verification against jose alone`, ratio, limitOf(algorithm));
}

function judgeAlone({ algorithm, alone }: MeasuredAlgorithm): Budget {
  const ratio = ratioOf(findMeasured(alone, FIRST), findMeasured(alone, JOSE));
  const name = `${algorithm}: first verification against jose alone, one at a time`;
  return createBudget(name, ratio, limitOf(algorithm));
}

/** The signature of HS256 takes so little time that the rest of a verification counts more. */
const limitOf = (algorithm: string): number => (algorithm === "HS256" ? 1.15 : 1.08);
