import { describe, expect, it, vi } from "vitest";
import { createTestIssuer } from "scopegate/testing";
import { type McpAccess, protectMcp } from "scopegate/mcp";
import { memoryStore } from "scopegate/store";
import { Owners } from "../../../src/adapters/mcp/owners.ts";
import type { Store } from "scopegate/store";
import { andThen } from "../../../src/core/runtime/and-then.ts";
import type { Principal } from "scopegate";
import { ask, listen } from "../../support/http.ts";
import { createResourceServer } from "../../support/server.ts";
import type { Backend } from "./support/backend.ts";
import { until } from "../../support/until.ts";
import { HOSTS, openHost } from "./support/hosts.ts";
import { INITIALIZE } from "./support/corpus/sessions.ts";
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

describe("the owner of a session", () => {
  const callers = async () => {
    const other = createTestIssuer({ audience: RESOURCE, issuer: "https://other.test" });
    const both = createResourceServer({
      serviceId: RESOURCE,
      issuers: [issuer.trustedIssuer, other.trustedIssuer],
    });
    const authenticate = async (token: Promise<string>) => both.authenticate(await token);
    return {
      reader: await authenticate(tokenOf("reader")),
      again: await authenticate(tokenOf("reader", { scopes: [] })),
      runner: await authenticate(tokenOf("runner")),
      elsewhere: await authenticate(other.token({ userId: "reader" })),
    };
  };

  it("identifies the user of the issuer, with any token", async () => {
    const { reader, again, runner, elsewhere } = await callers();
    const sessions = new Sessions();
    sessions.start("one", reader);
    expect(sessions.isOf("one", reader)).toBe(true);
    expect(sessions.isOf("one", again)).toBe(true);
    for (const other of [runner, elsewhere, undefined]) expect(sessions.isOf("one", other)).toBe(false);
    expect(sessions.isOf("two", reader)).toBe(false);
  });

  it("stays the same", async () => {
    const { reader, runner } = await callers();
    const sessions = new Sessions();
    sessions.start("one", reader);
    sessions.start("one", runner);
    expect(sessions.isOf("one", runner)).toBe(false);
    sessions.start("open", undefined);
    expect(sessions.isOf("open", undefined)).toBe(true);
    expect(sessions.isOf("open", runner)).toBe(false);
  });

  it("knows it in every process with the same store, and in no other process", async () => {
    const { reader, runner } = await callers();
    const store = memoryStore();
    const [first, second] = [new Sessions(store), new Sessions(store)];
    first.start("one", reader);
    expect(await second.isOf("one", runner)).toBe(false);
    expect(await second.isOf("one", undefined)).toBe(false);
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

  it("stores neither the id of a session nor its owner as text", async () => {
    const { reader } = await callers();
    const store = memoryStore();
    const set = vi.spyOn(store, "set");
    new Sessions(store).start("secret-id", reader);
    expect(JSON.stringify(set.mock.calls)).not.toMatch(/secret-id|reader/);
  });

  it("does not know it while the store fails", async () => {
    const { reader } = await callers();
    const fail = () => Promise.reject(new Error("down"));
    const sessions = new Sessions({ get: fail, set: fail, delete: fail });
    sessions.start("one", reader);
    sessions.end("two");
    expect(sessions.isOf("one", reader)).toBe(true);
    expect(await sessions.find("two", reader)).toEqual({ kind: "unknown" });
  });

  it("keeps the sessions of others when one caller starts many", async () => {
    const { reader, runner } = await callers();
    const sessions = new Sessions();
    sessions.start("reader's", reader);
    sessions.start("open", undefined);
    for (let count = 0; count < 20_000; count += 1) {
      sessions.start(`runner's ${count}`, runner);
      if (count % 500 === 0) expect(sessions.isOf("runner's 0", runner)).toBe(true);
    }
    expect(sessions.isOf("reader's", reader)).toBe(true);
    expect(sessions.isOf("open", undefined)).toBe(true);
    // Its own share: the sessions that were used last.
    expect(sessions.isOf("runner's 1", runner)).toBe(false);
    expect(sessions.isOf("runner's 19999", runner)).toBe(true);
  });

  it("keeps the sessions of callers with a token when callers without one start many", async () => {
    const { reader } = await callers();
    const sessions = new Sessions();
    sessions.start("reader's", reader);
    for (let count = 0; count < 20_000; count += 1) sessions.start(`open ${count}`, undefined);
    expect(sessions.isOf("reader's", reader)).toBe(true);
    expect(sessions.isOf("open 14999", undefined)).toBe(false);
    expect(sessions.isOf("open 15000", undefined)).toBe(true);
  });

  it("loses the session that was not used for the longest time first", async () => {
    const { reader } = await callers();
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
async function startSlowly(port: number, store: SlowStore): Promise<Response> {
  const accept = "application/json, text/event-stream";
  const authorization = `Bearer ${await tokenOf("reader")}`;
  const headers = { authorization, accept, "content-type": "application/json" };
  const sent = { method: "POST", headers, body: JSON.stringify(INITIALIZE) };
  let isReceived = false;
  const received = fetch(`http://127.0.0.1:${port}/mcp`, sent).finally(() => (isReceived = true));
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
    const { port, close } = await openHost(host, createMcpResourceServer(), { isJson, store });
    try {
      const response = await startSlowly(port, store);
      expect(await response.text()).toContain("serverInfo");
      const session = response.headers.get("mcp-session-id") ?? "none";
      const gate = protectMcp(createMcpResourceServer(), { store: store.shared });
      const headers = { authorization: `Bearer ${await tokenOf("reader")}`, "mcp-session-id": session };
      expect(await gate(new Request(RESOURCE, { headers }))).not.toBeInstanceOf(Response);
    } finally {
      await close();
    }
  });

  it("is sent if the store fails", async () => {
    const store = { ...memoryStore(), set: () => Promise.reject(new Error("down")) };
    const { port, close } = await openHost(host, createMcpResourceServer(), { store });
    const token = await tokenOf("reader");
    const headers = [["accept", "application/json, text/event-stream"]] as const;
    const { status } = await ask(port, { method: "POST", path: "/mcp", token, headers, body: INITIALIZE });
    expect(status).toBe(200);
    await close();
  });
});

it("keeps the headers of a session, which a handler sends early, until its owner is stored", async () => {
  const [host] = HOSTS;
  if (!host) throw new Error("There is no host.");
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
  const { port, close } = await listen(await host.create(createMcpResourceServer(), backend, { store }));
  const response = await startSlowly(port, store);
  expect([response.headers.get("mcp-session-id"), await response.text()]).toEqual(["one", "data: {}\n\n"]);
  await close();
});

describe("protectMcp", () => {
  const server = createMcpResourceServer();
  const gate = protectMcp(server);
  const send = async (user: User, method: string, headers: Readonly<Record<string, string>>) => {
    const authorization = `Bearer ${await tokenOf(user)}`;
    const body = method === "POST" && { body: JSON.stringify(INITIALIZE) };
    const sent = { authorization, "content-type": "application/json", ...headers };
    return gate(new Request("https://api.example/mcp", { method, headers: sent, ...body }));
  };
  const start = async (id: string): Promise<void> => {
    const access = (await send("reader", "POST", {})) as McpAccess;
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
    expect(await send("reader", "GET", {})).not.toBeInstanceOf(Response);
  });

  it("returns 503 while the store does not know the owner of a session", async () => {
    const store = { ...memoryStore(), get: () => Promise.reject(new Error("down")) };
    const headers = { authorization: `Bearer ${await tokenOf("reader")}`, "mcp-session-id": "one" };
    const outcome = await protectMcp(server, { store })(new Request(RESOURCE, { headers }));
    expect(outcome).toMatchObject({ status: 503 });
  });
});
