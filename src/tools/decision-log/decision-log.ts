import { randomBytes } from "node:crypto";
import { ConfigurationError, suggest } from "../../core/errors.ts";
import { type DecisionSink, LineQueue } from "./line-queue.ts";
import { type DecisionLogOptions, describeDecision, type Observed, render, resultOf } from "./record.ts";

/** A function for `onDecision`. Returns the id of the record, or `undefined` if none is written. */
export interface DecisionLog {
  (...observed: Observed): string | undefined;
  /** How many records were dropped because the sink was too slow, failed or was closed. */
  readonly dropped: number;
  /** Waits until the sink has taken all records, at most five seconds. Never rejects. */
  flush(): Promise<void>;
  /** Like `flush`, but drops all later records, and those not written in time. It does not end the sink. */
  close(): Promise<void>;
}

const isShare = (share: unknown): boolean => typeof share === "number" && share >= 0 && share <= 1;
const isName = (name: unknown): boolean => typeof name === "string" && name !== "";
const isDetail = (detail: unknown): boolean => {
  const names = [(Object(detail) as { readonly claim?: unknown }).claim].flat();
  return ["path", "parameters"].includes(detail as string) || (names.length > 0 && names.every(isName));
};

/**
 * Writes decisions as lines of JSON, never with a token. A sink that throws, hangs or is slow changes no
 * answer: records that do not fit in the queue are dropped, counted and reported. It does not rotate files.
 * @throws ConfigurationError that lists every mistake in the options
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { decisionLog } from "scopegate/decision-log";
 *
 * const onDecision = decisionLog(process.stdout, { sample: { allowed: 0.01, refused: 1 } });
 * const verificationKeys = [process.env.JWT_PUBLIC_KEY!];
 * const server = createResourceServer({ serviceId: "agents-prod", verificationKeys, onDecision });
 * ```
 */
export function decisionLog(sink: DecisionSink, options: DecisionLogOptions = {}): DecisionLog {
  const { sample, random = Math.random, maxQueued = 10_000, ...rest } = { ...options };
  const { subject = "hash", hashSecret = randomBytes(32).toString("hex"), include = [], ...others } = rest;
  const shares = { allowed: 1, refused: 1, ...sample };
  const areShares = Object.values(shares).every(isShare);
  const isSample = typeof (sample ?? {}) === "object" && Object.keys(shares).length === 2;
  const write = typeof sink === "function" ? sink : (Object(sink) as { readonly write?: unknown }).write;
  const areDetails = Array.isArray(include) && include.every(isDetail);
  const names = ["sample", "random", "maxQueued", "subject", "hashSecret", "include"];
  const checks: (readonly [name: string, hint: string, isGood: boolean])[] = [
    ["sink", "Pass a stream, or a function that receives a line.", typeof write === "function"],
    ["sample", "Write { allowed: 0.01, refused: 1 }, each from 0 to 1.", isSample && areShares],
    ["random", "Write a function that returns a number from 0 to 1.", typeof random === "function"],
    ["maxQueued", "Write a whole number, 1 or more.", Number.isSafeInteger(maxQueued) && maxQueued > 0],
    ["subject", 'Write "hash", "plain" or "none".', ["hash", "plain", "none"].includes(subject)],
    ["hashSecret", "Write 32 random characters or more.", /^.{32}/s.test(hashSecret)],
    ["include", 'Write an array of "path", "parameters" and { claim: "name" }.', areDetails],
  ];
  const wrong = { code: "option_invalid", message: "has an invalid value." } as const;
  const unknown = { code: "option_unknown", message: "is an unknown option." } as const;
  const at = (name: string, hint: string) => ({ path: ["decisionLog", name], hint });
  const issues = [
    ...checks.flatMap(([name, hint, isGood]) => (isGood ? [] : [{ ...wrong, ...at(name, hint) }])),
    ...Object.keys(others).map((name) => ({ ...unknown, ...at(name, suggest(name, names, "Remove it.")) })),
  ];
  if (issues.length > 0) throw new ConfigurationError(issues);

  const queue = new LineQueue(sink, maxQueued);
  const log = (...observed: Observed): string | undefined => {
    const share = shares[resultOf(observed[0]) === "allowed" ? "allowed" : "refused"];
    if (share < 1 && random() >= share) return undefined;
    const id = randomBytes(9).toString("base64url");
    const line = () => render(describeDecision(id, observed, { subject, hashSecret, include }));
    return queue.add(line) ? id : undefined;
  };
  const methods = { dropped: 0, flush: () => queue.flush(), close: () => queue.close() };
  return Object.defineProperty(Object.assign(log, methods), "dropped", { get: () => queue.dropped });
}
