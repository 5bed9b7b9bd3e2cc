/** Reads the paths of Express: those of routes, and those that routers are mounted at. */

/** The part of a layer that tells where it is mounted. */
export interface MountedLayer {
  /** The path as it was given (Express since 5.3). */
  readonly rawPath?: unknown;
  /** What the path was compiled to (Express 4). */
  readonly regexp?: RegExp & { readonly fast_slash?: boolean };
  readonly keys?: readonly { readonly name: string | number }[];
}

/** The patterns of a path as it was given; `undefined` for expressions, which are none. */
export function toPatterns(path: unknown): readonly string[] | undefined {
  if (typeof path === "string") return [path.replace(/\/$/, "")];
  if (!Array.isArray(path)) return undefined;
  const each = path.map(toPatterns);
  return each.every((patterns) => patterns !== undefined) ? each.flat() : undefined;
}

/** The patterns of a mount; `undefined` where the router does not keep them. */
export function mountsOf({ rawPath, regexp, keys = [] }: MountedLayer): readonly string[] | undefined {
  if (rawPath !== undefined) return toPatterns(rawPath);
  if (!regexp) return undefined;
  if (regexp.fast_slash) return [""];
  const named = keys.reduce(
    (source, { name }) => source.replace(PARAMETER, () => `/:${name}`),
    regexp.source,
  );
  const mounts = named.split("|^").map(readExpression);
  return mounts.every((mount) => mount !== undefined) ? mounts : undefined;
}

/** What Express 4 makes of a whole parameter. */
const PARAMETER = /\(\?:\\\/\(\[\^\/\]\+\?\)\)/;

/** The pattern that Express 4 compiled to an expression, where it is made of texts and whole parameters. */
function readExpression(source: string): string | undefined {
  const path = /^\^?(.*)\\\/\?\(\?=\\\/\|\$\)$/.exec(source)?.[1];
  const pattern = path?.replaceAll(/\\([/.-])/g, "$1");
  return pattern !== undefined && /^[\w\-.~%!$&',;=@/:]*$/.test(pattern) ? pattern : undefined;
}

/** Each of the tails behind each of the heads. */
export function joinAll(
  heads: readonly string[] | undefined,
  tails: readonly string[] | undefined,
): readonly string[] | undefined {
  return heads && tails?.flatMap((tail) => heads.map((head) => head + tail));
}
