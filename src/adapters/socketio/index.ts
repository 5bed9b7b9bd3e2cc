import type { AccessRequest } from "../../core/request.ts";
import type { Decision } from "../../core/policy/decision.ts";
import { pipelineOf } from "../../core/port.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { checkOptions } from "../../core/options/check-options.ts";
import { flag, type OptionChecks } from "../../core/options/option-checks.ts";
import { FAULT, type RawResponse, toRawResponse } from "../../core/response/raw-response.ts";
import { authorizationOf } from "../../core/token/credential.ts";
import { isSameCaller } from "../shared/caller-key.ts";
import type { Principal } from "../../core/token/principal.ts";
import { rememberUpgrade } from "../shared/framework-upgrades.ts";
import { assertResourceServer } from "../shared/misuse.ts";
import { toAccessRequest } from "../shared/access-request.ts";
import { withCredentialHeaders } from "../shared/credential-headers.ts";
import { close } from "../node/upgrade-socket.ts";
import { warn } from "../node/warn.ts";
import { findPrincipal, rememberPrincipal } from "./principals.ts";
import {
  type Engine,
  engineOf,
  type EngineRequest,
  type EngineResponse,
  guardNamespaces,
  type SocketIoServer,
  type SocketIoSocket,
} from "./types.ts";

export { type SocketIoServer, type SocketIoSocket };
/** The options of `protect`. */
export interface SocketIoOptions {
  /**
   * Whether a WebSocket may be opened without a token, which the client then sends as `auth.token` for each
   * namespace: browsers can't set the headers of a WebSocket. Default: `false`, and `auth` isn't read.
   */
  readonly tokenInAuth?: boolean | undefined;
}

const OPTIONS: OptionChecks<SocketIoOptions> = { tokenInAuth: flag };

interface Session {
  /** The request that opened the session, copied because later code may change the headers. */
  readonly request: AccessRequest;
  /** The request as the client sent it: its proof is about this method and this path. */
  readonly sent: AccessRequest;
  /** Whether it was opened without a check, because the token is in `auth`. */
  readonly isOpen: boolean;
  /** The first caller that joined a namespace, for a session that was opened without a check. */
  owner: Principal | undefined;
}

/**
 * Protects a Socket.IO server, all namespaces and transports: `protect(server)(io)`, directly after `io` was
 * created for an HTTP server. Every request must satisfy the rule for `GET /socket.io` (the `path` of `io`),
 * all requests of a session must come from one caller, and joining the namespace `/admin` must satisfy the
 * rule for `GET /socket.io/admin`. It doesn't check messages: use `principalOf(socket)?.has(scope)`.
 *
 * A refused request gets the status of the refusal. A client that may not join a namespace receives
 * `connect_error`, with the body of the refusal as `data`. WebTransport sessions are closed, because their
 * requests can't be checked.
 *
 * @throws ConfigurationError for an unknown option, and for a `tokenInAuth` that isn't `true` or `false`
 * @throws TypeError for anything but a resource server, for a Socket.IO server without an HTTP server, and
 * for `connectionStateRecovery` without `skipMiddlewares: false`
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { createResourceServer } from "scopegate";
 * import { principalOf, protect } from "scopegate/socketio";
 * import { Server } from "socket.io";
 *
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   scopeMappings: { "GET /socket.io": ["chat:read"] },
 * });
 * const io = new Server(createServer());
 * protect(server)(io);
 * io.on("connection", (socket) => socket.emit("welcome", principalOf(socket)?.userId));
 * ```
 */
