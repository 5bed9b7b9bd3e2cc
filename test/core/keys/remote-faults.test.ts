/** Invalid responses of an issuer: tokens are not judged by them, and no connection stays open. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { KeyEvent } from "scopegate";
import type { KeyFetch } from "scopegate/keys";
import { type Behaviour, behave, createFaultServer, type FaultServer } from "../../support/fault-server.ts";
import { first } from "../../support/key-issuer.ts";
import { createRemote, MAX_AGE, setOf, TIMEOUT } from "../../support/remote-keys.ts";

const SET = setOf(first);
const MIB = 2 ** 20;
/** The query may contain a secret, so it must not be reported. */
const PATH = "/jwks?key=canary";

let issuer: FaultServer;
let other: FaultServer;
beforeEach(async () => {
  [issuer, other] = [await createFaultServer(), await createFaultServer()];
  for (const server of [issuer, other]) server.answer("/moved", behave.json(SET));
});
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all([issuer.stop(), other.stop()]);
});

/** The error code differs between versions of Node.js. */
const UNREADABLE = "can't be fetched (CODE).";
const NO_JSON = "didn't return JSON.";
const NO_SET = "didn't return a JWK Set.";
const ELSEWHERE = "redirected to another origin, which isn't allowed.";
const TOO_LONG = "returned more than 524288 bytes.";

type Fault = readonly [name: string, behaviour: () => Behaviour, message: string];

const faults: readonly Fault[] = [
  ["is cut off", () => behave.cutOff(SET), UNREADABLE],
  ["is a TCP reset", () => behave.reset(), UNREADABLE],
  [
    "is not HTTP",
    () =>
      ({ socket }) =>
        void socket.end("canary\r\n\r\n"),
    UNREADABLE,
  ],
  [
    "has an invalid content encoding",
    () => behave.json(SET, { headers: { "content-encoding": "gzip" } }),
    UNREADABLE,
  ],
  ["has status 500", () => behave.json(SET, { status: 500 }), "returned status 500."],
  ["has status 204", () => behave.status(204), "returned status 204."],
  ["has status 304", () => behave.status(304), "returned status 304."],
  ["is empty", () => behave.text(""), NO_JSON],
  ["is an HTML page", () => behave.text("<!doctype html><title>canary</title>", "text/html"), NO_JSON],
  ["is malformed JSON", () => behave.text(JSON.stringify(SET).slice(0, -1), "application/json"), NO_JSON],
  ["is null", () => behave.json(null), NO_SET],
  ["is an array of keys", () => behave.json(SET.keys), NO_SET],
  ["is a key", () => behave.json(first.publicJwk), NO_SET],
  ["has an object of keys", () => behave.json({ keys: { first: first.publicJwk } }), NO_SET],
  ["redirects to another port", () => behave.redirect(`${other.url}/moved`), ELSEWHERE],
  ["redirects to another port without a scheme", () => behave.redirect(other.url.slice(5)), ELSEWHERE],
  [
    "redirects to another name of the same host",
    () => behave.redirect(`${other.url.replace("127.0.0.1", "localhost")}/moved`),
    ELSEWHERE,
  ],
  ["redirects to https", () => behave.redirect(`${issuer.url.replace("http", "https")}/moved`), ELSEWHERE],
  ["redirects to data", () => behave.redirect(`data:application/json,${JSON.stringify(SET)}`), ELSEWHERE],
  ["redirects to a file", () => behave.redirect("file:///etc/canary"), ELSEWHERE],
  ["redirects to an invalid URL", () => behave.redirect("http://["), ELSEWHERE],
  ["redirects without a location", () => behave.status(302), ELSEWHERE],
  ["redirects to itself", () => behave.redirect(PATH), "redirected more than 3 times."],
  ["is enormous", () => behave.enormous(64 * MIB, SET), TOO_LONG],
  ["is one byte too long", () => behave.enormous(MIB / 2 + 1, SET), TOO_LONG],
  ["is enormous after decompression", () => behave.gzipBomb(10 * MIB, SET), TOO_LONG],
];

const slow: readonly (readonly [...Fault, begins: boolean])[] = [
  ["never starts", () => behave.never(), "timed out after 5000 ms.", false],
  ["arrives byte by byte", () => behave.drip(SET, 1), "timed out after 5000 ms.", true],
  ["stops before its end", () => behave.enormousDeclared(10 * MIB, SET), "timed out after 5000 ms.", true],
];

