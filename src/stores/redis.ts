/** Sends commands to Redis with the client of the application: `redis` (node-redis) or `ioredis`. */

/** A client of the package `redis`, version 4 or later. */
export interface NodeRedisClient {
  sendCommand(command: string[]): Promise<unknown>;
}

/** A client of the package `ioredis`, version 5 or later. */
export interface IoredisClient {
  call(command: string, ...values: string[]): Promise<unknown>;
}

/** A connected client. It is not closed by this package. */
export type RedisClient = NodeRedisClient | IoredisClient;

/** Sends one command, and returns its reply. */
export type SendCommand = (command: string, ...values: readonly string[]) => Promise<unknown>;

/** @throws TypeError for anything but a client of `redis` or `ioredis` */
export function commandsOf(client: RedisClient): SendCommand {
  // A client of ioredis has a `sendCommand` too, which takes an object.
  if (has(client, "call")) return withSafeErrors((command, ...values) => client.call(command, ...values));
  if (has(client, "sendCommand"))
    return withSafeErrors((command, ...values) => client.sendCommand([command, ...values]));
  throw new TypeError("Pass a client of the package `redis` or `ioredis`.");
}

/** Keeps only the message: an error also holds the command, and an error of a connection the password. */
const withSafeErrors =
  (send: SendCommand): SendCommand =>
  async (command, ...values) => {
    try {
      return await send(command, ...values);
    } catch (error) {
      // eslint-disable-next-line preserve-caught-error -- a log of the cause would show the password
      throw new Error(`Redis: ${error instanceof Error ? error.message : "the command failed"}`);
    }
  };

const has = <Name extends string>(client: unknown, name: Name): client is Record<Name, unknown> =>
  typeof client === "object" && client !== null && typeof Reflect.get(client, name) === "function";
