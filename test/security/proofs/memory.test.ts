/** Hostile proofs leave nothing behind in the memory of a server. */
import { randomBytes, randomInt } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { memoryStore } from "scopegate/store";
import { leftBy, LIMIT, received } from "../../support/heap.ts";
import {
  ALICE_TOKEN,
  BOB,
  EDWARDS_CALLER,
  encode,
  partsOf,
  proofClaims,
  proofHeader,
  proofOf,
  rawProof,
  sent,
} from "./forge.ts";
import { checkDirectly, createService, outcomeOf } from "./service.ts";

/** The service keeps each refusal otherwise. */
const NOT_KEPT = { onDecision: () => undefined };

const EXPECTED = new Set(["malformed", "type", "algorithm", "key", "proof_missing"]);

/** A field that looks a little like a proof. */
function randomField(): string {
  const part = (): string => randomBytes(randomInt(0, 90)).toString("base64url");
  const json = (): string => encode(`{"${part().slice(0, 9)}":"${part()}"}`);
  return (
    [
      () => randomBytes(randomInt(1, 200)).toString("latin1"),
      () => `${part()}.${part()}.${part()}`,
      () => `${json()}.${json()}.${part()}`,
      () => Array.from({ length: randomInt(0, 9) }, part).join("."),
      () => `${part()},${part()}`,
    ][randomInt(5)]?.() ?? ""
  );
}

describe("the memory of a server", () => {
  const storeWith = () => {
    const store = memoryStore();
    const set = vi.fn<typeof store.set>((...values) => store.set(...values));
    return { set, replay: { ...store, set } };
  };

  it("does not grow with 100,000 random fields", async () => {
    const { set, replay } = storeWith();
    const { server } = createService({ replay }, NOT_KEPT);
    const outcomes = new Set<string>();
    const left = await leftBy(100_000, async () => {
      const proof = received(randomField());
      const decision = await server.check({
        method: "GET",
        target: "/agents/7",
        authorization: `DPoP ${ALICE_TOKEN}`,
        headers: { dpop: proof },
      });
      outcomes.add(outcomeOf(decision));
    });
    expect([...outcomes].filter((outcome) => !EXPECTED.has(outcome))).toEqual([]);
    expect(left).toBeLessThan(LIMIT);
    expect(set).not.toHaveBeenCalled();
  });

  it("does not grow with headers and keys that nobody can use", async () => {
    const { set, replay } = storeWith();
    const { server } = createService({ replay }, NOT_KEPT);
    const [, body, signature] = partsOf(proofOf());
    const left = await leftBy(10_000, async (index) => {
      const jwk = { ...EDWARDS_CALLER.jwk, x: randomBytes(32).toString("base64url") };
      const head = encode(
        JSON.stringify({ ...proofHeader(EDWARDS_CALLER), jwk, pad: `${index}${"x".repeat(600)}` }),
      );
      const request = sent(ALICE_TOKEN, received(`${head}.${body}.${signature}`));
      expect((await checkDirectly(server, request)).decision.allowed).toBe(false);
    });
    expect(left).toBeLessThan(LIMIT);
    expect(set).not.toHaveBeenCalled();
  });

  it("does not grow with signed proofs that are refused", async () => {
    const { set, replay } = storeWith();
    const { server } = createService({ replay }, NOT_KEPT);
    const left = await leftBy(5_000, async (index) => {
      const proof = received(
        index % 2 === 0
          ? proofOf({ caller: BOB, token: ALICE_TOKEN })
          : rawProof({ payload: JSON.stringify({ ...proofClaims(ALICE_TOKEN), htm: "POST" }) }),
      );
      expect((await checkDirectly(server, sent(ALICE_TOKEN, proof))).decision.allowed).toBe(false);
    });
    expect(left).toBeLessThan(LIMIT);
    expect(set).not.toHaveBeenCalled();
  });

  it("does not grow with proofs that have expired", async () => {
    let now = 1_700_000_000;
    const { server } = createService({}, { now: () => now * 1_000 });
    const left = await leftBy(10_000, async () => {
      now += 1;
      const proof = received(proofOf({ claims: { iat: now } }));
      expect((await checkDirectly(server, sent(ALICE_TOKEN, proof))).decision.allowed).toBe(true);
    });
    expect(left).toBeLessThan(LIMIT);
  });

  it("does not grow with nonces", async () => {
    const { server } = createService({ nonce: true }, NOT_KEPT);
    const left = await leftBy(10_000, async () => {
      const nonce = received(randomBytes(32).toString("base64url"));
      const { decision } = await checkDirectly(server, sent(ALICE_TOKEN, proofOf({ claims: { nonce } })));
      expect(outcomeOf(decision)).toBe("nonce");
    });
    expect(left).toBeLessThan(LIMIT);
  });
});
