import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { behave, createFaultServer, type FaultServer } from "./fault-server.ts";
import { openRaw, render } from "./raw-http.ts";

const KEYS = { keys: [{ kty: "oct", k: "c2VjcmV0" }] };
const DOCUMENT = JSON.stringify(KEYS);
const MIB = 2 ** 20;

let server: FaultServer;
beforeEach(async () => (server = await createFaultServer()));
afterEach(() => server.stop());

const get = (path: string, init?: RequestInit) => fetch(server.url + path, init);

/** Sets the behaviour of `/keys` and requests it; `leave` aborts the request. */
async function started(behaviour: behave.Behaviour) {
  const client = new AbortController();
  server.answer("/keys", behaviour);
  const answer = get("/keys", { signal: client.signal });
  // If a test ends early, stopping the server rejects this promise.
  answer.catch(() => undefined);
  await server.whenAsked("/keys", 1);
  return { answer, leave: () => client.abort() };
}

/** At least the first `bytes` bytes of a body, if it has that many. */
async function beginning({ body }: Response, bytes: number): Promise<string> {
  let text = "";
  for await (const chunk of body?.values({ preventCancel: true }) ?? []) {
    text += Buffer.from(chunk).toString("latin1");
    if (text.length >= bytes) break;
  }
  return text;
}

/** Which response arrives first: the given one, or one of another path requested later. */
const firstOf = (answer: Promise<Response>): Promise<string> =>
  Promise.race([answer.then(() => "the response"), get("/other").then(() => "another path")]);

describe("the server", () => {
  it("returns 404 for an unknown path and keeps no connection alive", async () => {
    const { status, headers } = await get("/keys");
    expect([status, headers.get("connection")]).toEqual([404, "close"]);
  });

  it("distinguishes paths by query, uses the latest behaviour, and counts requests", async () => {
    server.answer("/keys?a=1", behave.status(503));
    server.answer("/keys?a=1", behave.json(KEYS));
    expect([(await get("/keys?a=1")).status, (await get("/keys")).status]).toEqual([200, 404]);
    expect([server.asked("/keys?a=1"), server.asked("/keys"), server.asked("/other")]).toEqual([1, 1, 0]);
  });

  it("counts a connection until its response is read or cancelled", async () => {
    const { answer } = await started(behave.enormous(1024 * MIB));
    const { body } = await answer;
    expect(server.connections()).toBe(1);
    await body?.cancel();
    await server.whenIdle();
    expect(server.connections()).toBe(0);
  });

  it("closes connections when it stops, refuses new ones, and starts again on the same port", async () => {
    const { answer } = await started(behave.never());
    await server.stop();
    await expect(answer).rejects.toThrow(TypeError);
    expect(server.connections()).toBe(0);
    await expect(get("/keys")).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
    await server.stop();
    await server.start();
    server.answer("/keys", behave.json(KEYS));
    expect(await (await get("/keys")).json()).toEqual(KEYS);
    expect(server.asked("/keys")).toBe(2);
  });
});

describe("complete responses", () => {
  it("json sends a document with the given status and headers", async () => {
    server.answer("/keys", behave.json(KEYS, { status: 203, headers: { "cache-control": "max-age=60" } }));
    const answer = await get("/keys");
    const headers = ["cache-control", "content-type"].map((name) => answer.headers.get(name));
    expect([answer.status, ...headers]).toEqual([203, "max-age=60", "application/json"]);
    expect(await answer.json()).toEqual(KEYS);
  });

  it("text sends any string as any content type", async () => {
    server.answer("/keys", behave.text("<p>", "text/html"));
    const answer = await get("/keys");
    expect([answer.headers.get("content-type"), await answer.text()]).toEqual(["text/html", "<p>"]);
  });

  it("status and redirect send no body", async () => {
    server.answer("/down", behave.status(503, { "retry-after": "5" }));
    server.answer("/keys", behave.redirect("/other", 307));
    const [down, moved] = [await get("/down"), await get("/keys", { redirect: "manual" })];
    expect([down.status, down.headers.get("retry-after"), await down.text()]).toEqual([503, "5", ""]);
    expect([moved.status, moved.headers.get("location"), await moved.text()]).toEqual([307, "/other", ""]);
  });

  it("sequence uses each behaviour once and then repeats the last", async () => {
    server.answer("/keys", behave.sequence(behave.status(500), behave.status(502), behave.json(KEYS)));
    const statuses: number[] = [];
    for (let turn = 0; turn < 4; turn += 1) statuses.push((await get("/keys")).status);
    expect(statuses).toEqual([500, 502, 200, 200]);
  });
});

