/** What a shared store of revocations reports to its operator. */
import { notify } from "../../core/runtime/notify.ts";

/** Something that happened to a shared store, or to the connection to it. */
export type RevocationEvent =
  | {
      /** All revocations are known: after the start, or after an outage. */
      readonly type: "caught_up";
      /** The number of entries in this process. */
      readonly entries: number;
    }
  | {
      /** The store cannot be read. The known entries stay in use, until `stale`. */
      readonly type: "failed";
      readonly cause: unknown;
    }
  | {
      /** The store could not be read for `staleSeconds`. `whenDown` decides about requests with a token. */
      readonly type: "stale";
      readonly whenDown: "refuse" | "accept";
    }
  | {
      /** Entries of this process are not in the store: it lost them, or did not confirm a write. */
      readonly type: "lost";
      readonly entries: number;
    }
  | {
      /** This process wrote the lost entries to the store again. */
      readonly type: "restored";
      readonly entries: number;
    }
  | {
      /** The clocks of this process and of Redis differ. `seconds` is positive if this process is ahead. */
      readonly type: "clock_skew";
      readonly seconds: number;
    }
  | {
      /** Another program, or a newer version of this package, wrote these entries. They are skipped. */
      readonly type: "unreadable";
      readonly ids: readonly string[];
    };

/** Reports events to a hook. Without one, events that an operator has to act on become process warnings. */
export function createReport(
  onEvent: ((event: RevocationEvent) => void) | undefined,
): (event: RevocationEvent) => void {
  return (event) => (onEvent ? notify(onEvent, event) : warn(event));
}

function warn(event: RevocationEvent): void {
  const message = messageOf(event);
  if (message !== undefined) process.emitWarning(message, "ScopegateWarning");
}

function messageOf(event: RevocationEvent): string | undefined {
  switch (event.type) {
    case "failed":
      return `The revocation store cannot be read: ${event.cause instanceof Error ? event.cause.message : "unknown error"}.`;
    case "stale":
      return event.whenDown === "refuse"
        ? "The revocation store could not be read for `staleSeconds`. Requests with a token get 503."
        : "The revocation store could not be read for `staleSeconds`. Newly revoked tokens are accepted.";
    case "lost":
      return `The revocation store has lost ${event.entries} entries of this process. They are written again.`;
    case "clock_skew":
      return `The clock of this process differs from the clock of Redis by ${event.seconds} s.`;
    case "unreadable":
      return `The revocation store has ${event.ids.length} entries that cannot be read. They are skipped.`;
    case "caught_up":
    case "restored":
      return undefined;
  }
}
