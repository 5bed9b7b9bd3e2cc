/** One line on stderr for each refusal, enforced or reported, with `NODE_DEBUG=scopegate`. Shows no token. */
import { debuglog } from "node:util";
import { attempt } from "./errors.ts";
import { type KeyResolver } from "./keys/verification-key.ts";
import { type Decision, refusalIn, type Refused } from "./policy/decision.ts";
import { type AccessRequest } from "./request.ts";
import { printable, withoutTokens } from "./runtime/printable.ts";
import { type TokenRules } from "./token/verifier.ts";

type Log = ((message: string, ...values: readonly unknown[]) => void) & { readonly enabled: boolean };

type Issuers = readonly {
  readonly token: TokenRules;
  readonly keys: Pick<KeyResolver, "status">;
}[];

/** Creates the function that logs refusals and other answers. `request` must have no credentials or query. */
export function createRefusalLog(issuers: Issuers, log: Log = debuglog("scopegate")) {
  type Shown = Pick<AccessRequest, "method" | "target" | "operations">;
  const write = (given: Decision | string, request: () => Shown): void => {
    const refused = typeof given === "string" ? given : refusalIn(given);
    if (!log.enabled || refused === undefined) return;
    const { method, target, operations = [] } = request();
    const asked = JSON.stringify(withoutTokens(`${method} ${target}`));
    if (typeof refused === "string") {
      log("%s", printable(`${asked} ${refused}`));
      return;
    }
    const { reason, rejection, claim, rule, claimed } = refused;
    const found = [reason, rejection, claim].filter((part) => part !== undefined).join(", ");
    const called = operations.length > 0 && `calls ${withoutTokens(operations.join(", "))}`;
    const details = [
      given !== refused && "allowed, because it is only reported",
      called,
      rule && `rule ${JSON.stringify(rule.key)}`,
      ...describeExpected(refused, issuers).map(withoutTokens),
      isAboutKey(refused) &&
        withoutTokens(`found kid: ${claimed?.kid ?? "none"}, alg: ${claimed?.alg ?? "none"}`),
    ];
    const parts = [`${asked} ${found}`, ...details.filter(Boolean)];
    // The target and the scopes of a token may contain line breaks and terminal escapes.
    log("%s", printable(parts.join("; ")));
  };
  return Object.assign(write, { isEnabled: () => log.enabled });
}

/** Returns what was expected of the token, without its values. */
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
  const keyIds = () => issuers.flatMap(({ keys }) => keys.status().keyIds);
  if (isAboutKey(refused)) return list("kid", keyIds());
  const rule = rules.find(({ issuer }) => issuer === claimed?.iss) ?? rules[0];
  if (rule && claimed && (rejection === "expired" || rejection === "not_yet_valid"))
    return [describeTimes(rule)];
  if (cause === undefined) return [];
  return [`cause: ${JSON.stringify(cause instanceof Error ? cause.message : cause)}`];
}

/** Not of an API key, which claims nothing. */
const isAboutKey = ({ rejection, claimed }: Refused): boolean =>
  claimed !== undefined && (rejection === "key" || rejection === "signature");

function describeTimes({ now, clockToleranceSeconds, maxTokenAgeSeconds }: TokenRules): string {
  const time = attempt(() => new Date(now()).toISOString()) ?? "unknown";
  const age = maxTokenAgeSeconds === undefined ? "" : `, maximum age: ${maxTokenAgeSeconds} s`;
  return `now: ${time}, tolerance: ${clockToleranceSeconds} s${age}`;
}
