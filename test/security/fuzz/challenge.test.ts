/** Any challenge is rendered as exactly one valid challenge with the same parameters. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Challenge, renderChallenges } from "../../../src/core/response/challenge.ts";
import { parseChallenges } from "../../support/challenge-parser.ts";
import { noise } from "./mutations.ts";
import { fuzzRuns } from "./runs.ts";

const renderBearer = (params: Omit<Challenge, "scheme">): string =>
  renderChallenges([{ scheme: "Bearer", ...params }]);

const runs = { numRuns: fuzzRuns() };

describe("renderChallenges", () => {
  const printable = fc.string({
    unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)),
  });
  const nasty = fc.array(
    fc.oneof(printable, fc.constantFrom('"', "\\", ",", ", ", '\\"', "Bearer ", '="', "scope=")),
    { maxLength: 6 },
  );
  const text = fc.oneof(
    printable,
    nasty.map((parts) => parts.join("")),
  );
  const scope = fc.string({
    minLength: 1,
    unit: fc.constantFrom(...Array.from("aZ09:*<>!#$%&'()+,-./;=?@[]^_`{|}~")),
  });
  const challenges = fc.record(
    {
      realm: text,
      error: fc.constantFrom("invalid_request", "invalid_token", "insufficient_scope"),
      errorDescription: text,
      scopes: fc.array(scope, { minLength: 1, maxLength: 5 }),
      resourceMetadataUrl: fc.oneof(fc.webUrl(), text),
    },
    { requiredKeys: [] },
  );

  it("writes a challenge that parses back to its parameters (RFC 9110 section 11.6.1)", () => {
    fc.assert(
      fc.property(challenges, (challenge) => {
        const { realm, error, errorDescription, scopes, resourceMetadataUrl } = challenge;
        const params = {
          realm,
          error,
          error_description: errorDescription,
          scope: scopes?.join(" "),
          resource_metadata: resourceMetadataUrl,
        };
        expect(parseChallenges(renderBearer(challenge))).toEqual([{ scheme: "Bearer", params }]);
      }),
      runs,
    );
  });

  it("writes one challenge of printable ASCII for all parameters", () => {
    const anything = fc.record({
      realm: noise,
      errorDescription: noise,
      scopes: fc.array(noise),
      resourceMetadataUrl: noise,
    });
    fc.assert(
      fc.property(anything, (challenge) => {
        const written = renderBearer(challenge);
        expect(written).toMatch(/^[\x20-\x7e]+$/);
        const [{ scheme, params } = {}, ...others] = parseChallenges(written);
        expect([scheme, others]).toEqual(["Bearer", []]);
        // What a header cannot contain is removed, and nothing else.
        const kept = (text: string) => text.replaceAll(/[^ -~]/g, "");
        expect(params).toMatchObject({
          realm: kept(challenge.realm),
          error_description: kept(challenge.errorDescription),
          resource_metadata: kept(challenge.resourceMetadataUrl),
        });
        expect(challenge.scopes).toEqual(expect.arrayContaining(params?.["scope"]?.split(" ") ?? []));
      }),
      runs,
    );
  });
});
