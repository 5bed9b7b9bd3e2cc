/** What a shared store of revocations reports to its operator. */
import { notify } from "../runtime/notify.ts";

/** Something that happened to a shared store, or to the connection to it. */
export type RevocationEvent =
  | {
      /** All revocations are known; after the start, and after an outage. */
      readonly type: "caught_up";
      /** The number of entries in this process. */
      readonly entries: number;
    }
  | {
      /** The store cannot be read. What is known stays in use until `stale`. */
      readonly type: "failed";
      readonly cause: unknown;
    }
  | {
      /** The store was out of reach for `staleSeconds`: requests get 503, or are accepted with `whenDown`. */
      readonly type: "stale";
      readonly whenDown: "refuse" | "accept";
    }
  | {
      /** The store lacks entries of this process: it was flushed, replaced, or a write was not confirmed. */
      readonly type: "lost";
      readonly entries: number;
    }
  | {
      /** This process wrote the entries again that the store had lost. */
      readonly type: "restored";
      readonly entries: number;
    }
  | {
      /** The clock of this process and that of Redis differ by this many seconds; positive if it is ahead. */
      readonly type: "clock_skew";
      readonly seconds: number;
    }
  | {
      /** Entries of the stream that no version of this package wrote, or a newer one. They are skipped. */
      readonly type: "unreadable";
      readonly ids: readonly string[];
    };

/** Reports to a hook, or, where an operator has to act, as a process warning. */
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
        ? "The revocation store is out of reach. Requests with a token get 503."
        : "The revocation store is out of reach. Tokens that were revoked since are accepted.";
    case "lost":
      return `The revocation store has lost ${event.entries} entries of this process. They are restored.`;
    case "clock_skew":
      return `The clock of this process differs from that of Redis by ${event.seconds} s.`;
    case "unreadable":
      return `The revocation store has ${event.ids.length} entries that cannot be read. They are skipped.`;
    case "caught_up":
    case "restored":
      return undefined;
  }
}
