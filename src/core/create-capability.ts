import { type Capability, VERSION } from "./capability.ts";

/** Creates a value without a prototype: a polluted one must not add to it. */
export const createCapability = <Value extends Capability>(
  value: Omit<Value, keyof Capability> & Pick<Value, "option"> & Partial<Omit<Capability, "version">>,
): Value => {
  const all = { written: undefined, shape: undefined, names: {}, ...value, version: VERSION };
  return Object.freeze(Object.assign(Object.create(null) as Value, all));
};
