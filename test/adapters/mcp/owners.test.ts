import { describe, expect, it, vi } from "vitest";
import { createTestIssuer } from "scopegate/testing";
import { type McpAccess, protectMcp } from "scopegate/mcp";
import { memoryStore } from "scopegate/store";
import { Owners } from "../../../src/adapters/mcp/owners.ts";
import type { Store } from "scopegate/store";
import { andThen } from "../../../src/core/runtime/and-then.ts";
import type { Principal } from "scopegate";
import { listen } from "../../support/http.ts";
import { createResourceServer } from "../../support/server.ts";
import type { Backend } from "./support/backend.ts";
import { until } from "../../support/until.ts";
import { EXPRESS, HOSTS, openHost } from "./support/hosts.ts";
import { INITIALIZE } from "./support/corpus/sessions.ts";
import { requestOf, server } from "./support/memory.ts";
import { post } from "./support/send.ts";
import { createMcpResourceServer, issuer, RESOURCE, tokenOf, type User } from "./support/tools.ts";

/** The sessions of one process. */
class Sessions {
  readonly #owners: Owners;

  constructor(store?: Store) {
    this.#owners = new Owners("session", 10_000, store);
  }
  isOf = (id: string, caller: Principal | undefined) =>
    andThen(this.#owners.find(id, caller), ({ kind }) => kind === "own");
  find = (id: string, caller: Principal | undefined) => this.#owners.find(id, caller);
  start = (id: string, caller: Principal | undefined): void => void this.#owners.start(id, caller);
  end = (id: string): void => this.#owners.end(id);
}

/** Two tokens of one user, a token of another user, and one of another issuer's user with the same name. */
const other = createTestIssuer({ audience: RESOURCE, issuer: "https://other.test" });
const both = createResourceServer({
  serviceId: RESOURCE,
  issuers: [issuer.trustedIssuer, other.trustedIssuer],
});
const reader = await both.authenticate(await tokenOf("reader"));
const again = await both.authenticate(await tokenOf("reader", { scopes: [] }));
const runner = await both.authenticate(await tokenOf("runner"));
const elsewhere = await both.authenticate(await other.token({ userId: "reader" }));

describe("the owner of a session", () => {
  it("identifies the user of the issuer, with any token, and stays the same", () => {
    const sessions = new Sessions();
    sessions.start("one", reader);
    sessions.start("one", runner);
    for (const caller of [reader, again]) expect(sessions.isOf("one", caller)).toBe(true);
    for (const caller of [runner, elsewhere, undefined]) expect(sessions.isOf("one", caller)).toBe(false);
    expect(sessions.isOf("two", reader)).toBe(false);
    sessions.start("open", undefined);
    expect([sessions.isOf("open", undefined), sessions.isOf("open", runner)]).toEqual([true, false]);
  });

  it("is known in every process with the same store, and in no other process", async () => {
    const store = memoryStore();
    const [first, second] = [new Sessions(store), new Sessions(store)];
    first.start("one", reader);
    for (const caller of [runner, undefined]) expect(await second.isOf("one", caller)).toBe(false);
    expect(await second.isOf("two", reader)).toBe(false);
    expect(await second.isOf("one", reader)).toBe(true);
    // The owner never changes, so the store is asked once.
    expect(second.isOf("one", reader)).toBe(true);
    second.start("one", runner);
    expect(await new Sessions(store).isOf("one", runner)).toBe(false);
    second.end("one");
    expect(await new Sessions(store).isOf("one", reader)).toBe(false);
    expect(new Sessions().isOf("one", reader)).toBe(false);
  });

  it("is stored without the text of the session's id or of the owner", () => {
    const store = memoryStore();
    const set = vi.spyOn(store, "set");
    new Sessions(store).start("secret-id", reader);
    expect(JSON.stringify(set.mock.calls)).not.toMatch(/secret-id|reader/);
  });

  it("is not known while the store fails", async () => {
    const fail = () => Promise.reject(new Error("down"));
    const sessions = new Sessions({ get: fail, set: fail, delete: fail });
    sessions.start("one", reader);
    sessions.end("two");
    expect(sessions.isOf("one", reader)).toBe(true);
    expect(await sessions.find("two", reader)).toEqual({ kind: "unknown" });
  });

  it("is kept when another caller starts many sessions, who loses those not used for the longest time", () => {
    const sessions = new Sessions();
    sessions.start("reader's", reader);
    sessions.start("open", undefined);
    for (let count = 0; count < 20_000; count += 1) {
      sessions.start(`runner's ${count}`, runner);
      if (count % 500 === 0) expect(sessions.isOf("runner's 0", runner)).toBe(true);
    }
    expect(sessions.isOf("reader's", reader)).toBe(true);
    expect(sessions.isOf("open", undefined)).toBe(true);
    expect(sessions.isOf("runner's 1", runner)).toBe(false);
    expect(sessions.isOf("runner's 19999", runner)).toBe(true);
  });

  it("is kept when callers without a token start many sessions", () => {
    const sessions = new Sessions();
    sessions.start("reader's", reader);
    for (let count = 0; count < 20_000; count += 1) sessions.start(`open ${count}`, undefined);
    expect(sessions.isOf("reader's", reader)).toBe(true);
    expect(sessions.isOf("open 14999", undefined)).toBe(false);
    expect(sessions.isOf("open 15000", undefined)).toBe(true);
  });

  it("is lost for the session that was not used for the longest time, if many callers have one each", () => {
    const sessions = new Sessions();
    const caller = (user: number) => ({ ...reader, userId: `user ${user}` });
    for (let user = 0; user < 10_000; user += 1) sessions.start(`session ${user}`, caller(user));
    expect(sessions.isOf("session 0", caller(0))).toBe(true);
    sessions.start("one more", reader);
    expect(sessions.isOf("session 0", caller(0))).toBe(true);
    expect(sessions.isOf("session 1", caller(1))).toBe(false);
  });
});

/** A store that other processes share, in which nothing is set before `release` is called. */
class SlowStore {
  readonly shared = memoryStore();
  readonly #released: Promise<void>;
  release = (): void => undefined;
  isSetting = false;

