/** Creates a function that emits a process warning the first time it's called. */
export function createWarning(message: string): () => void {
  let hasWarned = false;
  return () => {
    if (hasWarned) return;
    hasWarned = true;
    process.emitWarning(message, "ScopegateWarning");
  };
}

/** Creates a function that emits the message of its first call as a process warning. */
export function createFirstWarning(): (message: string) => void {
  let warn: (() => void) | undefined;
  return (message) => {
    warn ??= createWarning(message);
    warn();
  };
}
