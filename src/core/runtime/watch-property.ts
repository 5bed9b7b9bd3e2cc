/**
 * Replaces a property with an accessor that reports each assignment, including those to objects that inherit
 * it. The value is stored in the object that `placeOf` returns, or in the owner itself.
 */
export function watchProperty<Owner extends object>(
  holder: Owner,
  name: keyof Owner & string,
  onAssigned: (owner: Owner, value: unknown) => void,
  placeOf: (owner: Owner) => object | undefined = () => undefined,
): void {
  const key = Symbol(name);
  const descriptor = Object.getOwnPropertyDescriptor(holder, name);
  if (descriptor?.configurable === false)
    throw new TypeError(
      `Other code has locked the property \`${name}\` of this application's requests, so the routes behind protect can't be checked. If the other code is an old copy of scopegate, which \`npm ls scopegate\` shows, update it.`,
    );
  const keptIn = (place: { readonly [key]?: unknown } | undefined): unknown => place?.[key];
  Object.defineProperty(holder, name, {
    configurable: true,
    enumerable: true,
    get(this: Owner) {
      return keptIn(placeOf(this)) ?? keptIn(this);
    },
    set(this: Owner, value: unknown) {
      const place: { [key]?: unknown } = placeOf(this) ?? this;
      place[key] = value;
      // Another copy of the package may watch the same objects, so its accessor is called too.
      descriptor?.set?.call(this, value);
      onAssigned(this, value);
    },
  });
}
