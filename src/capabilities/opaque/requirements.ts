/** The requirements for tokens that aren't JWTs, and the options that a kind of token can't satisfy. */
import type { Report } from "../../core/errors.ts";
import type { OpaqueKind, OpaqueOptions, TokenRequirements } from "../../core/token/opaque-tokens.ts";
import { compileRequiredClaims } from "../../core/token/required-claims.ts";

/** The requirements for tokens that aren't JWTs. */
export interface OpaqueRequirements {
  /** The requirements of the server. */
  readonly shared: TokenRequirements;
  /** The requirements of each accepted issuer. If empty: any issuer, with the server's requirements. */
  readonly byIssuer: ReadonlyMap<string, TokenRequirements>;
}

/** Returns what the tokens of an issuer must satisfy. */
export const requirementsOf = (
  { shared, byIssuer }: OpaqueRequirements,
  issuer: string | undefined,
): TokenRequirements => (issuer === undefined ? undefined : byIssuer.get(issuer)) ?? shared;

const SET_IN_ISSUERS =
  "Set it in the entries of `issuers` instead of the server. It then applies to their tokens, and not to API keys, which have no issuer.";

/** Compiles the requirements. Reports kinds of tokens that would be exempt, or would never be accepted. */
export function resolveRequirements(
  kinds: readonly OpaqueKind[],
  options: OpaqueOptions,
  report: Report,
): OpaqueRequirements {
  const { issuer, issuers = [], maxTokenAgeSeconds } = options;
  const shared = compileRequirements(options);
  const haveOwnRequirements = issuers.some(({ requiredClaims, clients, maxTokenAgeSeconds: maxAge }) =>
    [requiredClaims, clients, maxAge].some((requirement) => requirement !== undefined),
  );
  for (const [index, { tokenKind, claimNames, issuer: issuerOfKind }] of kinds.entries()) {
    const impossibleClaim = shared.requiredClaims.find(({ name }) => claimNames?.includes(name) === false);
    if (impossibleClaim)
      report({
        code: "option_conflict",
        path: ["requiredClaims"],
        message: `contains \`${impossibleClaim.name}\`, which API keys never have.`,
        hint: SET_IN_ISSUERS,
      });
    if (tokenKind === "api_key" && maxTokenAgeSeconds !== undefined)
      report({
        code: "option_conflict",
        path: ["maxTokenAgeSeconds"],
        message: "can't be combined with API keys, which are valid until they expire or are revoked.",
        hint: SET_IN_ISSUERS,
      });
    if (tokenKind === "api_key" && shared.clients)
      report({
        code: "option_conflict",
        path: ["clients"],
        message: "can't be combined with API keys, which have no client.",
        hint: SET_IN_ISSUERS,
      });
    if (tokenKind === "introspected" && issuerOfKind === undefined && haveOwnRequirements)
      report({
        code: "option_missing",
        path: ["opaqueTokens", index, "issuer"],
        message:
          "is missing, but an entry of `issuers` has its own `requiredClaims`, `clients` or `maxTokenAgeSeconds`.",
        hint: "Write the option `issuer` of introspection(...), so that the settings of this issuer apply to its tokens.",
      });
  }
  reportPrefixes(kinds, report);
  const byIssuer = new Map<string, TokenRequirements>();
  if (issuer !== undefined) byIssuer.set(issuer, shared);
  for (const entry of issuers) byIssuer.set(entry.issuer, compileRequirements({ ...options, ...entry }));
  return { shared, byIssuer };
}

const compileRequirements = ({
  requiredClaims = [],
  clients,
  maxTokenAgeSeconds,
}: OpaqueOptions): TokenRequirements => ({
  requiredClaims: compileRequiredClaims(requiredClaims),
  clients: clients && new Set(clients),
  maxTokenAgeSeconds,
});

/** The first kind that matches a token verifies it, so the other kind would never receive its own tokens. */
function reportPrefixes(kinds: readonly OpaqueKind[], report: Report): void {
  for (const [index, { prefixes = [] }] of kinds.entries())
    for (const other of kinds.slice(0, index).flatMap((earlier) => earlier.prefixes ?? [])) {
      const prefix = prefixes.find((each) => each.startsWith(other) || other.startsWith(each));
      if (prefix !== undefined)
        report({
          code: "option_conflict",
          path: ["opaqueTokens", index],
          message: `has the prefix \`${prefix}\`, and another entry \`${other}\`: a token could belong to both.`,
          hint: "Choose prefixes that don't begin with one another.",
        });
    }
}
