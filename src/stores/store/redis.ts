/** A store in Redis, with the client of the application: `redis` (node-redis) or `ioredis`. */
import { checkOptions } from "../../core/options/check-options.ts";
import { anyString } from "../../core/options/option-checks.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { Store } from "../../core/runtime/store.ts";
import { withinLimit } from "../../core/runtime/time-limit.ts";

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
}

/** A connected client. This package doesn't close it. */
export type RedisClient = NodeRedisClient | IoredisClient;

/** The options of `redisStore`. */
export interface RedisStoreOptions {
  /** The beginning of each key in Redis. Default: `"scopegate:"`. */
  readonly keyPrefix?: string;
}

/** The commands that are used, for both clients. */
interface Commands {
  get(key: string): Reply;
  set(key: string, value: string, flags: SetFlags): Reply;
  del(key: string): Reply;
  /** Sends a command without a key. */
  send(...command: readonly [string, ...string[]]): Reply;
}

/** The flags of `SET`: the time to live in milliseconds, and whether the key must be absent. */
interface SetFlags {
  readonly PX?: number;
  readonly NX?: true;
}

/** How long the answers to some keys wait for those to others, which may be on a node that hangs. */
const READ_MS = 2_000;

/**
 * Creates a store that several processes share, in Redis: one server, a primary with replicas (Sentinel), or
 * a cluster. It uses the commands `GET`, `SET`, `DEL` and `TIME`, and `CONFIG GET` if its user may run it.
 * There is one command for each key; the commands of one turn of the event loop are sent together.
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
  checkOptions("redisStore", options, { keyPrefix: anyString });
  const { keyPrefix = "scopegate:" } = options;
  const commands = commandsOf(client);
  return {
    async get(keys) {
      const results: (string | undefined | Error)[] = keys.map(() => TIMED_OUT);
      const reading = Promise.all(
        keys.map(async (key, index) => {
          const reply = withSafeErrors(commands.get(keyPrefix + key)).then(requireReply);
          results[index] = await reply.then(
            (value) => value ?? undefined,
            (error: unknown) => error as Error,
          );
        }),
      );
      await withinLimit(reading, "Redis", READ_MS).catch(() =>
        results.every((result) => result === TIMED_OUT) ? reading : undefined,
      );
      // A copy, because later replies change the array.
      return [...results];
    },
    async set(key, value, { ttlMs, ifAbsent = false } = {}) {
      const flags: SetFlags = compact({
        PX: ttlMs === undefined ? undefined : Math.max(1, Math.ceil(ttlMs)),
        NX: ifAbsent ? (true as const) : undefined,
      });
      const reply = await withSafeErrors(commands.set(keyPrefix + key, value, flags));
      return requireReply(reply) === "OK";
    },
    async delete(key) {
      await withSafeErrors(commands.del(keyPrefix + key));
    },
    async now() {
      const [seconds, microseconds] = (await withSafeErrors(commands.send("TIME"))) as unknown[];
      return Number(seconds) * 1000 + Number(microseconds) / 1000;
    },
    findWarnings: async () => [...findClientWarnings(client), ...(await findServerWarnings(commands))],
  };
}

const TIMED_OUT = new Error(`Redis: no reply within ${READ_MS} ms.`);

/** Reads a string or null. A client may also return buffers. `undefined` shows that it needs callbacks. */
function requireReply(reply: unknown): string | null {
  if (Buffer.isBuffer(reply)) return reply.toString();
  if (reply === null || typeof reply === "string") return reply;
  const hint = "Use it without `legacyMode` or `legacy()`, and with strings.";
  throw new TypeError(`Redis: the client returned ${typeof reply} instead of a string. ${hint}`);
}

/** Keeps only the message: an error also contains the command, and a connection error the password. */
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
  if (has(client, "call") && has(client, "get")) return commandsOfIoredis(client);
  if (has(client, "sendCommand") && has(client, "get")) return commandsOfNodeRedis(client as never);
  throw new TypeError("redisStore takes a client of the package `redis` or `ioredis`.");
}

