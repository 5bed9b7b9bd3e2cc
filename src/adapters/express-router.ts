/** Reads the tree of an Express application: its routers, the mounts between them, and their routes. */
import { attempt } from "../errors.ts";

/** A route with its handlers; `path` is a pattern, an expression, or a list of them. */
export interface ExpressRoute {
  readonly path: unknown;
  readonly methods: Readonly<Record<string, boolean>>;
  readonly stack: readonly { handle: unknown }[];
}

/** A route, and the patterns of the mounts above it; `undefined` where the router does not keep them. */
export interface MountedRoute {
  readonly route: ExpressRoute;
  readonly mounts: readonly string[] | undefined;
}

interface ExpressLayer {
  readonly name: string;
  readonly handle: unknown;
  readonly route?: ExpressRoute;
  /** The path as it was given (Express since 5.3). */
  readonly rawPath?: unknown;
  /** What the path was compiled to (Express 4). */
  readonly regexp?: RegExp & { readonly fast_slash?: boolean };
  readonly keys?: readonly { readonly name: string | number }[];
}

interface ExpressRouter {
  readonly stack: readonly ExpressLayer[];
}

/** An application, or a router of its own. */
export type ExpressApplication = object;

/** The parts of an application that tell where it is mounted. */
interface Mountable {
  readonly parent?: ExpressApplication;
  readonly mountpath?: unknown;
}

export const isRoute = (value: unknown): value is ExpressRoute =>
  typeof value === "object" && value !== null && "stack" in value && Array.isArray(value.stack);

/** What an application holds. */
export interface ReadApplication {
  /** Every route, in the order of registration. */
  readonly routes: readonly MountedRoute[];
  /** Where other applications are mounted, which Express does not give away. */
  readonly applicationsAt: readonly string[];
  /** The application that this one is mounted in. */
  readonly parent: ExpressApplication | undefined;
}

/** Reads an application or a router; `undefined` for anything else. */
export function readApplication(app: unknown): ReadApplication | undefined {
  // Express 4 makes the router of an application with its first route.
  const router =
    routerOf(app) ?? (typeof app === "function" && "mountpath" in app ? { stack: [] } : undefined);
  if (!router) return undefined;
  return {
    routes: readRouter(router, readMounts(app as ExpressApplication), []),
    applicationsAt: router.stack.flatMap((layer) =>
      layer.name === "mounted_app" ? [mountsOf(layer)?.join(", ") ?? "an unknown path"] : [],
    ),
    parent: (app as Mountable).parent,
  };
}

/** Has an application run a middleware in front of all that it was given so far. */
export function putInFront(
  app: ExpressApplication & { use(middleware: unknown): unknown },
  middleware: unknown,
): void {
  app.use(middleware);
  const stack = routerOf(app)?.stack as ExpressLayer[] | undefined;
  const last = stack?.pop();
  if (last) stack?.unshift(last);
}

/** Where an application was mounted, from its root application down. */
function readMounts(app: ExpressApplication): readonly string[] | undefined {
  const { parent, mountpath } = app as Mountable;
  return parent ? joinAll(readMounts(parent), toPatterns(mountpath)) : [""];
}

/** The patterns of a path as it was given; `undefined` for expressions, which are none. */
export function toPatterns(path: unknown): readonly string[] | undefined {
  if (typeof path === "string") return [path.replace(/\/$/, "")];
  if (!Array.isArray(path)) return undefined;
  const each = path.map(toPatterns);
  return each.every((patterns) => patterns !== undefined) ? each.flat() : undefined;
}

function readRouter(
  router: ExpressRouter | undefined,
  mounts: readonly string[] | undefined,
  above: readonly ExpressRouter[],
): readonly MountedRoute[] {
  if (!router || above.includes(router)) return [];
  return router.stack.flatMap((layer) => {
    if (layer.route) return [{ route: layer.route, mounts }];
    return readRouter(routerOf(layer.handle), joinAll(mounts, mountsOf(layer)), [...above, router]);
  });
}

/** The router of an application or of a layer; `undefined` for a plain middleware. */
function routerOf(value: unknown): ExpressRouter | undefined {
  const holder = value as { readonly router?: unknown; readonly _router?: unknown } | undefined;
  // Express 4 has its router under a name of its own, and throws for the one of Express 5.
  const candidates = [value, holder?._router, attempt(() => holder?.router)];
  return candidates.find(
    (one): one is ExpressRouter =>
      (typeof one === "object" || typeof one === "function") &&
      one !== null &&
      "stack" in one &&
      Array.isArray(one.stack),
  );
}

function mountsOf({ rawPath, regexp, keys = [] }: ExpressLayer): readonly string[] | undefined {
  if (rawPath !== undefined) return toPatterns(rawPath);
  if (!regexp) return undefined;
  if (regexp.fast_slash) return [""];
  const names = keys.map(({ name }) => String(name));
  const mounts = regexp.source.split("|^").map((source) => readExpression(source, names));
  return mounts.every((mount) => mount !== undefined) ? mounts : undefined;
}

/** The pattern that Express 4 compiled to an expression, where it is made of texts and whole parameters. */
function readExpression(source: string, names: string[]): string | undefined {
  const path = /^\^?(.*)\\\/\?\(\?=\\\/\|\$\)$/.exec(source)?.[1];
  const pattern = path
    ?.replaceAll(/\(\?:\\\/\(\[\^\/\]\+\?\)\)/g, () => `/:${names.shift() ?? ""}`)
    .replaceAll(/\\([/.-])/g, "$1");
  return pattern !== undefined && /^[\w\-.~%!$&',;=@/:]*$/.test(pattern) ? pattern : undefined;
}

function joinAll(
  heads: readonly string[] | undefined,
  tails: readonly string[] | undefined,
): readonly string[] | undefined {
  return heads && tails?.flatMap((tail) => heads.map((head) => head + tail));
}
