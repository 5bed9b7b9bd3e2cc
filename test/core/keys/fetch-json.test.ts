/** The limits hold for any replacement of `fetch`, and its messages are not passed on. */
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { KeyFetch } from "scopegate/keys";
import { fetchJson, FetchError } from "../../../src/core/keys/fetch-json.ts";
import { behave, createFaultServer, type FaultServer } from "../../support/fault-server.ts";

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
  new Response(new ReadableStream<never>({ pull: (controller) => controller.enqueue(chunk as never) }));
/** A response with a `url`, as after redirects that were followed. */
const from = (url: string, response = Response.json({ keys: [] })) =>
  Object.defineProperty(response, "url", { value: url });
const redirectedTo = (url: string) => Object.defineProperty(from(url), "redirected", { value: true });
const withCode = (code: unknown) => Object.assign(new Error("canary"), { code });
const odd = {
  get code(): string {
    throw new Error("canary");
  },
};

describe("a fetch that throws", () => {
  it.each<readonly [string, unknown, string]>([
    ["an error", new TypeError("canary"), "can't be fetched."],
    ["an error with a code", withCode("ECONNREFUSED"), "can't be fetched (ECONNREFUSED)."],
    [
      "an error with a code in its cause",
      new Error("canary", { cause: withCode("EPIPE") }),
      "can't be fetched (EPIPE).",
    ],
    ["an error whose code is a sentence", withCode("canary at /home"), "can't be fetched."],
    ["an error whose code getter throws", odd, "can't be fetched."],
    [
      "an error whose cause has a throwing code getter",
      new Error("canary", { cause: odd }),
      "can't be fetched.",
    ],
    ["undefined", undefined, "can't be fetched."],
  ])("reports a fixed message and keeps the cause: %s", async (_, value, message) => {
    for (const fetch of [() => Promise.resolve().then(throwing(value)), throwing(value)]) {
      const error = await failureOf(fetch);
      expect([error.message, error.cause, error.status]).toEqual([`${PLACE} ${message}`, value, undefined]);
    }
  });
});

describe("a fetch that resolves", () => {
  it.each<readonly [string, unknown, string]>([
    ["undefined", undefined, "can't be fetched."],
    ["a string", "{}", "can't be fetched."],
    ["a plain object", { status: 200, url: "", headers: new Headers() }, "didn't return JSON."],
    [
      "a body that is not a web stream",
      { status: 200, url: "", body: { pipe: () => 0 } },
      "can't be fetched.",
    ],
    ["a response without a body", new Response(), "didn't return JSON."],
    [
      "a redirected response with an invalid URL",
      redirectedTo("canary"),
      "can't be fetched (ERR_INVALID_URL).",
    ],
    ["a redirect without headers", { status: 302, url: "", body: null }, "can't be fetched."],
    ["an error response", Response.error(), "returned status 0."],
    ["an endless body of strings", streaming("a".repeat(1_000)), "returned more than 524288 bytes."],
    ["an endless body of empty chunks", streaming(new Uint8Array()), "returned more than 524288 bytes."],
    [
      "a body whose chunks are not bytes",
      streaming({ byteLength: 1 }),
      "can't be fetched (ERR_INVALID_ARG_TYPE).",
    ],
  ])("rejects %s", async (_, response, message) => {
    expect((await failureOf(answering(response))).message).toBe(`${PLACE} ${message}`);
  });

  it("rejects a response whose body was already read", async () => {
    const [read, locked] = [Response.json({}), Response.json({})];
    await read.text();
    locked.body?.getReader();
    for (const response of [read, locked])
      expect((await failureOf(answering(response))).message).toMatch(/jwks can't be fetched( \(\w+\))?\.$/);
  });

  it.each([
    ["throws", throwing(new Error("canary"))],
    ["returns undefined", () => undefined],
  ])("ignores a body whose cancel() %s", async (_, cancel) => {
    const client = new AbortController();
    const read = () => new Promise((_resolve, reject) => setImmediate(() => setImmediate(reject)));
    const body = { cancel, getReader: () => ({ read, cancel }) };
    const reading = failureOf(answering({ status: 200, url: "", body }), client.signal);
    setImmediate(() => client.abort());
    expect((await reading).message).toBe(`${PLACE} can't be fetched.`);
    expect((await failureOf(answering({ status: 500, url: "", body }))).status).toBe(500);
  });

  it.each([
    ["from another URL that was not redirected, as from a proxy", from("http://127.0.0.1:8080/jwks")],
    ["that was redirected to another path of the same origin", redirectedTo("https://issuer.example/moved")],
    ["with a byte order mark", new Response('\uFEFF{"keys":[]}')],
  ])("accepts a response %s", async (_, response) => {
    const fetch = answering(response) as KeyFetch;
    expect(await fetchJson(URL, fetch, new AbortController().signal)).toEqual({ keys: [] });
  });

  it.each([
    "https://else.example/jwks",
    "http://issuer.example/jwks",
    "https://issuer.example:8443/jwks",
    "data:,{}",
  ])("rejects a response that was redirected to another origin: %s", async (url) => {
    const { message } = await failureOf(answering(redirectedTo(url)));
    expect(message).toBe(`${PLACE} redirected to another origin, which isn't allowed.`);
  });

  it("cancels every body that it does not read to the end", async () => {
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

  it("handles the rejection of a body that cannot be cancelled", async () => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    onTestFinished(() => void process.off("unhandledRejection", unhandled));
    const cancel = vi.fn(() => Promise.reject(new Error("canary")));
    const { message } = await failureOf(
      answering(new Response(new ReadableStream({ cancel }), { status: 500 })),
    );
    // Unhandled rejections are reported before this turn.
    await new Promise(setImmediate);
    expect(message).toBe(`${PLACE} returned status 500.`);
    expect(cancel).toHaveBeenCalledOnce();
    expect(unhandled).not.toHaveBeenCalled();
  });
});

describe("a fetch that ignores its signal", () => {
  let server: FaultServer;
  beforeEach(async () => (server = await createFaultServer()));
  afterEach(() => server.stop());

  /** The global `fetch` without the signal, and a promise for its first response. */
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

  it("stops reading after an abort and leaves no connection open", async () => {
    server.answer("/jwks", behave.drip({ keys: [] }, 1));
    const { fetch, whenBegun } = deaf();
    const client = new AbortController();
    const reading = fetchJson(`${server.url}/jwks`, fetch, client.signal);
    await whenBegun;
    client.abort();
    await expect(reading).rejects.toBeInstanceOf(FetchError);
    await server.whenIdle();
  });

  it("cancels a body while it waits for the next chunk", async () => {
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

  it("rejects a partial body even if it is valid JSON", async () => {
    const client = new AbortController();
    const begin = (controller: ReadableStreamDefaultController) => controller.enqueue(Buffer.from("{}"));
    const reading = failureOf(answering(new Response(new ReadableStream({ start: begin }))), client.signal);
    setImmediate(() => client.abort());
    expect((await reading).message).toMatch(/jwks can't be fetched/);
  });

  it("does not read a response that arrives after the abort", async () => {
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

  it("sends no request after the abort, not even for a redirect", async () => {
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
