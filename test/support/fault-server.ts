/** An HTTP server whose paths answer well or badly, as a test tells them. */
import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import { type Socket } from "node:net";
import { type Behaviour, status } from "./behaviours.ts";
import { listen } from "./http.ts";

export * as behave from "./behaviours.ts";
export { type Behaviour } from "./behaviours.ts";

/** Paths are compared with request targets as they were sent, query included. */
export interface FaultServer {
  /** Without a slash at its end: `http://127.0.0.1:<port>`. */
  readonly url: string;
  /** What a path answers from now on. A path that was never told answers 404. */
  readonly answer: (path: string, behaviour: Behaviour) => void;
  /** How many requests reached a path. */
  readonly asked: (path: string) => number;
  /** Resolves as soon as so many requests have reached a path. */
  readonly whenAsked: (path: string, times: number) => Promise<void>;
  /**
   * How many connections that brought a request are open: each brings one only, so none of them is merely kept alive.
   * Others are not counted, as `fetch` opens one ahead when a request is aborted.
   */
  readonly connections: () => number;
  /** Resolves as soon as there are no such connections. */
  readonly whenIdle: () => Promise<void>;
  /** Cuts every connection and refuses new ones. Does nothing where it is stopped. */
  readonly stop: () => Promise<void>;
  /** Listens again, on the port it had. */
  readonly start: () => Promise<void>;
}

export async function createFaultServer(): Promise<FaultServer> {
  const behaviours = new Map<string, Behaviour>();
  const counts = new Map<string, number>();
  const sockets = new Set<Socket>();
  const changes = new EventEmitter().setMaxListeners(0);
  const unknown = status(404);

  const asked = (path: string): number => counts.get(path) ?? 0;
  const when = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await once(changes, "change");
  };
  const whenIdle = (): Promise<void> => when(() => sockets.size === 0);

  const server = createServer((request, response) => {
    const { url: path = "", socket } = request;
    counts.set(path, asked(path) + 1);
    sockets.add(socket);
    socket.once("close", () => {
      sockets.delete(socket);
      changes.emit("change");
    });
    response.setHeader("connection", "close");
    (behaviours.get(path) ?? unknown)(request, response);
    changes.emit("change");
  });

  let listening = await listen(server);
  const { port } = listening;
  return {
    url: `http://127.0.0.1:${port}`,
    answer: (path, behaviour) => void behaviours.set(path, behaviour),
    asked,
    whenAsked: (path, times) => when(() => asked(path) >= times),
    connections: () => sockets.size,
    whenIdle,
    stop: async () => {
      if (server.listening) await listening.close();
      await whenIdle();
    },
    start: async () => {
      listening = await listen(server, port);
    },
  };
}
