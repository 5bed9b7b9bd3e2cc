/** From a token to whom it speaks for: first and remembered, and the whole of a request around it. */
import { type Benchmark, type Budget, createBudget, type Row } from "./benchmark.ts";
import { createResourceServer } from "./built.ts";
import { awaited, compare, type Contestant, findMeasured, ratioOf, toRows } from "./compare.ts";
import { ALGORITHMS, AUDIENCE, claimsOf, createFresh, createSigner, ISSUER, type Signer } from "./tokens.ts";
import { createJose, createPeers } from "./verify-peers.ts";

const FIRST = "authenticate, first";
const REMEMBERED = "authenticate, remembered";
const IN_FLIGHT = 64;

const QUICK = { count: 7, us: 15_000, warmUpUs: 150_000 };
const CHECK = { count: 21, us: 50_000, warmUpUs: 600_000 };
const THOROUGH = { count: 15, us: 40_000, warmUpUs: 400_000 };

export const verify: Benchmark = {
  name: "verify",
  title: "Verification, CPU time per token",
  isGuard: true,
  async run({ quick, check }) {
    const rows: Row[] = [];
    const budgets: Budget[] = [];
    // Waiting for a thread alone costs what a busy machine makes of it: the guard lets many wait together.
    const atOnce = check ? IN_FLIGHT : 1;
    const rounds = quick ? QUICK : check ? CHECK : THOROUGH;
    for (const algorithm of check ? (["RS256"] as const) : ALGORITHMS) {
      const signer = createSigner(algorithm);
      const token = signer.sign(claimsOf());
      const fresh = createFresh(token);
      const measured = await compare(
        [
          ...createOurs(signer, token, atOnce),
          await createJose(signer, fresh, atOnce),
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
    if (!quick && !check) rows.push(...(await measureInFlight()));
    return { rows, budgets };
  },
};

function createOurs(signer: Signer, token: string, atOnce: number): readonly Contestant[] {
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
    awaited(FIRST, () => first.authenticate(fresh()), { atOnce }),
    awaited(REMEMBERED, () => remembering.authenticate(fresh())),
    awaited("check, first", check(first)),
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

/** Where many requests wait together, WebCrypto's threads are asked less often. */
async function measureInFlight(): Promise<readonly Row[]> {
  const signer = createSigner("RS256");
  const fresh = createFresh(signer.sign(claimsOf()));
  const first = createServer(signer, false);
  const measured = await compare(
    [
      awaited(FIRST, () => first.authenticate(fresh()), { atOnce: IN_FLIGHT }),
      await createJose(signer, fresh, IN_FLIGHT),
    ],
    THOROUGH,
  );
  return toRows(`RS256, ${IN_FLIGHT} in flight`, measured, "jose");
}
