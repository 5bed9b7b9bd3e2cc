/** Several processes share the memory of proofs: a proof is accepted once, whatever happens to the store. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { memoryStore, type Store } from "scopegate/store";
import { LONG_CHILD_LIMIT } from "../../support/child-limit.ts";
import { parseChallenges } from "../../support/challenge-parser.ts";
import { DURABLE, HAS_REDIS_SERVER, type RedisInstance, startRedis } from "../../support/redis-server.ts";
import { pemOf } from "../tokens/forge.ts";
import { ALICE, BOB, boundTo, nextId, NOW, ORIGIN, type Sent, sentBy } from "./forge.ts";
import type { MemberSettings } from "./member.ts";
import { checkDirectly, createService, outcomeOf, sendTo } from "./service.ts";

const PROGRAM = fileURLToPath(new URL("member.ts", import.meta.url));

interface Member {
  readonly port: number;
  readonly stop: () => Promise<void>;
}

async function startMember(redisPort: number): Promise<Member> {
  const settings: MemberSettings = { redisPort, publicPem: pemOf("rsa"), origin: ORIGIN };
  const child: ChildProcess = fork(PROGRAM, [JSON.stringify(settings)], {
    ...LONG_CHILD_LIMIT,
    execArgv: ["--import", "tsx"],
  });
  const [{ port }] = (await once(child, "message")) as [{ readonly port: number }];
  return {
    port,
    async stop() {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** The processes have the clock of the machine. */
const fresh = (jti = nextId()): Sent =>
  sentBy({ claims: { jti: `${jti}-${process.pid}`, iat: Math.floor(Date.now() / 1_000) } });

const sorted = (statuses: readonly number[]): readonly number[] => [...statuses].sort();

describe.skipIf(!HAS_REDIS_SERVER)("two processes with redisStore", () => {
  let redis: RedisInstance;
  let members: readonly Member[] = [];

  beforeAll(async () => {
    redis = await startRedis(undefined, DURABLE);
    members = await Promise.all([startMember(redis.port), startMember(redis.port)]);
  });
  afterAll(async () => {
    await Promise.all(members.map((member) => member.stop()));
    await redis.remove();
  });

  const portAt = (index: number): number => members[index % members.length]?.port ?? 0;
  const statusAt = async (index: number, request: Sent): Promise<number> =>
    (await sendTo(portAt(index), request)).status;
  const expectWorking = (): Promise<void> =>
    expect.poll(() => statusAt(0, fresh()), { timeout: 20_000, interval: 50 }).toBe(200);

  it("accept one of 100 concurrent requests with one proof", async () => {
    for (let turn = 0; turn < 5; turn += 1) {
      const request = fresh();
      const statuses = await Promise.all(
        Array.from({ length: 100 }, (_, index) => statusAt(index + turn, request)),
      );
      expect(sorted(statuses)).toEqual([200, ...Array.from({ length: 99 }, () => 401)]);
    }
  });

  it("refuse every proof with 503 while Redis is down, and accept none of them twice after its restart", async () => {
    const used = fresh();
    expect([await statusAt(0, used), await statusAt(1, used)]).toEqual([200, 401]);
    await redis.stop();
    const requests = Array.from({ length: 20 }, () => fresh());
    const during = await Promise.all([...requests, used].map((request, index) => statusAt(index, request)));
    expect(new Set(during)).toEqual(new Set([503]));
    await redis.restart();
    await expectWorking();
    for (const request of [...requests, used]) {
      const after = [await statusAt(0, request), await statusAt(1, request)];
      expect(after.filter((status) => status === 200).length).toBeLessThanOrEqual(1);
      if (request === used) expect(after).toEqual([401, 401]);
    }
  });
});

