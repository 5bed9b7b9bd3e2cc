/** Where `protect` was registered, for the audit. */
import { isCounted } from "../shared/roles.ts";

/** The servers of each instance. */
type Servers = WeakMap<object, Set<object>>;

const guardedInstances: Servers = new WeakMap();
const holdingInstances: Servers = new WeakMap();

/** Records where `protect` was registered. The prototype of a plugin's instance is the instance around it. */
export function rememberGuarded(instance: object, server: object): void {
  add(guardedInstances, instance, server);
  for (const outer of lineOf(instance)) add(holdingInstances, outer, server);
}

const add = (servers: Servers, instance: object, server: object): void =>
  void servers.set(instance, (servers.get(instance) ?? new Set()).add(server));

const has = (servers: Servers, instance: object): boolean =>
  lineOf(instance).some((outer) => [...(servers.get(outer) ?? [])].some(isCounted));

/** Returns whether `protect` was registered in an application or in one of its plugins. */
export const holdsGuard = (app: object): boolean => has(holdingInstances, app);

/** Returns whether `protect` runs for the routes of an instance. */
export const isGuardedInstance = (instance: object): boolean => has(guardedInstances, instance);

/** Returns an instance and the instances around it. */
function lineOf(instance: object): readonly object[] {
  const outer = Object.getPrototypeOf(instance) as object | null;
  return outer === null || outer === Object.prototype ? [instance] : [instance, ...lineOf(outer)];
}
