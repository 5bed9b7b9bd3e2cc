import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GrantedScopes } from "../../../src/core/scopes/granted-scopes.ts";
import { bindScope, compileScopeList } from "../../../src/core/scopes/required-scope.ts";
import { isScopePart, isScopeToken } from "../../../src/core/scopes/scope.ts";
import { mistakesOf } from "../../support/resource-servers.ts";
import { ADMIN_RULES, PROPERTY } from "../../support/policy.ts";
import { anyCharacter } from "../../support/text.ts";

// `test/core/policy/messages.test.ts` has the mistakes in scopes of the table.

const TEMPLATE = "agents:<id>:run";

function bind(scope: string, id: string) {
  const [required] = compileScopeList([scope], "any");
  if (!required) throw new Error(`${scope} was not compiled.`);
  return bindScope(required, () => id);
}

const find = (granted: readonly string[], id: string) => {
  const { covering, text } = bind(TEMPLATE, id);
  return new GrantedScopes(granted, ADMIN_RULES).find(covering, text);
};

describe("scopes in code", () => {
  it.each([42, null, undefined, {}, ["a:b"], "a:x<id>:run", "a:<id:run", "a:<any>:run", "a:*:run"])(
    "are refused if no token can have them, or if they aren't strings: %j",
    (scope) => {
      expect(mistakesOf(() => compileScopeList([scope as string], "any"))).toEqual([
        ["scope_invalid", "scopes", 0],
      ]);
    },
  );

  it("are refused with every mistake, and with a parameter that there isn't", () => {
    expect(mistakesOf(() => compileScopeList(["a:read", "a::read", "b:<x>:read"], new Set()))).toEqual([
      ["scope_invalid", "scopes", 1],
      ["scope_invalid", "scopes", 2],
    ]);
  });

  it("may have braces inside a part, which are plain characters", () => {
    for (const scope of ["a:x{id}:run", "a:{id}x:run", "a:$x{id}:run"])
      expect(compileScopeList([scope], new Set())).toMatchObject([{ text: scope }]);
  });
});

describe("the scope for an id of the request", () => {
  const long = "x".repeat(200);

  it.each([
    ["agents:read", "web", "agents:read"],
    // An id that can be granted is written out.
    [TEMPLATE, "web", "agents:web:run"],
    [TEMPLATE, "<id>", TEMPLATE],
    [TEMPLATE, "a*", "agents:a*:run"],
    [TEMPLATE, long, `agents:${long}:run`],
    // One that cannot stays a template: a client must not request the scope for all ids.
    [TEMPLATE, "*", TEMPLATE],
    [TEMPLATE, "web:admin", TEMPLATE],
    [TEMPLATE, "", TEMPLATE],
    [TEMPLATE, 'a", scope="x', TEMPLATE],
    [TEMPLATE, "a\r\nb", TEMPLATE],
    // One that is too long for a header is not repeated, though it can be granted.
    [TEMPLATE, `${long}x`, TEMPLATE],
  ])("is written, for %s and %j, as %s", (scope, id, text) => {
    expect(bind(scope, id).text).toBe(text);
  });

  it.each(["web:admin", "*", "", "<id>x:y", "café", 'a"b', "a b", "a\\b", "\r\n"])(
    "is covered only by grants for every id if no token can have it: %j",
    (id) => {
      expect(find(["agents:*:run"], id)?.by).toBe("wildcard");
      expect(find(["agents:run"], id)?.by).toBe("resource-wide");
      expect(find(["platform:admin"], id)?.by).toBe("admin");
      const others = [`agents:${id}:run`, "agents:web:run", "agents:web:admin", "agents:web:admin:run"];
      expect(find([...others.filter((scope) => id !== "*" || !scope.includes("*")), TEMPLATE], id)).toBe(
        undefined,
      );
    },
  );

  it("is a scope-token without empty parts, enough for a token unless it stays a template", () => {
    const anyId = fc.oneof(
      fc.string({ unit: anyCharacter, maxLength: 8 }),
      fc.string({ unit: fc.constantFrom("a", "b", ":", "*", "<", ">", "/", '"', "\\", " ", "é", "%", "\n") }),
    );
    fc.assert(
      fc.property(anyId, (id) => {
        const { text } = bind(TEMPLATE, id);
        expect(isScopeToken(text)).toBe(true);
        expect(text.split(":").every(isScopePart)).toBe(true);
        expect(text.split(":")).toHaveLength(3);
        expect(text).not.toBe("agents:*:run");
        expect(find([text], id) === undefined).toBe(text === TEMPLATE && id !== "<id>");
      }),
      PROPERTY,
    );
  });
});
