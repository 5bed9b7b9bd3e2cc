/** The types of a command, of its input and of its result. */
import { ConfigurationError, orUndefined } from "../../core/errors.ts";

/** An option of a command: with `value`, the placeholder in its help; without, a flag. */
export interface Option {
  readonly value?: string;
  readonly isRepeatable?: true;
  readonly isEmptyAllowed?: true;
  readonly text: string;
}

/** The input and output of the process, which tests can replace. */
export interface Io {
  readonly write: (text: string) => void;
  /** Writes to standard error. */
  readonly note: (text: string) => void;
  /** Whether standard output is a terminal. */
  readonly isTerminal: boolean;
  /** Reads all of standard input. */
  readonly read: () => Promise<string>;
  /** Resolves when the process receives SIGINT, such as from Ctrl+C, or SIGTERM. */
  readonly untilStopped: () => Promise<void>;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The result of a command, which is printed in one place. */
export interface Result {
  /** Whether the exit code is 1. Default: `false`. */
  readonly isFinding?: boolean;
  /** What `--json` prints. */
  readonly data: unknown;
  readonly text: string;
  /** Whether `text` is a file, to be printed as it is. Default: `false`. */
  readonly isFile?: boolean;
  /** A warning about the result, written to standard error. */
  readonly warning?: string;
  /** Shown only at a terminal. */
  readonly note?: string;
}

export interface Command {
  readonly name: string;
  readonly summary: string;
  /** The names of its arguments. Those in square brackets are optional. */
  readonly words: readonly string[];
  readonly options: Readonly<Record<string, Option>>;
  /** The arguments of each example, what they do, and the file that it reads from standard input. */
  readonly examples: readonly (readonly [args: string, meaning: string, input?: string])[];
  readonly run: (input: CommandInput) => Promise<Result>;
}

/** Wrong usage: every mistake with its fix. */
export class UsageError extends Error {
  readonly mistakes: readonly string[];

  constructor(...mistakes: readonly string[]) {
    super(mistakes.join("\n"));
    this.mistakes = mistakes;
  }
}

/** Returns the mistakes that an error lists; `undefined` for an unexpected error. */
export function mistakesOf(error: unknown): readonly string[] | undefined {
  if (error instanceof UsageError) return error.mistakes;
  if (!(error instanceof ConfigurationError)) return undefined;
  return error.issues.map((issue) => new ConfigurationError([issue]).message);
}

/** The input of a command: its arguments, its options, and the process. */
export interface CommandInput {
  readonly words: readonly string[];
  readonly has: (option: string) => boolean;
  readonly text: (option: string) => string | undefined;
  readonly texts: (option: string) => readonly string[];
  readonly io: Io;
  /** Reads all input of a command. @throws UsageError that lists every mistake, also in the arguments */
  readonly all: <T extends readonly unknown[]>(...readers: Readers<T>) => Promise<T>;
}

export type Readers<T extends readonly unknown[]> = { readonly [K in keyof T]: () => T[K] | Promise<T[K]> };

/** Calls every reader, and returns their results, or throws every mistake that they found. */
export async function readAll<T extends readonly unknown[]>(
  readers: Readers<T>,
): Promise<{ readonly values: T; readonly mistakes: readonly string[] }> {
  const results = await Promise.allSettled(readers.map((read) => Promise.resolve().then(read)));
  const mistakes = results.flatMap((result) => {
    if (result.status === "fulfilled") return [];
    const mistakes = mistakesOf(result.reason);
    if (!mistakes) throw result.reason;
    return mistakes;
  });
  const values = results.map((result) => (result.status === "fulfilled" ? result.value : undefined));
  return { values: values as unknown as T, mistakes };
}

/** Reads the values of `--scope`. A comma is valid in a scope, but almost always separates two scopes. */
export function readScopes(input: CommandInput): readonly string[] {
  const scopes = input.texts("scope");
  if (scopes.some((scope) => /[,\s]/.test(scope)))
    throw new UsageError("--scope takes one scope: repeat it, --scope orders:read --scope reports:read.");
  return scopes;
}

/** `name=value`, several times: `--arg agent_id=web`. */
export function readPairs(input: CommandInput, option: string): Readonly<Record<string, string>> {
  const pairs = input.texts(option).map((pair) => [pair.slice(0, pair.indexOf("=")), pair] as const);
  if (pairs.some(([name, pair]) => name === "" || !pair.includes("=")))
    throw new UsageError(`--${option} takes a name and a value: write --${option} name=value.`);
  return Object.fromEntries(pairs.map(([name, pair]) => [name, pair.slice(name.length + 1)]));
}

/** Reads `--claim`: a value is JSON, or else a string. */
export const readClaims = (input: CommandInput): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(readPairs(input, "claim")).map(([name, text]) => {
      const parsed = orUndefined((): unknown => JSON.parse(text));
      return [name, parsed === undefined ? text : parsed];
    }),
  );

/** A token on the command line would stay in the shell's history. */
export function requireStandardInput(input: CommandInput): void {
  if (input.has("token") && input.text("token") !== "-")
    throw new UsageError("--token takes only `-`: pass the token on standard input.");
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** Reads the value of `--expires` and similar options. */
export function readSeconds(input: CommandInput, option: string): number | undefined {
  const text = input.text(option);
  if (text === undefined) return undefined;
  const [, count = "", unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  if (count === "") throw new UsageError(`--${option} takes a number and a unit: 30s, 15m, 1h or 7d.`);
  return Number(count) * (UNITS[unit] ?? 1);
}
