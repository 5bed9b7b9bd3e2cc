/** One contestant of `verify-algorithm.ts`, in a process of its own. It receives numbers of calls, and replies with their CPU time. */
import { createResourceServer } from "./built.ts";
import { awaited, type Contestant, cpuTime } from "./compare.ts";
import { readInput } from "./own-process.ts";
import {
  type Algorithm,
  AUDIENCE,
  claimsOf,
  createFresh,
  createSigner,
  ISSUER,
  type Signer,
} from "./tokens.ts";
import { CACHED, CHECK_CACHED, CHECK_FIRST, FIRST } from "./verify-names.ts";
import { createJose, createPeers } from "./verify-peers.ts";

export interface ContestantOrder {
  readonly algorithm: Algorithm;
  readonly name: string;
  /** How many tokens are verified at once, by contestants that are asynchronous and have no cache. */
  readonly atOnce: number;
}

function createOurs(
  signer: Signer,
  token: string,
  fresh: () => string,
  atOnce: number,
): readonly Contestant[] {
  const first = createServer(signer, false);
  const caching = createServer(signer, { maxEntries: 10_000 });
  const authorization = createFresh(`Bearer ${token}`);
  const target = createFresh("/agents/a-17");
  const request = () => ({ method: "GET", target: target(), authorization: authorization() });
  const check = (server: ReturnType<typeof createServer>) => async () => {
    const decision = await server.check(request());
    if (!decision.allowed) throw new Error(`Refused: ${decision.reason}.`);
  };
  return [
    awaited(FIRST, () => first.authenticate(fresh()), { atOnce }),
    awaited(CACHED, () => caching.authenticate(fresh())),
    awaited(CHECK_FIRST, check(first), { atOnce }),
    awaited(CHECK_CACHED, check(caching)),
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

const { algorithm, name, atOnce } = readInput() as ContestantOrder;
const signer = createSigner(algorithm);
const token = signer.sign(claimsOf());
const fresh = createFresh(token);
const contestants = [
  ...createOurs(signer, token, fresh, atOnce),
  await createJose(signer, fresh, atOnce),
  ...createPeers(signer, fresh),
];
const contestant = contestants.find((one) => one.name === name);
process.on("message", (calls: number) => {
  if (contestant) void cpuTime(contestant, calls).then((us) => process.send?.(us));
});
process.once("disconnect", () => process.exit());
// Ready: the size of the token, or 0 if the library does not have the algorithm.
process.send?.(contestant ? token.length : 0);
