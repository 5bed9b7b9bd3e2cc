import { coveringOf } from "../../../src/core/scopes/scope.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ConfigurationError } from "../../../src/core/errors.ts";
import { compileRequirement, type Requirement } from "../../../src/core/policy/requirement.ts";
import { classOf } from "../../../src/tools/audit/requirement-class.ts";
import { createLanguage } from "../../../src/capabilities/mcp-operations/language.ts";
import { MCP_METHODS } from "../../../src/capabilities/mcp-operations/operation-methods.ts";
import { parseRouteKey } from "../../../src/core/policy/route-key.ts";
import { bindScope, compileScopeList } from "../../../src/core/scopes/required-scope.ts";
import { GrantedScopes } from "../../../src/core/scopes/granted-scopes.ts";
import { isScopePart, isScopeToken } from "../../../src/core/scopes/scope.ts";
import { ADMIN_RULES, patternOf, PROPERTY, reporting } from "../../support/policy.ts";
import { anyCharacter } from "../../support/text.ts";

const PARAMETERS: ReadonlySet<string> = new Set(["agent_id", "path"]);

const compile = (requirement: Requirement, parameters = PARAMETERS) => {
  const route = { method: "GET", pattern: { ...patternOf("/x"), parameters } };
  return reporting((report) => compileRequirement(requirement, route, ["scopeMappings", "GET /x"], report));
};

const mistakesIn = (requirement: Requirement, parameters = PARAMETERS) => {
  const { value, issues } = compile(requirement, parameters);
  expect(value).toBeUndefined();
  return issues.map(({ code, path }) => [code, ...path.slice(2)]);
};

function scopeOf(text: string) {
  const [scope] = compileScopeList([text], PARAMETERS);
  if (!scope) throw new Error(`${text} was not compiled.`);
  return scope;
}

const bind = (text: string, id: string) => bindScope(scopeOf(text), () => id);

const find = (granted: readonly string[], text: string, id: string) => {
  const bound = bind(text, id);
  return new GrantedScopes(granted, ADMIN_RULES).find(bound.covering, bound.text);
};

describe("compileRequirement", () => {
  const read = { text: "agents:read", covering: coveringOf(["agents", "read"]) };
  const readSome = {
    text: "agents:<any>:read",
    template: { resource: "agents", parameter: undefined, action: "read" },
    covering: [...read.covering, { text: "agents:read", by: "some-ids" }],
  };
  const run = {
    text: "agents:<agent_id>:run",
    template: { resource: "agents", parameter: "agent_id", action: "run" },
    covering: coveringOf(["agents", ":", "run"]),
  };

  it.each([
    ["public", { kind: "public" }],
    ["optional", { kind: "optional" }],
    [[], { kind: "allOf", scopes: [] }],
    [["agents:read"], { kind: "allOf", scopes: [read] }],
    [["agents:read", "agents:<agent_id>:run"], { kind: "allOf", scopes: [read, run] }],
    [{ anyOf: ["agents:<agent_id>:run", "agents:read"] }, { kind: "anyOf", scopes: [run, read] }],
    [["agents:<any>:read", "agents:read"], { kind: "allOf", scopes: [readSome, read] }],
  ] satisfies (readonly [Requirement, unknown])[])("compiles %j", (requirement, expected) => {
    expect(compile(requirement)).toEqual({ value: expected, issues: [] });
  });

  it.each(["", "agents::read", "agents:", ":read", 'agents:"web"'])(
    "refuses %j, which no token can be granted",
    (scope) => {
      expect(mistakesIn([scope])).toEqual([["scope_invalid", 0]]);
      expect(mistakesIn({ anyOf: ["agents:read", scope] })).toEqual([["scope_invalid", "anyOf", 1]]);
      expect(compile([scope]).issues[0]?.hint).toContain("resource:action");
    },
  );

  it.each([[42], [null], [undefined], [{}], [["agents:read"]]])(
    "refuses %j, which programs without types may pass",
    (scope) => {
      expect(mistakesIn([scope as unknown as string])).toEqual([["scope_invalid", 0]]);
    },
  );

  it.each([
    ["public", '"public" without the array'],
    ["optional", '"optional" without the array'],
    ["*", "[] for any valid token"],
  ])("refuses the reserved word %s in an array", (word, way) => {
    expect(mistakesIn([word])).toEqual([["scope_invalid", 0]]);
    expect(mistakesIn({ anyOf: ["agents:read", word] })).toEqual([["scope_invalid", "anyOf", 1]]);
    expect(compile([word]).issues[0]?.hint).toContain(way);
  });

  it.each([
    ["GET", "/agents", true],
    ["HEAD", "/", true],
    ["GET", "/orgs/:org/agents/", true],
    ["MCP", "tools/list", true],
    ["MCP", "resources/templates/list", true],
    ["GET", "/agents/:id", false],
    ["GET", "/agents{/*id}", false],
    ["GET", "/agents/*path", false],
    ["GET", "/agents/:id.json", false],
    ["POST", "/agents", false],
    ["DELETE", "/agents", false],
    ["*", "/agents", false],
    ["MCP", "tools/call list_agents", true],
    ["MCP", "tools/call *", false],
    ["MCP", "resources/read agents://all", false],
  ])("allows `<any>` only where a handler can filter a list: %s %s is %s", (method, source, isAllowed) => {
    const route = parseRouteKey(`${method} ${source}`, createLanguage(MCP_METHODS));
    if ("code" in route) throw new Error(route.message);
    const { value } = reporting((report) => compileRequirement(["agents:<any>:read"], route, [], report));
    expect(value !== undefined).toBe(isAllowed);
  });

  it("reports every mistake with its path", () => {
    expect(mistakesIn(["agents::read", "agents:read", "agents:<team_id>:read"])).toEqual([
      ["scope_invalid", 0],
      ["scope_invalid", 2],
    ]);
  });
});