export function protect(server: ResourceServer, options: SocketIoOptions = {}): (io: SocketIoServer) => void {
  assertResourceServer(server);
  checkOptions("protect", options, OPTIONS);
  const { tokenInAuth = false } = options;
  const sessions = new WeakMap<object, Session>();

  const decide = async (asked: AccessRequest, sent: AccessRequest): Promise<Decision> =>
    (await pipelineOf(server).decide(asked, false, sent)).decision();

  /** Decides a request by the rule for GET, because the transport chooses the method, not the client. */
  async function checkRequest(request: EngineRequest, path: string, clients: Engine["clients"]) {
    const { sid = "", transport } = request._query ?? {};
    const asked = withCredentialHeaders(server, request, toAccessRequest(request, request, "GET", path));
    const sent = { ...asked, method: request.method ?? "", target: request.url ?? "" };
    const isOpen = tokenInAuth && sid === "" && transport === "websocket";
    const decision = isOpen ? undefined : await decide(asked, sent);
    if (decision?.allowed === false) return toRawResponse(server.refuse(decision));
    const caller = decision?.principal;
    if (sid === "") {
      sessions.set(request, { request: asked, sent, isOpen, owner: caller });
      return undefined;
    }
    const client = Object.hasOwn(clients, sid) ? clients[sid] : undefined;
    const session = client && sessions.get(client.request);
    // The id of a session is in URLs, and so in logs. It must not be enough without its owner's token.
    return session && isSameCaller(session.owner, caller) ? undefined : UNKNOWN_SESSION;
  }

  /** Decides whether a socket may join its namespace; returns the error that the client receives if not. */
  async function checkSocket(socket: SocketIoSocket, path: string): Promise<Error | undefined> {
    const session = sessions.get(socket.conn.request);
    if (!session) throw new Error("The session was opened without a check: call protect after io.attach.");
    const { name } = socket.nsp;
    const target = name === "/" ? path : path + encodeURI(name).replaceAll(/[?#]/g, encodeURIComponent);
    const { token } = socket.handshake.auth as { readonly token?: unknown };
    const inAuth = session.isOpen && typeof token === "string" ? authorizationOf(token) : [];
    const authorization = [session.request.authorization ?? [], inAuth].flat(2);
    const decision = await decide(
      { ...session.request, target, authorization },
      { ...session.sent, authorization },
    );
    if (!decision.allowed) return toError(server.refuse(decision).problem);
    const { principal } = decision;
    if (session.isOpen) session.owner ??= principal;
    if (!isSameCaller(session.owner, principal))
      return toError({ status: 403, code: "session_of_another_caller" });
    if (principal) rememberPrincipal(socket, principal);
    return undefined;
  }

  return (io) => {
    const engine = engineOf(io);
    const path = io.path();
    const { rule } = pipelineOf(server).policy.decideFor(undefined, { method: "GET", target: path });
    if (rule?.requirement === "public" && !tokenInAuth) throw new TypeError(PUBLIC);
    engine.use((request, response, next) => {
      // During an upgrade, nothing else listens: a client that disconnects now would end the process.
      request.socket.on("error", ignore);
      rememberUpgrade(request, server);
      void checkRequest(request, path, engine.clients)
        .catch((fault: unknown) => {
          warn("The check of a Socket.IO request failed; the response is 500.", fault);
          return FAULT;
        })
        .then((refusal) => {
          if (refusal && !response.appendHeader) close(request.socket, refusal, request.method ?? "");
          else request.socket.off("error", ignore);
          if (!refusal) next();
          else if (response.appendHeader) sendRaw(response, refusal);
        });
    });
    guardNamespaces(io, (socket, next) => {
      void checkSocket(socket, path)
        .catch((fault: unknown) => {
          warn("The check of a Socket.IO socket failed; it is refused.", fault);
          return toError({ status: 500, code: "fault" });
        })
        .then(next);
    });
  };
}

/**
 * Returns the caller of a socket in its namespace; `undefined` if no token was required and none was sent.
 * @throws TypeError for anything but a socket
 */
export function principalOf(socket: SocketIoSocket): Principal | undefined {
  if (!("nsp" in Object(socket)))
    throw new TypeError("principalOf takes a socket of Socket.IO: write principalOf(socket).");
  return findPrincipal(socket);
}

/** If a session has no owner, anyone who knows its id could join a namespace first. */
const PUBLIC =
  'The path of Socket.IO has the rule "public": no token is read when a session opens, so nobody could join a namespace that needs one. Write "optional".';

const ignore = (): void => undefined;
/** The response of the engine for an unknown session: clients then open a new one. */
const UNKNOWN_SESSION: RawResponse = {
  status: 400,
  title: "Bad Request",
  headers: { "Content-Type": "application/json" },
  content: JSON.stringify({ code: 1, message: "Session ID unknown" }),
};

const toError = (data: { readonly status: number; readonly code: string }): Error =>
  Object.assign(new Error(data.code), { data });

function sendRaw(response: EngineResponse, refusal: RawResponse): void {
  response.statusCode = refusal.status;
  for (const [name, value] of Object.entries(refusal.headers)) response.setHeader(name, value);
  response.end(refusal.content);
}
