/**
 * A capability is what a server can do beyond verifying JWTs and deciding by the table. It's the value of an
 * option: the core knows its interface, and the function that makes it has an entry of its own. A value is
 * inert, so several servers can be created from one.
 */
import * as z from "zod/mini";

/** The version of this package. A value and a server of two versions may not fit together. */
export const VERSION = "0.2.0";

export interface Capability {
  readonly version: string;
  /** The option that it's a value of. */
  readonly option: string;
  /** What the user wrote. Mistakes in it are reported together with those in all other options. */
  readonly written: unknown;
  /** A shape of zod, if anything was written. Its type must not be in the types of this package. */
  readonly shape: object | undefined;
  /** The options inside `written`, by the name of the option or property that contains them. */
  readonly names: Readonly<Record<string, readonly string[]>>;
}

/** Returns whether it's such a value, and no copy: in `{ ...value }`, a changed property has no effect. */
export const isCapability = (value: unknown): value is Capability =>
  Object.isFrozen(value) && Object(value) === value && Object.getPrototypeOf(value) === null;

/** The shape of an option whose value is a capability. `expected` says which function makes it. */
export const capability = (option: string, expected: string) =>
  z.unknown().check(({ value, issues }) => {
    const report = (message: string) => void issues.push({ code: "custom", input: value, message });
    if (!isCapability(value) || value.option !== option) report(expected);
    else if (value.version !== VERSION)
      report(`Install one version of scopegate: the value is of ${value.version}, the server of ${VERSION}.`);
    else if (value.shape)
      for (const issue of z.safeParse(value.shape as z.core.$ZodType, value.written).error?.issues ?? [])
        issues.push({ ...issue, input: value } as z.core.$ZodRawIssue);
  });
