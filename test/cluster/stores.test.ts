/**
 * Runs the example for each deployment as it is: with an idle connection, with one that dies without an error, and with
 * a restart.
 */
import { randomUUID } from "node:crypto";
import { cpSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import { type RevocationEvent, sharedRevocation } from "scopegate/revocation";
import type { Store } from "scopegate/store";
import { ROOT } from "../documentation/markdown.ts";
import { runChild } from "../support/child-limit.ts";
import { createIssuer } from "../support/issuer.ts";
import { createSchema, HAS_POSTGRES } from "../support/postgres.ts";
import {
  DURABLE,
  HAS_REDIS_SERVER,
  type RedisInstance,
  startCluster,
  startRedis,
  startSentinel,
} from "../support/redis-server.ts";
import { startRestServer } from "../support/rest-server.ts";
import { createResourceServer } from "../support/server.ts";
import { type Proxy, startProxy } from "./proxy.ts";
import { passing } from "./service.ts";

/** What a client connects to, and what a test can do with it. */
interface Deployment {
  /** The environment variables of the code. */
  readonly env: Readonly<Record<string, string>>;
  /** The connections of the client run through these. */
  readonly proxies: readonly Proxy[];
  readonly restart: () => Promise<unknown>;
}

/** Longer than each timeout of the code. */
const IDLE_MS = 4_500;
const RECOVERY = { timeout: 20_000, interval: 100 };
const FOLDER = join(ROOT, "test/.stores");

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  vi.unstubAllEnvs();
});
// The clients of earlier tests report that their servers are gone.
console.error = () => undefined;
afterAll(() => rmSync(FOLDER, { recursive: true, force: true }));

const issuer = createIssuer();
let nextId = 0;

/** Imports a copy of an example, and returns its store. */
async function storeOf(example: string, env: Deployment["env"]): Promise<Store> {
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  // A copy, because a module is imported only once.
  const folder = join(FOLDER, randomUUID());
  cpSync(join(ROOT, "examples/stores"), folder, { recursive: true });
  const { href } = pathToFileURL(join(folder, `${example}.ts`));
  const { store } = (await import(href)) as { readonly store: Store };
  return store;
}

const runCli = (port: number, ...command: readonly string[]): string =>
  runChild("redis-cli", ["-p", String(port), ...command], {}).stdout;

/** A connection that dies without an error: nothing arrives, and the client doesn't notice. */
async function killSilently(proxies: readonly Proxy[]): Promise<void> {
  for (const proxy of proxies) await proxy.set("half-open");
  // The proxies notice that their own connections have ended.
  await passing(200);
  for (const proxy of proxies) await proxy.set("none");
}

async function startProxied(redis: RedisInstance): Promise<Proxy> {
  const proxy = await startProxy(redis.port);
  cleanups.push(() => proxy.close());
  return proxy;
}

async function startDurable(): Promise<RedisInstance> {
  const redis = await startRedis(undefined, DURABLE);
  cleanups.push(() => redis.remove());
  return redis;
}

const restart = (instances: readonly RedisInstance[]) => async () => {
  for (const instance of instances) await instance.stop();
  for (const instance of instances) await instance.restart();
};

async function oneServer(): Promise<Deployment> {
  const redis = await startDurable();
  const proxy = await startProxied(redis);
  return {
    env: { REDIS_URL: `redis://127.0.0.1:${proxy.port}` },
    proxies: [proxy],
    restart: restart([redis]),
  };
}

/** Sentinel reports the address of the proxy, because that is what it watches. */
async function withSentinel(): Promise<Deployment> {
  const redis = await startDurable();
  const proxy = await startProxied(redis);
  const sentinel = await startSentinel(proxy);
  cleanups.push(() => sentinel.remove());
  return {
    env: { REDIS_SENTINELS: `127.0.0.1:${sentinel.port}` },
    proxies: [proxy],
    restart: restart([redis]),
  };
}

/** The nodes report the addresses of the proxies. */
async function inCluster(): Promise<Deployment> {
  const nodes = await startCluster();
  cleanups.push(() => Promise.all(nodes.map((node) => node.remove())));
  const proxies = await Promise.all(nodes.map(startProxied));
  for (const [index, { port }] of nodes.entries()) {
    runCli(port, "config", "set", "cluster-announce-bus-port", String(port + 10_000));
    runCli(port, "config", "set", "cluster-announce-port", String(proxies[index]?.port));
  }
  const reported = () => nodes.map(({ port }) => runCli(port, "cluster", "slots"));
  await expect
    .poll(
      () => reported().every((slots) => proxies.every(({ port }) => slots.includes(String(port)))),
      RECOVERY,
    )
    .toBe(true);
  const urls = proxies.map(({ port }) => `redis://127.0.0.1:${port}`);
  return { env: { REDIS_NODES: urls.join(",") }, proxies, restart: restart(nodes) };
}

async function overHttp(): Promise<Deployment> {
  const redis = await startDurable();
  const rest = await startRestServer(redis.port, "token");
  cleanups.push(rest.close);
  const proxy = await startProxy(rest.port);
  cleanups.push(() => proxy.close());
  return {
    env: { UPSTASH_REDIS_REST_URL: `http://127.0.0.1:${proxy.port}`, UPSTASH_REDIS_REST_TOKEN: "token" },
    proxies: [proxy],
    restart: restart([redis]),
  };
}

