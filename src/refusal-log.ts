/** One line on stderr for each refusal with `NODE_DEBUG=scopegate`, for development. It shows no token. */
import { debuglog } from "node:util";
import { type IssuerConfiguration } from "./token/issuers.ts";
import { type Refused } from "./policy/decision.ts";
import { type AccessRequest } from "./request.ts";
import { printable } from "./runtime/printable.ts";

type Log = ((message: string, ...values: readonly unknown[]) => void) & { readonly enabled: boolean };

/** Creates the function that logs a refusal. `request` must be without credentials and query. */
export function createRefusalLog(
  issuers: readonly Pick<IssuerConfiguration, "token">[],
  log: Log = debuglog("scopegate"),
) {
  return (refused: Refused, request: () => Pick<AccessRequest, "method" | "target">): void => {
    if (!log.enabled) return;
    const { method, target } = request();
    const { reason, rejection, claim, rule } = refused;
    const found = [reason, rejection, claim].filter((part) => part !== undefined).join(", ");
    const details = [rule && `rule ${JSON.stringify(rule.key)}`, ...describeExpected(refused, issuers)];
    const parts = [`${JSON.stringify(`${method} ${target}`)} ${found}`, ...details.filter(Boolean)];
    // The target and the scopes of a token may contain line breaks and terminal escapes.
    log("%s", printable(parts.join("; ")));
  };
}

function describeExpected(
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
