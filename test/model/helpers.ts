/** Returns a function that computes each result once: the specification is slow, and its inputs repeat. */
export function remember<Inputs extends readonly (boolean | string | readonly string[])[], Result>(
  compute: (...inputs: Inputs) => Result,
): (...inputs: Inputs) => Result {
  const results = new Map<string, Result>();
  return (...inputs) => {
    const key = inputs.map(describeInput).join();
    if (!results.has(key)) results.set(key, compute(...inputs));
    return results.get(key) as Result;
  };
}

/** With its length, because an empty array and one with an empty string look alike. */
const describeInput = (input: boolean | string | readonly string[]): string =>
  typeof input === "boolean" ? String(input) : `${input.length} ${input.toString()}`;

/** Decodes percent-encoding. Returns `undefined` if it is invalid. */
export function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
