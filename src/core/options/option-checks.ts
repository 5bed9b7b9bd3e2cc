/** The checks that options of several functions have in common. */
import { ConfigurationError, type ConfigurationIssue } from "../errors.ts";
import type { OptionCheck } from "./check-options.ts";

/** A check for every option of an interface. */
export type OptionChecks<Options> = Readonly<Record<keyof Options, OptionCheck>>;

/** Creates the error for one mistake in the options. */
export const optionError = (
  path: ConfigurationIssue["path"],
  message: string,
  hint: string,
  code: ConfigurationIssue["code"] = "option_invalid",
): ConfigurationError => new ConfigurationError([{ code, path, message, hint }]);

export const required = (check: OptionCheck): OptionCheck => ({ ...check, isRequired: true });

export const flag: OptionCheck = {
  accepts: (value) => typeof value === "boolean",
  hint: "Write true or false.",
};

export const wholeNumber: OptionCheck = {
  accepts: (value) => Number.isSafeInteger(value) && Number(value) > 0,
  hint: "Write a whole number, 1 or more.",
};

export const numberFrom = (least: number, most: number): OptionCheck => ({
  accepts: (value) => typeof value === "number" && value >= least && value <= most,
  hint: `Write a number from ${least} to ${most}.`,
});

export const anyString: OptionCheck = {
  accepts: (value) => typeof value === "string",
  hint: "Write a string.",
};

export const oneOf = (...choices: readonly string[]): OptionCheck => ({
  accepts: (value) => choices.some((choice) => choice === value),
  hint: `Write one of ${choices.map((choice) => JSON.stringify(choice)).join(", ")}.`,
});

export const callback = (hint: string): OptionCheck => ({
  accepts: (value) => typeof value === "function",
  hint,
});

export const clock = callback("Write a function that returns milliseconds since the epoch.");

/** For a value that is checked elsewhere, or that can be anything. */
export const anyValue: OptionCheck = { accepts: () => true, hint: "" };
