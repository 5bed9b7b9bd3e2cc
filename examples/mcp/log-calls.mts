/** Writes one line for each operation that a client calls. */
import type { Decision, ObservedRequest } from "scopegate";

/** Creates the value of `onDecision`. Each line has the user, the operation and the outcome. */
export const logCalls =
  (write: (line: string) => void) =>
  (decision: Decision, { operations = [] }: ObservedRequest): void => {
    for (const operation of operations)
      write(
        JSON.stringify({
          time: new Date().toISOString(),
          user: decision.principal?.userId,
          operation,
          outcome: decision.allowed ? "allowed" : decision.reason,
        }),
      );
  };
