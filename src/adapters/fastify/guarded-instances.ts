/** Where `protect` was registered, for the audit. */

type Servers = WeakMap<object, Set<object>>;

export const guardedInstances: Servers = new WeakMap();
/** Also for the instances around them. */
export const holdingInstances: Servers = new WeakMap();

/** Records where `protect` was registered. */
export function rememberGuarded(instance: object, server: object): void {
  add(guardedInstances, instance, server);
  for (const outer of withOuter(instance)) add(holdingInstances, outer, server);
}

const add = (servers: Servers, instance: object, server: object): void =>
  void servers.set(instance, (servers.get(instance) ?? new Set()).add(server));

/** Returns an instance and those around it: each is the prototype of the instances of its plugins. */
export function withOuter(instance: object): readonly object[] {
  const outer = Object.getPrototypeOf(instance) as object | null;
  return outer === null || outer === Object.prototype ? [instance] : [instance, ...withOuter(outer)];
}
