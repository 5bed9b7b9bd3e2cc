/** Authentication by the first message of a WebSocket, for browsers, which can't set headers. */
import { orUndefined } from "../../core/errors.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { authorizationOf } from "../../core/token/credential.ts";
import type { Principal } from "../../core/token/principal.ts";
import { assertResourceServer } from "../shared/misuse.ts";
import { warn } from "./warn.ts";

/** The part of a WebSocket of the package `ws` that is used. */
export interface MessageSocket {
  /** Adds a listener. */
  on(event: "message", listener: (data: unknown, isBinary: boolean) => void): unknown;
  /** Adds a listener. */
  on(event: "close" | "error", listener: () => void): unknown;
  /** Adds a listener that is called when a listener is added. */
  on(event: "newListener", listener: (event: string) => void): unknown;
  /** Removes a listener. */
  off(event: string, listener: (...values: never[]) => void): unknown;
  /** Emits the messages that were stored. */
  emit(event: "message", ...values: unknown[]): unknown;
  /** Returns how many listeners an event has. */
  listenerCount(event: "message"): number;
  /** Closes the connection. */
  close(code: number, reason: string): unknown;
}

/** The options of `authenticateFirst`. */
export interface AuthenticateFirstOptions {
  /** Verifies the token. One of its `tokenSources` must be the `Authorization` header. */
  readonly server: ResourceServer;
  /** The path whose rule for `GET` must be satisfied: the path of the upgrade, or another path. */
  readonly path: string;
  /** How long a client may take to send its token, in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number | undefined;
  /** How long the first message may be, in characters. Default: 20,000. */
  readonly maxMessageLength?: number | undefined;
}

/** The limit of the messages that wait for the decision: their bytes, plus a fixed number for each. */
const MAX_WAITING = 1_000_000;
const MESSAGE_COST = 100;

/**
 * Waits for the first message of a WebSocket, `{ "type": "authenticate", "token": "..." }`, and resolves with
 * the principal if the path's rule is satisfied. Otherwise it closes the socket and resolves with
 * `undefined`. The close code is 4000 plus the status of the refusal, such as 4401, or 4408 after
 * `timeoutMs`.
 *
 * Messages that follow wait until the next listener for messages is added; more than 1 MB close the socket
 * with 1009. It limits only messages that it stores: set `maxPayload` of the WebSocket server as well. On a
 * public path, any accepted token is enough.
 *
 * @throws TypeError for anything but a socket of `ws`, a resource server and a path, and for a socket that
 * has a listener for messages already
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { authenticateFirst } from "scopegate/node";
 * import { WebSocketServer } from "ws";
 *
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   scopeMappings: { "GET /live": ["events:read"] },
 * });
 * const sockets = new WebSocketServer({ noServer: true, maxPayload: 65_536 });
 * sockets.on("connection", async (socket) => {
 *   const principal = await authenticateFirst(socket, { server, path: "/live" });
 *   if (principal) socket.on("message", () => socket.send(`hello ${principal.userId}`));
 * });
 * ```
 */
export function authenticateFirst(
  socket: MessageSocket,
  options: AuthenticateFirstOptions,
): Promise<Principal | undefined> {
  const { server, path, timeoutMs = 10_000, maxMessageLength = 20_000 } = Object(options) as typeof options;
  assertResourceServer(server, "authenticateFirst");
  // Requests have listeners too, and other WebSockets have `close`: only a socket of `ws` has both.
  const { close, listenerCount } = Object(socket) as Partial<MessageSocket>;
  if (!close || !listenerCount || typeof (path as unknown) !== "string" || !path.startsWith("/"))
    throw new TypeError(USAGE);
  const assertNoListener = (count: number): void => {
    if (count > 0) throw new TypeError("Await authenticateFirst before the first listener for messages.");
  };
  assertNoListener(socket.listenerCount("message"));

  return new Promise((resolve) => {
    let state: "waiting" | "deciding" | "allowed" | "over" = "waiting";
    const kept: unknown[][] = [];
    let keptSize = 0;

    const stop = (): void => {
      state = "over";
      clearTimeout(timer);
      socket.off("message", receive);
      socket.off("newListener", watch);
      socket.off("close", end);
    };
    const end = (): void => {
      stop();
      resolve(undefined);
    };
    const refuse = (code: number, reason: string): void => {
      end();
      socket.close(code, reason);
    };
    const decideBy = async (token: string): Promise<void> => {
      const result = await decide(server, path, token);
      if (state === "over") return;
      if ("code" in result) {
        refuse(result.code, result.reason);
      } else {
        clearTimeout(timer);
        state = "allowed";
        resolve(result.principal);
      }
    };
    const receive = (data: unknown, isBinary?: boolean): void => {
      if (state !== "waiting") {
        keptSize += sizeOf(data) + MESSAGE_COST;
        kept.push([data, isBinary]);
        if (keptSize > MAX_WAITING) refuse(1009, "too_many_messages");
        return;
      }
      state = "deciding";
      const token = isBinary || sizeOf(data) > maxMessageLength ? undefined : readToken(String(data));
      if (token === undefined) refuse(4400, "credential_malformed");
      else void decideBy(token);
    };
    /** A listener that is added before the decision would receive messages of an unknown caller. */
    const watch = (event: string): void => {
      if (event !== "message") return;
      assertNoListener(state === "allowed" ? 0 : 1);
      stop();
      // The listener is added right after this event, and no message can arrive in between.
      process.nextTick(() => {
        for (const values of kept) socket.emit("message", ...values);
      });
    };
    const timer = setTimeout(refuse, timeoutMs, 4408, "timeout");
    // Never removed: without a listener, a single frame that `ws` can't read would end the process.
    socket.on("error", () => undefined);
    socket.on("message", receive);
    socket.on("newListener", watch);
    socket.on("close", end);
  });
}

const USAGE =
  'authenticateFirst takes a WebSocket of the package ws, and a path with its slash: write authenticateFirst(socket, { server, path: "/live" }).';

const sizeOf = (data: unknown): number =>
  (data as Partial<Uint8Array>).byteLength ?? (data as string | readonly unknown[]).length;

function readToken(text: string): string | undefined {
  const message = orUndefined((): unknown => JSON.parse(text));
  const { type, token } = Object(message) as { readonly type?: unknown; readonly token?: unknown };
  return type === "authenticate" && typeof token === "string" ? token : undefined;
}

type Outcome = { readonly principal: Principal } | { readonly code: number; readonly reason: string };

async function decide(server: ResourceServer, target: string, token: string): Promise<Outcome> {
  try {
    const decision = await server.check({ method: "GET", target, authorization: authorizationOf(token) });
    // No token is read for a public rule.
    if (decision.allowed) return { principal: decision.principal ?? (await server.authenticate(token)) };
    const { status, problem } = server.refuse(decision);
    return { code: 4000 + status, reason: problem.code };
  } catch (error) {
    const { code = "" } = error as { readonly code?: string };
    const status = CODES[code];
    if (status === undefined) warn("The check of a first message failed; the socket is closed.", error);
    return status === undefined ? { code: 4500, reason: "fault" } : { code: status, reason: code };
  }
}

/** For a token that `authenticate` doesn't accept. */
const CODES: Readonly<Record<string, number>> = { token_rejected: 4401, keys_unavailable: 4503 };
