/** Reads the tree of an Express application: its routers, the mounts between them, and their routes. */
import { attempt } from "../../errors.ts";
import { joinAll, type MountedLayer, mountsOf, toPatterns } from "./mounts.ts";
import { isEveryMethod } from "../listed-routes.ts";
import { isGuard } from "../middleware-marks.ts";

/** A route with its handlers; `path` is a pattern, an expression, or a list of them. */
export interface ExpressRoute {
  readonly path: unknown;
  readonly methods: Readonly<Record<string, boolean>>;
  readonly stack: readonly { handle: unknown; readonly method?: string | undefined }[];
}

/** The methods of a route in upper case; `*` where it is for every one, which Express writes out for `app.all`. */
export function methodsOf({ methods }: Pick<ExpressRoute, "methods">): readonly string[] {
  const named = Object.keys(methods).map((method) => method.toUpperCase());
  return methods["_all"] || isEveryMethod(named) ? ["*"] : named;
}

/** A route, and the patterns of the mounts above it; `undefined` where the router does not keep them. */
export interface MountedRoute {
  readonly route: ExpressRoute;
  readonly mounts: readonly string[] | undefined;
  /** The paths under which a guard runs in front of it. */
  readonly guardedPaths: readonly string[];
}

interface ExpressLayer extends MountedLayer {
  readonly name: string;
  readonly handle: unknown;
  readonly route?: ExpressRoute;
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

/** What a walk through applications comes by, in the order in which a request does. */
export interface Walk {
  /** Applications that are walked into where they are mounted. */
  readonly mountable: readonly ExpressApplication[];
  readonly read: Map<unknown, ReadApplication>;
  /** The paths under which a guard runs in front of what comes next. */
  guardedPaths: readonly string[];
  /** Whether some guard was come by, be it of one route. */
  holdsGuard: boolean;
}

export const createWalk = (mountable: readonly ExpressApplication[] = []): Walk => ({
  mountable,
  read: new Map(),
  guardedPaths: [],
  holdsGuard: false,
});

/** Reads an application or a router; `undefined` for anything else. */
export function readApplication(app: unknown, walk: Walk = createWalk()): ReadApplication | undefined {
  const known = walk.read.get(app);
  if (known) return known;
  // Express 4 makes the router of an application with its first route.
  const router = routerOf(app) ?? (isApplication(app) ? { stack: [] } : undefined);
  if (!router) return undefined;
  const application: ReadApplication = {
    routes: readRouter(router, readMounts(app as ExpressApplication), [], app as ExpressApplication, walk),
    applicationsAt: router.stack.flatMap((layer) =>
      layer.name === "mounted_app" ? [mountsOf(layer)?.join(", ") ?? "an unknown path"] : [],
    ),
    parent: (app as Mountable).parent,
  };
  walk.read.set(app, application);
  return application;
}

/** An application, and not only a router. */
export const isApplication = (value: unknown): value is ExpressApplication =>
  typeof value === "function" && "mountpath" in value;

/** The applications above one, from the nearest to the root. */
export function parentsOf(app: ExpressApplication): readonly ExpressApplication[] {
  const { parent } = app as Mountable;
  return parent ? [parent, ...parentsOf(parent)] : [];
}

/** Has an application run a middleware in front of all that it was given so far. */
export function putInFront(
  app: ExpressApplication & { use(middleware: unknown): unknown },
  middleware: unknown,
): void {
  app.use(middleware);
  const stack = routerOf(app)?.stack as ExpressLayer[] | undefined;
  stack?.unshift(...stack.splice(-1));
}

/** Where an application was mounted, from its root application down. */
function readMounts(app: ExpressApplication): readonly string[] | undefined {
  const { parent, mountpath } = app as Mountable;
  return parent ? joinAll(readMounts(parent), toPatterns(mountpath)) : [""];
}

function readRouter(
  router: ExpressRouter | undefined,
  mounts: readonly string[] | undefined,
  above: readonly ExpressRouter[],
  app: ExpressApplication,
  walk: Walk,
): readonly MountedRoute[] {
  if (!router || above.includes(router)) return [];
  return router.stack.flatMap((layer) => {
    const { guardedPaths } = walk;
    const inside = joinAll(mounts, layer.route ? stemsOf(layer.route) : mountsOf(layer));
    walk.holdsGuard ||=
      isGuard(layer.handle) || (layer.route?.stack.some(({ handle }) => isGuard(handle)) ?? false);
    // A guard whose path is not told may guard everything.
    if (isGuard(layer.handle) || (layer.route && isGuardForAll(layer.route)))
      walk.guardedPaths = [...guardedPaths, ...(inside ?? [""])];
    if (layer.route) return [{ route: layer.route, mounts, guardedPaths }];
    if (layer.name === "mounted_app") readApplication(findMounted(layer, app, walk), walk);
    return readRouter(routerOf(layer.handle), inside, [...above, router], app, walk);
  });
}

/** `app.all("/*path", protect(server))` guards what comes behind it as well. */
const isGuardForAll = ({ methods, path, stack }: ExpressRoute): boolean =>
  methodsOf({ methods }).includes("*") &&
  stack.some(({ handle }) => isGuard(handle)) &&
  (toPatterns(path) ?? ["*"]).some((pattern) => WILDCARD.test(pattern));

const stemsOf = ({ path }: ExpressRoute): readonly string[] | undefined =>
  toPatterns(path)?.flatMap((pattern) => (WILDCARD.test(pattern) ? [pattern.replace(WILDCARD, "")] : []));

const WILDCARD = /\/?\{?\/?\*\w*\}?$/;

/** The application of a layer, which shows neither it nor its routes. */
function findMounted(layer: ExpressLayer, app: ExpressApplication, { mountable, read }: Walk): unknown {
  const mounts = String(mountsOf(layer));
  return mountable.find((one: Mountable) => {
    const isHere = one.parent === app && String(toPatterns(one.mountpath)) === mounts;
    return isHere && !read.has(one);
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
