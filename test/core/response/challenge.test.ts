import { describe, expect, it } from "vitest";
import { type Challenge, renderChallenges } from "../../../src/core/response/challenge.ts";

/** Renders one challenge of the scheme Bearer. */
const renderBearer = (params: Omit<Challenge, "scheme">): string =>
  renderChallenges([{ scheme: "Bearer", ...params }]);

describe("renderChallenges", () => {
  it("writes several challenges into one value, each with its own parameters (RFC 9449 section 7.2)", () => {
    const challenges: readonly Challenge[] = [
      { scheme: "Bearer", realm: "agents" },
      { scheme: "DPoP", error: "invalid_dpop_proof", algorithms: ["ES256", "PS256"] },
    ];
    expect(renderChallenges(challenges)).toBe(
      'Bearer realm="agents", DPoP error="invalid_dpop_proof", algs="ES256 PS256"',
    );
  });

  it("writes a bare challenge without parameters (RFC 6750 section 3.1)", () => {
    expect(renderBearer({})).toBe("Bearer");
    expect(renderBearer({ realm: undefined, scopes: [] })).toBe("Bearer");
  });

  it("writes the parameters of RFC 6750 section 3 and RFC 9728 section 5.1 in a fixed order", () => {
    const challenge: Omit<Challenge, "scheme"> = {
      resourceMetadataUrl: "https://service.example/.well-known/oauth-protected-resource",
      scopes: ["agents:read", "agents:web:run"],
      errorDescription: "More is needed.",
      error: "insufficient_scope",
      realm: "agents",
    };
    expect(renderBearer(challenge)).toBe(
      'Bearer realm="agents", error="insufficient_scope", error_description="More is needed.", ' +
        'scope="agents:read agents:web:run", ' +
        'resource_metadata="https://service.example/.well-known/oauth-protected-resource"',
    );
  });

  it("escapes quotation marks and backslashes", () => {
    expect(renderBearer({ realm: 'the "a\\b" realm' })).toBe('Bearer realm="the \\"a\\\\b\\" realm"');
  });

  it.each(["agents\r\nSet-Cookie: a=b", "agents\nx", "agents\0", "agents\u007f", "agents\u0085", "\tagents"])(
    "removes the control characters of %j",
    (realm) => {
      expect(renderBearer({ realm, errorDescription: realm, resourceMetadataUrl: realm })).toMatch(
        /^[\x20-\x7e]+$/,
      );
    },
  );

  it.each(['agents"read', "agents read", "agents\\read", "", "agents\nread", "agénts:read", "agents,\u0000"])(
    "omits %j, which is not a scope-token (RFC 6749 section 3.3)",
    (scope) => {
      expect(renderBearer({ scopes: [scope] })).toBe("Bearer");
      expect(renderBearer({ scopes: ["a:b", scope, "c:d"] })).toBe('Bearer scope="a:b c:d"');
    },
  );

  it("adds retained scopes to those that an operation needs, each once", () => {
    expect(renderBearer({ scopes: ["a:b", "c:d"], retainedScopes: ["e:f", "a:b"] })).toBe(
      'Bearer scope="a:b c:d e:f"',
    );
    expect(renderBearer({ scopes: [], retainedScopes: ["e:f"] })).toBe("Bearer");
    expect(renderBearer({ scopes: ["a:b"], retainedScopes: ["e".repeat(1_024)] })).toBe('Bearer scope="a:b"');
  });

  it("writes what the next login needs (RFC 9470 section 3)", () => {
    expect(renderBearer({ acrValues: ["urn:a", "urn:b"], maxAgeSeconds: 0 })).toBe(
      'Bearer acr_values="urn:a urn:b", max_age="0"',
    );
  });

  it("leaves out scopes of more than 1,024 bytes, and keeps the other parameters", () => {
    const scopesOf = (bytes: number) => [`a:${"b".repeat(511)}`, "c".repeat(bytes - 514)];
    expect(renderBearer({ scopes: scopesOf(1_024) })).toBe(`Bearer scope="${scopesOf(1_024).join(" ")}"`);
    expect(renderBearer({ scopes: scopesOf(1_025), error: "insufficient_scope" })).toBe(
      'Bearer error="insufficient_scope"',
    );
  });
});
