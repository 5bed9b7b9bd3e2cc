/** How long an answer from outside is waited for, in milliseconds. */
const LIMIT_MS = 5_000;

/**
 * Waits for an answer that somebody else gives: a key source, a revocation check. One that does not come in time is an
 * error, so that no request hangs on it; what was asked goes on unheard.
 */
export async function withinLimit<T>(
  answer: T | PromiseLike<T>,
  subject: string,
  limitMs = LIMIT_MS,
): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    // It must not keep a process alive that has nothing else to do.
    timer = setTimeout(() => reject(new Error(`${subject} gave no answer in time.`)), limitMs).unref();
  });
  try {
    return await Promise.race([answer, limit]);
  } finally {
    clearTimeout(timer);
  }
}