const expectFailure = (events: readonly KeyEvent[], message: string) => {
  const source = `${issuer.url}/jwks`;
  const told = events.map((event) => ({
    ...event,
    // Some versions of Node.js have no code for some faults.
    message: event.message?.replace(/ \([A-Z_]+\)/, ""),
  }));
  const withoutCode = message.replace(" (CODE)", "");
  expect(told).toMatchObject([{ type: "failed", source, message: `${source} ${withoutCode}` }]);
};

describe.each(faults)("a response that %s", (_, behaviour, message) => {
  it("makes the keys unavailable, reports a fixed message, and leaves no connection open", async () => {
    issuer.answer(PATH, behaviour());
    const { verdict, events } = createRemote({ jwksUri: issuer.url + PATH });
    expect(await verdict(await first.token())).toBe("unavailable");
    expectFailure(events, message);
    await issuer.whenIdle();
    expect(other.asked("/moved")).toBe(0);
  });

  it("keeps the previous keys in use", async () => {
    issuer.answer(PATH, behave.json(SET));
    const { verdict, events, pass } = createRemote({ jwksUri: issuer.url + PATH });
    await verdict(await first.token());
    issuer.answer(PATH, behaviour());
    pass(MAX_AGE);
    expect(await verdict(await first.token())).toBe("accepted");
    expectFailure(events.slice(1, 2), message);
  });
});

describe.each(slow)("a response that %s", (_, behaviour, message, begins) => {
  /** The global `fetch`, and a promise for its response; the body arrives later. */
  const watched = () => {
    let begun = (): void => undefined;
    const whenBegun = new Promise<void>((resolve) => (begun = resolve));
    const fetch: KeyFetch = async (url, init) => {
      const response = await globalThis.fetch(url, init);
      begun();
      return response;
    };
    return { fetch, whenBegun };
  };
  const fakeTimers = () => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });

  it("makes the keys unavailable, reports a fixed message, and leaves no connection open", async () => {
    fakeTimers();
    issuer.answer(PATH, behaviour());
    const { fetch, whenBegun } = watched();
    const { verdict, events } = createRemote({ jwksUri: issuer.url + PATH, fetch });
    const waiting = verdict(await first.token());
    await (begins ? whenBegun : issuer.whenAsked(PATH, 1));
    await vi.advanceTimersByTimeAsync(TIMEOUT);
    expect(await waiting).toBe("unavailable");
    expectFailure(events, message);
    await issuer.whenIdle();
  });

  it("keeps the previous keys in use", async () => {
    fakeTimers();
    issuer.answer(PATH, behave.json(SET));
    const { verdict, events, pass } = createRemote({ jwksUri: issuer.url + PATH });
    await verdict(await first.token());
    issuer.answer(PATH, behaviour());
    pass(MAX_AGE);
    const waiting = verdict(await first.token());
    await issuer.whenAsked(PATH, 2);
    await vi.advanceTimersByTimeAsync(TIMEOUT);
    expect(await waiting).toBe("accepted");
    expectFailure(
      events.filter(({ type }) => type === "failed"),
      message,
    );
    await issuer.whenIdle();
  });
});

describe("a response", () => {
  it("follows three redirects within the origin, but not four", async () => {
    const way = ["/more", PATH, "/a", "/b?c", `${issuer.url}/moved`];
    for (const [step, to] of way.slice(1).entries()) issuer.answer(way[step] ?? "", behave.redirect(to, 307));
    const [three, four] = [PATH, "/more"].map((path) => createRemote({ jwksUri: issuer.url + path }));
    expect(await three?.verdict(await first.token())).toBe("accepted");
    expect(three?.events).toMatchObject([{ type: "fetched", source: `${issuer.url}/jwks` }]);
    expect(await four?.verdict(await first.token())).toBe("unavailable");
    await issuer.whenIdle();
  });

  it("accepts 512 KiB, compression, and any content type", async () => {
    issuer.answer(PATH, behave.gzipBomb(MIB / 2, SET));
    issuer.answer("/text", behave.text(JSON.stringify(SET)));
    for (const path of [PATH, "/text"])
      expect(await createRemote({ jwksUri: issuer.url + path }).verdict(await first.token())).toBe(
        "accepted",
      );
  });

  it("does not read an enormous response to the end", async () => {
    const enormous = behave.enormous(64 * MIB, SET);
    issuer.answer(PATH, enormous);
    await createRemote({ jwksUri: issuer.url + PATH }).verdict(await first.token());
    await issuer.whenIdle();
    expect(enormous.sent()).toBeLessThan(32 * MIB);
  });
});