describe("a mistake in a requirement", () => {
  it.each([
    [
      ['agents:"web"'],
      '"agents:\\"web\\"" is a scope that no token can have.',
      "Write `resource:action`, `resource:<parameter>:action` or another scope-token of RFC 6749 without empty parts.",
    ],
    [
      ["agents:read teams:read"],
      '"agents:read teams:read" is a scope that no token can have.',
      'Write a string for each scope: ["agents:read", "teams:read"].',
    ],
    [
      ["agents:<team_id>:run"],
      "`agents:<team_id>:run` names no parameter of its route.",
      "Write one of `<agent_id>`, `<path>`.",
    ],
  ] satisfies (readonly [Requirement, string, string])[])(
    "names what was found and what to write: %j",
    (requirement, message, hint) => {
      expect(compile(requirement).issues).toEqual([expect.objectContaining({ message, hint })]);
    },
  );
});

it.each([
  [["  agents:read   teams:read "], true],
  [["agents:read "], false],
  [["agents::read"], false],
  [["agents:read, teams:read"], true],
] satisfies (readonly [Requirement, boolean])[])(
  "hints at separate strings only for several scopes: %j %s",
  (requirement, isHint) => {
    const hint = compile(requirement).issues[0]?.hint;
    expect(hint?.startsWith("Write a string for each scope")).toBe(isHint);
  },
);

describe("a template", () => {
  it.each([
    "<agent_id>",
    "<path>:<agent_id>",
    "agents:<agent_id>",
    "<path>:<agent_id>:read",
    "agents:read:<agent_id>",
    "a:<agent_id>:b:c",
    "agents.<agent_id>.read",
    // Only a whole part.
    "agents:x<agent_id>:run",
    "agents:<agent_id>x:run",
    "agents:<<agent_id>>:run",
    "agents-<agent_id>:run",
    "agents:<agent_id:run",
    "agents:agent_id>:run",
    // As other tools write one.
    "agents:{agent_id}:run",
    "agents:${agent_id}:run",
  ])("rejects %s, whose parameter isn't the whole id", (text) => {
    expect(mistakesIn([text])).toEqual([["scope_invalid", 0]]);
  });

  it.each(["agents:<team_id>:run", "agents:<>:run"])(
    "rejects %s, and lists the parameters of the route in the hint",
    (text) => {
      expect(mistakesIn([text])).toEqual([["scope_invalid", 0]]);
      expect(compile([text]).issues[0]?.hint).toContain("`<agent_id>`, `<path>`");
    },
  );

  it.each(["agents:x{agent_id}:run", "agents:{agent_id}x:run", "agents:$x{agent_id}:run"])(
    "ignores %s: braces inside a part are plain characters",
    (text) => {
      expect(scopeOf(text)).toEqual({ text, covering: coveringOf(text.split(":")) });
    },
  );

  it("rejects a template on every route without parameters", () => {
    expect(mistakesIn(["agents:<agent_id>:run"], new Set())).toEqual([["scope_invalid", 0]]);
    expect(compile(["agents:<agent_id>:run"], new Set()).issues[0]?.hint).toBe("The route has none.");
  });

  it("leaves the name to the request for scopes in code, but requires a whole part", () => {
    expect(compileScopeList(["agents:<agent_id>:run"], "any")).toEqual([
      {
        text: "agents:<agent_id>:run",
        template: { resource: "agents", parameter: "agent_id", action: "run" },
        covering: coveringOf(["agents", ":", "run"]),
      },
    ]);
    for (const scope of [
      "agents:x<id>:run",
      "agents:<id:run",
      "agents:id>:run",
      "agents:<any>:run",
      "agents:*:run",
    ])
      expect(() => compileScopeList([scope], "any"), scope).toThrow(ConfigurationError);
  });
});

describe("compileScopeList", () => {
  it("throws one error that lists every mistake", () => {
    const compileWrong = () => compileScopeList(["agents:read", "agents::read", "teams:<x>:read"], new Set());
    expect(compileWrong).toThrow(
      expect.objectContaining({
        code: "configuration_invalid",
        issues: [
          expect.objectContaining({ code: "scope_invalid", path: ["scopes", 1] }),
          expect.objectContaining({ code: "scope_invalid", path: ["scopes", 2] }),
        ],
      }),
    );
  });
});

