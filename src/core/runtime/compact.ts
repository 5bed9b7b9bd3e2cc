/** The properties of `T` that can be `undefined` become optional, and lose the type `undefined`. */
type Compact<T> = {
  [Name in keyof T as undefined extends T[Name] ? never : Name]: T[Name];
} & {
  [Name in keyof T as undefined extends T[Name] ? Name : never]?: Exclude<T[Name], undefined>;
};

/** Returns a copy without the properties that are `undefined`, which optional properties must not be. */
export const compact = <T extends object>(properties: T): Compact<T> =>
  Object.fromEntries(Object.entries(properties).filter(([, value]) => value !== undefined)) as Compact<T>;
