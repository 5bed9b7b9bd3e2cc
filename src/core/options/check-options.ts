/** Checks the options of all functions except `createResourceServer` and `introspection`, which use zod. */
import { ConfigurationError, type ConfigurationIssue, suggest } from "../errors.ts";

/** Which values an option can have. */
export interface OptionCheck {
  readonly accepts: (value: unknown) => boolean;
  /** What to write instead of a value that isn't accepted. */
  readonly hint: string;
  /** Whether the option must be written. */
  readonly isRequired?: boolean;
  /** Whether `undefined` is a mistake: an unset variable must not turn the option off. */
  readonly rejectsUndefined?: boolean;
}

/** A check for every option of an interface. */
export type OptionChecks<Options> = Readonly<Record<keyof Options, OptionCheck>>;

/**
 * Checks the options of a function. The path of each mistake starts with the name of the function.
 *
 * @param otherOptions hints for names that are options of another function
 * @throws ConfigurationError that lists every mistake, and quotes no value: it may be a secret
 */
export function checkOptions(
  functionName: string,
  options: unknown,
  checks: Readonly<Record<string, OptionCheck>>,
  otherOptions: Readonly<Record<string, string>> = {},
): void {
  const names = Object.keys(checks);
  const namesHint = names.length === 0 ? "It takes no options." : `The options are ${names.join(", ")}.`;
  if (typeof options !== "object" || options === null || Array.isArray(options))
    throw optionError([functionName], "takes its options as an object.", namesHint);
  const issues: ConfigurationIssue[] = [];
  for (const [name, check] of Object.entries(checks)) {
    const mistake = findMistake(name, check, options);
    if (mistake) issues.push({ ...mistake, path: [functionName, name], hint: check.hint });
  }
  for (const name of Object.keys(options))
    if (!names.includes(name))
      issues.push({
        code: "option_unknown",
        path: [functionName, name],
        message: `received unknown option \`${name}\`.`,
        hint: Object.hasOwn(otherOptions, name)
          ? String(otherOptions[name])
          : suggest(name, names, namesHint),
      });
  if (issues.length > 0) throw new ConfigurationError(issues);
}

function findMistake(
  name: string,
  { accepts, isRequired, rejectsUndefined }: OptionCheck,
  options: object,
): Pick<ConfigurationIssue, "code" | "message"> | undefined {
  const value: unknown = Reflect.get(options, name);
  if (value !== undefined)
    return accepts(value) ? undefined : { code: "option_invalid", message: "has an invalid value." };
  if (isRequired) return { code: "option_missing", message: "is missing." };
  if (rejectsUndefined && name in options) return { code: "option_invalid", message: "is undefined." };
  return undefined;
}

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