describe("bindScope", () => {
  it.each(["agents:read", `agents:${"x".repeat(201)}:read`])(
    "returns a scope without parameters unchanged, and reads no parameter: %s",
    (text) => {
      const never = () => {
        throw new Error("No parameter is needed.");
      };
      expect(bindScope(scopeOf(text), never)).toEqual({
        text,
        covering: coveringOf(text.split(":")),
      });
    },
  );

  it.each([
    // An id that can be granted is written out.
    ["agents:<agent_id>:run", "web", "agents:web:run"],
    ["agents:<agent_id>:run", "<agent_id>", "agents:<agent_id>:run"],
    ["agents:<agent_id>:run", "a*", "agents:a*:run"],
    // One that cannot stays a template: a client must not request the scope for all ids.
    ["agents:<agent_id>:run", "*", "agents:<agent_id>:run"],
    ["agents:<agent_id>:run", "web:admin", "agents:<agent_id>:run"],
    ["agents:<agent_id>:run", "", "agents:<agent_id>:run"],
    ["agents:<agent_id>:run", 'a", scope="x', "agents:<agent_id>:run"],
    ["agents:<agent_id>:run", "a\r\nb", "agents:<agent_id>:run"],
    // One that is too long for a header is not repeated, though it can be granted.
    ["agents:<agent_id>:run", "x".repeat(200), `agents:${"x".repeat(200)}:run`],
    ["agents:<agent_id>:run", "x".repeat(201), "agents:<agent_id>:run"],
  ])("writes %s for %j as %s", (template, id, text) => {
    expect(bind(template, id).text).toBe(text);
  });

  it.each(["web:admin", "*", "", "<agent_id>x:y", "café", 'a"b', "a b", "a\\b", "\r\n"])(
    "allows only grants for every id to cover the id %j",
    (id) => {
      const template = "agents:<agent_id>:run";
      expect(find(["agents:*:run"], template, id)?.by).toBe("wildcard");
      expect(find(["agents:run"], template, id)?.by).toBe("resource-wide");
      expect(find(["platform:admin"], template, id)?.by).toBe("admin");
      const others = [
        `agents:${id}:run`,
        "agents:web:run",
        "agents:admin:run",
        "agents:web:admin",
        "agents:web:admin:run",
        "web:admin",
        "agents:<agent_id>:run",
        "agents::run",
        "agents:**:run",
      ].filter((scope) => scope !== "agents:*:run");
      expect(find(others, template, id)).toBeUndefined();
    },
  );

  it("does not let a value add a part", () => {
    const granted = ["agents:web:admin", "agents:web:admin:read", "agents:web:read"];
    expect(find(granted, "agents:<agent_id>:read", "web:admin")).toBeUndefined();
  });

  const anyId = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 8 }),
    fc.string({ unit: fc.constantFrom("a", "b", ":", "*", "<", ">", "/", '"', "\\", " ", "é", "%", "\n") }),
  );

  it("does not allow a grant for one id to cover another", () => {
    const part = fc
      .string({ unit: fc.constantFrom("a", "b", "*", "<", ">", "/"), minLength: 1, maxLength: 4 })
      .filter((text) => text !== "*");
    fc.assert(
      fc.property(anyId, part, (id, granted) => {
        fc.pre(id !== granted);
        expect(find([`agents:${granted}:run`], "agents:<agent_id>:run", id)).toBeUndefined();
      }),
      PROPERTY,
    );
  });

  it("writes text that is a scope-token without empty parts, whatever the request holds", () => {
    fc.assert(
      fc.property(anyId, (id) => {
        const { text } = bind("agents:<agent_id>:run", id);
        expect(isScopeToken(text)).toBe(true);
        expect(text.split(":").every(isScopePart)).toBe(true);
        expect(text.split(":")).toHaveLength(3);
      }),
      PROPERTY,
    );
  });

  it("names a scope that is enough for a token, or the template", () => {
    fc.assert(
      fc.property(anyId, (id) => {
        const { text } = bind("agents:<agent_id>:run", id);
        const isTemplate = text === "agents:<agent_id>:run" && id !== "<agent_id>";
        expect(find([text], "agents:<agent_id>:run", id) === undefined).toBe(isTemplate);
        expect(text).not.toBe("agents:*:run");
      }),
      PROPERTY,
    );
  });
});

describe("the class of a requirement", () => {
  it.each<[Requirement, string]>([
    ["public", "nothing"],
    ["optional", "nothing"],
    [[], "token"],
    [["a:b"], "scopes"],
    [{ anyOf: ["a:b"] }, "scopes"],
    [["a:<any>:b"], "scopes"],
  ])("of %j is what every caller needs: %s", (requirement, expected) => {
    const { value } = compile(requirement);
    expect(value && classOf(value)).toBe(expected);
  });
});
