/** Events of the store of revocations, for operators. */
import { notify } from "../../core/runtime/notify.ts";

/** Something that happened to the store, or to the connection to it. */
export type RevocationEvent =
  | {
      /** The store doesn't respond. Results of the last `staleSeconds` stay in use. */
      readonly type: "failed";
      readonly cause: unknown;
    }
  | {
      /** The store hasn't responded for `staleSeconds`. `whenDown` decides about requests with a token. */
      readonly type: "stale";
      readonly whenDown: "refuse" | "accept";
    }
  | {
      /** The store responds again. */
      readonly type: "recovered";
    }
  | {
      /** Something to change, such as a setting that can lose revocations: once, and after each recovery. */
      readonly type: "warning";
      readonly message: string;
    };

/** Reports events to a hook. Without a hook, events that need an operator become process warnings. */
export function createReport(
  onEvent: ((event: RevocationEvent) => void) | undefined,
): (event: RevocationEvent) => void {
  return (event) => {
    const message = onEvent ? undefined : messageOf(event);
    if (onEvent) notify(onEvent, event);
    else if (message !== undefined) process.emitWarning(message, "ScopegateWarning");
  };
}

function messageOf(event: RevocationEvent): string | undefined {
  switch (event.type) {
    case "failed":
      return `The store of revocations doesn't respond: ${event.cause instanceof Error ? event.cause.message : "unknown error"}.`;
    case "stale":
      return event.whenDown === "refuse"
        ? "The store of revocations hasn't responded for `staleSeconds`. Requests with a token get 503."
        : "The store of revocations hasn't responded for `staleSeconds`. Newly revoked tokens are accepted.";
    case "warning":
      return event.message;
    case "recovered":
      return undefined;
  }
}
