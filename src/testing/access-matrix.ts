import { type Decision } from "../policy/decision.ts";
import { type ResourceServer } from "../resource-server.ts";
import { requireCaller, type TestCaller } from "./caller.ts";
import { readRoute } from "./check.ts";
import { type Asked, decide } from "./decide.ts";
import { mistake, requireNames } from "./mistakes.ts";
import { requireParams, type SampleParams, sampleOf } from "./sample-route.ts";
import { renderTable } from "./text-table.ts";

/** What `accessMatrix` asks, and how wide it shows it. */
export interface AccessMatrixOptions {
  /** The rows: each caller by the name that the table shows. */
  readonly callers: Readonly<Record<string, TestCaller>>;
  /** The columns: `"METHOD /path"` each. Default: one for every rule of the server. */
  readonly routes?: readonly string[];
  /** What stands for the parameters of the rules: `{ agent_id: "web" }`. Default: their names. */
  readonly params?: SampleParams;
  /** How many characters wide the text may be before it goes on below. Default: `120`. */
  readonly width?: number;
}

/** Who may call what. */
export interface AccessMatrix {
  /** The table, to be read and to be kept as a snapshot. */
  readonly text: string;
  /** The answers as data, route by route. */
  readonly cells: readonly AccessCell[];
  /** The keys of rules without a column: no path was found that they decide. */
  readonly unasked: readonly string[];
  /** The text. */
  toString(): string;
}

/** The answer for one caller and one route. */
export interface AccessCell {
  /** Its name in `callers`. */
  readonly caller: string;
  /** `METHOD /path`. */
  readonly route: string;
  /** What the server decided. */
  readonly decision: Decision;
}

/**
 * Asks every route for every caller and shows the answers as a table: `allowed`, or the status of the refusal and why.
 * By default the routes are all of the server's table, so that a new rule shows up in the snapshot by itself.
 *
 * Callers are those of `check`; those with scopes alone are judged by the table. It decides by the table and the token,
 * and does not know which routes the application has: `server.audit` does.
 *
 * @throws ConfigurationError for an unknown option, no callers, and a route that is no `METHOD /path`
 * @throws Error where the server rejects a good token of a test issuer
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
  requireNames("accessMatrix", options, ["callers", "routes", "params", "width"]);
  const { callers, routes, params = {}, width = 120 } = options;
  const rows = readRows(callers);
  requireParams("accessMatrix", params, server.routes);
  const { asked, unasked } = routes
    ? { asked: routes.map((route) => readRoute("accessMatrix", route)), unasked: [] }
    : samplesOf(server, params);

  const cells: AccessCell[] = [];
  for (const request of asked) {
    for (const [caller, described] of rows) {
      const decision = await decide(server, request, described);
      cells.push({ caller, route: `${request.method} ${request.target}`, decision });
    }
  }
  const texts = cells.map(({ decision }) => render(server, decision));
  const columns = asked.map(({ method, target }, index) => ({
    heading: [method, target],
    cells: texts.slice(index * rows.length, (index + 1) * rows.length),
  }));
  const table = renderTable({ heading: ["", ""], cells: rows.map(([name]) => name) }, columns, width);
  const notes = unasked.map((key) => `not asked: \`${key}\`, no path was found that it decides`);
  const text = [table, ...(notes.length > 0 ? [notes.join("\n")] : [])].join("\n\n");
  return { text, cells, unasked, toString: () => text };
}

/** Whoever writes no TypeScript may leave them out. */
function readRows(
  callers: AccessMatrixOptions["callers"] | undefined,
): readonly (readonly [string, TestCaller])[] {
  const rows = Object.entries(callers ?? {});
  if (rows.length === 0) {
    const hint = 'Name some: { anonymous: "anonymous", reader: { scopes: ["agents:read"] } }.';
    throw mistake(["accessMatrix", "callers"], "are missing.", hint, "option_missing");
  }
  for (const [name, caller] of rows) requireCaller(`accessMatrix.callers.${name}`, caller);
  return rows;
}

function samplesOf(server: ResourceServer, params: SampleParams) {
  const asked: Asked[] = [];
  const unasked: string[] = [];
  for (const rule of server.routes) {
    const sample = sampleOf(server, rule, params);
    if (sample) asked.push(sample);
    else unasked.push(rule.key);
  }
  return { asked, unasked };
}

const render = (server: ResourceServer, decision: Decision): string =>
  decision.allowed ? "allowed" : `${server.refuse(decision).status} ${decision.rejection ?? decision.reason}`;
