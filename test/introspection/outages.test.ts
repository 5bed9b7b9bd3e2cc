/** An endpoint that does not answer says nothing about a token: 503, and no flood of questions. */
import { describe, expect, it } from "vitest";
import { KeysUnavailableError } from "scopegate";
import * as behave from "../support/behaviours.ts";
import { type IntrospectionFetch, type IntrospectionOptions } from "scopegate/introspection";
import { active, openEndpoint, startAsking, TOKEN } from "./support.ts";

const ONE_KIB = 1024;
const causeOf = async (asking: Awaited<ReturnType<typeof startAsking>>, token?: string) => {
  const decision = await asking.check(token);
  if (decision.allowed) throw new Error("It was allowed.");
  expect(asking.server.refuse(decision).status).toBe(503);
  return decision.cause as Error;
};

describe("an answer that is none", () => {
  it.each<readonly [string, behave.Behaviour, string]>([
    ["status 500", behave.json(active(), { status: 500 }), "returned status 500."],
    ["status 201", behave.json(active(), { status: 201 }), "returned status 201."],
    ["status 400", behave.json(active(), { status: 400 }), "returned status 400."],
    [
      "status 401",
      behave.status(401),
      "returned status 401. It does not accept the credentials of this client",
    ],
    ["status 429", behave.status(429), "returned status 429. It limits how often this client may ask."],
    ["a redirect", behave.redirect("/elsewhere"), "returned status 302."],
    ["no JSON", behave.text("<html>"), "did not return a JSON object."],
    ["nothing", behave.text(""), "did not return a JSON object."],
    ["an array", behave.json([active()]), "did not return a JSON object."],
    ["null", behave.json(null), "did not return a JSON object."],
    [
      "a property twice",
      behave.text(JSON.stringify(active()).replace("{", '{"active":false,')),
      "did not return a JSON object.",
    ],
    ["half an answer", behave.cutOff(active()), "cannot be asked"],
    ["a reset", behave.reset(), "cannot be asked (ECONNRESET)."],
    ["too much", behave.enormous(65 * ONE_KIB, active()), "returned more than 65536 bytes."],
    [
      "too much after decompression",
      behave.gzipBomb(65 * ONE_KIB, active()),
      "returned more than 65536 bytes.",
    ],
  ])("returns 503 and the cause for %s", async (_, behaviour, message) => {
    const asking = await startAsking({}, { behaviour });
    const { message: found } = await causeOf(asking);
    expect(found.startsWith(`${asking.endpoint.url} ${message}`), found).toBe(true);
    await expect(asking.server.authenticate(TOKEN)).rejects.toBeInstanceOf(KeysUnavailableError);
  });

  it("accepts 64 KiB", async () => {
    const { verdict } = await startAsking({}, { behaviour: behave.enormous(64 * ONE_KIB, active()) });
    expect(await verdict()).toBe("200");
  });

  it.each([
    ["never comes", behave.never()],
    ["never ends", behave.drip(active())],
  ])("returns 503 after `timeoutMs` if it %s, and closes the connection", async (_, behaviour) => {
    let isClosed = false;
    const asking = await startAsking(
      { timeoutMs: 500 },
      {
        behaviour: (request, response) => {
          response.once("close", () => (isClosed = true));
          behaviour(request, response);
        },
      },
    );
    expect((await causeOf(asking)).message).toBe(`${asking.endpoint.url} timed out after 500 ms.`);
    await expect.poll(() => isClosed).toBe(true);
  });

  it.each<readonly [string, Partial<IntrospectionOptions>]>([
    ["", {}],
    [" with the global fetch", { fetch: globalThis.fetch }],
  ])("sends the token nowhere else after a redirect%s", async (_, options) => {
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
  ])("returns 503 with a cause of its own if `fetch` %s", async (_, fetch) => {
    const cause = await causeOf(await startAsking({ fetch }));
    expect(cause.message).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/introspect (?:cannot be asked|redirected)/);
    expect(cause.cause).toBeUndefined();
  });
});

describe("Retry-After", () => {
  const date = (seconds: number) => new Date(Date.now() + seconds * 1000).toUTCString();

  it.each<readonly [string, string, RegExp]>([
    ["a number of seconds", "17", /^17$/],
    ["a date", date(600), /^(?:600|5\d\d)$/],
    ["zero", "0", /^5$/],
    ["a day", "86400", /^5$/],
    ["a date in the past", date(-10), /^5$/],
    ["a word", "soon", /^5$/],
  ])("is taken over from the endpoint if it makes sense: %s", async (_, value, expected) => {
    const behaviour = behave.status(503, { "retry-after": value });
    const { check, server } = await startAsking({}, { behaviour });
    for (const token of [TOKEN, TOKEN, "another"]) {
      const decision = await check(token);
      if (decision.allowed) throw new Error("It was allowed.");
      expect(server.refuse(decision).headers["Retry-After"]).toMatch(expected);
    }
  });
});

describe("after a failure", () => {
  it("asks about the same token again after a second", async () => {
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
    ["a status without meaning", behave.status(403)],
    ["a broken connection", behave.reset()],
    ["no JSON", behave.text("?")],
  ])("still asks about other tokens if one token causes %s", async (_, behaviour) => {
    const { verdict } = await startAsking(
      {},
      {
        behaviour: (request, response) => {
          const isFirst = (isUsed = !isUsed);
          (isFirst ? behaviour : behave.json(active()))(request, response);
        },
      },
    );
    let isUsed = false;
    expect(await verdict("weird")).toBe("503");
    expect(await verdict("ordinary")).toBe("200");
  });

  it.each([401, 429])("asks about no token for a second after status %d", async (code) => {
    const { endpoint, verdict, pass } = await startAsking({}, { behaviour: behave.status(code) });
    expect([await verdict("one"), await verdict("two"), await verdict("three")]).toEqual([
      "503",
      "503",
      "503",
    ]);
    expect(endpoint.received).toHaveLength(1);
    endpoint.answer(behave.json(active()));
    pass(1);
    expect([await verdict("one"), await verdict("two")]).toEqual(["200", "200"]);
  });

  it("does not connect for a second to an endpoint that is not there, and accepts remembered tokens", async () => {
    let asked = 0;
    const fetch: IntrospectionFetch = (url, init) => {
      asked += 1;
      return globalThis.fetch(url, init);
    };
    const { endpoint, check, verdict, pass } = await startAsking({ fetch });
    expect(await verdict("known")).toBe("200");
    await endpoint.close();
    expect([await verdict("one"), await verdict("two"), await verdict("known")]).toEqual([
      "503",
      "503",
      "200",
    ]);
    expect(asked).toBe(2);
    const decision = await check("two");
    expect(String(!decision.allowed && decision.cause)).toContain("(ECONNREFUSED)");
    pass(1);
    expect(await verdict("two")).toBe("503");
    expect(asked).toBe(3);
  });

  it("asks again if the clock is set back", async () => {
    const { endpoint, verdict, pass } = await startAsking({}, { behaviour: behave.status(429) });
    expect(await verdict("one")).toBe("503");
    endpoint.answer(behave.json(active()));
    pass(-5);
    expect(await verdict("two")).toBe("200");
  });
});

describe("a connection that is kept", () => {
  it("is used again, and replaced without an error when the endpoint has closed it", async () => {
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
