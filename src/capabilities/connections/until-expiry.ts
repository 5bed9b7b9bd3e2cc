/** Ends connections whose token expires or is revoked. */
import { checkOptions } from "../../core/options/check-options.ts";
import { callback, type OptionChecks, required } from "../../core/options/option-checks.ts";
import { hasPipeline } from "../../core/port.ts";
import { notify } from "../../core/runtime/notify.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import type { Principal } from "../../core/token/principal.ts";
import type { EndReason } from "./revalidate.ts";
import { watchToken } from "./watch-token.ts";

/** Why a connection must end, and how to report it to the client. */
export interface AccessEnd {
  /** Why the connection must end. */
  readonly reason: EndReason;
  /** For WebSockets: 4000 plus the status that a request would get: 4401, or 4503 for `unavailable`. */
  readonly closeCode: number;
  /** For server-sent events: the event `access_ended` with the reason, ready to write. */
  readonly event: string;
}

/** The options of `untilExpiry`. */
interface UntilExpiryOptions {
  /** Called once, when access ends. An exception becomes a process warning. */
  readonly onEnd: (end: AccessEnd) => unknown;
  /** The server that accepted the token: its clock, tolerance and `isRevoked` apply. Default: `exp` alone. */
  readonly server?: ResourceServer | undefined;
  /** How often `server` checks whether the token is revoked, in seconds. Default: 60. */
  readonly checkEverySeconds?: number | undefined;
  /** Stops the watch, for example when the request is aborted. */
  readonly signal?: AbortSignal | undefined;
}

const OPTIONS: OptionChecks<UntilExpiryOptions> = {
  onEnd: required(callback("Write a function that closes the connection.")),
  server: {
    accepts: (server) => hasPipeline(Object(server) as object),
    hint: "Write the server of createResourceServer.",
  },
  checkEverySeconds: {
    accepts: (seconds) => typeof seconds === "number" && seconds > 0,
    hint: "Write a number of seconds greater than 0.",
  },
  signal: {
    accepts: (signal) => signal instanceof AbortSignal,
    hint: "Write the signal of an AbortController.",
  },
};

const STATUS = { expired: 401, revoked: 401, unavailable: 503 } as const;

/**
 * Calls `onEnd` once, when the token of a principal expires, or when the server reports that it's revoked or
 * that this can't be checked. Use it for WebSockets and server-sent events. It checks with the server at once
 * and then regularly. A token without `exp` ends only by revocation, or by `maxTokenAgeSeconds` of the
 * server. The timer doesn't keep the process alive.
 *
 * `onEnd` must close the connection. Call the returned function when the connection has closed.
 *
 * @throws TypeError without a principal
 * @throws ConfigurationError without `onEnd`, and for every other mistake in the options
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { untilExpiry } from "scopegate/connections";
 * import { principalOf } from "scopegate/node";
 * import { WebSocketServer } from "ws";
 *
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys: [process.env.JWT_PUBLIC_KEY!] });
 * const sockets = new WebSocketServer({ noServer: true });
 * sockets.on("connection", (socket, request) => {
 *   const principal = principalOf(request);
 *   if (!principal) return socket.close(4401);
 *   const stop = untilExpiry(principal, { server, onEnd: ({ closeCode, reason }) => socket.close(closeCode, reason) });
 *   socket.on("close", stop);
 * });
 * ```
 */
export function untilExpiry(principal: Principal, options: UntilExpiryOptions): () => void {
  if (Object(principal) !== principal)
    throw new TypeError("untilExpiry needs a principal: principalOf returns none on public routes.");
  checkOptions("untilExpiry", options, OPTIONS);
  const { onEnd, server, checkEverySeconds = 60, signal } = options;
  if (signal?.aborted) return () => undefined;
  const stopWatch = watchToken(principal, {
    server,
    checkEverySeconds,
    onEnd: (reason) => {
      stop();
      notify(onEnd, describeEnd(reason));
    },
  });
  const stop = (): void => {
    stopWatch();
    signal?.removeEventListener("abort", stop);
  };
  signal?.addEventListener("abort", stop);
  return stop;
}

function describeEnd(reason: EndReason): AccessEnd {
  const status = STATUS[reason];
  const data = JSON.stringify({ reason, status });
  return Object.freeze({
    reason,
    closeCode: 4000 + status,
    event: `event: access_ended\ndata: ${data}\n\n`,
  });
}
