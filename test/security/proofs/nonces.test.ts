/** Nonces of the resource server: RFC 9449 sections 8.2, 9 and 11.3. Their time slots are tested with `Nonces`. */
import { describe, expect, it } from "vitest";
import { memoryStore, type Store } from "scopegate/store";
import { parseChallenges } from "../../support/challenge-parser.ts";
import { NONCE_SECRET, NOW, type Sent, sentBy } from "./forge.ts";
import { checkDirectly, createService, outcomeOf, type Service, SERVICES } from "./service.ts";

const send = async ({ server }: Service, request: Sent) => {
  const { decision, received } = await checkDirectly(server, request);
  return { outcome: outcomeOf(decision), received, nonce: received?.fields.get("dpop-nonce")?.[0] };
};

/** The nonce in the response to a request without one. */
async function nonceOf(service: Service): Promise<string> {
  const { nonce } = await send(service, sentBy());
  if (nonce === undefined) throw new Error("The response has no nonce.");
  return nonce;
}

const requestWith = (nonce: unknown, iat = NOW): Sent => sentBy({ claims: { nonce, iat } });

describe("a server that requires a nonce", () => {
  const service = SERVICES.nonce;

  it("offers one in the syntax of section 8.1, and requires it for each request (section 11.3)", async () => {
    const { outcome, received, nonce = "" } = await send(service, sentBy());
    expect(outcome).toBe("nonce");
    expect(nonce).toMatch(/^[\x21\x23-\x5b\x5d-\x7e]+$/);
    expect(received?.fields.get("cache-control")?.[0]).toContain("no-store");
    const challenges = (received?.fields.get("www-authenticate") ?? []).flatMap(parseChallenges);
    expect(challenges).toMatchObject([{ scheme: "DPoP", params: { error: "use_dpop_nonce" } }]);
    const request = requestWith(nonce);
    const requests = [request, requestWith(nonce), request, requestWith(undefined)];
    const outcomes: string[] = [];
    for (const each of requests) outcomes.push((await send(service, each)).outcome);
    expect(outcomes).toEqual(["allowed", "allowed", "replayed", "nonce"]);
  });

  it("accepts the nonces of every secret, also in other processes, and no others", async () => {
    const second = `${NONCE_SECRET}x`;
    const [both, other] = [[NONCE_SECRET, second], [second]].map((secret) =>
      createService({ nonce: { secret } }),
    ) as [Service, Service];
    const [random, another] = [createService({ nonce: true }), createService({ nonce: true })];
    const rows: readonly (readonly [from: Service, to: Service, outcome: string])[] = [
      [service, both, "allowed"],
      [other, both, "allowed"],
      [both, service, "allowed"],
      [both, other, "nonce"],
      [service, other, "nonce"],
      [random, service, "nonce"],
      [random, another, "nonce"],
      [random, random, "allowed"],
    ];
    for (const [from, to, outcome] of rows)
      expect((await send(to, requestWith(await nonceOf(from)))).outcome).toBe(outcome);
  });

  it("sends a nonce with every refusal with a status of 4xx", async () => {
    const nonce = await nonceOf(service);
    const requests: readonly Sent[] = [
      { fields: [] },
      { fields: [["Authorization", "DPoP"]] },
      { fields: [["Authorization", "DPoP x"]] },
      sentBy({ claims: { nonce, htm: "POST" } }),
      sentBy({ claims: { nonce }, header: { typ: "JWT" } }),
      { ...requestWith(nonce), target: "/unknown" },
    ];
    for (const request of requests) {
      const refused = await send(service, request);
      expect(refused.outcome).not.toBe("allowed");
      expect(refused.nonce, refused.outcome).toBe(nonce);
    }
  });

  it.each([
    [300, "allowed"],
    [301, "iat"],
    [-300, "allowed"],
    [-301, "iat"],
  ])("judges a proof of a client whose clock is %i seconds ahead: %s", async (aheadSeconds, outcome) => {
    const request = requestWith(await nonceOf(service), NOW + aheadSeconds);
    expect((await send(service, request)).outcome).toBe(outcome);
  });
});

describe("the store of proofs", () => {
  it.each([
    // A minute is for clocks that are behind.
    ["the end of its `iat`", false, NOW - 100 + 300 + 60],
    ["the end of its nonce", { lifetimeSeconds: 60 }, (Math.floor(NOW / 60) + 2) * 60 + 60],
  ])("remembers a proof until %s", async (_, nonce, expected) => {
    const store = memoryStore();
    const ends: number[] = [];
    const set: Store["set"] = (key, value, options) => {
      ends.push(NOW + (options?.ttlMs ?? Infinity) / 1_000);
      return store.set(key, value, options);
    };
    const service = createService({ nonce, replay: { ...store, set } });
    const request = requestWith(nonce ? await nonceOf(service) : undefined, NOW - 100);
    expect((await send(service, request)).outcome).toBe("allowed");
    expect(ends).toEqual([expected]);
  });
});
