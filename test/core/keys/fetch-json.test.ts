/** The limits of a fetched document: for any replacement of `fetch`, and for the default one, over HTTP. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import type { KeyFetch } from "scopegate/keys";
import { fetchJson, FetchError } from "../../../src/core/keys/fetch-json.ts";
import { defaultFetch } from "../../../src/core/keys/http-request.ts";
import { CHILD_LIMIT } from "../../support/child-limit.ts";
import { type Behaviour, behave, createFaultServer, type FaultServer } from "../../support/fault-server.ts";
import { first } from "../../support/key-issuer.ts";
import { setOf } from "../../support/remote-keys.ts";

const ORIGIN = "https://issuer.example";
/** The query may contain a secret, so it must not be reported. */
const PATH = "/jwks?key=canary";
const TOO_LONG = "returned more than 524288 bytes.";
const NO_JSON = "didn't return JSON.";
const ELSEWHERE = "redirected to another origin, which isn't allowed.";
const UNREADABLE = "can't be fetched.";

/** Fetches, and returns the error without the URL that it must begin with. */
async function failureOf(
  fetch: unknown,
  signal = new AbortController().signal,
  url = ORIGIN + PATH,
): Promise<{ readonly message: string; readonly error: FetchError }> {
  const error: unknown = await fetchJson(url, fetch as KeyFetch, signal).catch((thrown: unknown) => thrown);
  if (!(error instanceof FetchError)) throw new Error("It did not fail as it should.", { cause: error });
  const start = `${url.replace(/\?.*/, "")} `;
  expect(error.message.slice(0, start.length)).toBe(start);
  return { message: error.message.slice(start.length), error };
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
    ["an error", new TypeError("canary"), UNREADABLE],
    ["an error with a code", withCode("ECONNREFUSED"), "can't be fetched (ECONNREFUSED)."],
    ["an error whose cause has a code", { cause: withCode("EPIPE") }, "can't be fetched (EPIPE)."],
    ["an error whose code is a sentence", withCode("canary at /home"), UNREADABLE],
    ["an error whose code throws", odd, UNREADABLE],
    ["an error whose cause has a code that throws", { cause: odd }, UNREADABLE],
    ["undefined", undefined, UNREADABLE],
  ])("causes a fixed message, and is kept as the cause: %s", async (_, value, expected) => {
    for (const fetch of [() => Promise.resolve().then(throwing(value)), throwing(value)]) {
      const { message, error } = await failureOf(fetch);
      expect([message, error.cause, error.status]).toEqual([expected, value, undefined]);
    }
  });
});

