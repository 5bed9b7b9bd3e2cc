/** Returns a function that computes each result once. The specification is slow, and is asked the same often. */
export function remember<Inputs extends readonly (string | readonly string[])[], Result>(
  compute: (...inputs: Inputs) => Result,
): (...inputs: Inputs) => Result {
  const results = new Map<string, Result>();
  return (...inputs) => {
    const key = inputs.map((input) => `${input.length} ${input.toString()}`).join();
    if (!results.has(key)) results.set(key, compute(...inputs));
    return results.get(key) as Result;
  };
}

/** Decodes percent-encoding. Returns `undefined` if it is invalid. */
export function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
