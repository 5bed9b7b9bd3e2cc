/** While the endpoint does not say whether a token is active: 503, and a limited number of requests. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { KeysUnavailableError } from "scopegate";
import * as behave from "../../support/behaviours.ts";
import type { IntrospectionFetch, IntrospectionOptions } from "scopegate/introspection";
import { NOW } from "../../support/resource-servers.ts";
import { active, type Asking, openEndpoint, startAsking, TOKEN } from "./support.ts";

const ONE_KIB = 1024;
const causeOf = async (asking: Awaited<ReturnType<typeof startAsking>>) => {
  const { status, cause } = await asking.refusal();
  expect(status).toBe(503);
  return cause as Error;
};

describe("introspection, without a usable response", () => {
  it.each<readonly [string, behave.Behaviour, string]>([
    ["status 500", behave.json(active(), { status: 500 }), "returned status 500."],
    ["status 201", behave.json(active(), { status: 201 }), "returned status 201."],
    ["status 400", behave.json(active(), { status: 400 }), "returned status 400."],
    ["status 403", behave.status(403), "returned status 403."],
    ["status 404", behave.status(404), "returned status 404."],
    ["a redirect", behave.redirect("/elsewhere"), "returned status 302."],
    ["a body that is not JSON", behave.text("<html>"), "didn't return a JSON object."],
    ["an empty body", behave.text(""), "didn't return a JSON object."],
    ["an array", behave.json([active()]), "didn't return a JSON object."],
    ["null", behave.json(null), "didn't return a JSON object."],
    ["a property twice", behave.text('{"active":false,"active":true}'), "didn't return a JSON object."],
    ["an answer that is cut off", behave.cutOff(active()), "can't be queried"],
    ["a connection reset", behave.reset(), "can't be queried (ECONNRESET)."],
    ["a body that is too large", behave.enormous(65 * ONE_KIB, active()), "returned more than 65536 bytes."],
    ["a body that unpacks too large", behave.gzipBomb(65 * ONE_KIB), "returned more than 65536 bytes."],
    ["a response that never comes", behave.never(), "timed out after 500 ms."],
    ["a response that never ends", behave.drip(active()), "timed out after 500 ms."],
  ])(
    "returns 503 for %s, shows the cause in `health`, and asks about the next token",
    async (_, behaviour, message) => {
      let isClosed = false;
      const watched: behave.Behaviour = (request, response) => {
        response.once("close", () => (isClosed = true));
        behaviour(request, response);
      };
      const asking = await startAsking({ timeoutMs: 500 }, { behaviour: watched });
      const { message: found } = await causeOf(asking);
      expect(found.startsWith(`${asking.endpoint.url} ${message}`), found).toBe(true);
      await expect(asking.server.authenticate(TOKEN)).rejects.toBeInstanceOf(KeysUnavailableError);
      await expect.poll(() => isClosed).toBe(true);
      expect(asking.server.health()).toMatchObject({
        status: "degraded",
        opaqueTokens: [
          { tokenKind: "introspected", state: "degraded", underWay: 0, cause: { message: found } },
        ],
      });
      asking.endpoint.answer(behave.json(active()));
      expect(await asking.verdict("another")).toBe("200");
      expect(asking.server.health()).toMatchObject({
        status: "ok",
        opaqueTokens: [{ tokenKind: "introspected", state: "ok", underWay: 0 }],
      });
    },
  );

  it("shows in `health` that the certificate of the endpoint isn't trusted", async () => {
    const error = Object.assign(new Error("self-signed"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
    const asking = await startAsking({ fetch: () => Promise.reject(error) });
    expect((await causeOf(asking)).message).toContain("(DEPTH_ZERO_SELF_SIGNED_CERT)");
    expect(asking.server.health().status).toBe("degraded");
  });

  it("accepts a response of 64 KiB", async () => {
    const { verdict } = await startAsking({}, { behaviour: behave.enormous(64 * ONE_KIB, active()) });
    expect(await verdict()).toBe("200");
  });

  it.each<readonly [string, Partial<IntrospectionOptions>]>([
    ["", {}],
    [" with the global fetch", { fetch: globalThis.fetch }],
  ])("does not follow a redirect with the token%s", async (_, options) => {
    const other = await openEndpoint();
    const asking = await startAsking(options, { behaviour: behave.redirect(other.url, 307) });
    await causeOf(asking);
    expect(other.received).toEqual([]);
  });

  it.each<readonly [string, IntrospectionFetch]>([
    ["throws the request", (_url, init) => Promise.reject(Object.assign(new Error(init.body), { init }))],
    ["returns nothing", () => Promise.resolve(undefined as never)],
    [
      "follows redirects",
      () => Promise.resolve(Object.defineProperty(Response.json(active()), "redirected", { value: true })),
    ],
  ])("returns 503 with a cause that quotes nothing if `fetch` %s", async (_, fetch) => {
    const cause = await causeOf(await startAsking({ fetch }));
    expect(cause.message).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/introspect (?:can't be queried|redirected)/);
    expect(cause.cause).toBeUndefined();
  });
});

describe("introspection, for a Retry-After of the endpoint", () => {
  const date = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString();

  it.each<readonly [string, string, RegExp]>([
    ["a number of seconds", "17", /^17$/],
    ["a date", date(600), /^(?:600|5\d\d)$/],
    ["zero", "0", /^5$/],
    ["a day", "86400", /^5$/],
    ["a date in the past", date(-10), /^5$/],
    ["a word", "soon", /^5$/],
  ])("passes on one second to one hour, and replaces other values: %s", async (_, value, expected) => {
    const behaviour = behave.status(503, { "retry-after": value });
    const { refusal } = await startAsking({}, { behaviour });
    for (const token of [TOKEN, TOKEN, "another"])
      expect((await refusal(token)).headers["Retry-After"]).toMatch(expected);
  });
});

describe("introspection, after a failure", () => {
  it("sends another request for the same token after a second", async () => {
    const { endpoint, verdict, pass } = await startAsking({}, { behaviour: behave.status(500) });
    expect([await verdict(), await verdict()]).toEqual(["503", "503"]);
    expect(endpoint.received).toHaveLength(1);
    endpoint.answer(behave.json(active()));
    pass(0.9);
    expect(await verdict()).toBe("503");
    pass(0.1);
    expect(await verdict()).toBe("200");
    expect(endpoint.received).toHaveLength(2);
  });
});

/** The tokens that the endpoint received. */
const tokensOf = ({ endpoint }: Pick<Asking, "endpoint">) =>
  endpoint.received.map(({ fields }) => fields.get("token"));

