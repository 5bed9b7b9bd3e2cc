/** Reads the arguments of a command, and collects every mistake in them. */
import { parseArgs } from "node:util";
import { suggest } from "../../core/errors.ts";
import { type Command, type CommandInput, type Io, type Option, readAll, UsageError } from "./command.ts";

/** Options of every command. */
export const COMMON: Readonly<Record<string, Option>> = {
  json: { text: "print the result as JSON" },
  help: { text: "show this help" },
};

const TOKEN = /eyJ[\w-]{8,}\.|bearer /i;

/** Quotes an argument if it's short. A long one may be a token or a key. */
export const quote = (word: string): string =>
  /^[\w./:@=*<>{} -]{1,60}$/.test(word) && !TOKEN.test(word) ? `\`${word}\`` : "an argument";

export function readArguments(command: Command, args: readonly string[], io: Io): CommandInput {
  if (args.some((arg) => TOKEN.test(arg)))
    throw new UsageError(
      "An argument is a token, which stays in the history of the shell: write --token -, and pass the token on standard input.",
    );
  const options = { ...command.options, ...COMMON };
  const typeOf = ({ value }: Option) => ({ type: value === undefined ? "boolean" : "string" }) as const;
  const types = Object.entries(options).map(([name, option]) => [name, typeOf(option)]);
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(types) as Record<string, { type: "boolean" | "string" }>,
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const words: string[] = [];
  const values = new Map<string, string[]>();
  const mistakes: string[] = [];
  for (const token of tokens) {
    if (token.kind === "positional") words.push(token.value);
    if (token.kind !== "option") continue;
    const { name, value, inlineValue } = token;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    const earlierValues = values.get(name) ?? [];
    if (!option) {
      const names = Object.keys(options).map((optionName) => `--${optionName}`);
      const hint = suggest(`--${name}`, names, `See scopegate ${command.name} --help.`);
      mistakes.push(`\`${command.name}\` has no option ${quote(token.rawName)}. ${hint}`);
    } else if (option.value === undefined && value !== undefined)
      mistakes.push(`--${name} takes no value: write --${name}.`);
    else if (option.value !== undefined && !value && (value === undefined || !option.isEmptyAllowed))
      mistakes.push(`--${name} needs a value: write --${name} ${option.value}.`);
    else if (option.value !== undefined && !inlineValue && /^-\D/.test(String(value)))
      mistakes.push(`--${name} needs a value. If the value begins with -, write --${name}=${option.value}.`);
    else if (earlierValues.length > 0 && !option.isRepeatable)
      mistakes.push(`--${name} is written twice: write it once.`);
    else values.set(name, value === "" ? earlierValues : [...earlierValues, value ?? ""]);
  }
  const missing = command.words.slice(words.length).filter((word) => !word.startsWith("["));
  const usage = `scopegate ${[command.name, ...command.words].join(" ")}`;
  const verb = missing.length === 1 ? "is" : "are";
  if (missing.length > 0) mistakes.push(`${missing.join(" and ")} ${verb} missing: write ${usage}.`);
  for (const word of words.slice(command.words.length))
    mistakes.push(`${quote(word)} is one argument too many: write ${usage}, with quotes around spaces.`);
  const texts = (option: string): readonly string[] => values.get(option) ?? [];
  return {
    words,
    has: (option) => values.has(option),
    text: (option) => texts(option)[0],
    texts,
    io,
    async all(...readers) {
      const read = await readAll(readers);
      // If arguments are missing, the mistakes of the readers are only a consequence.
      const all = [...mistakes, ...(missing.length > 0 ? [] : read.mistakes)];
      if (all.length > 0) throw new UsageError(...all);
      return read.values;
    },
  };
}
