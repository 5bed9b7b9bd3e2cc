/** Reads the tree of an Express application: its middleware, routers and routes, with their mount paths. */
import { orUndefined } from "../../core/errors.ts";

/** A route with its handlers; `path` is a pattern, a regular expression, or an array of them. */
export interface ExpressRoute {
  readonly path: unknown;
  readonly methods: Readonly<Record<string, boolean>>;
  readonly stack: readonly ExpressHandler[];
}

/** One handler of a route, for one method or for all. */
export interface ExpressHandler {
  handle: unknown;
  readonly method?: string | undefined;
}

/** An application, or a router. */
export type ExpressApplication = object;

/** One middleware, route or mounted application, in the order in which a request reaches it. */
export interface Visited {
  /** The application whose tree it is in. */
  readonly app: ExpressApplication;
  /** The layers whose routers contain it, the outermost one first. */
  readonly around: readonly ExpressLayer[];
  readonly layer: ExpressLayer;
}

/** One entry of a router. */
export interface ExpressLayer {
  readonly name: string;
  readonly handle: unknown;
  readonly route?: ExpressRoute;
  /** The path as it was written (Express since 5.3). */
  readonly rawPath?: unknown;
  /** Whether it is for every path (Express 5). */
  readonly slash?: boolean;
  /** One function for each of its paths (Express 5). */
  readonly matchers?: readonly unknown[];
  match(path: string): boolean;
  /** The compiled path (Express 4). */
  readonly regexp?: RegExp & { readonly fast_slash?: boolean };
  readonly keys?: readonly { readonly name: string | number }[];
}

interface ExpressRouter {
  readonly stack: ExpressLayer[];
}

const hasStack = (value: unknown): boolean =>
  Array.isArray((Object(value) as { readonly stack?: unknown }).stack);

export const isRoute = (value: unknown): value is ExpressRoute => hasStack(value);

/** Returns whether a value is an application, not only a router. */
export const isApplication = (value: unknown): value is ExpressApplication =>
  typeof value === "function" && "mountpath" in value;

/** Returns whether Express can list what is inside: an application, or a router. */
export const isListable = (value: unknown): value is ExpressApplication =>
  routerOf(value) !== undefined || isApplication(value);

/** Visits everything in an application, and in the routers and applications that its routers show. */
export const visit = (app: ExpressApplication): Iterable<Visited> => visitRouter(app, app, [], []);

function* visitRouter(
  app: ExpressApplication,
  from: unknown,
  around: readonly ExpressLayer[],
  above: readonly unknown[],
): Iterable<Visited> {
  const router = routerOf(from);
  if (!router || above.includes(router)) return;
  for (const layer of router.stack) {
    yield { app, around, layer };
    const { handle, route } = layer;
    const inside = isApplication(handle) ? handle : app;
    if (!route) yield* visitRouter(inside, handle, [...around, layer], [...above, router]);
  }
}

/** Returns the router of an application or of a layer; `undefined` for plain middleware. */
export function routerOf(value: unknown): ExpressRouter | undefined {
  const holder = value as { readonly router?: unknown; readonly _router?: unknown } | undefined;
  // Express 4 stores its router under another name, and throws for the name of Express 5.
  const candidates = [value, holder?._router, orUndefined(() => holder?.router)];
  return candidates.find((candidate): candidate is ExpressRouter => hasStack(candidate));
}

/** Returns the patterns of a path as it was written; `undefined` for regular expressions. */
export function toPatterns(path: unknown): readonly string[] | undefined {
  if (typeof path === "string") return [path.replace(/\/$/, "")];
  if (!Array.isArray(path)) return undefined;
  const each = path.map(toPatterns);
  return each.every((patterns) => patterns !== undefined) ? each.flat() : undefined;
}

/** Returns the patterns of a mount; `undefined` if Express doesn't store them (5.0 to 5.2). */
export function mountsOf({ rawPath, slash, regexp, keys = [] }: ExpressLayer): readonly string[] | undefined {
  if (rawPath !== undefined) return toPatterns(rawPath);
  if (slash ?? regexp?.fast_slash) return [""];
  if (!regexp) return undefined;
  const names = keys.map(({ name }) => name).values();
  const mounts = regexp.source
    .replaceAll(PARAMETER, String.raw`\/:`)
    .split("|^")
    .map((source) => COMPILED.exec(source)?.[1]?.replaceAll(/\\([/.-])/g, "$1"))
    .map((path) => path?.replaceAll("/:", () => `/:${names.next().value ?? ""}`));
  return mounts.every((mount) => mount !== undefined) ? mounts : undefined;
}

/** What Express 4 compiles a parameter of a whole segment to; until 4.19 with a slash before it. */
const PARAMETER = /(?:\\\/\(\?:|\(\?:\\\/)\(\[\^\\?\/\]\+\?\)\)/g;

/** A regular expression that Express 4 compiled from static text and parameters; `:` is a parameter. */
const COMPILED =
  /^\^?((?:\\\/(?::(?:(?:[~%!&',;=@-]|\\[.-])(?:[\w~%!&',;=@-]|\\[.-])*)?|(?:[\w~%!&',;=@-]|\\[.-])+))*)\\\/\?\(\?=\\\/\|\$\)$/;
