/** Decides the records of a decision log again, by another table. */
import { orUndefined } from "../../core/errors.ts";
import { OPERATION_METHOD } from "../../core/request.ts";
import { pipelineOf } from "../../core/port.ts";
import type { ResourceServer } from "../../core/server.ts";
import { printable } from "../../core/runtime/printable.ts";
import { refusalIn } from "../../core/policy/decision.ts";
import { type describeDecision, type Result, resultOf } from "./record.ts";

/** Decisions that the other table would change in the same way. */
export interface ReplayChange {
  /** The method and the pattern of the record. */
  readonly route: string;
  /** The result in the log. */
  readonly before: Result;
  /** The result by the other table. */
  readonly after: Result;
  /** The key of the other table's rule; `null` without one. */
  readonly rule: string | null;
  /** The number of these decisions. */
  readonly count: number;
  /** The id of the first one. */
  readonly id: string;
}

/** The result with another table. */
export interface ReplayReport {
  /** The number of decisions that were read. */
  readonly total: number;
  /** The number of decisions with the same result. */
  readonly same: number;
  /** The decisions with another result, in groups. The newly allowed come first. */
  readonly changed: readonly ReplayChange[];
  /** The number of decisions that can't be repeated. */
  readonly undecidable: number;
  /** The number of undecidable decisions for each reason. */
  readonly reasons: Readonly<Record<string, number>>;
  /** The number of lines that weren't records. */
  readonly broken: number;
  /** The number of decisions that the log had dropped. */
  readonly dropped: number;
  /** For a terminal. */
  readonly text: string;
}

/**
 * Decides the records of a decision log again by the table of another server, for example of a new version.
 * It verifies no token: callers have the scopes of the record, and a rejected token is rejected again.
 * @throws TypeError for chunks of a file, which aren't lines
 * @example
 * ```ts
 * import { createReadStream } from "node:fs";
 * import { createInterface } from "node:readline";
 * import { createResourceServer } from "scopegate";
 * import { replayDecisions } from "scopegate/decision-log";
 *
 * const verificationKeys = [process.env.JWT_PUBLIC_KEY!];
 * const next = createResourceServer({ serviceId: "agents-prod", verificationKeys, scopeMappings: {} });
 * const lines = createInterface({ input: createReadStream("decisions.ndjson") });
 * console.log((await replayDecisions(lines, next)).text);
 * ```
 */
export async function replayDecisions(
  lines: AsyncIterable<string> | Iterable<string>,
  server: ResourceServer,
): Promise<ReplayReport> {
  const counts = { total: 0, same: 0, undecidable: 0, broken: 0, dropped: 0 };
  const reasons: Record<string, number> = {};
  const groups = new Map<string, ReplayChange>();
  if (!isIterable(lines)) throw NOT_LINES;
  for await (const line of lines) {
    if (typeof (line as unknown) !== "string" || line.includes("\n")) throw NOT_LINES;
    if (line === "") continue;
    // Without a prototype: a property that a record lacks must not be read from a polluted one.
    const record = orUndefined(() => ({ __proto__: null, ...(JSON.parse(line) as Logged) }));
    if (typeof record?.dropped === "number") {
      counts.dropped += record.dropped;
      continue;
    }
    const replayed = record && orUndefined(() => decideAgain(record, server));
    if (!record || !replayed) {
      counts.broken += 1;
      continue;
    }
    counts.total += 1;
    if (replayed.kind === "undecidable") {
      counts.undecidable += 1;
      reasons[replayed.reason] = (reasons[replayed.reason] ?? 0) + 1;
      continue;
    }
    const { id, method, pattern, result: before } = record;
    const { after, rule } = replayed;
    if (after === before) {
      counts.same += 1;
      continue;
    }
    const change = { route: `${method} ${pattern ?? "(unknown)"}`, before, after, rule };
    const name = JSON.stringify(change);
    const group = groups.get(name) ?? { ...change, count: 0, id };
    groups.set(name, { ...group, count: group.count + 1 });
  }
  const rank = ({ after, count }: ReplayChange) => RESULTS.indexOf(after) - 1 / count;
  const changed = [...groups.values()].sort((left, right) => rank(left) - rank(right));
  const { total, same, undecidable, broken, dropped } = counts;
  const text = [
    `${total} decisions: ${same} same, ${total - same - undecidable} changed, ${undecidable} undecidable`,
    ...changed.map(
      ({ before, after, count, route, rule, id }) =>
        `${before} -> ${after}: ${count} of ${route}, now by ${rule ?? "no rule"}, such as ${id}`,
    ),
    ...Object.entries(reasons).map(([reason, count]) => `undecidable: ${count}. ${reason}`),
    `not read: ${broken} broken lines, and ${dropped} decisions that the log had dropped`,
  ];
  return { ...counts, changed, reasons, text: text.map(printable).join("\n") };
}

