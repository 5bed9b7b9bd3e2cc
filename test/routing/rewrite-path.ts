/** Functions that change one part of a path. */

/** One path for each slash, with that slash replaced. */
export const eachSlash = (path: string, written: string): string[] =>
  [...path.matchAll(/\//g)].map(({ index }) => path.slice(0, index) + written + path.slice(index + 1));

/** One path for each segment, with that segment changed. */
export const eachSegment = (path: string, change: (segment: string) => string): string[] => {
  const segments = path.slice(1).split("/");
  return segments.map((segment, index) => `/${segments.with(index, change(segment)).join("/")}`);
};

export const lastSegment = (path: string, change: (segment: string) => string): string =>
  path.slice(0, path.lastIndexOf("/") + 1) + change(path.slice(path.lastIndexOf("/") + 1));

export const percent = (char: string): string => `%${char.charCodeAt(0).toString(16).padStart(2, "0")}`;
export const capitalize = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
export const swapCase = (text: string): string =>
  text === text.toUpperCase() ? text.toLowerCase() : text.toUpperCase();
export const repeat = (text: string, times: number): string => text.repeat(times);

/** Percent-encoded letters that case folding turns into ASCII letters. */
export const FOLDED: Readonly<Record<string, string>> = { k: "%E2%84%AA", s: "%C5%BF", i: "%C4%B0" };

export const behind =
  (...tails: readonly string[]) =>
  (path: string): string[] =>
    tails.map((tail) => path + tail);

export const inFront =
  (...heads: readonly string[]) =>
  (path: string): string[] =>
    heads.map((head) => head + path);
