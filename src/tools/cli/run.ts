/** Runs one command, and prints its result. */
import { createRequire } from "node:module";
import { suggest } from "../../core/errors.ts";
import { printable } from "../../core/runtime/printable.ts";
import { escapeUnits } from "../escape.ts";
import { describeError } from "./application.ts";
import { COMMON, quote, readArguments } from "./arguments.ts";
import { type Command, type Io, mistakesOf, type Result, UsageError } from "./command.ts";
import { commands } from "./commands/index.ts";
import { renderColumns } from "../shared/table.ts";

/** Runs `scopegate ...args`. Returns the exit code: 0 for success, 1 for a finding, 2 for an error. */
export async function run(args: readonly string[], io: Io): Promise<0 | 1 | 2> {
  const isJson = args.includes("--json");
  try {
    const { text, data, isFile, isFinding = false, warning, note } = await findResult(args, io);
    const shown = isFile ? text : `${clean(text)}\n`;
    io.write(isJson ? renderJson(data) : shown);
    if (warning !== undefined) io.note(`${clean(warning)}\n`);
    if (note !== undefined && io.isTerminal) io.note(`${clean(note)}\n`);
    return isFinding ? 1 : 0;
  } catch (error) {
    const fault = `Unexpected error: ${describeError(error)}`.replace(/[^.]$/, "$&.");
    const mistakes = mistakesOf(error) ?? [fault];
    (isJson ? io.write : io.note)(renderMistakes(mistakes, isJson));
    return 2;
  }
}

/** Renders mistakes for standard output as JSON, or for standard error as text. */
export const renderMistakes = (mistakes: readonly string[], isJson: boolean): string =>
  isJson
    ? renderJson({ mistakes })
    : `${clean(mistakes.map((mistake) => `scopegate: ${mistake}`).join("\n"))}\n`;

async function findResult(args: readonly string[], io: Io): Promise<Result> {
  const [first = "--help", ...rest] = args.filter((arg, index) => index > 0 || arg !== "--json");
  if (first === "--version") return versionOf();
  const isHelp = ["help", "--help", "-h"].includes(first);
  const name = isHelp ? rest.find((word) => !word.startsWith("-")) : first;
  const command = commands.find((candidate) => candidate.name === name);
  if (!command && name !== undefined) {
    const names = commands.map((candidate) => candidate.name);
    throw new UsageError(`Unknown command ${quote(name)}. ${suggest(name, names, "See scopegate --help.")}`);
  }
  if (!command) return { data: commands, text: renderOverview() };
  if (isHelp || rest.includes("--help") || rest.includes("-h"))
    return { data: command, text: renderHelp(command) };
  return command.run(readArguments(command, rest, io));
}

function versionOf(): Result {
  const { version } = createRequire(import.meta.url)("scopegate/package.json") as { version: string };
  return { data: { version }, text: version };
}

function renderOverview(): string {
  const rows = renderColumns(commands.map(({ name, summary }) => [`  ${name}`, summary]));
  return `Usage: scopegate COMMAND [--json]\n\n${rows}\n\nHelp with examples: scopegate COMMAND --help\nExit code: 0 success, 1 a finding, 2 wrong usage or an unexpected error.`;
}

export function renderHelp({ name, summary, words, options, examples }: Command): string {
  const rows = Object.entries({ ...options, ...COMMON }).map(([option, { value, text, isRepeatable }]) => [
    `  --${option}${value === undefined ? "" : ` ${value}`}`,
    `${text}${isRepeatable ? " (repeatable)" : ""}`,
  ]);
  const shownExamples = examples.map(([args, meaning, input]) => {
    // In PowerShell, `cat` works and `<` doesn't.
    const source = input === undefined ? "" : `cat ${input} | `;
    return `  ${source}scopegate ${name} ${args}\n      ${meaning}`;
  });
  const usage = `Usage: scopegate ${[name, ...words].join(" ")} [options]`;
  return `${summary}\n\n${usage}\n\n${renderColumns(rows)}\n\nExamples:\n${shownExamples.join("\n")}`;
}

/** Routes, scopes and messages may contain terminal escapes. */
const clean = (text: string): string => text.split("\n").map(printable).join("\n");

const renderJson = (data: unknown): string =>
  `${JSON.stringify(data, undefined, 2).replace(/[^\P{C}\n]|[\p{Zl}\p{Zp}]/gu, escapeUnits)}\n`;
