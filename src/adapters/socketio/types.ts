/** The types of Socket.IO 4 that are used, declared by structure. */
import type { NodeServerRequest } from "../shared/node-request.ts";
import type { NodeResponse } from "../shared/node-response.ts";
import type { UpgradeSocket } from "../node/upgrade-socket.ts";

/** The part of a Socket.IO server (4.6 or later) that is used. */
export interface SocketIoServer {
  /** The engine; set when the server is attached to a server of `node:http`. */
  readonly engine: unknown;
  /** Returns the path of its requests. */
  path(): string;
  /** Adds a listener for namespaces that are created later. */
  on(event: "new_namespace", listener: (namespace: never) => void): unknown;
}

/** The part of a socket, which belongs to one namespace, that is used. */
export interface SocketIoSocket {
  /** The session, which sockets of several namespaces share, and the request that opened it. */
  readonly conn: { readonly request: object };
  /** The handshake data that the client sent when it joined the namespace. */
  readonly handshake: { readonly auth: object };
  /** The namespace. */
  readonly nsp: { readonly name: string };
}

export interface EngineRequest extends NodeServerRequest {
  readonly _query?: { readonly sid?: string; readonly transport?: string };
  readonly socket: UpgradeSocket;
}

/** For an upgrade, an object without `appendHeader`. */
export type EngineResponse = Partial<NodeResponse> & Pick<NodeResponse, "statusCode" | "setHeader" | "end">;

export interface Engine {
  readonly clients: Readonly<Record<string, { readonly request: object }>>;
  use(check: (request: EngineRequest, response: EngineResponse, next: () => void) => void): unknown;
}

interface Internals {
  readonly engine: Partial<Engine>;
  readonly _nsps: ReadonlyMap<string, Namespace>;
  readonly opts: { readonly connectionStateRecovery?: { readonly skipMiddlewares?: boolean } };
}

type SocketCheck = (socket: SocketIoSocket, next: (refusal?: Error) => void) => void;
interface Namespace {
  use(check: SocketCheck): unknown;
  readonly _fns?: unknown;
}

/** Runs a check first in every namespace, including those that a client creates by joining them. */
export function guardNamespaces(io: SocketIoServer, check: SocketCheck): void {
  const add = (namespace: Namespace): void => {
    // Inserted first, because a namespace that a pattern created begins with the middleware of the pattern.
    if (Array.isArray(namespace._fns)) namespace._fns.unshift(check);
    else namespace.use(check);
  };
  for (const namespace of (io as Internals & SocketIoServer)._nsps.values()) add(namespace);
  io.on("new_namespace", add);
}

/** Returns the engine of a server. Throws for a server that couldn't be guarded completely. */
export function engineOf(io: SocketIoServer): Engine {
  const { engine, _nsps, opts } = Object(io) as Partial<Internals>;
  if (typeof engine?.use !== "function" || !(_nsps instanceof Map))
    throw new TypeError(
      "protect(server) takes a Socket.IO server (4.6 or later) that is attached to an HTTP server: write `const io = new Server(http); protect(server)(io);`. Do not pass it to `io.use`.",
    );
  // Recovered sockets would join without any check.
  if (opts?.connectionStateRecovery && opts.connectionStateRecovery.skipMiddlewares !== false)
    throw new TypeError(
      "connectionStateRecovery skips the check of its sockets. Write `connectionStateRecovery: { skipMiddlewares: false }`.",
    );
  return engine as Engine;
}
