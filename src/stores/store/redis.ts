/** A store in Redis, with the client of the application: `redis` (node-redis) or `ioredis`. */
import {
  anyString,
  checkOptions,
  numberFrom,
  required,
  wholeNumber,
} from "../../core/options/check-options.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { Store } from "../../core/runtime/store.ts";

type Reply = Promise<unknown>;

/**
 * A client of the package `redis`, version 4 or later, created by a function such as `createClient` or
 * `createCluster`.
 */
export interface NodeRedisClient {
  /** The command GET. */
  get(key: string): Promise<unknown>;
  /** The command SET. */
  set(key: string, value: string, options?: object): Promise<unknown>;
  /** The command DEL. */
  del(key: string): Promise<unknown>;
}

/** A client of the package `ioredis`, version 5 or later, or its `Cluster`. */
export interface IoredisClient {
  /** The command GET. */
  get(key: string): Promise<unknown>;
  /** Sends any command. */
  call(command: string, ...values: string[]): Promise<unknown>;
  /** Sends commands together. */
  pipeline(commands: string[][]): { exec(): Promise<readonly (readonly unknown[])[] | null> };
}

/** A connected client. This package doesn't close it. */
export type RedisClient = NodeRedisClient | IoredisClient;

/** The options of `redisStore`. */
export interface RedisStoreOptions {
  /** The beginning of each key in Redis. Default: `"scopegate:"`. */
  readonly keyPrefix?: string;
  /**
   * How many replicas must have a value before `set` resolves, and how long Redis waits for them (`WAIT`). If
   * fewer replicas confirm it, `set` rejects. Default: only the primary.
   */
  readonly confirm?: { readonly replicas: number; readonly timeoutMs: number };
}

/** The commands that are used, for both clients. */
interface Commands {
  get(key: string): Reply;
  set(key: string, value: string, flags: SetFlags): Reply;
  del(key: string): Reply;
  /** Sets a value, and then waits for replicas on the same connection. Returns both replies. */
  setAndWait(
    key: string,
    value: string,
    flags: SetFlags,
    wait: readonly [string, string],
  ): Promise<readonly unknown[]>;
  configGet(pattern: string): Reply;
}

interface SetFlags {
  /** For how long, in milliseconds. */
  readonly PX?: number;
  readonly NX?: true;
}

/**
 * Creates a store that several processes share, in Redis: one server, a primary with replicas (Sentinel), or
 * a cluster. It uses the commands `GET`, `SET` and `DEL`, with `confirm` also `WAIT`, and `CONFIG GET` if the
 * connection's user may run it. There is one command for each key; the commands of one turn of the event loop
 * are sent together.
 *
 * Redis decides whether a value survives a crash, and what it deletes when its memory is full.
 *
 * @throws TypeError for anything but a client of `redis` or `ioredis`
 * @throws ConfigurationError that lists every mistake in the options
 * @example
 * ```ts
 * import { Redis } from "ioredis";
 * import { redisStore } from "scopegate/store";
 *
 * const store = redisStore(new Redis(process.env.REDIS_URL!), { keyPrefix: "acme:" });
 * console.log(await store.get(["greeting"]));
 * ```
 */
export function redisStore(client: RedisClient, options: RedisStoreOptions = {}): Store {
  checkOptions("redisStore", options, { keyPrefix: anyString, confirm: CONFIRM });
  const { keyPrefix = "scopegate:", confirm } = options;
  if (confirm)
    checkOptions("redisStore.confirm", confirm, {
      replicas: required(wholeNumber),
      timeoutMs: required(numberFrom(1, 60_000)),
    });
  const commands = commandsOf(client);
  return {
    async get(keys) {
      const replies = await withSafeErrors(Promise.all(keys.map((key) => commands.get(keyPrefix + key))));
      return replies.map((reply) => (reply === null || reply === undefined ? undefined : textOf(reply)));
    },
    async set(key, value, { until, ifAbsent = false } = {}) {
      const flags: SetFlags = compact({
        // Relative, because the clock of Redis may differ.
        PX: until && Math.max(1, until.getTime() - Date.now()),
        NX: ifAbsent ? (true as const) : undefined,
      });
      if (!confirm) return isStored(await withSafeErrors(commands.set(keyPrefix + key, value, flags)));
      const wait = [String(confirm.replicas), String(confirm.timeoutMs)] as const;
      const [reply, count] = await withSafeErrors(commands.setAndWait(keyPrefix + key, value, flags, wait));
      if (Number(count) < confirm.replicas)
        throw new Error(
          `Redis: only ${Number(count)} of ${confirm.replicas} replicas have confirmed a value.`,
        );
      return isStored(reply);
    },
    async delete(key) {
      await withSafeErrors(commands.del(keyPrefix + key));
    },
    findWarnings: () => findWarnings(commands),
  };
}

const CONFIRM = {
  accepts: (value: unknown) => typeof value === "object" && value !== null,
  hint: "Write { replicas, timeoutMs }.",
};

/** A client may return buffers. */
const textOf = (reply: unknown): string => (Buffer.isBuffer(reply) ? reply.toString() : (reply as string));

