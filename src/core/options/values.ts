/** The kinds of values that options have. `expected` is the hint for any other value. */
import * as z from "zod/mini";
import { suggest } from "../errors.ts";
import { ALGORITHMS } from "../keys/algorithm.ts";
import { isSecureUrl } from "../keys/secure-url.ts";

type Type = z.core.$ZodType;

export const text = (expected: string) =>
  z.string({ error: expected }).check(z.minLength(1, { error: expected }));
export const printable = (expected: string) =>
  text(expected).check(z.regex(/^[\x20-\x7e]+$/, { error: expected }));
export const texts = (expected: string) => z.array(text(expected), { error: expected });
export const nonEmptyArray = (element: Type, expected: string) =>
  z.array(element, { error: expected }).check(z.minLength(1, { error: expected }));
export const table = (value: Type, expected: string) => {
  const error = `${expected} Inherited and hidden properties aren't read.`;
  return z.pipe(z.custom(isTable, { error }), z.record(z.string(), value, { error: expected }));
};
/** A union whose mistakes are those of one type: the second one, unless the value belongs to the first. */
export const either = (isFirst: (value: unknown) => boolean, first: Type, second: Type) =>
  z.unknown().check(({ value, issues }) => {
    const { error } = z.safeParse(isFirst(value) ? first : second, value);
    for (const issue of error?.issues ?? []) issues.push({ ...issue, input: value } as z.core.$ZodRawIssue);
  });
export const flag = z.boolean({ error: "Write true or false." });
export const callback = (expected: string) =>
  z.custom<(...values: never[]) => unknown>((value) => typeof value === "function", { error: expected });
/** Accepts an object of this package, which has these methods. */
export const objectWith = (methods: readonly string[], expected: string) =>
  z.custom(
    (value) =>
      typeof value === "object" &&
      value !== null &&
      methods.every((name) => typeof Reflect.get(value, name) === "function"),
    { error: expected },
  );

export const numberFrom = (least: number, most: number, error: string) =>
  z.number({ error }).check(z.gte(least, { error }), z.lte(most, { error }));
export const integerFrom = (least: number, most: number, error: string) =>
  z.int({ error }).check(z.gte(least, { error }), z.lte(most, { error }));
export const seconds = numberFrom(0, Infinity, "Write a number of seconds, 0 or more.");

const SECURE_URL = "Write an absolute https URL; http is only allowed for this machine.";
export const secureUrl = z
  .string({ error: SECURE_URL })
  .check(z.refine(isSecureUrl, { error: ({ input }) => `${SECURE_URL}${explainInsecurity(String(input))}` }));

/** Explains what is wrong with a URL, without quoting it: it may contain a password. */
function explainInsecurity(url: string): string {
  if (url === "") return "";
  if (!URL.canParse(url))
    return url.startsWith("/")
      ? " This URL is relative: add `https://` and the host."
      : " This URL has no scheme: add `https://`.";
  const { protocol, username, password } = new URL(url);
  if (username !== "" || password !== "")
    return " This URL contains a user or a password: remove them, and set `fetch` if the server requires them.";
  if (protocol === "http:")
    return " This URL uses http for another machine: write `https://` instead of `http://`.";
  return ` This URL starts with \`${protocol}\`: is \`https://\` missing?`;
}

const ALGORITHM = `Write one of ${ALGORITHMS.join(", ")}.`;
export const algorithm = z.enum(ALGORITHMS, {
  error: ({ input }) => (typeof input === "string" ? suggest(input, ALGORITHMS, ALGORITHM) : ALGORITHM),
});

const CLAIM = 'Write a claim name, or a path as an array: ["realm_access", "roles"].';
export const claim = z.union([text(CLAIM), nonEmptyArray(text(CLAIM), CLAIM)], { error: CLAIM });

/**
 * Returns whether an object is plain: properties of a class, for example an `isRevoked` method, would be
 * ignored without an error.
 */
export function isPlainObject(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** Returns whether all properties of an object are read. If not, a rule would be missing without an error. */
const isTable = (value: unknown): boolean =>
  isPlainObject(value) &&
  Object.getOwnPropertyNames(value).every((name) => Object.prototype.propertyIsEnumerable.call(value, name));

/** A plain object: properties of a class wouldn't be read. */
export const plain = <Shape extends Type>(shape: Shape, error?: string) =>
  z.pipe(z.custom(isPlainObject, error === undefined ? {} : { error }), shape);
