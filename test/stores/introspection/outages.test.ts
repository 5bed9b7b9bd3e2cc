/** While the endpoint does not say whether a token is active: 503, and a limited number of requests. */
import { describe, expect, it } from "vitest";
import { KeysUnavailableError } from "scopegate";
import * as behave from "../../support/behaviours.ts";
import type { IntrospectionFetch, IntrospectionOptions } from "scopegate/introspection";
import { active, openEndpoint, startAsking, TOKEN } from "./support.ts";

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
    [
      "status 401",
      behave.status(401),
      "returned status 401. It doesn't accept the credentials of this client",
    ],
    ["status 429", behave.status(429), "returned status 429. It limits the requests of this client."],
    ["a redirect", behave.redirect("/elsewhere"), "returned status 302."],
    ["a body that is not JSON", behave.text("<html>"), "didn't return a JSON object."],
    ["an empty body", behave.text(""), "didn't return a JSON object."],
    ["an array", behave.json([active()]), "didn't return a JSON object."],
    ["null", behave.json(null), "didn't return a JSON object."],
    [
      "a property twice",
      behave.text(JSON.stringify(active()).replace("{", '{"active":false,')),
      "didn't return a JSON object.",
    ],
    ["an answer that is cut off", behave.cutOff(active()), "can't be queried"],
    ["a connection reset", behave.reset(), "can't be queried (ECONNRESET)."],
    ["a body that is too large", behave.enormous(65 * ONE_KIB, active()), "returned more than 65536 bytes."],
    [
      "a body that is too large after decompression",
      behave.gzipBomb(65 * ONE_KIB, active()),
      "returned more than 65536 bytes.",
    ],
  ])("returns 503 and the cause for %s", async (_, behaviour, message) => {
    const asking = await startAsking({}, { behaviour });
    const { message: found } = await causeOf(asking);
    expect(found.startsWith(`${asking.endpoint.url} ${message}`), found).toBe(true);
    await expect(asking.server.authenticate(TOKEN)).rejects.toBeInstanceOf(KeysUnavailableError);
  });

  it("shows in `health` that the endpoint does not respond, until it does again", async () => {
    const asking = await startAsking({}, { behaviour: behave.status(401) });
    const { message } = await causeOf(asking);
    expect(asking.server.health()).toMatchObject({
      status: "degraded",
      opaqueTokens: [{ tokenKind: "introspected", state: "degraded", underWay: 0, cause: { message } }],
    });
    asking.endpoint.answer(behave.json(active()));
    asking.pass(1);
    expect(await asking.verdict()).toBe("200");
    expect(asking.server.health()).toMatchObject({ status: "ok", opaqueTokens: [{ state: "ok" }] });
  });

  it("accepts a response of 64 KiB", async () => {
    const { verdict } = await startAsking({}, { behaviour: behave.enormous(64 * ONE_KIB, active()) });
    expect(await verdict()).toBe("200");
  });

  it.each([
    ["never comes", behave.never()],
    ["never ends", behave.drip(active())],
  ])("returns 503 after `timeoutMs` if it %s, and closes the connection", async (_, behaviour) => {
    let isClosed = false;
    const watched: behave.Behaviour = (request, response) => {
      response.once("close", () => (isClosed = true));
      behaviour(request, response);
    };
    const asking = await startAsking({ timeoutMs: 500 }, { behaviour: watched });
    expect((await causeOf(asking)).message).toBe(`${asking.endpoint.url} timed out after 500 ms.`);
    await expect.poll(() => isClosed).toBe(true);
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

  it.each<readonly [string, behave.Behaviour]>([
    ["an error", behave.status(500)],
    ["a status that the RFC does not define", behave.status(403)],
    ["a broken connection", behave.reset()],
    ["a body that is not JSON", behave.text("?")],
  ])("asks about other tokens if one token causes %s", async (_, behaviour) => {
    const answers = behave.sequence(behaviour, behave.json(active()));
    const { verdict } = await startAsking({}, { behaviour: answers });
    expect(await verdict("weird")).toBe("503");
    expect(await verdict("ordinary")).toBe("200");
  });

  it.each([401, 429])("does not ask about any token for a second after status %d", async (code) => {
    const { endpoint, verdict, pass } = await startAsking({}, { behaviour: behave.status(code) });
    for (const token of ["one", "two", "three"]) expect(await verdict(token)).toBe("503");
    expect(endpoint.received).toHaveLength(1);
    endpoint.answer(behave.json(active()));
    pass(1);
    expect([await verdict("one"), await verdict("two")]).toEqual(["200", "200"]);
  });

  it("does not try to connect for a second after a refused connection, and accepts remembered tokens", async () => {
    let asked = 0;
    const fetch: IntrospectionFetch = (url, init) => {
      asked += 1;
      return globalThis.fetch(url, init);
    };
    const { endpoint, refusal, verdict, pass } = await startAsking({ fetch });
    expect(await verdict("known")).toBe("200");
    await endpoint.close();
    expect([await verdict("one"), await verdict("two"), await verdict("known")]).toEqual([
      "503",
      "503",
      "200",
    ]);
    expect(asked).toBe(2);
    expect(String((await refusal("two")).cause)).toContain("(ECONNREFUSED)");
    pass(1);
    expect(await verdict("two")).toBe("503");
    expect(asked).toBe(3);
  });

  it("sends another request if the clock is set back", async () => {
    const { endpoint, verdict, pass } = await startAsking({}, { behaviour: behave.status(429) });
    expect(await verdict("one")).toBe("503");
    endpoint.answer(behave.json(active()));
    pass(-5);
    expect(await verdict("two")).toBe("200");
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
