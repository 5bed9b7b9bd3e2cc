/** Which routes of an Express application `protect` does not run in front of. */
import {
  createWalk,
  type ExpressApplication,
  type ExpressRoute,
  isApplication,
  methodsOf,
  type MountedRoute,
  parentsOf,
  readApplication,
  type Walk,
} from "./router.ts";
import { type Registration } from "../listed-routes.ts";
import { isGuard, isScopeCheck } from "../middleware-marks.ts";
import { describePlace } from "../unguarded.ts";

/** A walk through each tree of applications, by its applications. What stands in front of a router alone is not known. */
export function walkAll(named: readonly unknown[]): ReadonlyMap<unknown, Walk> {
  const applications = named.filter(isApplication);
  const all = [...new Set(applications.flatMap((app) => [app, ...parentsOf(app)]))];
  const walks = new Map<ExpressApplication, Walk>();
  for (const root of all.filter((app) => parentsOf(app).length === 0)) {
    const walk = createWalk(all);
    readApplication(root, walk);
    for (const app of all) if (walk.read.has(app)) walks.set(app, walk);
  }
  return walks;
}

/** The methods of a route, those that a handler of their own guards apart. */
export function groupByGuard(
  { route, guardedPaths }: MountedRoute,
  pattern: string,
  walk: Walk | undefined,
): readonly Omit<Registration, "pattern">[] {
  const methods = methodsOf(route);
  const isBehind = guardedPaths.some((path) => covers(path, pattern));
  if (!walk?.holdsGuard || isBehind) return [{ methods }];
  const isBefore = walk.guardedPaths.some((path) => covers(path, pattern));
  const unguarded = describePlace(
    isBefore ? "before" : "outside",
    route.stack.some(({ handle }) => isScopeCheck(handle)),
  );
  const guarded = methods.filter((method) => isGuardedItself(route, method));
  const others = methods.filter((method) => !guarded.includes(method));
  return [{ methods: guarded }, { methods: others, unguarded }];
}

const isGuardedItself = ({ stack }: ExpressRoute, method: string): boolean =>
  stack.some(
    (layer) =>
      isGuard(layer.handle) && (method === "*" || [undefined, method.toLowerCase()].includes(layer.method)),
  );

/** Whether everything of a route may lie under a path; of a path that is more than texts it is not known. */
function covers(path: string, pattern: string): boolean {
  const segments = pattern.toLowerCase().split("/");
  return path
    .toLowerCase()
    .split("/")
    .every((segment, index) => segment === segments[index] || /[^\w\-.~%!$&',;=@]/.test(segment));
}
