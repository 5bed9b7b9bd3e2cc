/** Returns a function that picks values in a random order, which is the same in every run. */
export function anyOf<Value>(values: readonly Value[]): () => Value {
  let state = 1;
  return () => {
    // A linear congruential generator modulo 2^32. Its high bits are the random ones.
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return values[Math.floor((state / 2 ** 32) * values.length)] as Value;
  };
}
