/**
 * A stand-in for a string that counts the characters its methods read, because elapsed time depends on the
 * load of the machine. A search reads every character up to its match; `slice` reads every character that it
 * copies.
 */
export function counting(text: string): { readonly path: string; readonly steps: () => number } {
  let steps = 0;
  const methods: Partial<Record<string | symbol, (...args: never[]) => unknown>> = {
    charCodeAt(index: number) {
      steps += 1;
      return text.charCodeAt(index);
    },
    indexOf(sought: string, from: number) {
      const place = text.indexOf(sought, from);
      steps += (place < 0 ? text.length : place + 1) - from;
      return place;
    },
    lastIndexOf(sought: string, from: number) {
      const place = text.lastIndexOf(sought, from);
      steps += from - place + 1;
      return place;
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
      // A method that is not counted must not be used unnoticed.
      if (!method) throw new Error(`The property ${String(member)} is not counted.`);
      return method;
    },
  });
  return { path: watched as unknown as string, steps: () => steps };
}