/** With `NX`, the reply is null if the key has a value. */
const isStored = (reply: unknown): boolean => textOf(reply) === "OK";

/**
 * Keeps only the message, because an error also contains the command, and a connection error the password.
 */
async function withSafeErrors<Result>(reply: Promise<Result>): Promise<Result> {
  try {
    return await reply;
  } catch (error) {
    // eslint-disable-next-line preserve-caught-error -- a log of the cause would show the password
    throw new Error(`Redis: ${error instanceof Error ? error.message : "the command failed"}`);
  }
}

/** @throws TypeError for anything but a client of `redis` or `ioredis` */
function commandsOf(client: RedisClient): Commands {
  // A client of ioredis also has a `sendCommand`, which takes an object.
  if (has(client, "call") && has(client, "pipeline")) return commandsOfIoredis(client);
  if (has(client, "sendCommand") && has(client, "get")) return commandsOfNodeRedis(client as never);
  throw new TypeError("redisStore takes a client of the package `redis` or `ioredis`.");
}

const has = <Name extends string>(client: unknown, name: Name): client is Record<Name, unknown> =>
  typeof client === "object" && client !== null && typeof Reflect.get(client, name) === "function";

function commandsOfIoredis(client: IoredisClient): Commands {
  const words = (key: string, value: string, { PX, NX }: SetFlags): string[] => [
    "set",
    key,
    value,
    ...(PX === undefined ? [] : ["PX", String(PX)]),
    ...(NX ? ["NX"] : []),
  ];
  return {
    get: (key) => client.get(key),
    set: (key, value, flags) => client.call(...(words(key, value, flags) as [string])),
    del: (key) => client.call("del", key),
    async setAndWait(key, value, flags, wait) {
      const results = (await client.pipeline([words(key, value, flags), ["wait", ...wait]]).exec()) ?? [];
      const failure = results.find(([error]) => error);
      if (failure) throw failure[0];
      return results.map(([, reply]) => reply);
    },
    configGet: (pattern) => client.call("config", "GET", pattern),
  };
}

/**
 * How the clients of `createClient`, `createSentinel` and `createCluster` take a raw command. The last one
 * also takes its key.
 */
interface RawNodeRedis extends NodeRedisClient {
  sendCommand(...values: unknown[]): Reply;
  /** For a sentinel: runs a function with one connection. */
  use?(run: (client: RawNodeRedis) => Reply): Reply;
  /** For a pool: the same. */
  execute?(run: (client: RawNodeRedis) => Reply): Reply;
}

function commandsOfNodeRedis(client: RawNodeRedis): Commands {
  return {
    get: (key) => client.get(key),
    set: (key, value, flags) => client.set(key, value, flags),
    del: (key) => client.del(key),
    setAndWait: (key, value, flags, wait) =>
      onOneConnection(client, (connection) =>
        Promise.all([connection.set(key, value, flags), sendRaw(connection, key, ["WAIT", ...wait])]),
      ) as Promise<readonly unknown[]>,
    configGet: (pattern) => sendRaw(client, undefined, ["CONFIG", "GET", pattern]),
  };
}

/** `WAIT` counts the writes of its own connection, and a sentinel or a pool may have several. */
function onOneConnection(client: RawNodeRedis, run: (client: RawNodeRedis) => Reply): Reply {
  if (client.use) return client.use(run);
  return client.execute && client.sendCommand.length < CLUSTER ? client.execute(run) : run(client);
}

/** The number of parameters of `sendCommand`. */
const SENTINEL = 3;
const CLUSTER = 4;

function sendRaw(client: RawNodeRedis, key: string | undefined, command: readonly string[]): Reply {
  if (client.sendCommand.length === CLUSTER) return client.sendCommand(key, false, command);
  return client.sendCommand.length === SENTINEL
    ? client.sendCommand(false, command)
    : client.sendCommand(command);
}

/** Returns the settings that can lose values. Returns nothing if it may not read the settings. */
async function findWarnings(commands: Commands): Promise<readonly string[]> {
  const read = async (name: string): Promise<string | undefined> => {
    try {
      return valueOf(await commands.configGet(name));
    } catch {
      return undefined;
    }
  };
  const [policy, appendOnly, save] = await Promise.all(["maxmemory-policy", "appendonly", "save"].map(read));
  const warnings: string[] = [];
  if (policy !== undefined && policy !== "noeviction")
    warnings.push(
      `Redis has the maxmemory-policy ${policy}: if its memory is full, it deletes revocations. Set noeviction.`,
    );
  if (appendOnly === "no" && save === "")
    warnings.push("Redis has no persistence: a restart loses all revocations. Set appendonly yes.");
  return warnings;
}

/** A map is an object or a `Map` with RESP3, and an array of names and values with RESP2. */
function valueOf(reply: unknown): string | undefined {
  if (Array.isArray(reply)) return reply.length < 2 ? undefined : textOf(reply[1]);
  const values = reply instanceof Map ? [...reply.values()] : Object.values(Object(reply) as object);
  return values.length === 0 ? undefined : textOf(values[0]);
}
