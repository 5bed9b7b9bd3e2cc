/** How often the endpoint is asked about a token, and what is remembered. */
import { describe, expect, it } from "vitest";
import { introspection } from "scopegate/introspection";
import { held, json, sequence } from "../../support/behaviours.ts";
import { createServer, NOW, verdictOf } from "../../support/resource-servers.ts";
import { active, CLIENT, openEndpoint, startAsking, TOKEN } from "./support.ts";

const INACTIVE = json({ active: false });

describe("introspection, for a token that arrives several times", () => {
  it("returns the same principal for a minute without asking again", async () => {
    const { endpoint, server, pass } = await startAsking();
    const principal = await server.authenticate(TOKEN);
    endpoint.answer(INACTIVE);
    pass(59.9);
    expect(await server.authenticate(TOKEN)).toBe(principal);
    expect(endpoint.received).toHaveLength(1);
    pass(0.1);
    expect(await verdictOf(server, TOKEN)).toBe("revoked");
  });

  it("returns a remembered result without a promise", async () => {
    const endpoint = await openEndpoint();
    const tokens = introspection({ url: endpoint.url, client: CLIENT });
    const context = {
      now: () => NOW * 1000,
      audience: ["agents-prod"],
      clockToleranceSeconds: 0,
      userIdClaim: "sub",
      sessionIdClaim: "session_id",
    };
    const first = await tokens.verify(TOKEN, context);
    expect(first.kind).toBe("verified");
    expect(tokens.verify(TOKEN, context)).toBe(first);
  });

  it("sends another request `maxAgeSeconds` after the last one", async () => {
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

  it("sends another request after the exp of the token, and then rejects it", async () => {
    const { endpoint, verdict, pass } = await startAsking({}, { behaviour: json(active({ exp: NOW + 20 })) });
    expect(await verdict()).toBe("200");
    pass(19);
    expect(await verdict()).toBe("200");
    expect(endpoint.received).toHaveLength(1);
    pass(1);
    expect(await verdict()).toBe("401 expired");
    expect(endpoint.received).toHaveLength(2);
  });

  it.each([
    ["nbf", { nbf: NOW + 3 }],
    ["iat", { iat: NOW + 8 }],
  ])("accepts a token from the moment on that its %s allows, without asking again", async (_, times) => {
    const cache = { negativeSeconds: 60 };
    const { endpoint, verdict, pass } = await startAsking({ cache }, { behaviour: json(active(times)) });
    expect(await verdict()).toBe("401 not_yet_valid");
    pass(2.999);
    expect(await verdict()).toBe("401 not_yet_valid");
    pass(0.001);
    expect(await verdict()).toBe("200");
    expect(endpoint.received).toHaveLength(1);
  });

  it.each([{ maxAgeSeconds: 0 }, { maxAgeSeconds: 0.001 }])(
    "sends a request each time with %j",
    async (cache) => {
      const { endpoint, verdict, pass } = await startAsking({ cache });
      expect(await verdict()).toBe("200");
      pass(0.001);
      expect(await verdict()).toBe("200");
      expect(endpoint.received).toHaveLength(2);
    },
  );
});

describe("introspection, for a rejected token", () => {
  it("rejects it for `negativeSeconds` without asking again", async () => {
    const { endpoint, verdict, pass } = await startAsking({}, { behaviour: INACTIVE });
    expect(await verdict()).toBe("401 revoked");
    endpoint.answer(json(active()));
    pass(4.9);
    expect(await verdict()).toBe("401 revoked");
    expect(endpoint.received).toHaveLength(1);
    pass(0.1);
    expect(await verdict()).toBe("200");
  });

  it("sends a request each time with `negativeSeconds: 0`", async () => {
    const behaviour = sequence(INACTIVE, json(active()));
    const { verdict } = await startAsking({ cache: { negativeSeconds: 0 } }, { behaviour });
    expect([await verdict(), await verdict()]).toEqual(["401 revoked", "200"]);
  });
});

describe("the option `cache.maxEntries`", () => {
  it("limits how many active tokens are remembered", async () => {
    const { endpoint, verdict } = await startAsking({ cache: { maxEntries: 2 } });
    for (const token of ["one", "two", "three", "one"]) expect(await verdict(token)).toBe("200");
    expect(endpoint.received).toHaveLength(4);
  });

  it("limits how many rejected tokens are remembered, and keeps active ones", async () => {
    const { endpoint, verdict } = await startAsking({ cache: { maxEntries: 2 } });
    expect(await verdict("good")).toBe("200");
    endpoint.answer(INACTIVE);
    for (const token of ["one", "two", "three", "one"]) expect(await verdict(token)).toBe("401 revoked");
    expect(endpoint.received).toHaveLength(5);
    expect(await verdict("good")).toBe("200");
    expect(endpoint.received).toHaveLength(5);
  });
});

it("sends separate requests for each server, because each has its own audience", async () => {
  const endpoint = await openEndpoint();
  const opaqueTokens = [introspection({ url: endpoint.url, client: CLIENT })];
  const [one, two] = [createServer({ opaqueTokens }), createServer({ opaqueTokens, serviceId: "other" })];
  expect(await verdictOf(one, TOKEN)).toBe("accepted");
  expect(await verdictOf(two, TOKEN)).toBe("audience");
  expect(await verdictOf(one, TOKEN)).toBe("accepted");
});
