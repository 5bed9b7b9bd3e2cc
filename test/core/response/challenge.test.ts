import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Challenge, renderChallenge } from "../../../src/core/response/challenge.ts";
import { anyCharacter } from "../../support/text.ts";

/** Reads one challenge by the grammar of RFC 9110 section 11.6.1. Throws for everything else. */
function parseChallenge(text: string): { readonly scheme: string; readonly params: Record<string, string> } {
  const scheme = /^[\w!#$%&'*+\-.^`|~]+/.exec(text)?.[0];
  if (scheme === undefined) throw new SyntaxError("There is no scheme.");
  const params: Record<string, string> = {};
  let at = scheme.length;
  for (let separator = " "; at < text.length; separator = ", ") {
    if (!text.startsWith(separator, at)) throw new SyntaxError(`Expected a separator at ${at}.`);
    at += separator.length;
    const param = /^([\w!#$%&'*+\-.^`|~]+)="((?:[\t\x20\x21\x23-\x5b\x5d-\x7e]|\\[\t\x20-\x7e])*)"/.exec(
      text.slice(at),
    );
    const [whole, name, value] = param ?? [];
    if (whole === undefined || name === undefined || value === undefined || name in params)
      throw new SyntaxError(`Expected a parameter at ${at}.`);
    params[name] = value.replaceAll(/\\(.)/g, "$1");
    at += whole.length;
  }
  return { scheme, params };
}

/** The string without the characters that a header cannot contain. */
const printable = (text: string) => text.replaceAll(/[^ -~]/g, "");

const anyText = fc.oneof(
  fc.string({ unit: anyCharacter }),
  fc.string({ unit: fc.constantFrom('"', "\\", ",", " ", "=", "\r", "\n", "\0", "a", "é", "\u2028") }),
);
const printableText = fc.string({ unit: "grapheme-ascii" });
const scopeToken = fc.string({
  unit: fc.constantFrom(
    ...Array.from({ length: 94 }, (_, index) => String.fromCharCode(0x21 + index)).filter(
      (character) => character !== '"' && character !== "\\",
    ),
  ),
  minLength: 1,
});
const error = fc.constantFrom("invalid_request", "invalid_token", "insufficient_scope" as const);

describe("renderChallenge", () => {
  it("writes a bare challenge without parameters (RFC 6750 section 3.1)", () => {
    expect(renderChallenge({})).toBe("Bearer");
    expect(renderChallenge({ realm: undefined, scopes: [] })).toBe("Bearer");
  });

  it("writes the parameters of RFC 6750 section 3 and RFC 9728 section 5.1 in a fixed order", () => {
    const challenge: Challenge = {
      resourceMetadataUrl: "https://service.example/.well-known/oauth-protected-resource",
      scopes: ["agents:read", "agents:web:run"],
      errorDescription: "More is needed.",
      error: "insufficient_scope",
      realm: "agents",
    };
    expect(renderChallenge(challenge)).toBe(
      'Bearer realm="agents", error="insufficient_scope", error_description="More is needed.", ' +
        'scope="agents:read agents:web:run", ' +
        'resource_metadata="https://service.example/.well-known/oauth-protected-resource"',
    );
  });

  it("escapes quotation marks and backslashes", () => {
    expect(renderChallenge({ realm: 'the "a\\b" realm' })).toBe('Bearer realm="the \\"a\\\\b\\" realm"');
  });

  it.each(["agents\r\nSet-Cookie: a=b", "agents\nx", "agents\0", "agents\u007f", "agents\u0085", "\tagents"])(
    "removes the control characters of %j",
    (realm) => {
      expect(renderChallenge({ realm, errorDescription: realm, resourceMetadataUrl: realm })).toMatch(
        /^[\x20-\x7e]+$/,
      );
    },
  );

  it.each(['agents"read', "agents read", "agents\\read", "", "agents\nread", "agénts:read", "agents,\u0000"])(
    "omits %j, which is not a scope-token (RFC 6749 section 3.3)",
    (scope) => {
      expect(renderChallenge({ scopes: [scope] })).toBe("Bearer");
      expect(renderChallenge({ scopes: ["a:b", scope, "c:d"] })).toBe('Bearer scope="a:b c:d"');
    },
  );

  it("leaves out scopes of more than 1,024 bytes, and keeps the other parameters", () => {
    const scopesOf = (bytes: number) => [`a:${"b".repeat(511)}`, "c".repeat(bytes - 514)];
    expect(renderChallenge({ scopes: scopesOf(1_024) })).toBe(`Bearer scope="${scopesOf(1_024).join(" ")}"`);
    expect(renderChallenge({ scopes: scopesOf(1_025), error: "insufficient_scope" })).toBe(
      'Bearer error="insufficient_scope"',
    );
  });

  it("renders parameters that can be parsed back", () => {
    const challenges = fc.record({
      realm: printableText,
      error,
      errorDescription: printableText,
      scopes: fc.array(scopeToken, { minLength: 1 }),
      resourceMetadataUrl: fc.webUrl().map(printable),
    });
    fc.assert(
      fc.property(challenges, (challenge) => {
        expect(parseChallenge(renderChallenge(challenge))).toEqual({
          scheme: "Bearer",
          params: {
            realm: challenge.realm,
            error: challenge.error,
            error_description: challenge.errorDescription,
            scope: challenge.scopes.join(" "),
            resource_metadata: challenge.resourceMetadataUrl,
          },
        });
      }),
      { numRuns: 200 },
    );
  });

  it("writes a valid challenge of printable ASCII for any string, and keeps all printable characters", () => {
    const challenges = fc.record(
      {
        realm: anyText,
        error,
        errorDescription: anyText,
        scopes: fc.array(anyText),
        resourceMetadataUrl: anyText,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(challenges, (challenge) => {
        const text = renderChallenge(challenge);
        expect(text).toMatch(/^[\x20-\x7e]+$/);
        const { scheme, params } = parseChallenge(text);
        expect(scheme).toBe("Bearer");
        for (const [name, value] of [
          ["realm", challenge.realm],
          ["error", challenge.error],
          ["error_description", challenge.errorDescription],
          ["resource_metadata", challenge.resourceMetadataUrl],
        ] as const) {
          expect(params[name]).toBe(value === undefined ? undefined : printable(value));
        }
        const written = params["scope"]?.split(" ") ?? [];
        expect(challenge.scopes ?? []).toEqual(expect.arrayContaining(written));
      }),
      { numRuns: 500 },
    );
  });
});
