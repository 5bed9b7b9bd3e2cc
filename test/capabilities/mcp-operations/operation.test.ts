import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Operation,
  renderOperation,
  splitOperation,
} from "../../../src/capabilities/mcp-operations/operation-key.ts";
import {
  ANY_METHODS,
  isExtensionMethod,
  isHousekeeping,
  MCP_METHODS,
  OperationMethods,
} from "../../../src/capabilities/mcp-operations/operation-methods.ts";
import type { OperationRules } from "../../../src/capabilities/mcp-operations/operation-rules.ts";
import { decideByRules } from "../../../src/core/policy/decision.ts";
import { isOperation } from "../../../src/core/policy/operations.ts";
import {
  callerWith,
  keysOf,
  operationsIn,
  PROPERTY,
  rulesOf,
  SCOPE_RULES,
  tableIssues,
  tableOf,
} from "../../support/policy.ts";

const operation = (text: string, parameters: object = {}, isPartial = false): Operation => ({
  ...splitOperation(text),
  parameters: parameters as Operation["parameters"],
  isPartial,
});

/** A table that has a rule without scopes for each of these operations. */
const tableFor = (names: readonly string[]): OperationRules =>
  operationsIn(Object.fromEntries(names.map((name) => [`MCP ${name}`, []])));

/** The different rules that decide, without `MCP`. */
function rulesFor(table: OperationRules, called: Operation): string | readonly string[] {
  const keys = keysOf(table.forOperation(called));
  return typeof keys === "string" ? keys : [...new Set(keys.map((key) => key.slice("MCP ".length)))];
}

/** Returns whether the scopes are enough for an operation; the kind of its refusal if none would be. */
function isAllowed(table: OperationRules, called: Operation, ...scopes: readonly string[]) {
  const { kind, matches } = table.forOperation(called);
  return kind === "rules" ? decideByRules(matches, callerWith(...scopes), SCOPE_RULES).allowed : kind;
}

