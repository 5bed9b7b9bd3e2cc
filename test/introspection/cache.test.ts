/** How often the endpoint is asked, and what is remembered. */
import { describe, expect, it } from "vitest";
import { introspection } from "scopegate/introspection";
import { held, json, sequence } from "../support/behaviours.ts";
import { createServer, NOW, verdictOf } from "../support/resource-servers.ts";
import { active, CLIENT, openEndpoint, startAsking, TOKEN } from "./support.ts";

const INACTIVE = json({ active: false });

describe("a token that arrives several times", () => {
  it("is asked about once at a time", async () => {
    const behaviour = held(json(active()));
    const { endpoint, server } = await startAsking({}, { behaviour });
    const both = [server.authenticate(TOKEN), server.authenticate(TOKEN), server.authenticate("another")];
    await expect.poll(() => endpoint.received.length).toBe(2);
    behaviour.release();
    const [one, two, other] = await Promise.all(both);
    expect(endpoint.received).toHaveLength(2);
    expect(two).toBe(one);
    expect(other).not.toBe(one);
  });

  it("is remembered for a minute, as the same principal", async () => {
    const { endpoint, server, pass } = await startAsking();
    const principal = await server.authenticate(TOKEN);
    endpoint.answer(INACTIVE);
    pass(59.9);
    expect(await server.authenticate(TOKEN)).toBe(principal);
    expect(endpoint.received).toHaveLength(1);
    pass(0.1);
    expect(await verdictOf(server, TOKEN)).toBe("revoked");
  });

  it("is answered without a promise while it is remembered", async () => {
    const endpoint = await openEndpoint();
    const tokens = introspection({ url: endpoint.url, client: CLIENT });
    const context = { now: () => NOW * 1000, audience: ["agents-prod"], clockToleranceSeconds: 0 };
    const first = await tokens.verify(TOKEN, context);
    expect(first.kind).toBe("verified");
    expect(tokens.verify(TOKEN, context)).toBe(first);
  });

  it("is remembered for `maxAgeSeconds`, from when it was asked about", async () => {
    const behaviour = held(json(active()));
    const { endpoint, verdict, pass } = await startAsking({ cache: { maxAgeSeconds: 10 } }, { behaviour });
    const first = verdict();
    await expect.poll(() => endpoint.received.length).toBe(1);
    pass(4);
    behaviour.release();
    expect(await first).toBe("200");
    endpoint.answer(INACTIVE);
    pass(5);
    expect(await verdict()).toBe("200");
    pass(1);
    expect(await verdict()).toBe("401 revoked");
  });

  it("is remembered until its exp, and then refused", async () => {
    const { endpoint, verdict, pass } = await startAsking({}, { behaviour: json(active({ exp: NOW + 20 })) });
    expect(await verdict()).toBe("200");
    pass(19);
    expect(await verdict()).toBe("200");
    expect(endpoint.received).toHaveLength(1);
    pass(1);
    expect(await verdict()).toBe("401 expired");
    expect(endpoint.received).toHaveLength(2);
  });

  it.each([{ maxAgeSeconds: 0 }, { maxAgeSeconds: 0.001 }])("is asked about again with %j", async (cache) => {
    const { endpoint, verdict, pass } = await startAsking({ cache });
    expect(await verdict()).toBe("200");
    pass(0.001);
    expect(await verdict()).toBe("200");
    expect(endpoint.received).toHaveLength(2);
  });

  it("is asked about again after the clock was set back", async () => {
    const { endpoint, verdict, pass } = await startAsking();
    expect(await verdict()).toBe("200");
    pass(-1);
    await verdict();
    expect(endpoint.received).toHaveLength(2);
  });
});

describe("a token that was refused", () => {
  it("is refused without asking for `negativeSeconds`", async () => {
    const { endpoint, verdict, pass } = await startAsking({}, { behaviour: INACTIVE });
    expect(await verdict()).toBe("401 revoked");
    endpoint.answer(json(active()));
    pass(4.9);
    expect(await verdict()).toBe("401 revoked");
    expect(endpoint.received).toHaveLength(1);
    pass(0.1);
    expect(await verdict()).toBe("200");
  });

  it("is asked about each time with `negativeSeconds: 0`", async () => {
    const behaviour = sequence(INACTIVE, json(active()));
    const { verdict } = await startAsking({ cache: { negativeSeconds: 0 } }, { behaviour });
    expect([await verdict(), await verdict()]).toEqual(["401 revoked", "200"]);
  });
});

describe("the limit of the cache", () => {
  it("holds for active tokens", async () => {
    const { endpoint, verdict } = await startAsking({ cache: { maxEntries: 2 } });
    for (const token of ["one", "two", "three", "one"]) expect(await verdict(token)).toBe("200");
    expect(endpoint.received).toHaveLength(4);
  });

  it("holds for refused tokens, which replace no active token", async () => {
    const { endpoint, verdict } = await startAsking({ cache: { maxEntries: 2 } });
    expect(await verdict("good")).toBe("200");
    endpoint.answer(INACTIVE);
    for (const token of ["one", "two", "three", "one"]) expect(await verdict(token)).toBe("401 revoked");
    expect(endpoint.received).toHaveLength(5);
    expect(await verdict("good")).toBe("200");
    expect(endpoint.received).toHaveLength(5);
  });
});

it("keeps the answers for each server apart, because servers have their own audience", async () => {
  const endpoint = await openEndpoint();
  const opaqueTokens = [introspection({ url: endpoint.url, client: CLIENT })];
  const [one, two] = [createServer({ opaqueTokens }), createServer({ opaqueTokens, serviceId: "other" })];
  expect(await verdictOf(one, TOKEN)).toBe("accepted");
  expect(await verdictOf(two, TOKEN)).toBe("audience");
  expect(await verdictOf(one, TOKEN)).toBe("accepted");
});
