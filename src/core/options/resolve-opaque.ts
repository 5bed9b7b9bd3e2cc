/** What tokens that are not JWTs must satisfy, and which options their kinds cannot satisfy. */
import { type ConfigurationIssue, type Report } from "../errors.ts";
import { type OpaqueRequirements, type OpaqueTokens } from "../token/opaque-tokens.ts";
import { compileRequiredClaims, type TokenRequirements } from "../token/required-claims.ts";
import { type ResourceServerOptions } from "./options.ts";
import { type TrustedIssuer } from "./trusted-issuer.ts";

type Settings = Pick<TrustedIssuer, "requiredClaims" | "maxTokenAgeSeconds">;

const OF_ISSUERS =
  "Set it in the entries of `issuers` instead of the server: it then holds for their tokens, and API keys have no issuer.";

/** Compiles the requirements, and reports the kinds of tokens that would be exempt, or never accepted. */
export function resolveOpaqueRequirements(
  options: ResourceServerOptions,
  report: Report,
): OpaqueRequirements {
  const { issuer, issuers = [], opaqueTokens = [], maxTokenAgeSeconds } = options;
  const shared = requirementsOf(options);
  for (const [index, kind] of opaqueTokens.entries()) {
    const unknown = findUnknownClaim(shared, kind);
    if (unknown !== undefined)
      report({
        ...conflictOf("requiredClaims"),
        message: `contains \`${unknown}\`, which API keys never have.`,
      });
    if (kind.tokenKind === "api_key" && maxTokenAgeSeconds !== undefined)
      report({
        ...conflictOf("maxTokenAgeSeconds"),
        message: "cannot be combined with API keys, which are valid until they expire or are revoked.",
      });
    if (kind.tokenKind === "introspected" && kind.issuer === undefined && issuers.some(hasOwnRequirements))
      report({
        code: "option_missing",
        path: ["opaqueTokens", index, "issuer"],
        message:
          "is missing, but an entry of `issuers` has its own `requiredClaims` or `maxTokenAgeSeconds`.",
        hint: "Write the option `issuer` of introspection(...), so that the settings of this issuer hold for its tokens.",
      });
  }
  const byIssuer = new Map<string, TokenRequirements>();
  if (issuer !== undefined) byIssuer.set(issuer, shared);
  for (const entry of issuers) byIssuer.set(entry.issuer, requirementsOf({ ...options, ...entry }));
  return { shared, byIssuer };
}

const requirementsOf = ({ requiredClaims = [], maxTokenAgeSeconds }: Settings): TokenRequirements => ({
  requiredClaims: compileRequiredClaims(requiredClaims),
  maxTokenAgeSeconds,
});

const hasOwnRequirements = ({ requiredClaims, maxTokenAgeSeconds }: Settings): boolean =>
  requiredClaims !== undefined || maxTokenAgeSeconds !== undefined;

const findUnknownClaim = (
  { requiredClaims }: TokenRequirements,
  { claimNames }: OpaqueTokens,
): string | undefined => claimNames && requiredClaims.find(({ name }) => !claimNames.includes(name))?.name;

const conflictOf = (name: keyof Settings): Omit<ConfigurationIssue, "message"> => ({
  code: "option_conflict",
  path: [name],
  hint: OF_ISSUERS,
});