const has = <Name extends string>(client: unknown, name: Name): client is Record<Name, unknown> =>
  typeof client === "object" && client !== null && typeof Reflect.get(client, name) === "function";

function commandsOfIoredis(client: IoredisClient): Commands {
  const flagsOf = ({ PX, NX }: SetFlags): string[] => [
    ...(PX === undefined ? [] : ["PX", String(PX)]),
    ...(NX ? ["NX"] : []),
  ];
  return {
    get: (key) => client.get(key),
    set: (key, value, flags) => client.call("set", key, value, ...flagsOf(flags)),
    del: (key) => client.call("del", key),
    send: (...command) => client.call(...command),
  };
}

/** How clients take a raw command. That of a sentinel also takes a flag, and that of a cluster a key. */
interface RawNodeRedis extends NodeRedisClient {
  sendCommand(...values: unknown[]): Reply;
}

function commandsOfNodeRedis(client: RawNodeRedis): Commands {
  return {
    get: (key) => client.get(key),
    set: (key, value, flags) => client.set(key, value, flags),
    del: (key) => client.del(key),
    send: (...command) => sendRaw(client, command),
  };
}

/** The number of parameters of `sendCommand`. */
const SENTINEL = 3;
const CLUSTER = 4;

function sendRaw(client: RawNodeRedis, command: readonly string[]): Reply {
  if (client.sendCommand.length === CLUSTER) return client.sendCommand(undefined, false, command);
  return client.sendCommand.length === SENTINEL
    ? client.sendCommand(false, command)
    : client.sendCommand(command);
}

/** The options of a client that matter here. A cluster of `redis` doesn't show its options. */
interface ClientOptions {
  readonly socketTimeout?: number;
  readonly redisOptions?: ClientOptions;
  readonly pingInterval?: number;
  readonly socket?: ClientOptions;
}

/** Returns a warning for a client that waits for minutes if its connection is dead. */
function findClientWarnings(client: RedisClient): readonly string[] {
  const { options } = client as { readonly options?: ClientOptions };
  if (!options || Object.keys(options).length === 0) return [];
  const isIoredis = has(client, "call");
  const { socketTimeout } = (isIoredis ? options.redisOptions : options.socket) ?? options;
  if (socketTimeout !== undefined && (isIoredis || options.pingInterval !== undefined)) return [];
  const setting = isIoredis
    ? "socketTimeout"
    : "pingInterval, a longer socket.socketTimeout and reconnectStrategy";
  return [`The client of Redis doesn't notice a dead connection. Set ${setting}.`];
}

/** Returns the settings that can lose values. Returns nothing if it may not read the settings. */
async function findServerWarnings(commands: Commands): Promise<readonly string[]> {
  const read = (name: string) => commands.send("CONFIG", "GET", name).then(settingOf, () => undefined);
  const names = ["maxmemory-policy", "appendonly", "save", "appendfsync"];
  const [policy, appendOnly, save, fsync] = await Promise.all(names.map(read));
  const warnings: string[] = [];
  if (policy !== undefined && policy !== "noeviction")
    warnings.push(
      `Redis has the maxmemory-policy ${policy}: if its memory is full, it deletes revocations. Set noeviction.`,
    );
  if (appendOnly === "no")
    warnings.push(
      `Redis has no append-only file: a restart loses ${save === "" ? "all" : "the latest"} revocations. Set appendonly yes.`,
    );
  else if (fsync !== undefined && fsync !== "always")
    warnings.push(
      `Redis has appendfsync ${fsync}: a crash loses the latest revocations. Set appendfsync always.`,
    );
  return warnings;
}

/** A map is an object or a `Map` with RESP3, and an array of names and values with RESP2. */
function settingOf(reply: unknown): string | undefined {
  const values = Array.isArray(reply)
    ? reply.slice(1)
    : [...(reply instanceof Map ? reply.values() : Object.values(Object(reply) as object))];
  return values.length === 0 ? undefined : String(values[0]);
}
