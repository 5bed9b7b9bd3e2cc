/**
 * A text that counts the characters that are looked at, because a clock on a busy machine tells nothing. It stands in for a
 * string where only its methods are called; a search looks at each character up to what it finds, a cut at each that it copies.
 */
export function counting(text: string): { readonly path: string; readonly steps: () => number } {
  let steps = 0;
  const methods: Partial<Record<string | symbol, (...args: never[]) => unknown>> = {
    charCodeAt(index: number) {
      steps += 1;
      return text.charCodeAt(index);
    },
    indexOf(sought: string, from: number) {
      const found = text.indexOf(sought, from);
      steps += (found < 0 ? text.length : found + 1) - from;
      return found;
    },
    lastIndexOf(sought: string, from: number) {
      const found = text.lastIndexOf(sought, from);
      steps += from - found + 1;
      return found;
    },
    slice(start: number, end: number = text.length) {
      steps += end - start;
      return text.slice(start, end);
    },
    endsWith(end: string) {
      steps += end.length;
      return text.endsWith(end);
    },
  };
  const watched = new Proxy(Object(text) as object, {
    get(_, member) {
      if (member === "length") return text.length;
      const method = methods[member];
      // What is not counted must not be called unseen.
      if (!method) throw new Error(`The text is asked for its ${String(member)}.`);
      return method;
    },
  });
  return { path: watched as unknown as string, steps: () => steps };
}
