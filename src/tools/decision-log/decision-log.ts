import { randomBytes } from "node:crypto";
import { checkOptions } from "../../core/options/check-options.ts";
import { callback, oneOf, type OptionChecks, wholeNumber } from "../../core/options/option-checks.ts";
import { type DecisionSink, LineQueue } from "./line-queue.ts";
import { type DecisionLogOptions, describeDecision, type Observed, render, resultOf } from "./record.ts";

/** A function for `onDecision`. Returns the id of the record, or `undefined` if no record is written. */
export interface DecisionLog {
  (...observed: Observed): string | undefined;
  /** How many records were dropped because the sink was too slow, failed or was closed. */
  readonly dropped: number;
  /** Waits until the sink has taken all records, at most five seconds. Never rejects. */
  flush(): Promise<void>;
  /**
   * Like `flush`, but drops later records, and records that aren't written in time. It doesn't end the sink.
   */
  close(): Promise<void>;
}

const isShare = (share: unknown): boolean => typeof share === "number" && share >= 0 && share <= 1;

function isSample(sample: unknown): boolean {
  if (typeof sample !== "object" || sample === null) return false;
  const { allowed = 1, refused = 1, ...others } = sample as NonNullable<DecisionLogOptions["sample"]>;
  return isShare(allowed) && isShare(refused) && Object.keys(others).length === 0;
}

const isName = (name: unknown): boolean => typeof name === "string" && name !== "";

function isDetail(detail: unknown): boolean {
  if (detail === "path" || detail === "parameters") return true;
  if (typeof detail !== "object" || detail === null) return false;
  const { claim, ...others } = detail as { readonly claim?: unknown };
  const names = [claim].flat();
  return names.length > 0 && names.every(isName) && Object.keys(others).length === 0;
}

const isSink = (sink: unknown): boolean =>
  typeof sink === "function" || typeof (Object(sink) as { readonly write?: unknown }).write === "function";

const OPTIONS: OptionChecks<DecisionLogOptions> = {
  sample: { accepts: isSample, hint: "Write { allowed: 0.01, refused: 1 }, each from 0 to 1." },
  random: callback("Write a function that returns a number from 0 to 1."),
  maxQueued: wholeNumber,
  subject: oneOf("hash", "plain", "none"),
  hashSecret: {
    accepts: (secret) => typeof secret === "string" && secret.length >= 32,
    hint: "Write 32 random characters or more.",
  },
  include: {
    accepts: (details) => Array.isArray(details) && details.every(isDetail),
    hint: 'Write an array of "path", "parameters" and { claim: "name" }.',
  },
};

/**
 * Writes decisions as lines of JSON, never with a token. A sink that throws, hangs or is slow affects no
 * response: records that don't fit in the queue are dropped, counted and reported. It doesn't rotate files.
 * @throws TypeError for a sink that is neither a stream nor a function
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
  if (!isSink(sink)) throw new TypeError("decisionLog takes a stream, or a function that receives a line.");
  checkOptions("decisionLog", options, OPTIONS);
  const { sample, random = Math.random, maxQueued = 10_000 } = options;
  const { subject = "hash", hashSecret = randomBytes(32).toString("hex"), include = [] } = options;
  const shares = { allowed: 1, refused: 1, ...sample };

  const queue = new LineQueue(sink, maxQueued);
  const log = (...observed: Observed): string | undefined => {
    const [decision] = observed;
    const share = resultOf(decision) === "allowed" ? shares.allowed : shares.refused;
    if (share < 1 && random() >= share) return undefined;
    const id = randomBytes(9).toString("base64url");
    const line = () => render(describeDecision(id, observed, { subject, hashSecret, include }));
    return queue.add(line) ? id : undefined;
  };
  // `dropped` becomes a getter below, because Object.assign would only copy its current value.
  const methods = { dropped: 0, flush: () => queue.flush(), close: () => queue.close() };
  return Object.defineProperty(Object.assign(log, methods), "dropped", { get: () => queue.dropped });
}
