/** A flood of invented opaque tokens must not become a flood of requests to their issuer. */
import { describe, expect, it } from "vitest";
import type { IntrospectionFetch } from "scopegate/introspection";
import { active, type Asking, startAsking, TOKEN } from "./support.ts";

/** A `fetch` whose calls wait until the test answers them. */
function createHeldFetch() {
  const waiting: (() => void)[] = [];
  let inFlight = 0;
  let most = 0;
  let total = 0;
  let isHolding = true;
  const fetch: IntrospectionFetch = async (_url, { body }) => {
    inFlight += 1;
    total += 1;
    most = Math.max(most, inFlight);
    if (isHolding) await new Promise<void>((resolve) => waiting.push(resolve));
    inFlight -= 1;
    const isKnown = new URLSearchParams(body).get("token") === TOKEN;
    return Response.json(isKnown ? active() : { active: false });
  };
  return {
    fetch,
    most: () => most,
    total: () => total,
    hold: () => void (isHolding = true),
    release: () => {
      isHolding = false;
      for (const resolve of waiting.splice(0)) resolve();
    },
  };
}

const countOf = (verdicts: readonly string[], verdict: string): number =>
  verdicts.filter((one) => one === verdict).length;

const sendInvented = (asking: Asking, count: number): Promise<string>[] =>
  Array.from({ length: count }, (_, index) => asking.verdict(`invented-${String(index)}`));

describe("introspection, in a flood of invented tokens", () => {
  it("keeps at most 50 requests in flight, and refuses the other tokens with 503", async () => {
    const held = createHeldFetch();
    const asking = await startAsking({ fetch: held.fetch });
    const verdicts = sendInvented(asking, 10_000);
    await expect.poll(held.total).toBe(50);
    expect(asking.server.health().opaqueTokens).toEqual([
      { tokenKind: "introspected", state: "ok", underWay: 50 },
    ]);
    held.release();
    const all = await Promise.all(verdicts);
    expect(held.most()).toBe(50);
    expect(held.total()).toBe(50);
    expect(countOf(all, "503")).toBe(9_950);
    expect(countOf(all, "401 revoked")).toBe(50);
  });

  it("returns 503 with Retry-After 1 and a cause that quotes no token", async () => {
    const held = createHeldFetch();
    const { check, server, endpoint } = await startAsking({ fetch: held.fetch, maxConcurrentRequests: 1 });
    const first = check("invented-1");
    await expect.poll(held.total).toBe(1);
    const decision = await check("invented-2");
    held.release();
    await first;
    if (decision.allowed) throw new Error("It was allowed.");
    expect(server.refuse(decision)).toMatchObject({ status: 503, headers: { "Retry-After": "1" } });
    expect((decision.cause as Error).message).toBe(
      `${endpoint.url} wasn't asked: 1 requests are already in flight.`,
    );
  });

  it("accepts remembered tokens during the flood, and asks about new ones after it", async () => {
    const held = createHeldFetch();
    const { verdict } = await startAsking({ fetch: held.fetch, maxConcurrentRequests: 1 });
    held.release();
    expect(await verdict()).toBe("200");
    held.hold();
    const invented = verdict("invented");
    await expect.poll(held.total).toBe(2);
    expect([await verdict("another"), await verdict()]).toEqual(["503", "200"]);
    held.release();
    expect([await invented, await verdict("another")]).toEqual(["401 revoked", "401 revoked"]);
  });

  it("shares the request of a token that is in flight, also at the limit", async () => {
    const held = createHeldFetch();
    const { verdict } = await startAsking({ fetch: held.fetch, maxConcurrentRequests: 1 });
    const both = [verdict(), verdict()];
    await expect.poll(held.total).toBe(1);
    held.release();
    expect(countOf(await Promise.all(both), "200")).toBe(2);
  });
});
