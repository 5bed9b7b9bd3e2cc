import { checkOptions } from "../../core/options/check-options.ts";
import { anyValue, type OptionChecks, optionError, wholeNumber } from "../../core/options/option-checks.ts";
import type { Decision } from "../../core/policy/decision.ts";
import { pipelineOf } from "../../core/port.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import { renderColumns } from "../shared/table.ts";
import { requireCaller, type TestCaller } from "./caller.ts";
import { decide, readRoute } from "./check.ts";
import { requireParams, type SampleParams, samplesOf } from "./sample-route.ts";

/** The options of `accessMatrix`. */
export interface AccessMatrixOptions {
  /** The rows: each caller, by the name that the table shows. */
  readonly callers: Readonly<Record<string, TestCaller>>;
  /** The columns: `"METHOD /path"` each. Default: one for every rule of the server. */
  readonly routes?: readonly string[];
  /** The values of route parameters: `{ agent_id: "web" }`. Default: their names. */
  readonly params?: SampleParams;
  /** The maximum width of the table, in characters; more columns continue below. Default: `120`. */
  readonly width?: number;
}

const OPTIONS: OptionChecks<AccessMatrixOptions> = {
  // Each caller is checked where it's used.
  callers: anyValue,
  routes: anyValue,
  params: anyValue,
  width: wholeNumber,
};

/** The result of `accessMatrix`. */
export interface AccessMatrix {
  /** The table as text, for a snapshot. */
  readonly text: string;
  /** The decisions, route by route. */
  readonly cells: readonly AccessCell[];
  /** The keys of rules that have no column, because no path was found for them. */
  readonly unasked: readonly string[];
  /** Returns `text`. */
  toString(): string;
}

/** The decision for one caller and one route. */
export interface AccessCell {
  /** The name of the caller in `callers`. */
  readonly caller: string;
  /** `METHOD /path`. */
  readonly route: string;
  /** The decision of the server. */
  readonly decision: Decision;
}

/**
 * Checks every route for every caller, and shows the decisions as a table: `allowed`, or the status and
 * reason of a refusal. By default it checks all rules of the server, so that a snapshot also shows new rules.
 *
 * Callers are the same as for `check`. It doesn't know which routes the application has; an audit does.
 *
 * @throws ConfigurationError for an unknown option, an invalid route, or without callers
 * @throws Error if the server rejects a valid token of a test issuer
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { accessMatrix, createTestIssuer } from "scopegate/testing";
 *
 * const issuer = createTestIssuer();
 * const server = createResourceServer({ ...issuer.resourceServerOptions });
 * const matrix = await accessMatrix(server, {
 *   callers: { anonymous: "anonymous", reader: issuer.caller({ scopes: ["agents:read"] }) },
 *   routes: ["GET /agents", "POST /agents/web/runs"],
 * });
 * console.log(matrix.text);
 * ```
 */
export async function accessMatrix(
  server: ResourceServer,
  options: AccessMatrixOptions,
): Promise<AccessMatrix> {
  checkOptions("accessMatrix", options, OPTIONS);
  const { routes, params = {}, width = 120 } = options;
  const callers = readCallers(options);
  const { rules } = pipelineOf(server).policy.rules;
  requireParams("accessMatrix", params, rules);
  const samples = rules.map((compiled) => ({
    key: compiled.rule.key,
    requests: samplesOf(server, compiled, params),
  }));
  const unasked = routes ? [] : samples.filter(({ requests }) => requests.length === 0).map(({ key }) => key);
  const requests = routes
    ? routes.map((route) => ({ ...readRoute("accessMatrix", route), params }))
    : samples.flatMap(({ requests }) => requests);

  const cells: AccessCell[] = [];
  const columns: Column[] = [];
  for (const request of requests) {
    const column = [request.method, request.target];
    for (const [name, caller] of callers) {
      const decision = await decide(server, request, caller);
      cells.push({ caller: name, route: `${request.method} ${request.target}`, decision });
      if (decision.allowed) column.push("allowed");
      else column.push(`${server.refuse(decision).status} ${decision.rejection ?? decision.reason}`);
    }
    columns.push(column);
  }
  const table = renderBlocks(["", "", ...callers.map(([name]) => name)], columns, width);
  const notes = unasked.map((key) => `not checked: \`${key}\`, because no path was found for this rule`);
  const text = notes.length > 0 ? `${table}\n\n${notes.join("\n")}` : table;
  return { text, cells, unasked, toString: () => text };
}

function readCallers({ callers }: Partial<AccessMatrixOptions>): readonly (readonly [string, TestCaller])[] {
  const rows = Object.entries(callers ?? {});
  if (rows.length === 0) {
    const hint = 'Write { anonymous: "anonymous", reader: { scopes: ["agents:read"] } }.';
    throw optionError(["accessMatrix", "callers"], "are missing.", hint, "option_missing");
  }
  for (const [name, caller] of rows) requireCaller(`accessMatrix.callers.${name}`, caller);
  return rows;
}

/** The lines of one column, headings included. */
type Column = readonly string[];

const GAP = "  ";

/** Renders columns side by side. Columns that exceed the width continue below, after the first one again. */
function renderBlocks(first: Column, columns: readonly Column[], width: number): string {
  const widthOf = (column: Column): number => Math.max(...column.map(({ length }) => length));
  const blocks: Column[][] = [];
  let left = 0;
  for (const column of columns) {
    left -= GAP.length + widthOf(column);
    if (blocks.length === 0 || left < 0) {
      blocks.push([first]);
      left = width - widthOf(first) - GAP.length - widthOf(column);
    }
    blocks.at(-1)?.push(column);
  }
  return blocks
    .map((block) => renderColumns(first.map((_, row) => block.map((column) => column[row] ?? ""))))
    .join("\n\n");
}