/** How a store fails, hangs and recovers is tested with `Breaker`. */
describe("a server whose store fails", () => {
  it.each<readonly [string, Store["set"]]>([
    ["rejects", () => Promise.reject(new Error("secret text of the store"))],
    ["resolves with OK", () => Promise.resolve("OK" as never)],
  ])("refuses a proof with 503, and asks for no other one, if the store %s", async (_, set) => {
    const { server } = createService({ replay: { ...memoryStore(), set } });
    const { decision, received } = await checkDirectly(server, sentBy());
    expect(decision.allowed).toBe(false);
    expect(received?.status).toBe(503);
    expect(received?.text).not.toContain("secret");
    expect(received?.fields.get("retry-after")?.[0]).toMatch(/^\d+$/);
    const challenges = (received?.fields.get("www-authenticate") ?? []).flatMap(parseChallenges);
    expect(challenges.filter(({ params }) => params["error"] !== undefined)).toEqual([]);
  });

  it("refuses the proofs of a key with 503 if it has a tenth of the store, and accepts those of others", async () => {
    const { server } = createService({ replay: memoryStore({ maxEntries: 30, now: () => NOW * 1_000 }) });
    const statusOf = async (request: Sent): Promise<number> =>
      (await checkDirectly(server, request)).received?.status ?? 200;
    const statuses: number[] = [];
    for (let count = 0; count < 5; count += 1) statuses.push(await statusOf(sentBy()));
    expect(statuses).toEqual([200, 200, 200, 503, 503]);
    expect(await statusOf(sentBy({ token: boundTo(ALICE.jwk, { sub: "user-3" }) }))).toBe(503);
    expect(await statusOf(sentBy({ caller: BOB }))).toBe(200);
  });

  it("refuses a malformed proof without asking the store", async () => {
    const set = vi.fn(() => Promise.reject(new Error("down")));
    const { server } = createService({ replay: { ...memoryStore(), set } });
    for (const claims of [{ htm: "POST" }, { htu: "https://evil.example/" }, { ath: "x" }, { iat: 0 }])
      expect((await checkDirectly(server, sentBy({ claims }))).received?.status).toBe(401);
    expect(set).not.toHaveBeenCalled();
  });
});

describe("the memory of one server", () => {
  it("accepts one of 100 concurrent requests with one proof", async () => {
    const { server } = createService();
    const request = sentBy();
    const all = await Promise.all(Array.from({ length: 100 }, () => checkDirectly(server, request)));
    const outcomes = all.map(({ decision }) => outcomeOf(decision));
    expect(outcomes.filter((outcome) => outcome === "allowed")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "replayed")).toHaveLength(99);
  });

  it("refuses a proof again while it is remembered, and then by its age", async () => {
    let now = NOW;
    const { server } = createService({}, { now: () => now * 1_000 });
    const request = sentBy({ claims: { iat: NOW + 5 } });
    expect(outcomeOf((await checkDirectly(server, request)).decision)).toBe("allowed");
    for (let age = 0; age < 700; age += 0.5) {
      now = NOW + age;
      expect(["replayed", "iat"]).toContain(outcomeOf((await checkDirectly(server, request)).decision));
    }
  });

  it("does not accept a proof again if the clock goes back", async () => {
    let now = NOW;
    const { server } = createService({}, { now: () => now * 1_000 });
    const request = sentBy();
    expect(outcomeOf((await checkDirectly(server, request)).decision)).toBe("allowed");
    for (const time of [NOW + 301, NOW + 1, NOW + 400, NOW - 4]) {
      now = time;
      expect(outcomeOf((await checkDirectly(server, request)).decision)).not.toBe("allowed");
    }
  });

  it("accepts a proof once for all servers with one store", async () => {
    const replay = memoryStore({ now: () => NOW * 1_000 });
    const request = sentBy();
    const outcomes: string[] = [];
    for (const { server } of [createService({ replay }), createService({ replay })])
      outcomes.push(outcomeOf((await checkDirectly(server, request)).decision));
    expect(outcomes).toEqual(["allowed", "replayed"]);
  });

  it("lets two keys use the same jti", async () => {
    const { server } = createService();
    for (const caller of [ALICE, BOB])
      expect(
        outcomeOf((await checkDirectly(server, sentBy({ caller, claims: { jti: "same" } }))).decision),
      ).toBe("allowed");
  });
});