describe("responses that do not arrive", () => {
  it("leaves no request open until the client disconnects", async () => {
    const { answer, leave } = await started(behave.never());
    expect(await firstOf(answer)).toBe("another path");
    leave();
    await expect(answer).rejects.toThrow("aborted");
    await server.whenIdle();
  });

  it("reset closes the connection with a TCP reset", async () => {
    const { answer } = await started(behave.reset());
    await expect(answer).rejects.toMatchObject({ cause: { code: "ECONNRESET" } });
  });

  it("held responds to waiting requests when released, and to later ones immediately", async () => {
    const gate = behave.held(behave.json(KEYS));
    const { answer } = await started(gate);
    const second = get("/keys");
    await server.whenAsked("/keys", 2);
    expect(await firstOf(Promise.race([answer, second]))).toBe("another path");
    gate.release();
    for (const one of [answer, second, get("/keys")]) expect(await (await one).json()).toEqual(KEYS);
  });

  it("held ignores a client that has disconnected", async () => {
    const gate = behave.held(behave.json(KEYS));
    const { leave } = await started(gate);
    leave();
    await server.whenIdle();
    gate.release();
    expect((await get("/keys")).status).toBe(200);
  });
});

describe("incomplete and oversized bodies", () => {
  it("drip sends its headers before the first byte", async () => {
    const { answer } = await started(behave.drip(KEYS, 3_600_000));
    expect((await answer).status).toBe(200);
  });

  it("drip continues after the document until the client disconnects", async () => {
    const clear = vi.spyOn(globalThis, "clearInterval");
    const { answer, leave } = await started(behave.drip(KEYS, 1));
    expect(await beginning(await answer, DOCUMENT.length + 2)).toMatch(`${DOCUMENT}  `);
    expect(clear).not.toHaveBeenCalled();
    leave();
    await server.whenIdle();
    expect(clear).toHaveBeenCalledOnce();
    clear.mockRestore();
  });

  it("cutOff sends half of the declared length", async () => {
    server.answer("/keys", behave.cutOff(KEYS));
    const raw = await openRaw(Number(new URL(server.url).port));
    raw.socket.write(render("GET /keys HTTP/1.1", [["host", "127.0.0.1"]]), "latin1");
    const [head, body] = (await raw.closed).split("\r\n\r\n");
    expect(head).toContain(`content-length: ${DOCUMENT.length}\r\n`);
    expect(body).toBe(DOCUMENT.slice(0, DOCUMENT.length / 2));
    await expect(get("/keys").then((answer) => answer.text())).rejects.toThrow("terminated");
  });

  it("enormous sends JSON of that many bytes and counts them", async () => {
    const behaviour = behave.enormous(MIB, KEYS);
    server.answer("/keys", behaviour);
    const answer = await get("/keys");
    expect(await answer.text()).toBe(DOCUMENT.padEnd(MIB));
    expect([behaviour.sent(), answer.headers.has("content-length")]).toEqual([MIB, false]);
  });

  it("enormous stops when the client disconnects", async () => {
    const behaviour = behave.enormous(1024 * MIB);
    const { answer, leave } = await started(behaviour);
    await beginning(await answer, MIB);
    leave();
    await server.whenIdle();
    expect(behaviour.sent()).toBeGreaterThanOrEqual(MIB);
    expect(behaviour.sent()).toBeLessThan(64 * MIB);
  });

  it("enormousDeclared declares its size in the header only", async () => {
    const { answer } = await started(behave.enormousDeclared(Number.MAX_SAFE_INTEGER, KEYS));
    expect((await answer).headers.get("content-length")).toBe(String(Number.MAX_SAFE_INTEGER));
    expect(await beginning(await answer, DOCUMENT.length)).toBe(DOCUMENT);
  });

  it("gzipBomb is small when compressed and huge when decompressed", async () => {
    server.answer("/keys", behave.gzipBomb(8 * MIB, KEYS));
    const answer = await get("/keys");
    expect(Number(answer.headers.get("content-length"))).toBeLessThan(8 * 2048);
    expect(await answer.text()).toBe(DOCUMENT.padEnd(8 * MIB));
  });
});
