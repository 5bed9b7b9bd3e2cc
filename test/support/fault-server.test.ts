/** Behaviours whose faults no test that uses them would notice, because a broken document is rejected too. */
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

describe("incomplete and oversized bodies", () => {
  it("sends the headers of drip before its first byte", async () => {
    const { answer } = await started(behave.drip(KEYS, 3_600_000));
    expect((await answer).status).toBe(200);
  });

  it("continues drip after the document until the client disconnects", async () => {
    const clear = vi.spyOn(globalThis, "clearInterval");
    const { answer, leave } = await started(behave.drip(KEYS, 1));
    expect(await beginning(await answer, DOCUMENT.length + 2)).toMatch(`${DOCUMENT}  `);
    expect(clear).not.toHaveBeenCalled();
    leave();
    await server.whenIdle();
    expect(clear).toHaveBeenCalledOnce();
  });

  it("sends half of the length that cutOff declares", async () => {
    server.answer("/keys", behave.cutOff(KEYS));
    const raw = await openRaw(Number(new URL(server.url).port));
    raw.socket.write(render("GET /keys HTTP/1.1", [["host", "127.0.0.1"]]), "latin1");
    const [head, body] = (await raw.closed).split("\r\n\r\n");
    expect(head).toContain(`content-length: ${DOCUMENT.length}\r\n`);
    expect(body).toBe(DOCUMENT.slice(0, DOCUMENT.length / 2));
    await expect(get("/keys").then((answer) => answer.text())).rejects.toThrow("terminated");
  });

  it("sends JSON of as many bytes as enormous has, and counts them", async () => {
    const behaviour = behave.enormous(MIB, KEYS);
    server.answer("/keys", behaviour);
    const answer = await get("/keys");
    expect(await answer.text()).toBe(DOCUMENT.padEnd(MIB));
    expect([behaviour.sent(), answer.headers.has("content-length")]).toEqual([MIB, false]);
  });

  it("stops enormous when the client disconnects", async () => {
    const behaviour = behave.enormous(1024 * MIB);
    const { answer, leave } = await started(behaviour);
    await beginning(await answer, MIB);
    leave();
    await server.whenIdle();
    expect(behaviour.sent()).toBeGreaterThanOrEqual(MIB);
    expect(behaviour.sent()).toBeLessThan(64 * MIB);
  });

  it("declares the size of enormousDeclared in the header only", async () => {
    const { answer } = await started(behave.enormousDeclared(Number.MAX_SAFE_INTEGER, KEYS));
    expect((await answer).headers.get("content-length")).toBe(String(Number.MAX_SAFE_INTEGER));
    expect(await beginning(await answer, DOCUMENT.length)).toBe(DOCUMENT);
  });

  it("sends a small gzipBomb that is huge when it is decompressed", async () => {
    server.answer("/keys", behave.gzipBomb(8 * MIB, KEYS));
    const answer = await get("/keys");
    expect(Number(answer.headers.get("content-length"))).toBeLessThan(8 * 2048);
    expect(await answer.text()).toBe(DOCUMENT.padEnd(8 * MIB));
  });
});
