/** From a token to whom it speaks for: first and remembered, and the whole of a request around it. */
import { type Benchmark, type Budget, createBudget, type Row } from "./benchmark.ts";
import { createResourceServer } from "./built.ts";
import {
  awaited,
  compare,
  type Contestant,
  findMeasured,
  type Measured,
  ratioOf,
  toRows,
} from "./compare.ts";
import {
  type Algorithm,
  ALGORITHMS,
  AUDIENCE,
  claimsOf,
  createFresh,
  createSigner,
  ISSUER,
  type Signer,
} from "./tokens.ts";
import { createJose, createPeers } from "./verify-peers.ts";

const FIRST = "authenticate, first";
const REMEMBERED = "authenticate, remembered";
const IN_FLIGHT = 64;

const QUICK = { count: 7, us: 15_000, warmUpUs: 150_000 };
const CHECK = { count: 21, us: 50_000, warmUpUs: 600_000 };
const THOROUGH = { count: 15, us: 40_000, warmUpUs: 1_000_000 };

export const verify: Benchmark = {
  name: "verify",
  title: "Verification, CPU time per token",
  isGuard: true,
  async run({ quick, check }) {
    const rows: Row[] = [];
    const budgets: Budget[] = [];
    const rounds = quick ? QUICK : check ? CHECK : THOROUGH;
    for (const algorithm of check ? (["RS256"] as const) : ALGORITHMS) {
      const signer = createSigner(algorithm);
      const token = signer.sign(claimsOf());
      const fresh = createFresh(token);
      const measured = await compare(
        [
          ...createOurs(signer, token),
          await createJose(signer, fresh, IN_FLIGHT),
          ...(check ? [] : createPeers(signer, fresh)),
        ],
        rounds,
      );
      rows.push(...toRows(`${algorithm}, ${token.length} bytes`, measured, "jose"));
      const jose = findMeasured(measured, "jose");
      const first = ratioOf(findMeasured(measured, FIRST), jose);
      budgets.push(createBudget(`${algorithm}: first verification over jose alone`, first, 1.15));
      const remembered = findMeasured(measured, REMEMBERED);
      if (check) budgets.push(createBudget("remembered over jose alone", ratioOf(remembered, jose), 0.05));
      else {
        const hit = ratioOf(remembered, findMeasured(measured, "fast-jwt, its cache"));
        budgets.push(createBudget(`${algorithm}: remembered over fast-jwt's cache`, hit, 0.75));
      }
    }
    if (quick || check) return { rows, budgets };
    for (const algorithm of ALGORITHMS) {
      const measured = await measureAlone(algorithm);
      rows.push(...toRows(`${algorithm}, one at a time`, measured, "jose"));
      const ratio = ratioOf(findMeasured(measured, FIRST), findMeasured(measured, "jose"));
      budgets.push(
        createBudget(`${algorithm}: first verification over jose alone, one at a time`, ratio, 1.15),
      );
    }
    return { rows, budgets };
  },
};

/** As a server is asked: many at once, so that the threads of WebCrypto are not woken for each. */
function createOurs(signer: Signer, token: string): readonly Contestant[] {
  const first = createServer(signer, false);
  const remembering = createServer(signer, { maxEntries: 10_000 });
  const fresh = createFresh(token);
  const authorization = createFresh(`Bearer ${token}`);
  const target = createFresh("/agents/a-17");
  const request = () => ({ method: "GET", target: target(), authorization: authorization() });
  const check = (server: ReturnType<typeof createServer>) => async () => {
    const decision = await server.check(request());
    if (!decision.allowed) throw new Error(`Refused: ${decision.reason}.`);
  };
  return [
    awaited(FIRST, () => first.authenticate(fresh()), { atOnce: IN_FLIGHT }),
    awaited(REMEMBERED, () => remembering.authenticate(fresh())),
    awaited("check, first", check(first), { atOnce: IN_FLIGHT }),
    awaited("check, remembered", check(remembering)),
  ];
}

function createServer({ algorithm, text }: Signer, tokenCache: false | { readonly maxEntries: number }) {
  return createResourceServer({
    serviceId: AUDIENCE,
    issuer: ISSUER,
    algorithm,
    verificationKeys: [text],
    tokenCache,
    scopeMappings: { "GET /agents/:agent_id": ["agents:<agent_id>:read"] },
  });
}

/** Each waits for the one before: waking a thread is a good part of the cost, and moves with the load of the machine. */
async function measureAlone(algorithm: Algorithm): Promise<readonly Measured[]> {
  const signer = createSigner(algorithm);
  const fresh = createFresh(signer.sign(claimsOf()));
  const first = createServer(signer, false);
  return compare(
    [awaited(FIRST, () => first.authenticate(fresh())), await createJose(signer, fresh)],
    THOROUGH,
  );
}
