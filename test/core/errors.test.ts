/** `instanceof` works for errors from a second copy of this package. */
import { describe, expect, it } from "vitest";
import * as errors from "../../src/core/errors.ts";
import { AuditError } from "../../src/tools/audit/report.ts";

const ours = { ...errors, AuditError };
const another = ["../../src/core/errors.ts?another", "../../src/tools/audit/report.ts?another"];
const theirs = Object.assign(
  {},
  ...(await Promise.all(another.map((file) => import(file) as Promise<object>))),
) as typeof ours;

const made = (copy: typeof ours) => ({
  ConfigurationError: new copy.ConfigurationError([]),
  TokenRejectedError: new copy.TokenRejectedError("expired"),
  KeysUnavailableError: new copy.KeysUnavailableError(),
  AuditError: new copy.AuditError(),
});
const NAMES = Object.keys(made(ours)) as (keyof ReturnType<typeof made>)[];

describe.each(NAMES)("%s", (name) => {
  it("matches instanceof of another copy of the package", () => {
    expect(theirs[name]).not.toBe(ours[name]);
    expect(made(theirs)[name] instanceof ours[name]).toBe(true);
    expect(made(ours)[name] instanceof theirs[name]).toBe(true);
  });

  it("does not match other errors and values", () => {
    for (const other of NAMES) expect(made(theirs)[other] instanceof ours[name]).toBe(other === name);
    for (const value of [new Error(), { name }, Object.create(null), null, undefined, name, () => name])
      expect(value instanceof ours[name]).toBe(false);
  });

  it("sets its name on the class and on the error", () => {
    const error = made(ours)[name];
    expect([ours[name].name, error.constructor.name, error.name]).toEqual([name, name, name]);
  });

  it("keeps the usual instanceof for subclasses", () => {
    class SpecialError extends (ours[name] as new (...given: unknown[]) => Error) {}
    const error = new SpecialError([]);
    expect([
      error instanceof SpecialError,
      error instanceof ours[name],
      error instanceof theirs[name],
    ]).toEqual([true, true, true]);
    expect(made(ours)[name] instanceof SpecialError).toBe(false);
  });
});

describe("the message of a ConfigurationError", () => {
  const messageOf = (count: number) =>
    new errors.ConfigurationError(
      Array.from({ length: count }, () => ({
        code: "option_invalid",
        path: ["a", 0, "b c", "d"],
        message: "is wrong.",
        hint: "Correct it.",
      })),
    ).message.split("\n");

  it("shows the first 50 mistakes, and how many more there are", () => {
    const lines = Array.from({ length: 50 }, () => 'a[0]["b c"].d: is wrong. Correct it.');
    expect(messageOf(50)).toEqual(lines);
    expect(messageOf(1234)).toEqual([...lines, "1184 more mistakes: see `issues`."]);
  });
});