  constructor() {
    this.#released = new Promise((resolve) => (this.release = resolve));
  }
  readonly get: Store["get"] = (keys) => this.shared.get(keys);
  readonly delete: Store["delete"] = (key) => this.shared.delete(key);
  readonly set: Store["set"] = async (...parameters) => {
    this.isSetting = true;
    await this.#released;
    return this.shared.set(...parameters);
  };
}

/** Starts a session. Expects that nothing is received before the store has set its owner. */
async function startSlowly(port: number, store: SlowStore): ReturnType<typeof post> {
  let isReceived = false;
  const received = post(port, INITIALIZE, await tokenOf("reader")).finally(() => (isReceived = true));
  await until(() => store.isSetting);
  for (let turn = 0; turn < 500; turn += 1) await new Promise(setImmediate);
  expect(isReceived).toBe(false);
  store.release();
  return received;
}

describe.each(HOSTS)("the response to initialize on $name", (host) => {
  it.each([
    ["JSON", true],
    ["a stream of events", false],
  ])("in %s waits until other processes know the owner of its session", async (_, isJson) => {
    const store = new SlowStore();
    const { port, close } = await openHost({ ...host, isJson }, createMcpResourceServer(), { store });
    try {
      const response = await startSlowly(port, store);
      expect(response.text).toContain("serverInfo");
      const session = response.headers.get("mcp-session-id") ?? "none";
      const gate = protectMcp(createMcpResourceServer(), { store: store.shared });
      const later = requestOf(undefined, await tokenOf("reader"), { "mcp-session-id": session }, "GET");
      expect(await gate(later)).not.toBeInstanceOf(Response);
    } finally {
      await close();
    }
  });

  it("is sent if the store fails", async () => {
    const store = { ...memoryStore(), set: () => Promise.reject(new Error("down")) };
    const { port, close } = await openHost(host, createMcpResourceServer(), { store });
    expect(await post(port, INITIALIZE, await tokenOf("reader"))).toMatchObject({ status: 200 });
    await close();
  });
});

it("keeps the headers of a session, which a handler sends early, until its owner is stored", async () => {
  const store = new SlowStore();
  const backend: Backend = {
    executions: [],
    node: async (_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream", "mcp-session-id": "one" });
      response.flushHeaders();
      await until(() => store.isSetting);
      response.write("data: {}\n\n");
      response.end();
    },
    web: () => Promise.reject(new Error("unused")),
  };
  const { port, close } = await listen(await EXPRESS.create(createMcpResourceServer(), backend, { store }));
  const response = await startSlowly(port, store);
  expect([response.headers.get("mcp-session-id"), response.text]).toEqual(["one", "data: {}\n\n"]);
  await close();
});

describe("protectMcp", () => {
  const gate = protectMcp(server);
  const send = async (user: User, method: string, headers = {}) =>
    gate(requestOf(method === "POST" ? INITIALIZE : undefined, await tokenOf(user), headers, method));
  const start = async (id: string): Promise<void> => {
    const access = (await send("reader", "POST")) as McpAccess;
    await access.respond(new Response("{}", { headers: { "mcp-session-id": id } }));
  };

  it("forgets a session that a DELETE ended, and keeps one whose DELETE failed", async () => {
    const headers = { "mcp-session-id": "one" };
    await start("one");
    for (const status of [405, 200]) {
      const access = await send("reader", "DELETE", headers);
      if (access instanceof Response) throw new Error(`${access.status}`);
      await access.respond(new Response(null, { status }));
    }
    expect(await send("reader", "GET", headers)).toMatchObject({ status: 404 });
  });

  it("allows only the owner of a session to request events that it missed", async () => {
    const missed = { "last-event-id": "stream_7" };
    const headers = { ...missed, "mcp-session-id": "two" };
    await start("two");
    expect(await send("reader", "GET", headers)).not.toBeInstanceOf(Response);
    expect(await send("runner", "GET", headers)).toMatchObject({ status: 404 });
    expect(await send("reader", "GET", missed)).toMatchObject({ status: 404 });
    expect(await send("reader", "GET")).not.toBeInstanceOf(Response);
  });

  it("returns 503 while the store does not know the owner of a session", async () => {
    const store = { ...memoryStore(), get: () => Promise.reject(new Error("down")) };
    const request = requestOf(undefined, await tokenOf("reader"), { "mcp-session-id": "one" }, "GET");
    expect(await protectMcp(server, { store })(request)).toMatchObject({ status: 503 });
  });
});
