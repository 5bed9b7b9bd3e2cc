/** A TCP proxy, so that clients stay connected to one address when another server takes over. */
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export interface Proxy {
  readonly port: number;
  /** Sends further connections to another port, and ends those that exist. */
  readonly switchTo: (port: number) => void;
  /** Passes nothing on, and keeps the connections open: the network between them is cut. */
  readonly partition: (isCut: boolean) => void;
  readonly close: () => Promise<void>;
}

export async function startProxy(first: number): Promise<Proxy> {
  let target = first;
  let isCut = false;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, "127.0.0.1");
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("data", (chunk) => {
        if (!isCut) to.write(chunk);
      });
      from.on("error", () => undefined);
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const end = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as { port: number }).port,
    switchTo(port) {
      target = port;
      end();
    },
    partition(cut) {
      isCut = cut;
      // What was swallowed is lost, as after a timeout of TCP.
      if (!cut) end();
    },
    async close() {
      end();
      server.close();
      await once(server, "close");
    },
  };
}
