/**
 * Returns a function that computes each result once: the specification is slow, and its inputs repeat. Arrays
 * are compared by identity, and forgotten with their last reference.
 */
export function remember<Inputs extends readonly Input[], Result>(
  compute: (...inputs: Inputs) => Result,
): (...inputs: Inputs) => Result {
  const root = new Results();
  return (...inputs) => {
    let results = root;
    for (const input of inputs) results = results.for(input);
    results.last ??= { result: compute(...inputs) };
    return results.last.result as Result;
  };
}

type Input = boolean | string | readonly unknown[];

/** The results for some inputs, and for more inputs after them. */
class Results {
  last: { readonly result: unknown } | undefined;
  readonly #byValue = new Map<Input, Results>();
  readonly #byArray = new WeakMap<readonly unknown[], Results>();

  for(input: Input): Results {
    const further = typeof input === "object" ? this.#byArray.get(input) : this.#byValue.get(input);
    if (further) return further;
    const created = new Results();
    if (typeof input === "object") this.#byArray.set(input, created);
    else this.#byValue.set(input, created);
    return created;
  }
}

/** Decodes percent-encoding. Returns `undefined` if it is invalid. */
export function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** A path, or a pattern without optional groups. A slash at its end is not another segment. */
export interface Divided {
  readonly segments: readonly string[];
  readonly hasSlash: boolean;
}

export function divide(text: string): Divided {
  const segments = text.slice(1).split("/");
  const hasSlash = segments.length > 1 && segments.at(-1) === "";
  return { segments: hasSlash || text === "/" ? segments.slice(0, -1) : segments, hasSlash };
}

/** Returns all subsets, from the empty one on. */
export const subsetsOf = (all: readonly string[]): readonly (readonly string[])[] =>
  all.reduce<(readonly string[])[]>(
    (subsets, text) => [...subsets, ...subsets.map((subset) => [...subset, text])],
    [[]],
  );
