/** Tokens that aren't JWTs, such as API keys: how they are recognized, and what they must satisfy. */
import { createCapability } from "../../core/create-capability.ts";
import type { OpaqueKind, OpaqueTokens } from "../../core/token/opaque-tokens.ts";
import { createKindIdentifier } from "./kind.ts";
import { requirementsOf, resolveRequirements } from "./requirements.ts";

/** Creates an entry of the option `opaqueTokens`. The first matching one verifies a token. */
export const opaqueTokens = (kind: OpaqueKind): OpaqueTokens =>
  createCapability<OpaqueTokens>({ ...kind, option: "opaqueTokens", resolve });

const resolve: OpaqueTokens["resolve"] = (kinds, options, context, report) => {
  const requirements = resolveRequirements(kinds, options, report);
  return {
    createIdentifier(rules) {
      const identifiers = kinds.map((kind) => ({
        kind,
        identify: createKindIdentifier(kind, requirements, context, rules),
      }));
      return (token) => {
        // Untyped code may pass undefined.
        if (typeof (token as unknown) !== "string" || token.length > rules.maxTokenBytes) return undefined;
        return identifiers.find(({ kind }) => kind.matches(token))?.identify(token);
      };
    },
    requirementsOf: (issuer) => requirementsOf(requirements, issuer),
    status: () => kinds.flatMap((kind) => kind.status?.(context) ?? []),
    close() {
      for (const kind of kinds) kind.close?.(context);
    },
  };
};
