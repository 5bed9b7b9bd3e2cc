import { describe, expect, it } from "vitest";
import { createChallenges, type DpopOffer } from "../../../src/capabilities/sender-constraint/challenges.ts";
import { refuse, type Refused } from "../../../src/core/policy/decision.ts";
import { createRefusal, createRefuser, type RefusalRules } from "../../../src/core/response/refusal.ts";

const lacking: Refused = {
  ...refuse("scope_insufficient"),
  required: ["agents:web:read", "custom:write"],
  granted: ["agents:web:read"],
  missing: ["custom:write"],
};

describe("the challenges of a server that checks DPoP proofs (RFC 9449 section 7)", () => {
  const rulesWith = (offer: DpopOffer): RefusalRules => ({
    realm: undefined,
    resourceMetadataUrl: undefined,
    fields: {
      challenges: (bearer, refused, status) => createChallenges(bearer, refused, status, offer),
      refusalHeaders: undefined,
    },
  });
  const rules = rulesWith({ algorithms: ["ES256", "EdDSA"], isOnlyScheme: false });
  const algs = 'algs="ES256 EdDSA"';
  const challengesOf = (refused: Refused, refusalRules = rules): string =>
    createRefusal(refused, refusalRules).headers["WWW-Authenticate"]?.replaceAll(
      /, error_description="[^"]*"/g,
      "",
    ) ?? "none";

  const rejected = (proof: object) => refuse("token_rejected", [], { rejection: "expired", ...proof });
  const missing = (binding: "dpop" | "mtls") => refuse("proof_missing", [], { binding });
  const wrong = (binding: "dpop" | "mtls", proofRejection: "certificate" | "signature" | "nonce") =>
    refuse("proof_rejected", [], { binding, proofRejection });
  const INVALID = 'error="invalid_token"';
  const LACKING = 'Bearer error="insufficient_scope", scope="agents:web:read custom:write"';

  it.each<[string, Refused, string]>([
    ["no token", refuse("credential_missing"), `Bearer, DPoP ${algs}`],
    ["a wrong bearer token", rejected({}), `Bearer ${INVALID}, DPoP ${algs}`],
    ["a wrong token with the scheme DPoP", rejected({ scheme: "DPoP" }), `DPoP ${INVALID}, ${algs}`],
    ["a bearer token without a scope", lacking, LACKING],
    ["a request that can't be read", refuse("request_ambiguous"), 'Bearer error="invalid_request"'],
    ["a token that is bound to no key", refuse("proof_missing"), `DPoP ${INVALID}, ${algs}`],
    ["a bound token without its proof", missing("dpop"), `DPoP error="invalid_dpop_proof", ${algs}`],
    ["a token without its certificate", missing("mtls"), `Bearer ${INVALID}, DPoP ${algs}`],
    ["a wrong certificate", wrong("mtls", "certificate"), `Bearer ${INVALID}, DPoP ${algs}`],
    ["a wrong proof", wrong("dpop", "signature"), `DPoP error="invalid_dpop_proof", ${algs}`],
    ["a proof without a nonce", wrong("dpop", "nonce"), `DPoP error="use_dpop_nonce", ${algs}`],
  ])("go to the scheme that was used: %s", (_, refused, challenges) => {
    expect(challengesOf(refused)).toBe(challenges);
    // The refusals that a server keeps must not be mixed up.
    const refuser = createRefuser(rules);
    refuser(refuse(refused.reason));
    refuser(refuse(refused.reason, [], { proofRejection: "htm" }));
    expect(refuser(refused)).toEqual(createRefusal(refused, rules));
  });

  it("offer only DPoP if every token needs a proof", () => {
    const only = rulesWith({ algorithms: ["ES256"], isOnlyScheme: true });
    expect(challengesOf(refuse("credential_missing"), only)).toBe('DPoP algs="ES256"');
    expect(challengesOf(lacking, only)).toBe(
      'DPoP error="insufficient_scope", scope="agents:web:read custom:write", algs="ES256"',
    );
  });

  it("use the scheme of the binding of a caller, if the request does not say which it was", () => {
    const principalWith = (binding: object) => ({
      principal: { ...binding } as Refused["principal"] & object,
    });
    const scope = 'error="insufficient_scope", scope="agents:web:read custom:write"';
    expect(challengesOf({ ...lacking, ...principalWith({ binding: "dpop" }) })).toBe(
      `DPoP ${scope}, ${algs}`,
    );
    expect(challengesOf({ ...lacking, ...principalWith({ binding: "mtls" }) })).toBe(`Bearer ${scope}`);
  });
});
