import { orUndefined } from "../../../core/errors.ts";
import type { Decision } from "../../../core/policy/decision.ts";
import { pipelineOf } from "../../../core/port.ts";
import { compact } from "../../../core/runtime/compact.ts";
import { describeBaseTable } from "../../shared/base-table.ts";
import { renderMarkdown } from "../../shared/table.ts";
import type { TestCaller } from "../../testing/caller.ts";
import { type Command, readPairs, UsageError } from "../command.ts";
import { quote } from "../arguments.ts";
import { readText, writeText } from "../files.ts";
import { POLICY_OPTIONS, readPolicy } from "../policy.ts";
import { readRoles } from "../roles.ts";

export const matrix: Command = {
  name: "matrix",
  summary: "Show which role may call which route, and compare it with a snapshot.",
  words: [],
  options: {
    ...POLICY_OPTIONS,
    roles: {
      value: "FILE",
      text: 'the scopes of each role: { "reader": ["agents:read"], "nobody": "anonymous" }; for conditions: { "scopes": [...], "claims": {...}, "tenant": "acme" }',
    },
    param: {
      value: "NAME=VALUE",
      isRepeatable: true,
      text: "the value of a route parameter. Default: its name",
    },
    shadow: { text: "show what the table of `shadow` decides" },
    check: { value: "FILE", text: "a snapshot: every difference is a finding" },
    write: {
      text: "with --check: write a new snapshot to FILE. Shows the changes, but they aren't findings",
    },
  },
  examples: [
    ["--roles roles.json --config scopegate.json", "Prints the table as Markdown."],
    [
      "--roles roles.json --config scopegate.json --check access.md --write",
      "Writes the snapshot, and shows what has changed.",
    ],
    [
      "--roles roles.json --config scopegate.json --check access.md",
      "Shows what has changed since the snapshot.",
    ],
  ],
  async run(input) {
    const file = input.text("check");
    const isWritten = input.has("write");
    const isShadow = input.has("shadow");
    const [{ server }, callers, params, before] = await input.all(
      () => readPolicy(input),
      () => readCallers(input.text("roles")),
      () => readPairs(input, "param"),
      () => {
        if (isWritten && file === undefined) throw new UsageError("--write needs --check FILE.");
        return file === undefined ? undefined : readSnapshot(file, isWritten);
      },
    );
    if (isShadow && !pipelineOf(server).rules.shadow)
      throw new UsageError("--shadow needs the option shadow.");
    const { accessMatrix } = await import("../../testing/index.ts");
    const { cells, unasked } = await accessMatrix(server, { callers, params });
    const rows = [
      ...cells.map(({ route, caller, decision }) => [
        route,
        caller,
        isShadow ? resultOf(shadowOf(decision)) : resultOf(decision),
      ]),
      ...unasked.map((key) => [key, "every role", "no path found"]),
    ];
    const { policy } = server.health();
    const snapshot = renderMarkdown([HEAD, ...rows]);
    // On standard error, because the output may become a snapshot.
    const warning = describeBaseTable(pipelineOf(server).policy.rules);
    if (file === undefined || !before)
      return compact({ data: { policy, rows }, text: snapshot, warning, note: `Policy ${policy}.` });
    if (isWritten) writeText(file, `${snapshot}\n`);
    const note = isWritten
      ? `The new snapshot is in ${quote(file)}.`
      : "If the changes are intended, write a new snapshot with --write.";
    // The first snapshot can't be compared with anything.
    if (before.size === 0) return { data: { policy, rows }, text: snapshot, note };
    const changes = compareRows(before, readRows(snapshot));
    const text = changes.length === 0 ? "The access matrix is as in the snapshot." : changes.join("\n");
    const isFinding = changes.length > 0 && !isWritten;
    return compact({
      isFinding,
      data: { policy, rows, changes },
      text,
      note: isFinding || isWritten ? note : undefined,
    });
  },
};

const resultOf = (decision: Decision | "undecided"): string => {
  if (decision === "undecided") return decision;
  return decision.allowed ? "allowed" : decision.reason;
};

/** Without a decision of its own, the table of `shadow` decides as the other one does. */
const shadowOf = (decision: Decision): Decision | "undecided" => decision.shadow ?? decision;

function readCallers(file: string | undefined): Readonly<Record<string, TestCaller>> {
  if (file === undefined) throw new UsageError("matrix needs roles: write --roles roles.json.");
  const roles = Object.entries(readRoles(file));
  return Object.fromEntries(
    roles.map(([name, role]) => [name, role === "anonymous" || "scopes" in role ? role : { scopes: role }]),
  );
}

/** Returns the removed and the added rows, next to each other. */
function compareRows(before: ReadonlySet<string>, after: ReadonlySet<string>): readonly string[] {
  return [
    ...[...before].filter((row) => !after.has(row)).map((row) => `- ${row}`),
    ...[...after].filter((row) => !before.has(row)).map((row) => `+ ${row}`),
  ].sort((left, right) => (left.slice(2) < right.slice(2) ? -1 : 1));
}

const HEAD = ["route", "role", "result"];

/** Reads the rows of a snapshot. `--write` replaces the file, so it must contain only one such table. */
function readSnapshot(file: string, isWritten: boolean): ReadonlySet<string> {
  const text = orUndefined(() => readText(file)) ?? (isWritten ? "" : undefined);
  if (text === undefined) throw new UsageError(`${quote(file)} can't be read: add --write to create it.`);
  const rows = readRows(text);
  if (isWritten && text === "") return rows;
  if (!rows.has(HEAD.join(" | ")))
    throw new UsageError(`${quote(file)} contains no access table: pass a snapshot, or a new file.`);
  const lines = text.trim().split(/\r?\n/);
  if (isWritten && !lines.every((line) => /^\|.*\|$/.test(line)))
    throw new UsageError(
      `${quote(file)} contains other text than an access table: keep the snapshot in its own file.`,
    );
  return rows;
}

/** Reads the rows of a table, whatever its padding. */
const readRows = (text: string): ReadonlySet<string> =>
  new Set(
    [...text.matchAll(/^\| (?!-)(.*) \|$/gm)].map(([, row = ""]) => row.replaceAll(/ +/g, " ").trimEnd()),
  );
