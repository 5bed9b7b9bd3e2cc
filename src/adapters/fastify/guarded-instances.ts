/** Where `protect` was registered, for the audit. */
const guardedInstances = new WeakSet<object>();
const holdingInstances = new WeakSet<object>();

/** Records where `protect` was registered. The prototype of a plugin's instance is the instance around it. */
export function rememberGuarded(instance: object): void {
  guardedInstances.add(instance);
  for (const outer of lineOf(instance)) holdingInstances.add(outer);
}

/** Returns whether `protect` was registered in an application or in one of its plugins. */
export const holdsGuard = (app: object): boolean => lineOf(app).some((outer) => holdingInstances.has(outer));

/** Returns whether `protect` runs for the routes of an instance. */
export const isGuardedInstance = (instance: object): boolean =>
  lineOf(instance).some((outer) => guardedInstances.has(outer));

/** Returns an instance and those around it. */
function lineOf(instance: object): readonly object[] {
  const outer = Object.getPrototypeOf(instance) as object | null;
  return outer === null || outer === Object.prototype ? [instance] : [instance, ...lineOf(outer)];
}
