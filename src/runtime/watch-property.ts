type Owner = Record<symbol, unknown>;

/** Makes a property an accessor that keeps its value under `key` and reports each assignment, also in inheriting objects. */
export function watchProperty(
  holder: object,
  name: string,
  key: symbol,
  onAssigned: (owner: Owner) => void,
): void {
  const present = Object.getOwnPropertyDescriptor(holder, name);
  Object.defineProperty(holder, name, {
    configurable: true,
    enumerable: true,
    get(this: Owner) {
      return this[key];
    },
    set(this: Owner, value: unknown) {
      this[key] = value;
      // Another copy of the package may watch the same objects.
      present?.set?.call(this, value);
      onAssigned(this);
    },
  });
}
