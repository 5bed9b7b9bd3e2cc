/** Random requests: scopegate and oauth4webapi, another implementation of RFC 9449, must agree about each. */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import type { ResourceServer } from "scopegate";
import { createResourceServer } from "../../support/server.ts";
import { DIFFERENCES, type Disagreement, readLeniently } from "./explained-differences.ts";
import { createOracle, type Oracle } from "./oracle.ts";
import {
  ALGORITHMS,
  AUDIENCE,
  CHANGE_NAMES,
  ISSUER,
  ISSUER_JWK,
  ISSUER_PEM,
  ORIGINS,
  type RandomRequest,
  RandomRequests,
} from "./random-requests.ts";

/** `PROOF_RUNS=10000 npx vitest run test/proofs/interop` compares more of them and prints counts; `PROOF_SEED` others. */
const { PROOF_RUNS, PROOF_SEED = "9449" } = process.env;
const RUNS = Number(PROOF_RUNS ?? 1_000);
/** So many that each difference occurs. */
const MANY_RUNS = 10_000;

const NOW = 1_700_000_000;

interface Unexplained {
  readonly number: number;
  readonly changes: readonly string[];
  readonly scopegate: string;
  readonly oracle: string;
}

describe("random requests with tokens and proofs", () => {
  const counts = new Map<string, number>();
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  const changes = new Set<string>();
  const unexplained: Unexplained[] = [];

  beforeAll(async () => {
    vi.useFakeTimers({ toFake: ["Date"], now: NOW * 1000 });
    const server = createResourceServer({
      audience: AUDIENCE,
      verificationKeys: [ISSUER_PEM],
      algorithm: "ES256",
      scopeMappings: { "* /{*path}": [] },
      senderConstraint: { dpop: { origins: ORIGINS } },
    });
    const oracle = createOracle({
      issuer: ISSUER,
      audience: AUDIENCE,
      keys: [ISSUER_JWK],
      algorithms: ALGORITHMS,
    });
    const requests = new RandomRequests(Number(PROOF_SEED), NOW);
    const accepted = new Set<string>();
    for (let number = 0; number < RUNS; number += 1) {
      const request = requests.next();
      for (const change of request.changes) changes.add(change);
      await compare(request, server, oracle, accepted, number);
    }
  }, 600_000);
  afterAll(() => {
    vi.useRealTimers();
    if (PROOF_RUNS !== undefined)
      console.table([...counts].map(([verdicts, requests]) => ({ verdicts, requests })));
  });

  async function compare(
    request: RandomRequest,
    server: ResourceServer,
    oracle: Oracle,
    accepted: Set<string>,
    number: number,
  ): Promise<void> {
    const complaint = await oracle(request);
    const refusal = await refusalOf(server, request);
    const proof = readLeniently(request.proofs[0]);
    // RFC 7638: the members that make the key.
    const key = JSON.stringify(proof.header["jwk"] ?? null, ["kty", "crv", "x", "y", "n", "e"]);
    const use = `${key} ${String(proof.payload["jti"])}`;
    const isReplayed = accepted.has(use);
    if (refusal === undefined) accepted.add(use);
    if ((refusal === undefined) === (complaint === undefined)) {
      count(refusal === undefined ? "both accept" : "both refuse");
      return;
    }
    const disagreement: Disagreement = { ...request, refusal, complaint, nowSeconds: NOW, isReplayed };
    const stricter = refusal === undefined ? "oracle" : "scopegate";
    const difference = DIFFERENCES.find(
      (candidate) => candidate.stricter === stricter && candidate.explains(disagreement, proof),
    );
    if (difference) count(`${stricter} refuses: ${difference.name}`);
    else {
      const verdicts = { scopegate: refusal ?? "accepted", oracle: complaint ?? "accepted" };
      unexplained.push({ number, changes: request.changes, ...verdicts });
    }
  }

  it("gives both the same result, except for explained differences", () => {
    expect(unexplained).toEqual([]);
    for (const { why } of DIFFERENCES) expect(why).toMatch(/^[A-Z].{20,}\.$/);
  });

  it("accepts enough of them, and refuses every kind of change", () => {
    expect(counts.get("both accept")).toBeGreaterThan(RUNS / 4);
    expect(counts.get("both refuse")).toBeGreaterThan(RUNS / 4);
    expect(CHANGE_NAMES.filter((name) => !changes.has(name))).toEqual([]);
  });

  it.runIf(RUNS >= MANY_RUNS)("show each explained difference", () => {
    const names = DIFFERENCES.map(({ name, stricter }) => `${stricter} refuses: ${name}`);
    expect(names.filter((name) => !counts.has(name))).toEqual([]);
  });
});

/** Why scopegate refuses a request; `undefined` if it accepts it. */
async function refusalOf(
  server: ResourceServer,
  { method, target, authorization, proofs }: RandomRequest,
): Promise<string | undefined> {
  const dpop = proofs.length > 1 ? proofs : proofs[0];
  const headers = dpop === undefined ? {} : { dpop };
  const decision = await server.check({
    method,
    target,
    authorization,
    headers,
    // A path may have a trailing slash that the pattern does not have.
    matchedPattern: "/{*path}",
  });
  if (decision.allowed) return undefined;
  const { reason, rejection, proofRejection } = decision;
  return [reason, rejection, proofRejection].filter((part) => part !== undefined).join(" ");
}
