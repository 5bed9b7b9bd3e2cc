/** Three processes of a service under load, and an oracle that compares each answer with what was revoked. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect } from "vitest";
import type { ResourceServer } from "scopegate";
import { type RevocationTarget, sharedRevocation } from "scopegate/revocation";
import { redisStore } from "scopegate/store";
import { LONG_CHILD_LIMIT } from "../support/child-limit.ts";
import { createIssuer } from "../support/issuer.ts";
import { createResourceServer } from "../support/server.ts";
import { type ClientSettings, connectClient } from "./clients.ts";
import type { MemberSettings } from "./member.ts";

export const FRESH_MS = 500;
export const STALE_SECONDS = 3;

/** How much later than `freshMs` a process may accept a revoked token: a round trip on a busy machine. */
const ROUND_TRIP_MS = 200;

const PROGRAM = fileURLToPath(new URL("member.ts", import.meta.url));

export interface Member {
  readonly url: string;
  readonly events: readonly string[];
  /** The heap after a garbage collection, in bytes. */
  readonly heap: () => Promise<number>;
  readonly stop: () => Promise<void>;
}

const issuer = createIssuer();

export async function startMember(
  client: ClientSettings,
  settings: Partial<MemberSettings> = {},
): Promise<Member> {
  const all = {
    client,
    publicPem: issuer.publicPem,
    staleSeconds: STALE_SECONDS,
    freshMs: FRESH_MS,
    ...settings,
  };
  const child: ChildProcess = fork(PROGRAM, [JSON.stringify(all)], {
    ...LONG_CHILD_LIMIT,
    execArgv: ["--expose-gc", "--import", "tsx"],
  });
  const events: string[] = [];
  const heaps: ((bytes: number) => void)[] = [];
  const port = await new Promise<number>((resolve, reject) => {
    child.once("exit", () => reject(new Error("A process did not start.")));
    child.on("message", (message: { port?: number; event?: string; heap?: number }) => {
      if (message.port !== undefined) resolve(message.port);
      if (message.event !== undefined) events.push(message.event);
      if (message.heap !== undefined) heaps.shift()?.(message.heap);
    });
  });
  return {
    url: `http://127.0.0.1:${port}/`,
    events,
    heap: () =>
      new Promise((resolve) => {
        heaps.push(resolve);
        child.send("heap");
      }),
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    },
  };
}

/** A token, and when `revoke` returned for it. */
interface Tracked {
  readonly token: string;
  readonly target: RevocationTarget;
  revokedAt: number | undefined;
  /** While it is being revoked, both answers are right. Later, too, if the store has lost the revocation. */
  isOpen: boolean;
  /** When each process was last asked while the store worked: only then could it learn of a revocation. */
  readonly checkedAt: Map<Member, number>;
}

/** Returns whether a process has reported that its store works again, after each failure that it reported. */
const isWorking = ({ events }: Member): boolean =>
  !["failed", "stale"].includes(events.findLast((event) => event !== "warning") ?? "");

let nextId = 0;

/** A token that is revoked by its id, its user or its session. */
async function createTracked(aheadSeconds = 0): Promise<Tracked> {
  const id = `n${(nextId += 1)}`;
  const now = Math.floor(Date.now() / 1000);
  const token = await issuer.token({
    aud: "agents-prod",
    iat: now - 2 - aheadSeconds,
    exp: now + 7_200 + aheadSeconds,
    scopes: [],
    sub: id,
    jti: id,
    session_id: id,
  });
  const targets: readonly RevocationTarget[] = [{ tokenId: id }, { userId: id }, { sessionId: id }];
  return {
    token,
    target: targets[nextId % 3] ?? { tokenId: id },
    revokedAt: undefined,
    isOpen: false,
    checkedAt: new Map(),
  };
}

export async function statusOf({ url }: Pick<Member, "url">, token: string): Promise<number> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  await response.arrayBuffer();
  return response.status;
}

export const newToken = async (): Promise<string> => (await createTracked()).token;

/** What the oracle has counted. */
export interface Tally {
  wronglyAccepted: number;
  wronglyRefused: number;
  /** The latest moment at which a revoked token was accepted, in milliseconds after `revoke`. */
  latestMs: number;
  unavailable: number;
  requests: number;
}

export interface Service {
  readonly members: readonly Member[];
  readonly operator: ResourceServer;
  readonly tally: Tally;
  /** Runs a part of a scenario in which 503 is expected, and processes may use answers of `staleSeconds`. */
  outage(run: () => Promise<unknown>): Promise<void>;
  /** How much longer each answer of the store takes. */
  setLatency(ms: number): void;
  /** Revokes some tokens that are not revoked yet, and returns them. */
  revoke(count: number): Promise<readonly string[]>;
  /** The store has lost what was revoked before now. */
  forgetRevoked(): void;
  /** Waits until every process answers a valid token with a status. */
  untilAll(status: number): Promise<void>;
  /** Waits until the bound of the last revocation has passed, and expects that no answer was wrong. */
  settle(): Promise<void>;
  /** Checks that a process refuses every token that was revoked. */
  expectAllRevoked(member: Member): Promise<void>;
  stop(): Promise<void>;
}

interface ServiceOptions {
  readonly settings?: readonly Partial<MemberSettings>[];
  /** The client of the operator. Default: that of the processes. */
  readonly operatorClient?: ClientSettings;
  /** How far the clock of the operator is ahead. */
  readonly operatorAheadSeconds?: number;
}