const createServer = (store: Store, onEvent: (event: RevocationEvent) => unknown) =>
  createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [issuer.publicPem],
    scopeMappings: { "GET /agents": [] },
    revocation: sharedRevocation(store, { onEvent }),
  });

const requestWith = (token: string) => ({
  method: "GET",
  target: "/agents",
  authorization: `Bearer ${token}`,
});

/** A server whose tokens are revoked in the store. */
async function startServer(store: Store) {
  const warnings: string[] = [];
  const server = createServer(store, (event) => event.type === "warning" && warnings.push(event.message));
  cleanups.push(() => server.close());
  await server.ready();
  const newToken = async () => {
    const now = Math.floor(Date.now() / 1000);
    const jti = `t${(nextId += 1)}`;
    return issuer.token({ aud: "agents-prod", iat: now, exp: now + 3_600, scopes: [], sub: jti, jti });
  };
  const statusOf = async (token: string): Promise<number> => {
    const decision = await server.check(requestWith(token));
    return decision.allowed ? 200 : server.refuse(decision).status;
  };
  /** Another process doesn't know what this one has revoked. */
  const expectRevoked = async (token: string) => {
    const other = createServer(store, () => undefined);
    expect(await other.check(requestWith(token))).toMatchObject({ allowed: false, rejection: "revoked" });
    await other.close();
  };
  return { server, warnings, newToken, statusOf, expectRevoked };
}

/** Expects that a known caller is always accepted, until new tokens are, too. */
async function expectRecovery(
  { server, newToken, statusOf }: Awaited<ReturnType<typeof startServer>>,
  known: string,
) {
  await expect
    .poll(async () => {
      expect(await statusOf(known)).toBe(200);
      return [await statusOf(await newToken()), server.health().status];
    }, RECOVERY)
    .toEqual([200, "ok"]);
}

async function expectWorks(example: string, { env, proxies, restart }: Deployment): Promise<void> {
  const started = await startServer(await storeOf(example, env));
  const { server, newToken, statusOf, expectRevoked } = started;
  expect(started.warnings).toEqual([]);
  const [known, first, second] = [await newToken(), await newToken(), await newToken()];
  for (const token of [known, first, second]) expect(await statusOf(token)).toBe(200);
  await server.revoke({ token: first });
  await expectRevoked(first);

  await passing(IDLE_MS);
  expect(await statusOf(await newToken())).toBe(200);
  await server.revoke({ token: second });
  await expectRevoked(second);
  expect(server.health().status).toBe("ok");

  await killSilently(proxies);
  await expectRecovery(started, known);
  const third = await newToken();
  // In a cluster, the connection to another node may still be dead.
  const isRevoked = () =>
    server.revoke({ token: third }).then(
      () => true,
      () => false,
    );
  await expect.poll(isRevoked, RECOVERY).toBe(true);
  await expectRevoked(third);

  // Nobody asks for anything while the connection dies.
  await killSilently(proxies);
  await passing(IDLE_MS);
  await expectRecovery(started, known);

  await restart();
  await expectRecovery(started, known);
  for (const token of [first, second, third]) await expectRevoked(token);
}

describe.skipIf(!HAS_REDIS_SERVER)("the example of a store", () => {
  it.each<readonly [string, () => Promise<Deployment>]>([
    ["ioredis", oneServer],
    ["redis", oneServer],
    ["sentinel", withSentinel],
    ["cluster", inCluster],
    ["upstash", overHttp],
  ])(
    "survives an idle phase, a dead connection and a restart: %s",
    async (example, start) => expectWorks(example, await start()),
    120_000,
  );

  it("keeps values strings that are JSON: upstash", async () => {
    const { env } = await overHttp();
    const text = JSON.stringify({ a: 1 });
    const store = await storeOf("upstash", env);
    expect(await store.set("json", text)).toBe(true);
    expect(await store.get(["json"])).toEqual([text]);
  });
});

describe.skipIf(!HAS_POSTGRES)("the example of a store in PostgreSQL", () => {
  it("survives an idle phase, a dead connection and a restart, and deletes expired rows", async () => {
    const schema = await createSchema();
    cleanups.push(() => schema.drop());
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    cleanups.push(() => vi.useRealTimers());
    const proxy = await startProxy(schema.port);
    cleanups.push(() => proxy.close());
    const deployment: Deployment = {
      env: { DATABASE_URL: schema.urlAt(proxy.port) },
      proxies: [proxy],
      async restart() {
        await proxy.set("refused");
        await passing(500);
        await proxy.set("none");
      },
    };
    await expectWorks("postgresql", deployment);

    const store = await storeOf("postgresql", deployment.env);
    await store.set("short", "1", { ttlMs: 1 });
    await store.set("long", "1", { ttlMs: 60_000 });
    await expect.poll(() => store.get(["short", "long"])).toEqual([undefined, "1"]);
    const keys = () => schema.query("SELECT key FROM scopegate WHERE key IN ('short', 'long') ORDER BY key");
    expect(await keys()).toHaveLength(2);
    vi.advanceTimersByTime(60_000);
    await expect.poll(keys).toEqual([{ key: "long" }]);
    const indexes = await schema.query("SELECT indexdef FROM pg_indexes WHERE indexname = 'scopegate_until'");
    expect(JSON.stringify(indexes)).toContain("(until)");
  }, 120_000);
});
