import { expect, it } from "vitest";
import { type Challenge, renderChallenges } from "../../../src/core/response/challenge.ts";

/** Renders the parameters of one challenge of the scheme Bearer. */
const render = (params: Omit<Challenge, "scheme">): string =>
  renderChallenges([{ scheme: "Bearer", ...params }]);
const sized = (bytes: number) => [`a:${"b".repeat(511)}`, "c".repeat(bytes - 514)];
const error = "insufficient_scope";

it.each<readonly [string, Omit<Challenge, "scheme">, string]>([
  ["no parameters (RFC 6750 section 3.1)", {}, ""],
  ["no empty parameters", { realm: undefined, scopes: [] }, ""],
  ["escaped quotation marks and backslashes", { realm: 'a "b\\c"' }, ' realm="a \\"b\\\\c\\""'],
  [
    "retained scopes, each once",
    { scopes: ["a:b", "c:d"], retainedScopes: ["e:f", "a:b"] },
    ' scope="a:b c:d e:f"',
  ],
  ["no retained scopes alone", { scopes: [], retainedScopes: ["e:f"] }, ""],
  ["no retained scopes that are too long", { scopes: ["a:b"], retainedScopes: sized(1_024) }, ' scope="a:b"'],
  [
    "scopes of 1,024 bytes",
    { scopes: sized(1_024), error },
    ` error="${error}", scope="${sized(1_024).join(" ")}"`,
  ],
  ["no scopes of more bytes", { scopes: sized(1_025), error }, ` error="${error}"`],
  [
    "what the next login needs (RFC 9470 section 3)",
    { acrValues: ["urn:a", "urn:b"], maxAgeSeconds: 0 },
    ' acr_values="urn:a urn:b", max_age="0"',
  ],
  [
    "the parameters of RFC 6750 section 3 and RFC 9728 section 5.1 in a fixed order",
    {
      resourceMetadataUrl: "https://service.example/.well-known/oauth-protected-resource",
      scopes: ["agents:read", "agents:web:run"],
      errorDescription: "More is needed.",
      error,
      realm: "agents",
    },
    ' realm="agents", error="insufficient_scope", error_description="More is needed.", ' +
      'scope="agents:read agents:web:run", ' +
      'resource_metadata="https://service.example/.well-known/oauth-protected-resource"',
  ],
])("writes %s", (_, challenge, params) => {
  expect(render(challenge)).toBe(`Bearer${params}`);
});

it("writes several challenges into one value, each with its own parameters (RFC 9449 section 7.2)", () => {
  const challenges: readonly Challenge[] = [
    { scheme: "Bearer", realm: "agents" },
    { scheme: "DPoP", error: "invalid_dpop_proof", algorithms: ["ES256", "PS256"] },
  ];
  expect(renderChallenges(challenges)).toBe(
    'Bearer realm="agents", DPoP error="invalid_dpop_proof", algs="ES256 PS256"',
  );
});

it.each(['agents"read', "agents read", "agents\\read", "", "agents\nread", "agénts:read", "agents,\u0000"])(
  "omits %j, which is not a scope-token (RFC 6749 section 3.3)",
  (scope) => {
    expect(render({ scopes: [scope] })).toBe("Bearer");
    expect(render({ scopes: ["a:b", scope, "c:d"] })).toBe('Bearer scope="a:b c:d"');
  },
);
