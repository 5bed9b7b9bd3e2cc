/** A TCP proxy between clients and Redis that a test lets fail. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

/** What the proxy does with what it receives. */
export type Fault =
  | "none"
  /** Nothing passes, and the connections stay open: the network between them is cut. */
  | "cut"
  /** Connections of clients stay open and get no answer, but those to Redis are gone. */
  | "half-open"
  /** Connections are refused. */
  | "refused"
  /** Each reply ends in the middle, and its connection with it. */
  | "cut replies";

export interface Proxy {
  readonly port: number;
  /** Sets the fault, and ends the connections that it would leave in an impossible state. */
  readonly set: (fault: Fault) => Promise<void>;
  /** How long each reply is delayed, in milliseconds. */
  readonly delay: (ms: number) => void;
  /** Sends further connections to another port, and ends those that exist. */
  readonly switchTo: (port: number) => void;
  readonly close: () => Promise<void>;
}

export async function startProxy(first: number): Promise<Proxy> {
  let target = first;
  let fault: Fault = "none";
  let delayMs = 0;
  const clients = new Set<Socket>();
  const upstreams = new Set<Socket>();

  const pass = (to: Socket, data: Buffer, isReply: boolean): void => {
    if (fault === "cut" || fault === "half-open" || to.destroyed) return;
    if (isReply && fault === "cut replies") {
      to.end(data.subarray(0, Math.max(1, data.length >> 1)));
      return;
    }
    to.write(data);
  };
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    clients.add(client);
    upstreams.add(upstream);
    client.on("data", (data: Buffer) => pass(upstream, data, false));
    upstream.on("data", (data: Buffer) => {
      if (delayMs === 0) pass(client, data, true);
      else setTimeout(() => pass(client, data, true), delayMs);
    });
    for (const socket of [client, upstream]) socket.on("error", () => undefined);
    client.on("close", () => {
      clients.delete(client);
      upstream.destroy();
    });
    upstream.on("close", () => {
      upstreams.delete(upstream);
      if (fault !== "half-open") client.destroy();
    });
  });
  const listen = async (port: number): Promise<number> => {
    server.listen(port, "127.0.0.1");
    await once(server, "listening");
    return (server.address() as { port: number }).port;
  };
  const endAll = (): void => {
    for (const socket of [...clients, ...upstreams]) socket.destroy();
  };
  const port = await listen(0);
  return {
    port,
    async set(next) {
      const was = fault;
      fault = next;
      if (next === "half-open") for (const upstream of upstreams) upstream.destroy();
      if (next === "refused") {
        server.close();
        endAll();
        await once(server, "close");
      } else if (was === "refused") await listen(port);
      // What was swallowed is lost, as after a timeout of TCP.
      if (next === "none" && was === "cut") endAll();
    },
    delay: (ms) => void (delayMs = ms),
    switchTo(next) {
      target = next;
      endAll();
    },
    async close() {
      endAll();
      server.close();
      await once(server, "close");
    },
  };
}