export async function startService(client: ClientSettings, options: ServiceOptions = {}): Promise<Service> {
  const settings = options.settings ?? [{}, {}, {}];
  const members = await Promise.all(settings.map((each) => startMember(client, each)));
  const connected = await connectClient(options.operatorClient ?? client);
  const now = () => Date.now() + (options.operatorAheadSeconds ?? 0) * 1_000;
  const operator = createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [issuer.publicPem],
    now,
    revocation: sharedRevocation(redisStore(connected.client), { onEvent: () => undefined, now }),
  });
  const ahead = Math.max(...settings.map(({ aheadSeconds = 0 }) => Math.abs(aheadSeconds)));
  let pool = await Promise.all(Array.from({ length: 60 }, () => createTracked(ahead)));
  const tally: Tally = { wronglyAccepted: 0, wronglyRefused: 0, latestMs: 0, unavailable: 0, requests: 0 };
  let outages = 0;
  /** The last outage began and ended then. */
  let [downAt, upAt] = [-Infinity, -Infinity];
  let latencyMs = 0;
  let isRunning = true;
  const boundMs = (): number => FRESH_MS + ROUND_TRIP_MS + 2 * latencyMs;

  /**
   * A process may use an answer from before the revocation, if the store failed before it asked again. It asks only
   * when a request arrives, and on a busy machine that may take longer than the bound.
   */
  const isExcused = (revokedAt: number, checkedAt: number, sentAt: number): boolean =>
    Math.min(downAt, checkedAt) < revokedAt + boundMs() &&
    sentAt < Math.max(upAt, downAt + STALE_SECONDS * 1_000) + 3_000;

  const ask = async (member: Member, tracked: Tracked): Promise<void> => {
    const { revokedAt, isOpen } = tracked;
    const wasOutage = outages > 0;
    const checkedAt = tracked.checkedAt.get(member) ?? -Infinity;
    const sentAt = performance.now();
    const status = await statusOf(member, tracked.token);
    if (!wasOutage && outages === 0) tracked.checkedAt.set(member, sentAt);
    tally.requests += 1;
    if (status === 503) tally.unavailable += 1;
    const mayBeRefused = isOpen || tracked.isOpen || tracked.revokedAt !== undefined;
    const isRefused = (status === 401 && !mayBeRefused) || (status === 503 && !wasOutage && outages === 0);
    if (isRefused) tally.wronglyRefused += 1;
    if (status !== 200 || revokedAt === undefined || isOpen) return;
    const sinceMs = sentAt - revokedAt;
    if (sinceMs > boundMs() && !isExcused(revokedAt, checkedAt, sentAt)) tally.wronglyAccepted += 1;
    tally.latestMs = Math.max(tally.latestMs, sinceMs);
  };
  const run = async (start: number): Promise<void> => {
    for (let turn = start; isRunning; turn += 1) {
      const member = members[turn % members.length];
      const tracked = pool[Math.floor(Math.random() * pool.length)];
      if (member && tracked) await ask(member, tracked);
    }
  };
  const running = [0, 1, 2, 3, 4, 5].map(run);

  const service: Service = {
    members,
    operator,
    tally,
    async outage(part) {
      outages += 1;
      downAt = performance.now();
      upAt = Infinity;
      await part();
      upAt = performance.now();
      // An attempt to reach the store takes up to two seconds, and the next one begins a little later.
      await service.untilAll(200);
      // A store works again key by key: other callers may have to wait longer, until the process reports it.
      await expect.poll(() => members.every(isWorking), { timeout: 20_000, interval: 50 }).toBe(true);
      outages -= 1;
    },
    setLatency: (ms) => void (latencyMs = ms),
    async revoke(count) {
      const valid = pool.filter((tracked) => tracked.revokedAt === undefined && !tracked.isOpen);
      const chosen = valid.slice(0, count);
      for (const tracked of chosen) {
        tracked.isOpen = true;
        await operator.revoke(tracked.target);
        tracked.revokedAt = performance.now();
        tracked.isOpen = false;
      }
      pool = [...pool, ...(await Promise.all(chosen.map(() => createTracked(ahead))))];
      return chosen.map(({ token }) => token);
    },
    forgetRevoked: () => void (pool = pool.filter(({ revokedAt }) => revokedAt === undefined)),
    async untilAll(status) {
      const valid = pool.find((tracked) => tracked.revokedAt === undefined && !tracked.isOpen);
      if (!valid) throw new Error("All tokens are revoked.");
      const statuses = () => Promise.all(members.map((member) => statusOf(member, valid.token)));
      await expect.poll(statuses, { timeout: 20_000, interval: 50 }).toEqual(members.map(() => status));
    },
    async settle() {
      await passing(boundMs() + 500);
      expect(tally).toMatchObject({ wronglyAccepted: 0, wronglyRefused: 0 });
    },
    async expectAllRevoked(member) {
      for (const { token, revokedAt } of pool)
        if (revokedAt !== undefined) expect(await statusOf(member, token)).toBe(401);
    },
    async stop() {
      isRunning = false;
      await Promise.all(running);
      await Promise.all(members.map((member) => member.stop()));
      await operator.close();
      await connected.close();
    },
  };
  await service.untilAll(200);
  return service;
}

/** Lets a time pass that belongs to a scenario. */
export const passing = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
