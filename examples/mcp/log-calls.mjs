/** Writes one line for each operation that a client calls. */
/** Creates the value of `onDecision`. Each line has the user, the operation and the outcome. */
export const logCalls =
  (write) =>
  (decision, { operations = [] }) => {
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
