/** Whatever stands in for `fetch` may do: the limits are kept, and what it says is not passed on. */
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type KeyFetch } from "scopegate";
import { fetchJson, FetchError } from "../../src/keys/fetch-json.ts";
import { behave, createFaultServer, type FaultServer } from "../support/fault-server.ts";

const URL = "https://issuer.example/jwks?key=canary";
const PLACE = "https://issuer.example/jwks";

async function failureOf(fetch: unknown, signal = new AbortController().signal): Promise<FetchError> {
  const error: unknown = await fetchJson(URL, fetch as KeyFetch, signal).catch((thrown: unknown) => thrown);
  if (error instanceof FetchError) return error;
  throw new Error("It did not fail as it should.", { cause: error });
}

const throwing = (value: unknown) => () => {
  throw value;
};
const answering = (response: unknown) => () => Promise.resolve(response);
const streaming = (chunk: unknown) =>
  answering(
    new Response(new ReadableStream<never>({ pull: (controller) => controller.enqueue(chunk as never) })),
  );
/** A response that says where it came from, as one does after redirects that were followed. */
const from = (url: string, response = Response.json({ keys: [] })) =>
  Object.defineProperty(response, "url", { value: url });
const withCode = (code: unknown) => Object.assign(new Error("canary"), { code });
const odd = {
  get code(): string {
    throw new Error("canary");
  },
};

describe("a fetch that fails", () => {
  it.each<readonly [string, unknown, string]>([
    ["with an error", new TypeError("canary"), "cannot be fetched."],
    ["with a code", withCode("ECONNREFUSED"), "cannot be fetched (ECONNREFUSED)."],
    [
      "with a code in its cause",
      new Error("canary", { cause: withCode("EPIPE") }),
      "cannot be fetched (EPIPE).",
    ],
    ["with a number for a code", withCode(20), "cannot be fetched."],
    ["with a text for a code", withCode("canary at /home"), "cannot be fetched."],
    ["with a code of great length", withCode("E".repeat(1_000)), "cannot be fetched."],
    ["with a code that cannot be had", odd, "cannot be fetched."],
    [
      "with a code in its cause that cannot be had",
      new Error("canary", { cause: odd }),
      "cannot be fetched.",
    ],
    ["with a text", "canary", "cannot be fetched."],
    ["with null", null, "cannot be fetched."],
    ["with nothing", undefined, "cannot be fetched."],
  ])("%s is told of in fixed words, and its error is the cause", async (_, value, message) => {
    for (const fetch of [() => Promise.resolve().then(throwing(value)), throwing(value)]) {
      const error = await failureOf(fetch);
      expect([error.message, error.cause, error.status]).toEqual([`${PLACE} ${message}`, value, undefined]);
    }
  });
});

