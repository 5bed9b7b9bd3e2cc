/** An HTTP server whose tests set a good or bad behaviour for each path. */
import { EventEmitter, once } from "node:events";
import { createServer } from "node:http";
import type { Socket } from "node:net";
import { type Behaviour, status } from "./behaviours.ts";
import { listen, listenForRestarts } from "./http.ts";

export * as behave from "./behaviours.ts";
export type { Behaviour } from "./behaviours.ts";

/** Paths are compared with the raw request target, including the query. */
export interface FaultServer {
  /** The origin: `http://127.0.0.1:<port>`, without a trailing slash. */
  readonly url: string;
  /** Sets the behaviour of a path. Other paths return 404. */
  readonly answer: (path: string, behaviour: Behaviour) => void;
  /** The number of requests for a path. */
  readonly asked: (path: string) => number;
  /** Resolves when a path has received that many requests. */
  readonly whenAsked: (path: string, times: number) => Promise<void>;
  /**
   * The number of open connections that sent a request. Each connection sends one, because none is kept alive. Others are
   * not counted: `fetch` opens one in advance when a request is aborted.
   */
  readonly connections: () => number;
  /** Resolves when there are no such connections. */
  readonly whenIdle: () => Promise<void>;
  /** Closes every connection and refuses new ones. Has no effect when stopped. */
  readonly stop: () => Promise<void>;
  /** Listens again on the same port. */
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

  let listening = await listenForRestarts(server);
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
