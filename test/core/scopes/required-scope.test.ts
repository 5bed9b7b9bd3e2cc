import { describe, expect, it } from "vitest";
import { compileScope } from "../../../src/core/scopes/required-scope.ts";
import { reporting } from "../../support/policy.ts";

/** The hint for a scope that no token can be granted. */
const hintFor = (text: string, ...path: readonly (string | number)[]) =>
  reporting((report) => compileScope(text, new Set(), path, report)).issues[0]?.hint;

const SYNTAX =
  "Write `resource:action`, `resource:<parameter>:action` or another scope-token (RFC 6749 section 3.3) without empty parts.";

describe("compileScope, given space-delimited scopes", () => {
  it.each(["agents:read teams:read", "  agents:read   teams:read "])(
    "shows the scopes of %j as separate strings",
    (text) => {
      expect(hintFor(text, "scopes", 0)).toBe(
        'Write each scope as a separate string: ["agents:read", "teams:read"].',
      );
    },
  );

  it.each([
    ["one scope", "agents:read "],
    ["words", "read agents"],
    ["a scope and a word", "agents:read teams"],
    ["an invalid scope", "agents:read teams::read"],
  ])("describes the syntax instead if the string is %s", (_, text) => {
    expect(hintFor(text, "scopes", 0)).toBe(SYNTAX);
  });

  it("describes the syntax where an array is not possible", () => {
    expect(hintFor("agents:read teams:read", "scopeMappings", "GET /agents", "filtered")).toBe(SYNTAX);
  });
});