/** Sends requests with as many different tokens. */
const sendTokens = (asking: Asking, count: number) =>
  Promise.all(Array.from({ length: count }, (_, index) => asking.verdict(`token-${index}`)));

describe("introspection, in an outage", () => {
  afterEach(() => void vi.useRealTimers());

  /** With timers that the test moves. */
  const start: typeof startAsking = (options, given) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
    return startAsking(options, given);
  };
  const isReceived = (asking: Asking, count: number) =>
    expect
      .poll(() => [asking.endpoint.received.length, asking.server.health().opaqueTokens?.[0]?.underWay])
      .toEqual([count, 0]);

  it("asks about no token after five failures in a row, and sends one probe a second", async () => {
    const asking = await start({}, { behaviour: behave.status(500) });
    for (let index = 0; index < 20; index += 1) expect(await asking.verdict(`token-${index}`)).toBe("503");
    expect(tokensOf(asking)).toEqual(["token-0", "token-1", "token-2", "token-3", "token-4"]);
    for (let probes = 1; probes <= 3; probes += 1) {
      vi.advanceTimersByTime(999);
      await sendTokens(asking, 20);
      expect(asking.endpoint.received).toHaveLength(4 + probes);
      vi.advanceTimersByTime(1);
      await isReceived(asking, 5 + probes);
    }
  });

  it("sends one probe at a time to an endpoint that doesn't respond, and no request waits for it", async () => {
    const asking = await start({}, { behaviour: behave.never() });
    const first = sendTokens(asking, 5);
    await expect.poll(() => asking.endpoint.received.length).toBe(5);
    vi.advanceTimersByTime(3_000);
    expect(await first).toEqual(Array(5).fill("503"));
    vi.advanceTimersByTime(1_000);
    await expect.poll(() => asking.endpoint.received.length).toBe(6);
    vi.advanceTimersByTime(2_999);
    expect(await sendTokens(asking, 20)).toEqual(Array(20).fill("503"));
    expect(asking.endpoint.received).toHaveLength(6);
  });

  it("counts only failures in a row", async () => {
    const asking = await start({}, { behaviour: behave.status(500) });
    await sendTokens(asking, 4);
    asking.endpoint.answer(behave.json(active()));
    expect(await asking.verdict("good")).toBe("200");
    asking.endpoint.answer(behave.status(500));
    for (const token of ["one", "two", "three", "four"]) expect(await asking.verdict(token)).toBe("503");
    asking.endpoint.answer(behave.json(active()));
    expect(await asking.verdict("five")).toBe("200");
  });

  it.each<readonly [string, behave.Behaviour, string]>([
    ["401", behave.status(401), "returned status 401. It doesn't accept the credentials of this client"],
    ["429", behave.status(429), "returned status 429. It limits the requests of this client."],
    ["503 and Retry-After", behave.status(503, { "retry-after": "5" }), "returned status 503."],
  ])("asks about no other token after status %s", async (_, behaviour, message) => {
    const asking = await start({}, { behaviour });
    for (const token of ["one", "two", "three"]) expect(await asking.verdict(token)).toBe("503");
    expect(tokensOf(asking)).toEqual(["one"]);
    expect((await causeOf(asking)).message).toContain(`${asking.endpoint.url} ${message}`);
  });

  it("asks about no other token after a refused connection, and accepts remembered tokens", async () => {
    let asked = 0;
    const fetch: IntrospectionFetch = (url, init) => {
      asked += 1;
      return globalThis.fetch(url, init);
    };
    const asking = await start({ fetch });
    expect(await asking.verdict("known")).toBe("200");
    await asking.endpoint.close();
    for (const [token, verdict] of Object.entries({ one: "503", two: "503", known: "200" }))
      expect(await asking.verdict(token)).toBe(verdict);
    expect(asked).toBe(2);
    expect(String((await asking.refusal("two")).cause)).toContain("(ECONNREFUSED)");
    vi.advanceTimersByTime(1_000);
    await expect.poll(() => asked).toBe(3);
  });

  it("uses the result of the probe for the client that waits for it, and asks about all tokens again", async () => {
    const asking = await start({}, { behaviour: behave.status(429) });
    await asking.verdict("one");
    await asking.verdict("two");
    asking.endpoint.answer(behave.json(active()));
    vi.advanceTimersByTime(1_000);
    await expect.poll(() => asking.server.health().status).toBe("ok");
    expect([await asking.verdict("two"), await asking.verdict("three")]).toEqual(["200", "200"]);
    expect(tokensOf(asking)).toEqual(["one", "two", "three"]);
  });

  /** An endpoint that knows that an invented token is invalid, and fails for all others. */
  const failingForClients: behave.Behaviour = (request, response) => {
    const isProbe =
      request.headers["content-length"] === String("token=scopegate-probe".length + HINT.length);
    (isProbe ? behave.json({ active: false }) : behave.status(500))(request, response);
  };
  const HINT = "&token_type_hint=access_token";

  it("sends an invented token in turn, so that one client can't prolong an outage", async () => {
    const asking = await start({}, { behaviour: failingForClients });
    for (let index = 0; index < 6; index += 1) await asking.verdict(`weird-${index}`);
    vi.advanceTimersByTime(1_000);
    await isReceived(asking, 6);
    await asking.verdict("weird-7");
    vi.advanceTimersByTime(1_000);
    await isReceived(asking, 7);
    expect(tokensOf(asking).slice(5)).toEqual(["weird-5", "scopegate-probe"]);
    asking.endpoint.answer(behave.json(active()));
    expect(await asking.verdict("ordinary")).toBe("200");
  });

  it("stays degraded until it has a response about a client's token", async () => {
    const asking = await start({}, { behaviour: failingForClients });
    for (let index = 0; index < 6; index += 1) await asking.verdict(`token-${index}`);
    for (let seconds = 0; seconds < 5; seconds += 1) {
      const received = asking.endpoint.received.length;
      vi.advanceTimersByTime(1_000);
      await isReceived(asking, received + 1);
      expect(asking.server.health().status).toBe("degraded");
      await asking.verdict(`another-${seconds}`);
    }
  });

  it("sends a token that causes failures only once more after the endpoint has responded", async () => {
    const asking = await start({}, { behaviour: failingForClients });
    await asking.verdict("weird");
    for (let received = 2; received <= 5; received += 1) {
      vi.advanceTimersByTime(1_000);
      await isReceived(asking, received);
    }
    expect(tokensOf(asking)).toEqual(["weird", "weird", "scopegate-probe", "weird", "scopegate-probe"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each([
    ["17", 17],
    ["3600", 60],
    ["86400", 1],
  ])("sends no probe for the time of Retry-After, up to a minute: %s", async (value, seconds) => {
    const asking = await start({}, { behaviour: behave.status(429, { "retry-after": value }) });
    await asking.verdict("one");
    vi.advanceTimersByTime(seconds * 1000 - 1);
    await asking.verdict("two");
    expect(asking.endpoint.received).toHaveLength(1);
    vi.advanceTimersByTime(1);
    await isReceived(asking, 2);
  });

  it("sends no probe after the server was closed, and asks about each token", async () => {
    const asking = await start({}, { behaviour: behave.status(401) });
    await asking.verdict("one");
    await asking.server.close();
    expect(vi.getTimerCount()).toBe(0);
    expect(await asking.verdict("failing")).toBe("503");
    expect(vi.getTimerCount()).toBe(0);
    asking.endpoint.answer(behave.json(active()));
    expect(await asking.verdict("two")).toBe("200");
  });

  it("sends another probe if the clock has failed", async () => {
    let isBroken = false;
    const now = () => (isBroken ? Number.NaN : NOW * 1000);
    const asking = await start({}, { behaviour: behave.status(401), server: { now } });
    await asking.verdict("one");
    isBroken = true;
    vi.advanceTimersByTime(1_000);
    await expect.poll(() => vi.getTimerCount()).toBe(1);
    isBroken = false;
    asking.endpoint.answer(behave.json(active()));
    vi.advanceTimersByTime(2_000);
    await expect.poll(() => asking.endpoint.received.length).toBe(2);
  });
});

describe("introspection, with a connection that is kept open", () => {
  it("uses it again, and replaces it without an error when the endpoint has closed it", async () => {
    const { endpoint, verdict } = await startAsking();
    expect([await verdict("one"), await verdict("two")]).toEqual(["200", "200"]);
    expect(endpoint.connections()).toBe(1);
    let isFirst = true;
    endpoint.answer((request, response) => {
      if (isFirst) request.socket.destroy();
      else behave.json(active())(request, response);
      isFirst = false;
    });
    expect(await verdict("three")).toBe("200");
    expect(endpoint.connections()).toBe(2);
  });
});
