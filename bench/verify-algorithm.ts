/** Measures the tokens of one algorithm, for `verify.ts`. */
import { createResourceServer } from "./built.ts";
import { awaited, compare, type Contestant, type Measured } from "./compare.ts";
import { readInput, sendResult } from "./own-process.ts";
import {
  type Algorithm,
  AUDIENCE,
  claimsOf,
  createFresh,
  createSigner,
  ISSUER,
  type Signer,
} from "./tokens.ts";
import { FIRST, CACHED } from "./verify-names.ts";
import { createJose, createPeers } from "./verify-peers.ts";

const IN_FLIGHT = 64;

const QUICK = { count: 7, us: 15_000, warmUpUs: 150_000 };
const CHECK = { count: 21, us: 50_000, warmUpUs: 600_000 };
const THOROUGH = { count: 15, us: 40_000, warmUpUs: 1_000_000 };

export interface AlgorithmOrder {
  readonly algorithm: Algorithm;
  readonly quick: boolean;
  readonly check: boolean;
}

export interface MeasuredAlgorithm {
  readonly algorithm: Algorithm;
  readonly tokenBytes: number;
  readonly together: readonly Measured[];
  /** One token at a time. Empty unless the run is thorough. */
  readonly alone: readonly Measured[];
}

async function measure({ algorithm, quick, check }: AlgorithmOrder): Promise<MeasuredAlgorithm> {
  const signer = createSigner(algorithm);
  const token = signer.sign(claimsOf());
  const fresh = createFresh(token);
  const contestants = [
    ...createOurs(signer, token),
    await createJose(signer, fresh, IN_FLIGHT),
    ...(check ? [] : createPeers(signer, fresh)),
  ];
  const together = await compare(contestants, quick ? QUICK : check ? CHECK : THOROUGH);
  const alone = quick || check ? [] : await measureAlone(signer, fresh);
  return { algorithm, tokenBytes: token.length, together, alone };
}

/**
 * First verifications run concurrently, as in a busy server, so that WebCrypto does not wake a thread for
 * each.
 */
function createOurs(signer: Signer, token: string): readonly Contestant[] {
  const first = createServer(signer, false);
  const caching = createServer(signer, { maxEntries: 10_000 });
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
    awaited(CACHED, () => caching.authenticate(fresh())),
    awaited("check, first", check(first), { atOnce: IN_FLIGHT }),
    awaited("check, cached", check(caching)),
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

/**
 * Verifies one token at a time. Waking a thread is a large part of this cost, and depends on the load of the
 * machine.
 */
async function measureAlone(signer: Signer, fresh: () => string): Promise<readonly Measured[]> {
  const first = createServer(signer, false);
  return compare(
    [awaited(FIRST, () => first.authenticate(fresh())), await createJose(signer, fresh)],
    THOROUGH,
  );
}

sendResult(await measure(readInput() as AlgorithmOrder));