describe("a fetch that answers", () => {
  it.each<readonly [string, unknown, string]>([
    ["nothing", undefined, "cannot be fetched."],
    ["a text", "{}", "cannot be fetched."],
    ["a plain object", { status: 200, url: "", headers: new Headers() }, "did not return JSON."],
    ["a body of another kind", { status: 200, url: "", body: { pipe: () => 0 } }, "cannot be fetched."],
    ["a response without a body", new Response(), "did not return JSON."],
    [
      "a redirected response of a URL that is none",
      Object.defineProperty(from("canary"), "redirected", { value: true }),
      "cannot be fetched (ERR_INVALID_URL).",
    ],
    ["a redirect without headers", { status: 302, url: "", body: null }, "cannot be fetched."],
    ["an error of its own", Response.error(), "returned status 0."],
  ])("%s gives no document", async (_, response, message) => {
    expect((await failureOf(answering(response))).message).toBe(`${PLACE} ${message}`);
  });

  it("a response that was read gives no document", async () => {
    const [read, locked] = [Response.json({}), Response.json({})];
    await read.text();
    locked.body?.getReader();
    for (const response of [read, locked])
      expect((await failureOf(answering(response))).message).toMatch(/jwks cannot be fetched( \(\w+\))?\.$/);
  });

  it("texts without end gives no document either", async () => {
    const { message } = await failureOf(streaming("a".repeat(1_000)));
    expect(message).toBe(`${PLACE} returned more than 524288 bytes.`);
  });

  it("empty parts without end gives no document, and hangs nothing", async () => {
    const { message } = await failureOf(streaming(new Uint8Array()));
    expect(message).toBe(`${PLACE} returned more than 524288 bytes.`);
  });

  it.each([
    ["throws", throwing(new Error("canary"))],
    ["answers nothing", () => undefined],
  ])("a body whose cancel() %s is left without harm", async (_, cancel) => {
    const client = new AbortController();
    const read = () => new Promise((_resolve, reject) => setImmediate(() => setImmediate(reject)));
    const body = { cancel, getReader: () => ({ read, cancel }) };
    const reading = failureOf(answering({ status: 200, url: "", body }), client.signal);
    setImmediate(() => client.abort());
    expect((await reading).message).toBe(`${PLACE} cannot be fetched.`);
    expect((await failureOf(answering({ status: 500, url: "", body }))).status).toBe(500);
  });

  it("anything else in place of bytes gives no document", async () => {
    expect((await failureOf(streaming({ byteLength: 1 }))).message).toMatch(/jwks cannot be fetched/);
  });

  it("by a way of its own gives the document, wherever that leads", async () => {
    const fetch = answering(from("http://127.0.0.1:8080/jwks")) as KeyFetch;
    expect(await fetchJson(URL, fetch, new AbortController().signal)).toEqual({ keys: [] });
  });

  it("from another place of the same origin gives the document", async () => {
    const fetch = answering(from("https://issuer.example/moved")) as KeyFetch;
    expect(await fetchJson(URL, fetch, new AbortController().signal)).toEqual({ keys: [] });
  });

  it.each([
    "https://else.example/jwks",
    "http://issuer.example/jwks",
    "https://issuer.example:8443/jwks",
    "data:,{}",
  ])("from another origin, as it followed redirects by itself, gives none: %s", async (url) => {
    const response = Object.defineProperty(from(url), "redirected", { value: true });
    const { message } = await failureOf(answering(response));
    expect(message).toBe(`${PLACE} redirected to another origin, which is not allowed.`);
  });

  it("what is not read to its end has it cancelled: no connection waits for somebody to read it", async () => {
    const cancelled: string[] = [];
    const body = (name: string, chunk = "") =>
      new ReadableStream({
        pull: (controller) => controller.enqueue(Buffer.from(chunk)),
        cancel: () => void cancelled.push(name),
      });
    const moved = (name: string, location: string) =>
      new Response(body(name), { status: 302, headers: { location } });
    const responses = [
      from("https://else.example/jwks", new Response(body("followed elsewhere"))),
      moved("elsewhere", "https://else.example"),
      moved("here", "/moved"),
      new Response(body("failed"), { status: 500 }),
      new Response(body("too long", "a".repeat(100_000))),
    ];
    const fetch = () => Promise.resolve(responses.shift());
    for (let turn = 0; turn < 4; turn += 1) await failureOf(fetch);
    expect(cancelled).toEqual(["followed elsewhere", "elsewhere", "here", "failed", "too long"]);
  });

  it("what cannot even be cancelled ends no process by a rejection that nobody handles", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    onTestFinished(() => void process.off("unhandledRejection", unhandled));
    const cancel = vi.fn(() => Promise.reject(new Error("canary")));
    const { message } = await failureOf(
      answering(new Response(new ReadableStream({ cancel }), { status: 500 })),
    );
    // Rejections are told of before this turn.
    await new Promise(setImmediate);
    expect(message).toBe(`${PLACE} returned status 500.`);
    expect(cancel).toHaveBeenCalledOnce();
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe("a fetch that does not heed its signal", () => {
  let server: FaultServer;
  beforeEach(async () => (server = await createFaultServer()));
  afterEach(() => server.stop());

  /** The platform's `fetch` without the signal, and when it had its answer. */
  const deaf = () => {
    let begun = (): void => undefined;
    const whenBegun = new Promise<void>((resolve) => (begun = resolve));
    const fetch: KeyFetch = async (url, { signal: _signal, ...init }) => {
      const response = await globalThis.fetch(url, init);
      begun();
      return response;
    };
    return { fetch, whenBegun };
  };

  it("reads nothing on once it is aborted, and leaves no connection", async () => {
    server.answer("/jwks", behave.drip({ keys: [] }, 1));
    const { fetch, whenBegun } = deaf();
    const client = new AbortController();
    const reading = fetchJson(`${server.url}/jwks`, fetch, client.signal);
    await whenBegun;
    client.abort();
    await expect(reading).rejects.toBeInstanceOf(FetchError);
    await server.whenIdle();
  });

  it("has what it answered cancelled while it is read, however long its next part takes", async () => {
    const client = new AbortController();
    let [pulled, cancelled] = [0, 0];
    const body = new ReadableStream({
      pull: (controller) => {
        pulled += 1;
        if (pulled === 1) controller.enqueue(Buffer.from(" "));
        else client.abort();
      },
      cancel: () => void (cancelled += 1),
    });
    await failureOf(answering(new Response(body)), client.signal);
    expect([pulled, cancelled]).toEqual([2, 1]);
  });

  it("takes no part for the whole, not even one that reads like it", async () => {
    const client = new AbortController();
    const begin = (controller: ReadableStreamDefaultController) => controller.enqueue(Buffer.from("{}"));
    const reading = failureOf(answering(new Response(new ReadableStream({ start: begin }))), client.signal);
    setImmediate(() => client.abort());
    expect((await reading).message).toMatch(/jwks cannot be fetched/);
  });

  it("reads nothing at all of an answer that comes after that", async () => {
    const gate = behave.held(behave.drip({ keys: [] }, 1));
    server.answer("/jwks", gate);
    const client = new AbortController();
    const reading = fetchJson(`${server.url}/jwks`, deaf().fetch, client.signal);
    await server.whenAsked("/jwks", 1);
    client.abort();
    gate.release();
    await expect(reading).rejects.toBeInstanceOf(FetchError);
    await server.whenIdle();
  });

  it("is not called once it is aborted, for a redirect or at all", async () => {
    server.answer("/jwks", behave.redirect("/moved"));
    const client = new AbortController();
    const fetch: KeyFetch = async (url, { signal: _signal, ...init }) => {
      const response = await globalThis.fetch(url, init);
      client.abort();
      return response;
    };
    for (let turn = 0; turn < 2; turn += 1)
      await expect(fetchJson(`${server.url}/jwks`, fetch, client.signal)).rejects.toBeInstanceOf(FetchError);
    expect([server.asked("/jwks"), server.asked("/moved")]).toEqual([1, 0]);
  });
});
