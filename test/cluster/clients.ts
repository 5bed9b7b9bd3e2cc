/** Clients of Redis, of both packages, and of older versions that a folder has. */
import { createRequire } from "node:module";
import { join } from "node:path";
import type { RedisClient } from "scopegate/store";

export interface ClientSettings {
  /** The package, or a name in the folder `SCOPEGATE_REDIS_CLIENTS`, such as `redis4`. */
  readonly package: string;
  readonly port: number;
  readonly mode?: "server" | "sentinel" | "cluster";
}

export interface ConnectedClient {
  readonly client: RedisClient;
  readonly close: () => unknown;
}

/** Names of packages in the folder `SCOPEGATE_REDIS_CLIENTS`: `npm i redis4@npm:redis@4 ioredis50@npm:ioredis@5.0.0`. */
export const OLD_CLIENTS = ["ioredis50", "ioredis5", "redis4", "redis5"] as const;

/** `ioredis 5.0` for `ioredis50`. */
export const labelOf = (name: string): string =>
  name.replace(/(\d)(\d?)$/, (_, major: string, minor: string) => ` ${major}${minor && `.${minor}`}`);

export function hasClient(name: string): boolean {
  try {
    load(name);
    return true;
  } catch {
    return false;
  }
}

const folder = process.env["SCOPEGATE_REDIS_CLIENTS"];
const load = (name: string): Record<string, (...values: unknown[]) => never> =>
  createRequire(/\d$/.test(name) && folder !== undefined ? join(folder, "x.js") : import.meta.url)(
    name,
  ) as never;

const HOST = "127.0.0.1";

/** In 2 seconds, a client notices that a connection is dead. */
const TIMEOUT_MS = 2_000;

export async function connectClient({
  package: name,
  port,
  mode = "server",
}: ClientSettings): Promise<ConnectedClient> {
  return name.startsWith("ioredis") ? connectIoredis(name, port, mode) : connectRedis(name, port, mode);
}

interface Emitter {
  on(name: "error", listener: () => void): unknown;
}

function connectIoredis(name: string, port: number, mode: ClientSettings["mode"]): ConnectedClient {
  type Constructor = new (...values: unknown[]) => RedisClient & Emitter & { disconnect(): void };
  // Version 5.0 exports only the class itself.
  const Redis = load(name) as unknown as Constructor & { readonly Cluster: Constructor };
  const { Cluster } = Redis;
  const options = { retryStrategy: () => 100, socketTimeout: TIMEOUT_MS };
  const client =
    mode === "cluster"
      ? new Cluster([{ host: HOST, port }], {
          redisOptions: { socketTimeout: TIMEOUT_MS },
          clusterRetryStrategy: () => 100,
        })
      : new Redis(
          mode === "sentinel"
            ? {
                ...options,
                sentinels: [{ host: HOST, port }],
                name: "main",
                sentinelRetryStrategy: () => 100,
              }
            : { ...options, host: HOST, port },
        );
  client.on("error", () => undefined);
  return { client, close: () => client.disconnect() };
}

async function connectRedis(
  name: string,
  port: number,
  mode: ClientSettings["mode"],
): Promise<ConnectedClient> {
  const { createClient, createCluster, createSentinel } = load(name) as unknown as Record<
    "createClient" | "createCluster" | "createSentinel",
    (
      options: object,
    ) => RedisClient & Emitter & { connect(): Promise<unknown>; disconnect(): unknown; destroy?(): unknown }
  >;
  const socket = { host: HOST, port, reconnectStrategy: () => 100, socketTimeout: TIMEOUT_MS };
  const create = {
    // Without pings, an idle connection would end, too.
    server: () => createClient({ socket, pingInterval: TIMEOUT_MS / 4 }),
    cluster: () => createCluster({ rootNodes: [{ socket: { host: HOST, port } }] }),
    sentinel: () => createSentinel({ name: "main", sentinelRootNodes: [{ host: HOST, port }] }),
  }[mode ?? "server"];
  const client = create();
  client.on("error", () => undefined);
  await client.connect();
  return { client, close: () => (client.destroy ? client.destroy() : client.disconnect()) };
}
