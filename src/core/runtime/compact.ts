/** The same object, in which each property that can be `undefined` may be absent instead. */
type Compact<T> = {
  readonly [Name in keyof T as undefined extends T[Name] ? never : Name]: T[Name];
} & {
  readonly [Name in keyof T as undefined extends T[Name] ? Name : never]?: Exclude<T[Name], undefined>;
};

/** Returns a copy without the properties whose value is `undefined`. */
export const compact = <T extends object>(object: T): Compact<T> =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as Compact<T>;

/** The same type with writable properties, for an object that is filled step by step. */
export type Writable<T> = { -readonly [Name in keyof T]: T[Name] };
