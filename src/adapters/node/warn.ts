/** Reports an error as a warning: the rejected promise of a listener would end the process. */
export function warn(message: string, cause: unknown): void {
  const detail = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
  process.emitWarning(message, { type: "ScopegateWarning", detail });
}
