/** Checks the options of functions that don't use zod. */
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
  const issues: ConfigurationIssue[] = [];
  const report = (name: string[], code: ConfigurationIssue["code"], message: string, hint: string): void =>
    void issues.push({ path: [functionName, ...name], code, message, hint });
  if (typeof options !== "object" || options === null || Array.isArray(options))
    report([], "option_invalid", "takes its options as an object.", namesHint);
  else {
    for (const [name, { accepts, hint, isRequired, rejectsUndefined }] of Object.entries(checks)) {
      const value: unknown = Reflect.get(options, name);
      if (value !== undefined && !accepts(value))
        report([name], "option_invalid", "has an invalid value.", hint);
      else if (value === undefined && isRequired) report([name], "option_missing", "is missing.", hint);
      else if (value === undefined && rejectsUndefined && name in options)
        report([name], "option_invalid", "is undefined.", hint);
    }
    for (const name of Object.keys(options).filter((written) => !names.includes(written))) {
      const hint = Object.hasOwn(otherOptions, name) ? otherOptions[name] : undefined;
      const message = `received unknown option \`${name}\`.`;
      report([name], "option_unknown", message, hint ?? suggest(name, names, namesHint));
    }
  }
  if (issues.length > 0) throw new ConfigurationError(issues);
}
