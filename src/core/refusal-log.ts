/** One line on stderr for each refusal, with `NODE_DEBUG=scopegate`. Shows no token. */
import { orUndefined } from "./errors.ts";
import type { KeyResolver } from "./keys/verification-key.ts";
import type { Decision, Refused } from "./policy/decision.ts";
import { type ObservedRequest, withoutCredentials } from "./observed-request.ts";
import type { AccessRequest } from "./request.ts";
import { printable, withoutTokens } from "./runtime/printable.ts";
import type { TokenRules } from "./token/verifier.ts";

type Log = (message: string, ...values: readonly unknown[]) => void;

type Issuers = readonly {
  readonly token: TokenRules;
  readonly keys: Pick<KeyResolver, "status">;
}[];

export type RefusalLog = ReturnType<typeof createRefusalLog>;

/** Creates the functions that write lines. They read the request only if they write a line. */
export function createRefusalLog(issuers: Issuers, log: Log) {
  // The target and the scopes of a token may contain line breaks and terminal escapes.
  const write = (line: string): void => log("%s", printable(line));
  return {
    /** Logs a decision that refuses. */
    logDecision(decision: Decision, request: AccessRequest): void {
      if (!decision.allowed)
        write(describeRefusal(decision, withoutCredentials(request), issuers).join("; "));
    },
    logResponse(description: string, request: AccessRequest): void {
      write(`${describeRequest(withoutCredentials(request))} ${description}`);
    },
  };
}

const describeRequest = ({ method, target }: ObservedRequest): string =>
  JSON.stringify(withoutTokens(`${method} ${target}`));

/** Returns the parts of a line. */
function describeRefusal(refused: Refused, request: ObservedRequest, issuers: Issuers): readonly string[] {
  const { reason, rejection, claim, condition, proofRejection, rule, claimed } = refused;
  const { matchedPattern, operations = [] } = request;
  const reasons = [reason, rejection, claim, condition, proofRejection]
    .filter((part) => part !== undefined)
    .join(", ");
  const parts = [`${describeRequest(request)} ${reasons}`];
  if (operations.length > 0) parts.push(`calls ${withoutTokens(operations.join(", "))}`);
  if (matchedPattern !== undefined) parts.push(`route ${JSON.stringify(matchedPattern)}`);
  if (rule) parts.push(`rule ${JSON.stringify(rule.key)}`);
  parts.push(...describeExpected(refused, issuers).map(withoutTokens));
  if (isAboutKey(refused))
    parts.push(withoutTokens(`found kid: ${claimed?.kid ?? "none"}, alg: ${claimed?.alg ?? "none"}`));
  return parts;
}

/** Returns what was expected of the token, without the token's values. */
export function describeExpected(refused: Refused, issuers: Issuers): readonly string[] {
  const { reason, rejection, required, granted, cause, claimed } = refused;
  const list = (name: string, values: readonly (string | null)[]): readonly string[] => [
    `expected ${name}: ${[...new Set(values)].map((value) => value ?? "none").join(", ") || "none"}`,
  ];
  const rules = issuers.map(({ token }) => token);
  const expected = (name: string, read: (rule: TokenRules) => readonly (string | null)[]) =>
    list(name, rules.flatMap(read));
  if (reason === "scope_insufficient")
    return [...list("scopes", required), `granted: ${granted.join(", ") || "none"}`];
  if (rejection === "audience") return expected("aud", ({ audience }) => audience ?? []);
  if (rejection === "issuer") return expected("iss", ({ issuer }) => (issuer === undefined ? [] : [issuer]));
  if (rejection === "algorithm") return expected("alg", ({ algorithms }) => algorithms);
  if (rejection === "type") return expected("typ", ({ tokenTypes }) => tokenTypes);
  if (isAboutKey(refused)) {
    const keyIds = issuers.flatMap(({ keys }) => keys.status().keyIds);
    return list("kid", keyIds.length > 0 ? keyIds : ["any, because no key has one"]);
  }
  const rule = rules.find(({ issuer }) => issuer === claimed?.iss) ?? rules[0];
  if (rule && claimed && (rejection === "expired" || rejection === "not_yet_valid"))
    return [describeTimes(rule)];
  if (cause === undefined) return [];
  return [`cause: ${JSON.stringify(cause instanceof Error ? cause.message : cause)}`];
}

/** `false` for an API key, which has no claims. */
const isAboutKey = ({ rejection, claimed }: Refused): boolean =>
  claimed !== undefined && (rejection === "key" || rejection === "signature");

function describeTimes({ now, clockToleranceSeconds, maxTokenAgeSeconds }: TokenRules): string {
  const time = orUndefined(() => new Date(now()).toISOString()) ?? "unknown";
  const age = maxTokenAgeSeconds === undefined ? "" : `, maximum age: ${maxTokenAgeSeconds} s`;
  return `now: ${time}, tolerance: ${clockToleranceSeconds} s${age}`;
}