const NOT_LINES = new TypeError("replayDecisions takes lines: write createInterface({ input: file }).");
/** A string would be read character by character. */
const isIterable = (lines: unknown): boolean =>
  typeof lines === "object" && lines !== null && (Symbol.asyncIterator in lines || Symbol.iterator in lines);
const WRONG = new TypeError("A record has a wrong shape.");
const RESULTS: readonly Result[] = ["allowed", "reported", "refused"];
type Logged = ReturnType<typeof describeDecision> & { readonly dropped?: number };

/** The decision of the other table, or why there is none. */
type Replayed =
  | ({ readonly kind: "decided" } & Pick<ReplayChange, "after" | "rule">)
  | { readonly kind: "undecidable"; readonly reason: string };

const undecidable = (reason: string): Replayed => ({ kind: "undecidable", reason });

/** Decides one record. Throws for a record with a wrong shape. */
function decideAgain(record: Logged, server: ResourceServer): Replayed {
  const { id, method, pattern, matched, rules, operations = [], granted, reason = "" } = record;
  if (typeof id !== "string" || typeof method !== "string" || !RESULTS.includes(record.result)) throw WRONG;
  const path = record.path ?? (/[:*{}()\\]/.test(pattern ?? ":") ? null : pattern);
  if (record.routeScopes) return undecidable("`requireScopes` decided, not the table.");
  if (path === null || operations === null)
    return undecidable('The path isn\'t in the log: write `include: ["path"]`.');
  const isUnclear = path.includes(",") || (rules && !matched && operations.length === 0);
  if (isUnclear) return undecidable("Several routes or procedures may have decided.");
  const matchedPattern = matched ? (pattern ?? undefined) : undefined;
  const queries = [
    { method, path, matchedPattern },
    ...operations.map((path) => ({ method: OPERATION_METHOD, path })),
  ];
  const { policy } = pipelineOf(server);
  const caller = granted ? policy.callerWith(granted) : undefined;
  const decisions = queries.map(({ path: target, ...query }) =>
    policy.decideFor(caller, { ...query, target }),
  );
  const results = decisions.map(resultOf);
  // The worst result of all operations decides.
  const after = RESULTS.findLast((result) => results.includes(result)) ?? "refused";
  const decision = decisions[results.indexOf(after)];
  const rule = decision?.rule?.key ?? null;
  const newReason = (decision && refusalIn(decision))?.reason ?? "";
  const byCondition = decisions.some(({ rules: deciding }) => deciding.some(({ conditions }) => conditions));
  if (byCondition && newReason !== "scope_insufficient" && reason !== newReason)
    return undecidable("The rule has conditions, and the log doesn't have the claims of the caller.");
  if (newReason === "request_ambiguous" && reason !== newReason)
    return undecidable("The path alone isn't enough for the other table.");
  const isPublic = decisions.every(
    ({ allowed, rules: deciding }) =>
      allowed && deciding.every(({ requirement }) => requirement === "public"),
  );
  const needsNoScopes = /^(?:request|route)_/.test(newReason) || isPublic;
  if (granted || reason === "credential_missing" || needsNoScopes) return { kind: "decided", after, rule };
  if (/^(?:token|credential|keys)_/.test(reason)) return { kind: "decided", after: "refused", rule };
  return undecidable("The log doesn't have the scopes of the caller: no token was read.");
}
