/** One line on stderr for each refusal, enforced or reported, with `NODE_DEBUG=scopegate`. Shows no token. */
import { debuglog } from "node:util";
import { type IssuerConfiguration } from "./token/issuers.ts";
import { type Decision, refusalIn, type Refused } from "./policy/decision.ts";
import { type AccessRequest } from "./request.ts";
import { printable, withoutTokens } from "./runtime/printable.ts";

type Log = ((message: string, ...values: readonly unknown[]) => void) & { readonly enabled: boolean };

/** Creates the function that logs refusals and other answers. `request` must have no credentials or query. */
export function createRefusalLog(
  issuers: readonly Pick<IssuerConfiguration, "token">[],
  log: Log = debuglog("scopegate"),
) {
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
    const { reason, rejection, claim, rule } = refused;
    const found = [reason, rejection, claim].filter((part) => part !== undefined).join(", ");
    const called = operations.length > 0 && `calls ${withoutTokens(operations.join(", "))}`;
    const details = [
      given !== refused && "allowed, because it is only reported",
      called,
      rule && `rule ${JSON.stringify(rule.key)}`,
      ...describeExpected(refused, issuers).map(withoutTokens),
    ];
    const parts = [`${asked} ${found}`, ...details.filter(Boolean)];
    // The target and the scopes of a token may contain line breaks and terminal escapes.
    log("%s", printable(parts.join("; ")));
  };
  return Object.assign(write, { isEnabled: () => log.enabled });
}

/** Returns what was expected of the token, without its values. */
export function describeExpected(
  { reason, rejection, required, granted, cause }: Refused,
  issuers: readonly Pick<IssuerConfiguration, "token">[],
): readonly string[] {
  const rules = issuers.map(({ token }) => token);
  const expected = (name: string, values: readonly (string | null)[]): readonly string[] => [
    `expected ${name}: ${[...new Set(values)].map((value) => value ?? "none").join(", ")}`,
  ];
  if (reason === "scope_insufficient")
    return [...expected("scopes", required), `granted: ${granted.join(", ") || "none"}`];
  if (rejection === "audience")
    return expected(
      "aud",
      rules.flatMap(({ audience }) => audience ?? []),
    );
  if (rejection === "issuer")
    return expected(
      "iss",
      rules.flatMap(({ issuer }) => issuer ?? []),
    );
  if (rejection === "algorithm")
    return expected(
      "alg",
      rules.flatMap(({ algorithms }) => algorithms),
    );
  if (rejection === "type")
    return expected(
      "typ",
      rules.flatMap(({ tokenTypes }) => tokenTypes),
    );
  if (cause === undefined) return [];
  return [`cause: ${JSON.stringify(cause instanceof Error ? cause.message : cause)}`];
}
