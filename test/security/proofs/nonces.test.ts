/** Nonces of the resource server: RFC 9449 sections 8.2, 9 and 11.3. */
import { describe, expect, it } from "vitest";
import { parseChallenges } from "../../support/challenge-parser.ts";
import { encode, NONCE_SECRET, NOW, type Sent, sentBy } from "./forge.ts";
import { checkDirectly, createService, outcomeOf, type Service } from "./service.ts";

const LIFETIME = 300;

/** A server with a clock that the test moves. */
function createClocked(
  nonce: true | { secret: string; lifetimeSeconds?: number } = { secret: NONCE_SECRET },
) {
  let now = NOW;
  const service = createService({ nonce }, { now: () => now * 1_000 });
  return {
    service,
    move: (seconds: number) => void (now += seconds),
    /** An honest request with a nonce, whose `iat` is now. */
    with: (value: unknown): Sent => sentBy({ claims: { nonce: value, iat: now } }),
  };
}

const send = async ({ server }: Service, request: Sent) => {
  const { decision, received } = await checkDirectly(server, request);
  return { outcome: outcomeOf(decision), received, nonce: received?.fields.get("dpop-nonce")?.[0] };
};

/** The nonce that a server answers a request without one with. */
async function nonceOf(service: Service, request: Sent = sentBy()): Promise<string> {
  const { nonce } = await send(service, request);
  if (nonce === undefined) throw new Error("The response has no nonce.");
  return nonce;
}

describe("a server that requires a nonce", () => {
  it("offers one in the syntax of section 8.1, and accepts it", async () => {
    const { service, with: requestWith } = createClocked();
    const { outcome, received, nonce = "" } = await send(service, sentBy());
    expect(outcome).toBe("nonce");
    expect(nonce).toMatch(/^[\x21\x23-\x5b\x5d-\x7e]+$/);
    const challenges = (received?.fields.get("www-authenticate") ?? []).flatMap((value) =>
      parseChallenges(value),
    );
    expect(challenges.find(({ scheme }) => scheme === "DPoP")?.params["error"]).toBe("use_dpop_nonce");
    expect((await send(service, requestWith(nonce))).outcome).toBe("allowed");
  });

  it("still requires it from a client that had a nonce before (section 11.3)", async () => {
    const { service, with: requestWith } = createClocked();
    expect((await send(service, requestWith(await nonceOf(service)))).outcome).toBe("allowed");
    expect((await send(service, requestWith(undefined))).outcome).toBe("nonce");
  });

  it("accepts a nonce of the last slot, and none of an older one", async () => {
    const { service, move, with: requestWith } = createClocked();
    const nonce = await nonceOf(service);
    move(LIFETIME);
    expect((await send(service, requestWith(nonce))).outcome).toBe("allowed");
    move(LIFETIME);
    expect((await send(service, requestWith(nonce))).outcome).toBe("nonce");
    move(100 * LIFETIME);
    expect((await send(service, requestWith(nonce))).outcome).toBe("nonce");
  });

  it("refuses a nonce of a later slot", async () => {
    const { service, move, with: requestWith } = createClocked();
    move(3 * LIFETIME);
    const later = await nonceOf(service, requestWith(undefined));
    move(-3 * LIFETIME);
    expect((await send(service, requestWith(later))).outcome).toBe("nonce");
  });

  it("refuses a nonce of a server with another secret", async () => {
    const other = createClocked({ secret: `${NONCE_SECRET}x` });
    const own = createClocked({ secret: NONCE_SECRET });
    const random = createClocked(true);
    const again = createClocked(true);
    for (const [from, to] of [
      [other, own],
      [own, other],
      [random, own],
      [random, again],
    ] as const)
      expect((await send(to.service, to.with(await nonceOf(from.service)))).outcome).toBe("nonce");
  });

  it("accepts a nonce of another process with the same secret", async () => {
    const [first, second] = [createClocked(), createClocked()];
    expect((await send(second.service, second.with(await nonceOf(first.service)))).outcome).toBe("allowed");
  });

  it("refuses every change of a nonce", async () => {
    const { service, with: requestWith } = createClocked();
    const nonce = await nonceOf(service);
    const changed = [
      ...Array.from(nonce, (letter, index) => nonce.slice(0, index) + other(letter) + nonce.slice(index + 1)),
      ...Array.from(nonce, (_, index) => nonce.slice(0, index)),
      `${nonce}A`,
      `${nonce}=`,
      `${nonce} `,
      ` ${nonce}`,
      `${nonce}\n`,
      `A${nonce}`,
      `${nonce}${nonce}`,
      nonce.toLowerCase(),
      nonce.toUpperCase(),
      encode(nonce),
      Buffer.from(nonce, "base64url").toString("hex"),
      [nonce],
      { nonce },
    ];
    const outcomes = new Set<string>();
    for (const value of changed) outcomes.add((await send(service, requestWith(value))).outcome);
    expect(outcomes).toEqual(new Set(["nonce"]));
  });

  it("uses the nonce for many requests, and each proof once", async () => {
    const { service, with: requestWith } = createClocked();
    const nonce = await nonceOf(service);
    const request = requestWith(nonce);
    expect((await send(service, request)).outcome).toBe("allowed");
    expect((await send(service, requestWith(nonce))).outcome).toBe("allowed");
    expect((await send(service, request)).outcome).toBe("replayed");
  });

  it("refuses a proof that was made in advance for the time of its iat (section 11.2)", async () => {
    const { service, move } = createClocked();
    const nonce = await nonceOf(service);
    const later = sentBy({ claims: { nonce, iat: NOW + 3 * LIFETIME } });
    move(3 * LIFETIME);
    expect((await send(service, later)).outcome).toBe("nonce");
  });

  it("sends a nonce with every refusal with a status of 4xx", async () => {
    const { service, with: requestWith } = createClocked();
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
      expect(refused.nonce, refused.outcome).toMatch(/^\S+$/);
    }
  });

  it("keeps responses with a nonce out of caches", async () => {
    const { received } = await send(createClocked().service, sentBy());
    expect(received?.fields.get("cache-control")?.[0]).toContain("no-store");
  });
});

const other = (letter: string): string => (letter === "A" ? "B" : "A");
