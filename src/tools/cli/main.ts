#!/usr/bin/env node
/** The program `scopegate`. It exits when its command ends, even if an application is listening. */
import { printable } from "../../core/runtime/printable.ts";
import { describeError, renderPlaces } from "./application.ts";
import { renderMistakes, run } from "./run.ts";
import { untilStopped } from "./signals.ts";

const { stdout, stderr, stdin } = process;
const write = stdout.write.bind(stdout);
// Inside a framework, the application's line may be behind more than the default of 10 calls.
Error.stackTraceLimit = 100;

// The output of an application that is being loaded must not become part of a result.
Reflect.set(stdout, "write", stderr.write.bind(stderr));

// Process warnings, such as that about rules that allow more than the base table, are for operators.
const [show] = process.listeners("warning");
process.removeAllListeners("warning").on("warning", (warning) => {
  if (warning.name !== "ScopegateWarning") show?.(warning);
});

let code = 2;
/** A reader such as `head` may close the pipe early, which isn't an error. */
const end = (error?: NodeJS.ErrnoException | null): void => {
  if (!error || error.code === "EPIPE") process.exit(code);
  stderr.write(`scopegate: The output can't be written: ${error.code ?? "unknown"}.\n`);
  process.exit(2);
};
stdout.on("error", end);
stderr.on("error", () => undefined);

const isJson = process.argv.includes("--json");
const report = (mistake: string, whenWritten?: typeof end): void => {
  const text = renderMistakes([mistake], isJson);
  if (isJson) write(text, whenWritten);
  else stderr.write(text, whenWritten);
};

let isFinished = false;
process.on("exit", () => {
  // An application that ends the process, or is never ready, must not look like a success.
  if (isFinished) return;
  process.exitCode = 2;
  report("The application ended the process, or waits for something: export it without waiting.");
});
const fail = (error: unknown): void => {
  if (isFinished) return;
  isFinished = true;
  const message = printable(describeError(error));
  report(`The application failed: ${message}. Export it without starting it.${renderPlaces(error)}`, end);
};
process.on("uncaughtException", fail);
process.on("unhandledRejection", fail);

async function read(): Promise<string> {
  let text = "";
  for await (const chunk of stdin.setEncoding("utf8")) text += chunk as string;
  return text;
}

let text = "";
const io = {
  write: (more: string) => void (text += more),
  note: (more: string) => void stderr.write(more),
  isTerminal: stdout.isTTY,
  read,
  untilStopped,
  env: process.env,
};
code = await run(process.argv.slice(2), io);
isFinished = true;
// Exits when everything is written: a pipe may take the output in parts.
write(text, end);
