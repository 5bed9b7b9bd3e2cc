const DEFAULT_LIMIT_MS = 5_000;

/**
 * Waits for a result that comes from outside, such as a key source or a revocation check. Rejects if it takes
 * too long, so that no request hangs. The work itself continues, and its result is ignored.
 */
export async function withinLimit<T>(
  result: T | PromiseLike<T>,
  subject: string,
  limitMs = DEFAULT_LIMIT_MS,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    // Unreferenced, so that the timer does not keep the process alive.
    timer = setTimeout(() => reject(new Error(`${subject} timed out after ${limitMs} ms.`)), limitMs).unref();
  });
  try {
    return await Promise.race([result, limit]);
  } finally {
    clearTimeout(timer);
  }
}
