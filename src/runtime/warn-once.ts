/** Creates a function that emits a process warning when it is first called. */
export function createWarning(message: string): () => void {
  let hasWarned = false;
  return () => {
    if (hasWarned) return;
    hasWarned = true;
    process.emitWarning(message, "ScopegateWarning");
  };
}