describe("a response of any fetch", () => {
  it.each<readonly [string, unknown, string]>([
    ["undefined", undefined, UNREADABLE],
    ["a string", "{}", UNREADABLE],
    ["a plain object", { status: 200, url: "", headers: new Headers() }, NO_JSON],
    ["a body that is not a web stream", { status: 200, url: "", body: { pipe: () => 0 } }, UNREADABLE],
    ["a response without a body", new Response(), NO_JSON],
    [
      "a redirected response with an invalid URL",
      redirectedTo("canary"),
      "can't be fetched (ERR_INVALID_URL).",
    ],
    ["a redirect without headers", { status: 302, url: "", body: null }, UNREADABLE],
    ["an error response", Response.error(), "returned status 0."],
    ["an endless body of strings", streaming("a".repeat(1_000)), TOO_LONG],
    ["an endless body of empty chunks", streaming(new Uint8Array()), TOO_LONG],
    ["chunks that are not bytes", streaming({ byteLength: 1 }), "can't be fetched (ERR_INVALID_ARG_TYPE)."],
    ["a redirect to another host", redirectedTo("https://else.example/jwks"), ELSEWHERE],
    ["a redirect to another scheme", redirectedTo("http://issuer.example/jwks"), ELSEWHERE],
    ["a redirect to another port", redirectedTo("https://issuer.example:8443/jwks"), ELSEWHERE],
    ["a redirect to data", redirectedTo("data:,{}"), ELSEWHERE],
  ])("is rejected if it is %s", async (_, response, message) => {
    expect((await failureOf(answering(response))).message).toBe(message);
  });

  it("is rejected if its body was already read", async () => {
    const [read, locked] = [Response.json({}), Response.json({})];
    await read.text();
    locked.body?.getReader();
    for (const response of [read, locked])
      expect((await failureOf(answering(response))).message).toMatch(/^can't be fetched( \(\w+\))?\.$/);
  });

  it.each([
    ["is from another URL that was not redirected, as from a proxy", from("http://127.0.0.1:8080/jwks")],
    ["was redirected to another path of the same origin", redirectedTo("https://issuer.example/moved")],
    ["has a byte order mark", new Response('\uFEFF{"keys":[]}')],
  ])("is accepted if it %s", async (_, response) => {
    const fetch = answering(response) as KeyFetch;
    expect(await fetchJson(ORIGIN, fetch, new AbortController().signal)).toEqual({ keys: [] });
  });

  it("is cancelled if it is not read to the end", async () => {
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

  it.each([
    ["throws", throwing(new Error("canary"))],
    ["returns undefined", () => undefined],
    ["rejects", () => Promise.reject(new Error("canary"))],
  ])("may have a cancel() that %s", async (_, cancel) => {
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    onTestFinished(() => void process.off("unhandledRejection", unhandled));
    const client = new AbortController();
    const read = () => new Promise((_resolve, reject) => setImmediate(() => setImmediate(reject)));
    const body = { cancel, getReader: () => ({ read, cancel }) };
    const reading = failureOf(answering({ status: 200, url: "", body }), client.signal);
    setImmediate(() => client.abort());
    expect((await reading).message).toBe(UNREADABLE);
    expect((await failureOf(answering({ status: 500, url: "", body }))).error.status).toBe(500);
    // Unhandled rejections are reported before this turn.
    await new Promise(setImmediate);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it("is cancelled by an abort between two chunks", async () => {
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

  it("is rejected after an abort, even if its first part is valid JSON", async () => {
    const client = new AbortController();
    const start = (controller: ReadableStreamDefaultController) => controller.enqueue(Buffer.from("{}"));
    const reading = failureOf(answering(new Response(new ReadableStream({ start }))), client.signal);
    setImmediate(() => client.abort());
    expect((await reading).message).toMatch(/^can't be fetched/);
  });
});

describe("over HTTP", () => {
  const SET = setOf(first);
  const MIB = 2 ** 20;
  let issuer: FaultServer;
  let other: FaultServer;
  beforeEach(async () => {
    [issuer, other] = [await createFaultServer(), await createFaultServer()];
    for (const server of [issuer, other]) server.answer("/moved", behave.json(SET));
  });
  afterEach(() => Promise.all([issuer.stop(), other.stop()]));

  const faults: readonly (readonly [string, () => Behaviour, string])[] = [
    ["is cut off", () => behave.cutOff(SET), UNREADABLE],
    ["is a TCP reset", () => behave.reset(), UNREADABLE],
    ["is not HTTP", () => (request) => void request.socket.end("canary\r\n\r\n"), UNREADABLE],
    ["is not gzip", () => behave.json(SET, { headers: { "content-encoding": "gzip" } }), UNREADABLE],
    ["has status 500", () => behave.json(SET, { status: 500 }), "returned status 500."],
    ["has status 204", () => behave.status(204), "returned status 204."],
    ["has status 304", () => behave.status(304), "returned status 304."],
    ["is empty", () => behave.text(""), NO_JSON],
    ["is an HTML page", () => behave.text("<!doctype html><title>canary</title>", "text/html"), NO_JSON],
    ["is malformed JSON", () => behave.text(JSON.stringify(SET).slice(0, -1), "application/json"), NO_JSON],
    ["redirects to another port", () => behave.redirect(`${other.url}/moved`), ELSEWHERE],
    ["redirects without a scheme", () => behave.redirect(other.url.slice(5)), ELSEWHERE],
    ["redirects to localhost", () => behave.redirect(other.url.replace("127.0.0.1", "localhost")), ELSEWHERE],
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

  it.each(faults)(
    "rejects a response that %s, and leaves no connection open",
    async (_, create, expected) => {
      const behaviour = create();
      issuer.answer(PATH, behaviour);
      const { message } = await failureOf(defaultFetch, undefined, issuer.url + PATH);
      // Versions of Node.js have different codes, or none, for some faults.
      expect(message.replace(/ \([A-Z_]+\)/, "")).toBe(expected);
      await issuer.whenIdle();
      expect(other.asked("/moved")).toBe(0);
      if ("sent" in behaviour)
        expect((behaviour as ReturnType<typeof behave.enormous>).sent()).toBeLessThan(32 * MIB);
    },
  );

  /** The global `fetch` without the signal. */
  const deafFetch: KeyFetch = (url, { signal: _signal, ...init }) => globalThis.fetch(url, init);
  it.each<readonly [string, KeyFetch, () => Behaviour]>([
    ["never starts", defaultFetch, () => behave.never()],
    ["arrives byte by byte", defaultFetch, () => behave.drip(SET, 1)],
    ["stops before its end", defaultFetch, () => behave.enormousDeclared(10 * MIB, SET)],
    ["arrives byte by byte, with a fetch that ignores its signal,", deafFetch, () => behave.drip(SET, 1)],
  ])("stops reading a response that %s after an abort", async (_, fetch, behaviour) => {
    issuer.answer(PATH, behaviour());
    const client = new AbortController();
    const failure = failureOf(fetch, client.signal, issuer.url + PATH);
    await issuer.whenAsked(PATH, 1);
    client.abort();
    await failure;
    await issuer.whenIdle();
  });

  it("does not read a response that begins after the abort", async () => {
    const gate = behave.held(behave.drip(SET, 1));
    issuer.answer(PATH, gate);
    const client = new AbortController();
    const failure = failureOf(deafFetch, client.signal, issuer.url + PATH);
    await issuer.whenAsked(PATH, 1);
    client.abort();
    gate.release();
    await failure;
    await issuer.whenIdle();
  });

  it("sends no request after an abort, not even for a redirect", async () => {
    issuer.answer(PATH, behave.redirect("/moved"));
    const client = new AbortController();
    const fetch: KeyFetch = async (url, init) => {
      const response = await deafFetch(url, init);
      client.abort();
      return response;
    };
    for (let turn = 0; turn < 2; turn += 1) await failureOf(fetch, client.signal, issuer.url + PATH);
    expect([issuer.asked(PATH), issuer.asked("/moved")]).toEqual([1, 0]);
  });

  it("follows three redirects within the origin, but not four", async () => {
    const way = ["/more", "/jwks", "/a", "/b?c", `${issuer.url}/moved`];
    for (const [step, to] of way.slice(1).entries()) issuer.answer(way[step] ?? "", behave.redirect(to, 307));
    const { signal } = new AbortController();
    expect(await fetchJson(`${issuer.url}/jwks`, defaultFetch, signal)).toEqual(SET);
    expect((await failureOf(defaultFetch, signal, `${issuer.url}/more`)).message).toContain("3 times");
  });

  it("accepts 512 KiB, compression and any content type, and sends no credentials", async () => {
    const seen: unknown[] = [];
    issuer.answer(PATH, (request, response) => {
      const { authorization, cookie, accept } = request.headers;
      seen.push(request.method, authorization, cookie, accept);
      behave.gzipBomb(MIB / 2, SET)(request, response);
    });
    issuer.answer("/text", behave.text(JSON.stringify(SET)));
    for (const path of [PATH, "/text"])
      expect(await fetchJson(issuer.url + path, defaultFetch, new AbortController().signal)).toEqual(SET);
    expect(seen).toEqual(["GET", undefined, undefined, "application/json, application/jwk-set+json"]);
  });

  /** Runs a program that creates servers with remote keys. Returns its output. It must end by itself. */
  async function run(code: string): Promise<string> {
    const program = `
      import { createResourceServer } from "./src/complete/index.ts";
      const serverOf = (path, timing) => createResourceServer({
        serviceId: "agents-prod",
        keys: { jwksUri: "${issuer.url}" + path, ...timing },
        onKeyEvent: () => {},
      });
      ${code}`;
    const options = ["--import", "tsx", "--input-type", "module", "--eval", program];
    const cwd = fileURLToPath(new URL("../../..", import.meta.url));
    const child = execFile(process.execPath, options, { ...CHILD_LIMIT, cwd });
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (text: string) => void (output += text));
    const [status, signal] = (await once(child, "close")) as [number | null, string | null];
    return `${output}${status ?? signal}`;
  }

  /** The global `fetch` rejects it, and then does not handle errors of its body. */
  const ENCODINGS = { "content-encoding": Array(6).fill("gzip").join(), "content-length": 100_000 };
  const begin = (then: (request: IncomingMessage) => void): Behaviour => {
    return (request, response) => {
      response.writeHead(200, ENCODINGS);
      response.write(Buffer.alloc(50_000, " "), () => then(request));
    };
  };
  const sending = (text: string): Behaviour => {
    return ({ socket }) => void socket.end(text);
  };
  const hostile: Readonly<Record<string, Behaviour>> = {
    "/status-500": behave.status(500),
    "/never": behave.never(),
    "/encodings": (_request, response) =>
      void response.writeHead(200, ENCODINGS).end(Buffer.alloc(100_000, " ")),
    "/encodings-then-reset": begin(({ socket }) => void socket.resetAndDestroy()),
    "/encodings-then-end": begin(({ socket }) => void socket.end()),
    "/encodings-then-nothing": begin(() => undefined),
    "/gzip-then-reset": (request, response) => {
      response.writeHead(200, { "content-encoding": "gzip" });
      response.write(gzipSync("{}").subarray(0, 15), () => void request.socket.resetAndDestroy());
    },
    "/no-gzip": behave.json({}, { headers: { "content-encoding": "gzip" } }),
    "/reset": behave.reset(),
    "/upgrade": ({ socket }) =>
      void socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
      ),
    "/status-999": sending("HTTP/1.1 999 Canary\r\n\r\n"),
    "/huge-header": sending(`HTTP/1.1 200 OK\r\na: ${"a".repeat(100_000)}\r\n\r\n`),
    "/two-lengths": sending("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}"),
    "/bad-chunk": sending("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\nzz\r\n"),
  };

  it("lets a program survive every hostile response, and end although retries are scheduled", async () => {
    for (const [path, behaviour] of Object.entries(hostile)) issuer.answer(path, behaviour);
    const code = `
      const results = await Promise.all(${JSON.stringify(Object.keys(hostile))}.map((path) =>
        serverOf(path, { timeoutMs: 500, cooldownMs: 0 }).ready().catch(({ name }) => name)));
      await serverOf("/moved").ready();
      console.log([...new Set(results)].join());`;
    expect(await run(code)).toBe("KeysUnavailableError\n0");
    for (const path of Object.keys(hostile)) expect(issuer.asked(path)).toBeGreaterThanOrEqual(1);
  });

  it("lets a program end that calls close() during a request", async () => {
    issuer.answer("/never", behave.never());
    const gate = behave.held(behave.status(204));
    issuer.answer("/gate", gate);
    const ended = run(`
      const server = serverOf("/never", { timeoutMs: 86_400_000 });
      server.ready().catch(({ name }) => console.log(name));
      await fetch("${issuer.url}/gate");
      await server.close();`);
    await issuer.whenAsked("/never", 1);
    gate.release();
    expect(await ended).toBe("KeysUnavailableError\n0");
  });
});