// test/core/policy/messages.test.ts has every other mistake, with its fix.
describe("the key of an operation", () => {
  it.each([
    ["mcp tools/call search", "MCP tools/call search"],
    ["MCP:tools/call search", "MCP tools/call search"],
    ["POST tools/call a b", "MCP tools/call a b"],
    ["tools/list", "MCP tools/list"],
    ["MCP tools call search", "MCP tools/call search"],
    ["MCP resources/read https://docs.example", "MCP resources/read https://docs.example/"],
    ["MCP resources/read docs://x/a/../b", "MCP resources/read docs://x/b"],
  ])("is not %s, but %s", (key, fixed) => {
    expect(tableIssues({ [key]: [] })).toMatchObject([
      { code: "route_key_invalid", path: ["scopeMappings", key], hint: `Write \`${fixed}\`.` },
    ]);
    expect(tableIssues({ [fixed]: [] })).toEqual([]);
  });

  it.each(["tools/call a\nb", "tools/call a ", "tools/call {name}", "tools/call <name>"])(
    "has a name that can occur, unlike %j",
    (text) => expect(tableIssues({ [`MCP ${text}`]: [] })).toMatchObject([{ code: "route_key_invalid" }]),
  );

  it.each([
    ["tools/call a name with spaces"],
    ["tools/call a{b}c"],
    ["tools/call a:b"],
    ["prompts/get Größe"],
    ["resources/read https://host/a?b=c#d"],
    ["resources/read docs://reports/a:b"],
    ["resources/read docs://reports/%7Bmonth%7D"],
  ])("is accepted, and decides: %s", (text) => {
    const table = tableFor([text, `${text.split(" ", 1)[0]} *`]);
    expect(rulesFor(table, operation(text))).toEqual([text]);
  });

  it("takes effect if it is accepted: the operation of this name is decided by it", () => {
    const names = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.stringMatching(/^[a-zA-Z]{1,5}:\/{0,2}[\w%{}<>:/?#.@*-]{0,12}$/),
      fc.webUrl({ withQueryParameters: true, withFragments: true }),
    );
    const methods = fc.constantFrom("tools/call", "prompts/get", "resources/read");
    fc.assert(
      fc.property(methods, names, (method, name) => {
        const text = `${method} ${name}`;
        if (tableIssues({ [`MCP ${text}`]: [] }).length > 0 || /[{}]|\*$/.test(name)) return;
        // A handler may read several slashes as one, or decode the name: then the rule of every name holds, too.
        expect(rulesFor(tableFor([text, `${method} *`]), operation(text))[0]).toBe(text);
      }),
      { ...PROPERTY, numRuns: 2_000 },
    );
  });

  it.each([
    ["tools/call *", "a:<x>:b", true],
    ["prompts/get x", "a:<x>:b", true],
    ["resources/read d://{a}", "a:<a>:b", true],
    ["resources/read d://{a}", "a:<b>:b", false],
    ["resources/read *", "a:<uri>:b", false],
    ["tools/list", "a:<uri>:b", false],
  ])("%s, with the scope %s, has something that fills it: %s", (text, scope, isFilled) => {
    const issues = tableIssues({ [`MCP ${text}`]: [scope] });
    expect(issues.map(({ code }) => code)).toEqual(isFilled ? [] : ["scope_invalid"]);
  });

  it("replaces the default rule of the same operation or template, and no other", () => {
    const rules = rulesOf(
      { "MCP tools/call a": ["custom:a"], "MCP resources/read d://{b}": ["custom:d"] },
      {
        "MCP tools/call a": ["default:a"],
        "MCP tools/call b": ["default:b"],
        "MCP tools/call A": [],
        "MCP resources/read d://{a}": ["default:d"],
      },
    );
    expect(rules.map(({ rule }) => `${rule.key} ${rule.source}`)).toEqual([
      ...["MCP tools/call b default", "MCP tools/call A default", "MCP tools/call a override"],
      "MCP resources/read d://{b} override",
    ]);
  });

  it("is refused for a template that has another key", () => {
    const keys = { "MCP resources/read d://{a}": [], "MCP resources/read d://{b}": ["d:read"] };
    expect(tableIssues(keys)).toMatchObject([{ code: "route_duplicate" }]);
  });
});

/** The names that a method has rules for, and names with the rules that decide them, or why none does. */
type Decided = readonly (readonly [
  method: string,
  rules: string,
  decided: Readonly<Record<string, string>>,
])[];

const DECIDED: Decided = [
  [
    "tools/call",
    "search constructor",
    {
      search: "search",
      constructor: "constructor",
      Search: "unmapped",
      "search ": "unmapped",
      ["__proto__"]: "unmapped",
      toString: "unmapped",
      "": "ambiguous",
    },
  ],
  ["prompts/get", "*", { anything: "*", "*": "*" }],
  // The SDK looks up a resource by the spelling of the URL standard. A handler may decode a URI, and merge its slashes.
  [
    "resources/read",
    "* docs://a/B?c",
    {
      "docs://a/B?c": "docs://a/B?c",
      "docs://a/b?c": "*",
      "DOCS://a/B?c": "docs://a/B?c",
      " docs://a/B?c": "docs://a/B?c",
      "docs://a/B?c\n": "docs://a/B?c",
      "do\tcs://a/x/../B?c": "docs://a/B?c",
      "not a URL": "*",
      "docs://%61/%42?%63": "* docs://a/B?c",
      "docs://a/B%3Fc": "* docs://a/B?c",
      "docs://a//B?c": "* docs://a/B?c",
      "docs://a/x%2F..%2fB?c": "* docs://a/B?c",
    },
  ],
  ["resources/read", "docs://a", { "docs://%61": "unmapped" }],
  ["resources/read", "* docs://h/A%2Fb", { "docs://h/%41%2fb": "* docs://h/A%2Fb" }],
  ["resources/read", "* docs:/secret/plan", { "docs:/secret//plan": "* docs:/secret/plan" }],
  // The URI as it was sent counts, except for the rule for every resource.
  ["resources/read", "docs://a/B docs://a/x/{+p}", { "docs://a/x/../B": "docs://a/B docs://a/x/{+p}" }],
  [
    "resources/read",
    "docs://h/{id} docs://h/secret/{id} docs://h/public/{+p} *",
    {
      "docs://h/secret%2F%ff": "docs://h/{id} docs://h/secret/{id}",
      "docs://h/secret%2Fx%": "docs://h/{id} docs://h/secret/{id}",
      "docs://h/public/%2e%2e%2fa%2fb": "docs://h/public/{+p} *",
    },
  ],
  [
    "resources/read",
    "file:///{+path} file:///etc/passwd",
    {
      "file:///etc//passwd": "file:///{+path} file:///etc/passwd",
      "file:////etc/passwd": "file:///{+path} file:///etc/passwd",
      "file:///etc%2Fpasswd": "file:///{+path} file:///etc/passwd",
      "file:///x/..%5cetc%5cpasswd": "file:///{+path} file:///etc/passwd",
    },
  ],
  // The name of a tool is compared as it is.
  ["tools/call", "a/b *", { "a//b": "*", "a%2Fb": "*", "a/./b": "*", "%61/b": "*" }],
  // The narrowest rule decides.
  [
    "tools/call",
    "* docs_* docs_admin_* docs_search",
    { docs_search: "docs_search", docs_admin_x: "docs_admin_*", docs_: "docs_*", docs: "*" },
  ],
  [
    "resources/read",
    "payroll://{month} payroll://{+path} payroll://summary",
    {
      "payroll://summary": "payroll://summary",
      "payroll://may": "payroll://{month}",
      "payroll://a/b": "payroll://{+path}",
      // Servers other than the SDK's match a comma, and run the narrower template.
      "payroll://a,b": "payroll://{+path} payroll://{month}",
    },
  ],
  // Neither contains the other, and no order of registration is known.
  ["resources/read", "d://{a}/b d://a/{b}", { "d://a/b": "d://{a}/b d://a/{b}" }],
  // Servers other than the SDK's read the parameters of a query in any order.
  [
    "resources/read",
    "* q://s{?q,page} q://x?fixed=1{&page}",
    {
      "q://s?q=x&page=2": "q://s{?q,page}",
      "q://s?page=2&q=x": "* q://s{?q,page}",
      "q://s": "* q://s{?q,page}",
      "q://x?page=2&fixed=1": "* q://x?fixed=1{&page}",
    },
  ],
];

/** The same for completions and lists, whose name can be a template. */
const DECIDED_PARTS: Decided = [
  ["tools/call", "docs_* *", { "docs_{id}": "docs_*" }],
  ["resources/read", "docs://a docs://{name}", { "docs://a": "docs://a" }],
  [
    "resources/read",
    "* payroll://{month} payroll://{+path}",
    {
      "payroll://{id}": "payroll://{month}",
      "payroll://{+rest}": "payroll://{+path}",
      "other://{id}": "*",
      "{": "unmapped",
      "PAYROLL://{month}": "unmapped",
    },
  ],
];

const casesOf = (tables: Decided) =>
  tables.flatMap(([method, rules, decided]) => {
    const withMethod = (names: string) => names.split(" ").map((name) => `${method} ${name}`);
    return Object.entries(decided).map(([name, expected]) => {
      const deciding = ["unmapped", "ambiguous"].includes(expected) ? expected : withMethod(expected);
      return [`${method} ${name}`, deciding, withMethod(rules)] as const;
    });
  });

describe("an operation", () => {
  it.each(casesOf(DECIDED))("called %s is decided by %j of %j", (text, expected, rules) => {
    expect(rulesFor(tableFor(rules), operation(text))).toEqual(expected);
  });

  it.each(casesOf(DECIDED_PARTS))(
    "listed or completed as %s is decided by %j of %j",
    (text, expected, rules) => {
      expect(rulesFor(tableFor(rules), operation(text, {}, true))).toEqual(expected);
    },
  );

  it.each([
    ["prompts/get", "`prompts/get` needs a name. Write `MCP prompts/get *` for every name, or one name."],
    ["tools/list x", "`tools/list` takes no name. Write `MCP tools/list`."],
    ["ping", "`ping` needs no rule of its own."],
    ["x/y", "`x/y` isn't a method of MCP clients."],
  ])("that is incomplete or unknown is refused with a cause: %j", (text, cause) => {
    const governing = tableFor(["tools/list", "prompts/get *"]).forOperation(operation(text));
    expect(governing).toMatchObject({ kind: "ambiguous", matches: [] });
    expect("cause" in governing && governing.cause).toContain(cause);
  });

  it.each([
    ["tools/list", "tools/list"],
    ["resources/subscribe docs://a", "resources/read docs://a"],
    ["resources/unsubscribe docs://a", "resources/read docs://a"],
  ])("called %s has the rule %s", (text, expected) => {
    expect(rulesFor(tableFor(["tools/list", "resources/read docs://a"]), operation(text))).toEqual([
      expected,
    ]);
  });

  it.each([
    ["tools/call other", undefined],
    ["tools/call docs_read", "tools/call docs_*"],
    ["resources/read docs://{name}", "resources/read docs://{id}"],
    ["resources/read files://{name}", "resources/read *"],
    // It can't be a key.
    ["resources/read files://{name*}", "resources/read *"],
    ["resources/subscribe docs://a", "resources/read docs://{id}"],
  ])("that a server lists as %s has the rule %s", (text, expected) => {
    const table = tableFor(["tools/call docs_*", "resources/read docs://{id}", "resources/read *"]);
    expect(table.find(text)[0]?.rule.key).toBe(expected && `MCP ${expected}`);
  });

  it("is not a request with a path, whatever its method is", () => {
    expect(isOperation("MCP", "tools/call search")).toBe(true);
    for (const target of ["/mcp", "http://host/mcp", "*", ""]) expect(isOperation("MCP", target)).toBe(false);
    expect(isOperation("POST", "tools/call search")).toBe(false);
  });

  it("is rendered as in a key, without `MCP`, with its name if it has one", () => {
    expect(renderOperation({ method: "tools/list" })).toBe("tools/list");
    expect(renderOperation({ method: "tools/call", name: "search" })).toBe("tools/call search");
  });
});

describe("the operations of a request", () => {
  const rules = { "* /mcp": [], "* /:x": ["x:use"], "MCP tools/call search": [], "MCP prompts/get *": [] };
  const table = tableOf(rules);
  const operations = operationsIn(rules);
  const path = table.forTarget("POST", "/mcp", true);
  const [search, prompt, unknown] = ["tools/call search", "prompts/get x", "tools/call x"].map((text) =>
    operation(text),
  ) as [Operation, Operation, Operation];

  it("need their rules together with the rule for the path", () => {
    const keys = ["* /mcp", "MCP tools/call search", "MCP prompts/get *"];
    expect(keysOf(operations.forCalls(path, [search, prompt]))).toEqual(keys);
    expect(operations.forCalls(path, [])).toBe(path);
  });

  it("are unmapped if one of them is, although the rule for its route is added", () => {
    expect(operations.forCalls(path, [operation("/mcp")]).kind).toBe("unmapped");
    const found = table.forRoute(operations.forCalls(path, [search, unknown]), "POST", ["/:x"]);
    expect(found.kind).toBe("unmapped");
    expect(found.matches.map(({ compiled }) => compiled.rule.key)).toEqual([
      "* /mcp",
      "MCP tools/call search",
      "* /:x",
    ]);
  });

  it("do not matter if the rule for the path refuses the request", () => {
    const refused = table.forTarget("POST", "//mcp", true);
    expect(operations.forCalls(refused, [search])).toBe(refused);
  });
});

describe("conditions on operations", () => {
  const where = { team: { claim: "team" } };
  const table = operationsIn({
    "MCP tools/call *": { scopes: [], where },
    "MCP tools/call docs_*": ["docs:use"],
    "MCP tools/call ping": [],
    "MCP resources/read docs://{team}/{+page}": { scopes: [], where },
    "MCP resources/read docs://a/public": [],
    "MCP prompts/get greet": [],
  });
  const [OF_TOOLS, OF_TEMPLATE] = ["MCP tools/call *", "MCP resources/read docs://{team}/{+page}"];

  it.each<[text: string, parameters: object, isPartial: boolean, expected: readonly string[]]>([
    // Those of a wider rule hold for every name, and read the arguments.
    ["tools/call ping", { team: "a" }, false, [`${OF_TOOLS} a`]],
    ["tools/call docs_read", { team: "a" }, false, [`${OF_TOOLS} a`]],
    ["tools/call ping", {}, false, [`${OF_TOOLS} `]],
    // Those of a template read the URI. They have no value where a server divides it in another way.
    ["resources/read docs://a/public", {}, false, [`${OF_TEMPLATE} a`]],
    ["resources/read docs://a%2Fx/y", {}, false, [`${OF_TEMPLATE} `, `${OF_TEMPLATE} a`]],
    ["resources/read docs://{t}/{+p}", { t: "a" }, true, [`${OF_TEMPLATE} a`]],
    ["prompts/get greet", {}, false, []],
  ])("hold for %s with %j, partial: %s", (text, parameters, isPartial, expected) => {
    const { active } = table.forOperation(operation(text, parameters, isPartial)).restrictions();
    const found = active.map(({ compiled, parameter }) => `${compiled.rule.key} ${parameter("team")}`);
    expect(found.toSorted()).toEqual(expected);
  });

  it.each([
    ["tools/call ping", [OF_TOOLS]],
    ["resources/read docs://a/public", [OF_TEMPLATE]],
    ["resources/read docs://{a}/{+b}", [OF_TEMPLATE]],
    ["prompts/get greet", []],
  ])("are found for %s in a list", (text, keys) => {
    const conditioned = table.conditionedRules(operation(text, {}, true));
    expect(conditioned.map(({ rule }) => rule.key)).toEqual(keys);
  });

  it.each([
    ['{"team":7}', "7"],
    ['{"team":"7"}', "7"],
    ["{}", ""],
    ['{"team":7.5}', ""],
    ['{"team":null}', ""],
    ['{"team":["7"]}', ""],
    ['{"Team":"7"}', ""],
  ])("compare with a claim, of the arguments %s, the value %j", (json, value) => {
    const called = operation("tools/call ping", JSON.parse(json) as object);
    expect(table.forOperation(called).restrictions().active[0]?.parameter("team")).toBe(value);
  });
});

describe("the scopes of an operation", () => {
  const table = operationsIn({
    "MCP tools/call docs_*": ["docs:<team>:call"],
    "MCP tools/call report": ["stores:<store_id>:read"],
    "MCP tools/call any": { anyOf: ["stores:<store_id>:read", "reports:read"] },
    "MCP prompts/get greet": ["people:<city>:greet"],
    "MCP resources/read payroll://{month}": ["payroll:<month>:read"],
    "MCP resources/read payroll://{+path}": ["payroll:read"],
    "MCP resources/read docs://h/{+page}": ["docs:<page>:read"],
  });

  it.each<[text: string, parameters: object, scopes: string, allowed: boolean | string]>([
    ["tools/call report", { store_id: "8" }, "stores:8:read", true],
    ["tools/call report", { store_id: "8" }, "stores:read", true],
    ["tools/call report", { store_id: "8" }, "stores:9:read", false],
    // An integer fills them as its decimal.
    ["tools/call report", { store_id: 7 }, "stores:7:read", true],
    ["tools/call report", { store_id: 7 }, "stores:8:read", false],
    ["tools/call report", { store_id: 0 }, "stores:0:read", true],
    ["tools/call report", { store_id: -7 }, "stores:-7:read", true],
    ["tools/call report", { store_id: 1e2 }, "stores:100:read", true],
    ["tools/call report", { store_id: 9_007_199_254_740_991 }, "stores:9007199254740991:read", true],
    // A URI fills the scopes of its template, and the arguments those of a prefix.
    ["resources/read payroll://may", { month: "june" }, "payroll:may:read", true],
    ["resources/read payroll://may", { month: "june" }, "payroll:june:read", false],
    ["tools/call docs_x", { team: "web" }, "docs:web:call", true],
    ["tools/call docs_x", { team: "web" }, "docs:api:call", false],
    // Handlers may decode an escape or divide a list, so no single value is certain.
    ["resources/read payroll://m%61y", {}, "payroll:may:read", false],
    ["resources/read payroll://m%61y", {}, "payroll:read", true],
    ["resources/read payroll://a,b", {}, "payroll:a:read", false],
    // Each reading of a URI has its own value.
    ["resources/read docs://h//a", {}, "docs:a:read", false],
    ["resources/read docs://h//a", {}, "docs:/a:read", false],
    ["resources/read docs://h//a", {}, "docs:a:read docs:/a:read", true],
    // Some parsers read another spelling in place of the argument.
    ["prompts/get greet", { city: "rome", City: "oslo" }, "people:rome:greet", "ambiguous"],
    ["prompts/get greet", { CITY: "rome" }, "people:greet", "ambiguous"],
    ["prompts/get greet", { "c\u0131ty": "x" }, "people:greet", "ambiguous"],
    ["prompts/get greet", { city: "rome", town: "oslo" }, "people:rome:greet", true],
  ])("of %s with %j are satisfied by %s: %s", (text, parameters, scopes, allowed) => {
    expect(isAllowed(table, operation(text, parameters), ...scopes.split(" "))).toBe(allowed);
  });

  it.each<[text: string, parameters: object, scope: string, allowed: boolean]>([
    // What is completed has no value yet.
    ["prompts/get greet", {}, "people:greet", true],
    ["prompts/get greet", { city: ["rome"] }, "people:greet", true],
    ["prompts/get greet", {}, "people:rome:greet", false],
    ["prompts/get greet", { city: "rome" }, "people:rome:greet", true],
    // Only the variables of the template itself fill it, by their place.
    ["resources/read payroll://{month}", { month: "may" }, "payroll:may:read", true],
    ["resources/read payroll://{id}", { id: "may" }, "payroll:may:read", true],
    ["resources/read payroll://{id}", { id: "june", month: "may" }, "payroll:may:read", false],
    ["resources/read payroll://june{x}", { month: "may", x: "may" }, "payroll:may:read", false],
  ])("of a completion of %s with %j are satisfied by %s: %s", (text, parameters, scope, allowed) => {
    expect(isAllowed(table, operation(text, parameters, true), scope)).toBe(allowed);
  });

  it.each([{}, { other: "8" }, Object.create({ store_id: "8" }) as object])(
    "are needed for all ids without the argument, which the refusal names: %j",
    (parameters) => {
      const { matches } = table.forOperation(operation("tools/call report", parameters));
      for (const scope of [
        ...["stores:8:read", "stores::read", "stores:undefined:read", "stores:<store_id>:read"],
      ])
        expect(decideByRules(matches, callerWith(scope), SCOPE_RULES)).toMatchObject({
          reason: "scope_insufficient",
          missing: ["stores:<store_id>:read"],
        });
      for (const scope of ["stores:read", "stores:*:read"])
        expect(decideByRules(matches, callerWith(scope), SCOPE_RULES).allowed).toBe(true);
    },
  );

  it.each([
    ...["7.5", "-0", "9007199254740992", "1e21", "1e400", '""', "true", "null", "[]", '["8"]', '{"id":"8"}'],
  ])("cannot be filled with %s, so the operation is refused", (json) => {
    const parameters = JSON.parse(`{"store_id":${json}}`) as object;
    for (const name of ["report", "any"])
      expect(table.forOperation(operation(`tools/call ${name}`, parameters))).toMatchObject({
        kind: "ambiguous",
        cause:
          "The argument `store_id` must be a non-empty string or a safe integer (7, not 7.0), and its name must not occur in another letter case.",
      });
  });

  it("keep the value of an argument that later code changes", () => {
    const parameters = { store_id: "web" };
    const [match] = table.forOperation(operation("tools/call report", parameters)).matches;
    parameters.store_id = "api";
    expect([match?.parameter("store_id"), match?.parameter("other")]).toEqual(["web", ""]);
  });
});

describe("a method", () => {
  /** Whether a name follows it, and whether the stateless revision has it. */
  const METHODS: Readonly<Record<string, readonly [isNamed: boolean, isStateless: boolean]>> = {
    "tools/call": [true, true],
    "prompts/get": [true, true],
    "resources/read": [true, true],
    "tools/list": [false, true],
    "prompts/list": [false, true],
    "resources/list": [false, true],
    "resources/templates/list": [false, true],
    "subscriptions/listen": [false, true],
    "logging/setLevel": [false, false],
    "tasks/list": [false, false],
    "tasks/get": [false, true],
    "tasks/result": [false, false],
    "tasks/update": [false, true],
    "tasks/cancel": [false, true],
  };

  it.each(Object.entries(METHODS))("of the protocol can have rules: %s", (method, [isNamed, isStateless]) => {
    expect(tableIssues({ [isNamed ? `MCP ${method} *` : `MCP ${method}`]: [] })).toEqual([]);
    expect(tableIssues({ [isNamed ? `MCP ${method}` : `MCP ${method} *`]: [] })).toHaveLength(1);
    expect(MCP_METHODS.isNamed(method)).toBe(isNamed);
    expect(MCP_METHODS.isStateless(method)).toBe(isStateless);
  });

  it.each([
    ["completion/complete", false, true],
    ["server/discover", true, true],
    ["notifications/cancelled", true, true],
    ["initialize", true, false],
    ["ping", true, false],
    ["resources/subscribe", false, false],
    ["resources/unsubscribe", false, false],
    ["acme/do", false, false],
    ["initializes", false, false],
    ["xnotifications/y", false, false],
  ])("without rules is known as %s, housekeeping: %s, stateless: %s", (method, keepsRunning, isStateless) => {
    expect(isHousekeeping(method)).toBe(keepsRunning);
    expect(MCP_METHODS.isStateless(method)).toBe(isStateless);
  });

  it.each(["acme/do", "Acme.v1/do-it", "a/b/c", "a/b_c.d"])("can be added by a server: %s", (method) => {
    expect(isExtensionMethod(method)).toBe(true);
  });

  it.each([
    ...["tools/call", "tasks/anything", "initialize", "notifications/x", "server/discover"],
    ...["completion/complete", "acme", "/do", "acme/", "1/do", "acme do", " acme/do", "acme/do ", "acme//do"],
  ])("cannot be added by a server: %j", (method) => expect(isExtensionMethod(method)).toBe(false));

  it("that a server adds has a name, or none", () => {
    const methods = new OperationMethods({ "acme/run": "job", "acme/list": null });
    const isNamed = ["acme/run", "acme/list", "acme/other", "toString"].map((each) => methods.isNamed(each));
    expect(isNamed).toEqual([true, false, undefined, undefined]);
    expect(methods.get("acme/run")).toEqual({ nameParameter: "job" });
    expect(methods.findMistake("acme/run", "backup")).toBeUndefined();
    expect(methods.findMistake("acme/list", "x")?.message).toBe("`acme/list` takes no name.");
    expect(methods.findMistake("acme/lists", undefined)?.hint).toBe("Did you mean `acme/list`?");
  });

  it.each([
    ["acme/run", "backup", undefined],
    ["a/b/c", undefined, undefined],
    ["tool/call", "x", "Did you mean `tools/call`?"],
    ["prompts/call", "x", "Did you mean `prompts/get`?"],
    ["tool/list", undefined, "Did you mean `tools/list`?"],
    ["tools.call", "x", "Write `MCP tools/call x`."],
    ["acme", undefined, "Write `MCP <method> <name>`"],
    ["/do", undefined, "Write `MCP <method> <name>`"],
    ["acme/", undefined, "Write `MCP <method> <name>`"],
  ])("of an unknown server may be any that is not misspelled: %s", (method, name, hint) => {
    const mistake = ANY_METHODS.findMistake(method, name);
    expect(mistake?.hint.slice(0, hint?.length)).toBe(hint);
  });

  it.each(["resources/subscribe", "resource/subscribe"])("is suggested only if it has rules: %s", (method) =>
    expect(MCP_METHODS.findMistake(method, "docs://a")?.hint).not.toContain("resources/subscribe"),
  );
});
