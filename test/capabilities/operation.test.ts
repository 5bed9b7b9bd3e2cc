import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPrincipal, type Principal } from "../../src/core/token/principal.ts";
import { resolveScopeRules } from "../../src/core/scopes/scope-rules.ts";
import {
  type Operation,
  renderOperation,
  splitOperation,
} from "../../src/capabilities/mcp-operations/operation-key.ts";
import {
  ANY_METHODS,
  isExtensionMethod,
  isHousekeeping,
  MCP_METHODS,
  OperationMethods,
} from "../../src/capabilities/mcp-operations/operation-methods.ts";
import { isOperation } from "../../src/core/policy/operations.ts";
import { decideByRules } from "../../src/core/policy/decision.ts";
import { keysOf, operationsIn, PROPERTY, rulesOf, tableIssues, tableOf } from "../support/policy.ts";

const RULES = {
  "* /mcp": [],
  "MCP tools/list": [],
  "MCP tools/call search": ["docs:read"],
  "MCP tools/call run_agent": ["agents:<agent_id>:run"],
  "MCP tools/call constructor": ["other:use"],
  "MCP tools/call open": "public",
  "MCP prompts/get *": ["prompts:use"],
  "MCP resources/read docs://a/B?c": ["docs:read"],
  "MCP resources/read *": ["all:read"],
} as const;
const TABLE = tableOf(RULES);
const OPERATIONS = operationsIn(RULES);
const operation = (text: string, parameters: object = {}): Operation => ({
  ...splitOperation(text),
  parameters: parameters as Operation["parameters"],
});
const call = (text: string, parameters: object = {}) => OPERATIONS.forOperation(operation(text, parameters));

const SCOPE_RULES = resolveScopeRules(null, {}, () => undefined);
const callerWith = (...scopes: string[]): Principal =>
  createPrincipal({ scopes, audience: [], claims: {} }, SCOPE_RULES);

describe("the key of an operation", () => {
  it.each([
    "MCP tools/call search",
    "MCP tools/call a name with spaces",
    "MCP prompts/get Größe",
    "MCP resources/read https://host/a?b=c#d",
  ])("accepts %s", (key) => expect(tableIssues({ [key]: ["a:b"] })).toEqual([]));

  it.each([
    ["MCP tools/cal search", "Did you mean `tools/call`?"],
    ["MCP tools/call", "`MCP tools/call *`"],
    ["MCP tools/call  search", "without spaces"],
    ["MCP tools/call search ", "without spaces"],
    ["MCP tools/call a\nb", "without spaces"],
    ["MCP tools/list search", "Write `MCP tools/list`."],
    ["MCP initialize", "the transport's rule"],
    ["MCP tool/call search", "Did you mean `tools/call`?"],
    ["MCP prompts/call x", "Did you mean `prompts/get`?"],
    ["MCP tool/list", "Did you mean `tools/list`?"],
    ["MCP tools call search", "Write `MCP tools/call search`."],
    ["mcp tools/call search", "Write `MCP tools/call search`."],
    ["MCP:tools/call search", "Write `MCP tools/call search`."],
    ["POST tools/call a b", "Write `MCP tools/call a b`."],
    ["tools/call search", "Write `MCP tools/call search`."],
    ["tools/list", "Write `MCP tools/list`."],
    ["MCP /mcp", "MCP <method> <name>"],
    ["MCP sampling/createMessage", "MCP <method> <name>"],
  ])("rejects %j, and shows the fix", (key, hint) => {
    const [issue] = tableIssues({ [key]: [] });
    expect(issue).toMatchObject({ code: "route_key_invalid", path: ["scopeMappings", key] });
    expect(issue?.hint).toContain(hint);
  });

  it.each([
    ["MCP ping", "`ping` needs no rule of its own."],
    ["MCP tools/cal search", "`tools/cal` isn't a method of MCP clients."],
    ["MCP tools/list search", "`tools/list` takes no name."],
    ["MCP tools/call", "`tools/call` needs a name."],
    ["MCP tools/call a\nb", '"a\\nb" isn\'t a name.'],
  ])("rejects %j, and explains the mistake", (key, message) => {
    expect(tableIssues({ [key]: [] })).toMatchObject([{ message }]);
  });

  it.each([
    ["tools/call {name}", "`docs_*`"],
    ["prompts/get :name", "`docs_*`"],
    ["tools/call do*cs", "as in `docs_*`"],
    ["resources/read docs://*", "`{+name}`"],
    ["resources/read docs://<id>", "`{+name}`"],
    ["resources/read docs://a/:id", "`{+name}`"],
  ])("rejects a variable in another notation, which would match only its own text: %s", (text, hint) => {
    const [issue, ...others] = tableIssues({ [`MCP ${text}`]: [] });
    expect(others).toEqual([]);
    expect(issue).toMatchObject({ code: "route_key_invalid", path: ["scopeMappings", `MCP ${text}`] });
    expect(issue?.hint).toContain(hint);
  });

  it.each([
    ["completion/complete greet", "`prompts/get` or `resources/read`"],
    ["resources/subscribe docs://a", "`resources/read`"],
    ["resources/unsubscribe *", "`resources/read`"],
  ])("rejects %s, which the rule for something else decides", (text, governing) => {
    expect(tableIssues({ [`MCP ${text}`]: [] })).toMatchObject([
      {
        message: `\`${text.split(" ", 1)[0]}\` has no rule of its own.`,
        hint: `Remove it: the rule for ${governing} with the same name decides it.`,
      },
    ]);
  });

  it.each([
    "resources/read docs://reports/a:b",
    "resources/read docs://reports/%7Bmonth%7D",
    "tools/call a{b}c",
    "tools/call a:b",
  ])("accepts %s, and decides by it", (text) => {
    const table = operationsIn({ [`MCP ${text}`]: ["own:scope"], [`MCP ${text.split(" ", 1)[0]} *`]: [] });
    expect(keysOf(table.forOperation(operation(text)))).toEqual([`MCP ${text}`]);
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
        const key = `MCP ${method} ${name}`;
        if (tableIssues({ [key]: ["own:scope"] }).length > 0 || /[{}]|\*$/.test(name)) return;
        const table = operationsIn({ [key]: ["own:scope"], [`MCP ${method} *`]: [] });
        // A handler may read several slashes as one, or decode the name: then the rule of every name holds, too.
        expect(keysOf(table.forOperation(operation(`${method} ${name}`)))[0]).toBe(key);
      }),
      { ...PROPERTY, numRuns: 2_000 },
    );
  });

  it.each([
    ["resources/read DOCS://a", "resources/read docs://a"],
    ["resources/read https://docs.example", "resources/read https://docs.example/"],
    ["resources/read docs://x/a/../b", "resources/read docs://x/b"],
  ])("rejects a URI in a spelling of its own: %s", (text, canonical) => {
    expect(tableIssues({ [`MCP ${text}`]: [] })).toMatchObject([
      { code: "route_key_invalid", hint: `Write \`MCP ${canonical}\`.` },
    ]);
    expect(tableIssues({ [`MCP ${canonical}`]: [] })).toEqual([]);
  });

  it("accepts arguments in scopes, if the method has arguments", () => {
    expect(tableIssues({ "MCP tools/call *": ["a:<x>:b"], "MCP prompts/get x": ["a:<x>:b"] })).toEqual([]);
    for (const key of ["MCP tools/list", "MCP resources/read *", "MCP resources/read tools/call x"])
      expect(tableIssues({ [key]: ["a:<uri>:b"] })).toMatchObject([{ code: "scope_invalid" }]);
  });

  it("replaces the default rule of the same operation, and no other", () => {
    const rules = rulesOf(
      { "MCP tools/call a": ["custom:a"] },
      { "MCP tools/call a": ["default:a"], "MCP tools/call b": ["default:b"], "MCP tools/call A": [] },
    );
    expect(rules.map(({ rule }) => `${rule.key} ${rule.source}`)).toEqual([
      "MCP tools/call b default",
      "MCP tools/call A default",
      "MCP tools/call a override",
    ]);
  });
});

describe("the rule for an operation", () => {
  it.each([
    ["tools/list", "MCP tools/list"],
    ["tools/call search", "MCP tools/call search"],
    ["tools/call constructor", "MCP tools/call constructor"],
    ["prompts/get anything", "MCP prompts/get *"],
    ["prompts/get *", "MCP prompts/get *"],
    ["resources/read docs://a/B?c", "MCP resources/read docs://a/B?c"],
    ["resources/read docs://a/b?c", "MCP resources/read *"],
    ["resources/read DOCS://a/B?c", "MCP resources/read docs://a/B?c"],
    ["resources/read  docs://a/B?c", "MCP resources/read docs://a/B?c"],
    ["resources/read docs://a/B?c\n", "MCP resources/read docs://a/B?c"],
    ["resources/read do\tcs://a/x/../B?c", "MCP resources/read docs://a/B?c"],
    ["resources/read not a URL", "MCP resources/read *"],
  ])("decides %s: %s", (text, key) => expect(keysOf(call(text))).toEqual([key]));

  it.each(["docs://%61/%42?%63", "docs://a/B%3Fc", "docs://a//B?c", "docs://a/x%2F..%2fB?c"])(
    "requires the rules of each reading of %s",
    (uri) => {
      expect(keysOf(call(`resources/read ${uri}`))).toEqual([
        "MCP resources/read *",
        "MCP resources/read docs://a/B?c",
      ]);
    },
  );

  it("fills the scopes of a template with the values of each reading", () => {
    const table = operationsIn({ "MCP resources/read docs://h/{+page}": ["docs:<page>:read"] });
    const { matches } = table.forOperation(operation("resources/read docs://h//a"));
    const isAllowed = (...scopes: string[]) =>
      decideByRules(matches, callerWith(...scopes), SCOPE_RULES).allowed;
    expect(isAllowed("docs:a:read")).toBe(false);
    expect(isAllowed("docs:/a:read")).toBe(false);
    expect(isAllowed("docs:a:read", "docs:/a:read")).toBe(true);
  });

  it.each([
    ["docs://h/secret%2Fx%ff", ["docs://h/{id}", "docs://h/secret/{id}"]],
    ["docs://h/secret%2Fx%", ["docs://h/{id}", "docs://h/secret/{id}"]],
    ["docs://h/public/%2e%2e%2fa%2fb", ["docs://h/public/{+p}", "*"]],
    ["docs:/secret//plan", ["*", "docs:/secret/plan"]],
    ["docs://x?page=2&fixed=1", ["*", "docs://x?fixed=1{&page}"]],
  ])("requires the rules of each server that may read %s", (uri, names) => {
    const templates = ["docs://h/{id}", "docs://h/secret/{id}", "docs://h/public/{+p}"];
    const rules = [...templates, "*", "docs:/secret/plan", "docs://x?fixed=1{&page}"];
    const table = operationsIn(Object.fromEntries(rules.map((name) => [`MCP resources/read ${name}`, []])));
    const keys = keysOf(table.forOperation(operation(`resources/read ${uri}`)));
    expect([...new Set(keys)]).toEqual(names.map((name) => `MCP resources/read ${name}`));
  });

  it.each([
    "file:///etc//passwd",
    "file:////etc/passwd",
    "file:///etc%2Fpasswd",
    "file:///x/..%5cetc%5cpasswd",
  ])("requires the rule for a file that a handler may open for %s", (uri) => {
    const table = operationsIn({
      "MCP resources/read file:///{+path}": ["files:read"],
      "MCP resources/read file:///etc/passwd": ["root:read"],
    });
    const keys = keysOf(table.forOperation(operation(`resources/read ${uri}`)));
    expect([...new Set(keys)]).toEqual([
      "MCP resources/read file:///{+path}",
      "MCP resources/read file:///etc/passwd",
    ]);
  });

  const keysIn = (names: readonly string[], text: string, isPartial = false) => {
    const table = operationsIn(Object.fromEntries(names.map((name) => [`MCP ${name}`, []])));
    return keysOf(table.forOperation({ ...operation(text), isPartial }));
  };

  it("decodes characters that need no escape, and keeps the others", () => {
    const names = ["resources/read *", "resources/read docs://h/A%2Fb"];
    expect(keysIn(names, "resources/read docs://h/%41%2fb")).toEqual(names.map((name) => `MCP ${name}`));
  });

  it("also requires the rule for a URI as it was sent, unless that is the rule for every resource", () => {
    const names = ["resources/read docs://a/B", "resources/read docs://a/x/{+p}"];
    const uri = "resources/read docs://a/x/../B";
    expect(keysIn(names, uri)).toEqual(names.map((name) => `MCP ${name}`));
    expect(keysIn(["resources/read docs://a/B", "resources/read *"], uri)).toEqual([
      "MCP resources/read docs://a/B",
    ]);
  });

  it.each(["a//b", "a%2Fb", "a/./b", "%61/b"])("compares the name of a tool as it is: %s", (name) => {
    expect(keysIn(["tools/call a/b", "tools/call *"], `tools/call ${name}`)).toEqual(["MCP tools/call *"]);
  });

  it.each([
    ["resources/read docs://a", "MCP resources/read docs://a"],
    ["resources/read docs://{id}", "MCP resources/read docs://{name}"],
    ["tools/call docs_{id}", "MCP tools/call docs_*"],
  ])(
    "finds the rule for the name for a completion, and the rule for a template only for a template: %s",
    (text, key) => {
      const names = [
        "resources/read docs://a",
        "resources/read docs://{name}",
        "tools/call docs_*",
        "tools/call *",
      ];
      expect(keysIn(names, text, true)).toEqual([key]);
    },
  );

  it("does not map a URI that only its decoded spelling maps", () => {
    const table = operationsIn({ "MCP resources/read docs://a": [] });
    expect(table.forOperation(operation("resources/read docs://%61")).kind).toBe("unmapped");
  });

  it.each(["tools/call Search", "tools/call search ", "tools/call __proto__", "tools/call toString", "x/y"])(
    "denies %j, which has no rule",
    (text) => expect(call(text).kind).toBe(text === "x/y" ? "ambiguous" : "unmapped"),
  );

  it.each([
    ["prompts/get", "`prompts/get` needs a name. Write `MCP prompts/get *` for every name, or one name."],
    ["prompts/get ", "`prompts/get` needs a name. Write `MCP prompts/get *` for every name, or one name."],
    ["tools/list x", "`tools/list` takes no name. Write `MCP tools/list`."],
    [
      "ping",
      "`ping` needs no rule of its own. Remove it: the transport's rule, such as `* /mcp`, decides it.",
    ],
  ])("does not decide the incomplete operation %j", (text, cause) => {
    expect(call(text)).toMatchObject({ kind: "ambiguous", matches: [], cause });
  });

  it("ignores the rules for paths, whatever method a client calls", () => {
    const path = TABLE.forTarget("POST", "/mcp", true);
    expect(OPERATIONS.forCalls(path, [operation("/mcp")]).kind).toBe("unmapped");
  });

  it("does not map a request that the rule for its path refuses", () => {
    const refused = TABLE.forTarget("POST", "//mcp", true);
    expect(OPERATIONS.forCalls(refused, [operation("tools/list")])).toBe(refused);
  });

  it("leaves an operation unmapped, although the rule for its route is added", () => {
    const rules = { "* /mcp": [], "* /:x": ["x:use"] };
    const table = tableOf(rules);
    const path = table.forTarget("POST", "/mcp", true);
    const unmapped = operationsIn(rules).forCalls(path, [operation("tools/call x")]);
    const found = table.forRoute(unmapped, "POST", ["/:x"]);
    expect(found.kind).toBe("unmapped");
    expect(found.matches.map(({ compiled }) => compiled.rule.key)).toEqual(["* /mcp", "* /:x"]);
  });

  it("requires this rule together with those of the path and of all other operations", () => {
    const path = TABLE.forTarget("POST", "/mcp", true);
    const calls = ["tools/call search", "prompts/get x"].map((text) => operation(text));
    const governing = OPERATIONS.forCalls(path, calls);
    expect(keysOf(governing)).toEqual(["* /mcp", "MCP tools/call search", "MCP prompts/get *"]);
    const [search, unknown] = [calls[0], operation("tools/call x")];
    expect(OPERATIONS.forCalls(path, search ? [search, unknown] : []).kind).toBe("unmapped");
    expect(OPERATIONS.forCalls(path, [])).toBe(path);
  });
});

describe("the rule that a key finds", () => {
  const operations = operationsIn({
    "MCP tools/list": [],
    "MCP tools/call search": ["docs:read"],
    "MCP tools/call docs_*": ["docs:use"],
    "MCP resources/read docs://{id}": ["docs:read"],
    "MCP resources/read *": ["all:read"],
  });

  it.each([
    ["tools/list", "MCP tools/list"],
    ["tools/call search", "MCP tools/call search"],
    ["tools/call docs_read", "MCP tools/call docs_*"],
    ["tools/call other", undefined],
    ["prompts/get x", undefined],
    ["resources/read docs://{name}", "MCP resources/read docs://{id}"],
    ["resources/read files://{name}", "MCP resources/read *"],
    ["resources/read files://{name*}", "MCP resources/read *"],
    ["resources/subscribe docs://a", "MCP resources/read docs://{id}"],
  ])("decides the entry of a list: %s", (key, expected) => {
    expect(operations.find(key)?.rule.key).toBe(expected);
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
  const restricting = (text: string, parameters: object = {}, isPartial = false) =>
    table
      .forOperation({ ...operation(text, parameters), isPartial })
      .restrictions()
      .active.map(({ compiled, parameter }) => `${compiled.rule.key} ${parameter("team")}`);

  it("of a wider rule hold for every name, and read the arguments", () => {
    expect(restricting("tools/call ping", { team: "a" })).toEqual(["MCP tools/call * a"]);
    expect(restricting("tools/call docs_read", { team: "a" })).toEqual(["MCP tools/call * a"]);
    expect(restricting("tools/call ping")).toEqual(["MCP tools/call * "]);
  });

  it("of a template read the values of the URI", () => {
    expect(restricting("resources/read docs://a/public")).toEqual([
      "MCP resources/read docs://{team}/{+page} a",
    ]);
  });

  it("hold for each reading of a URI, with no value where a server divides it in another way", () => {
    expect(restricting("resources/read docs://a%2Fx/y").toSorted()).toEqual([
      "MCP resources/read docs://{team}/{+page} ",
      "MCP resources/read docs://{team}/{+page} a",
    ]);
  });

  it("of a template hold for the same template that is completed", () => {
    expect(restricting("resources/read docs://{t}/{+p}", { t: "a" }, true)).toEqual([
      "MCP resources/read docs://{team}/{+page} a",
    ]);
  });

  it("do not hold for other methods", () => {
    expect(restricting("prompts/get greet")).toEqual([]);
  });

  it.each([
    ["tools/call ping", ["MCP tools/call *"]],
    ["resources/read docs://a/public", ["MCP resources/read docs://{team}/{+page}"]],
    ["resources/read docs://{a}/{+b}", ["MCP resources/read docs://{team}/{+page}"]],
    ["prompts/get greet", []],
  ])("finds them for the entry of a list: %s", (text, keys) => {
    const operations = operationsIn({
      "MCP tools/call *": { scopes: [], where },
      "MCP tools/call ping": [],
      "MCP resources/read docs://{team}/{+page}": { scopes: [], where },
      "MCP prompts/get greet": [],
    });
    const conditioned = operations.conditionedRules({ ...operation(text), isPartial: true });
    expect(conditioned.map(({ rule }) => rule.key)).toEqual(keys);
  });
});

describe("the arguments of an operation", () => {
  it("fills the templates of scopes with the arguments of an operation", () => {
    const governing = call("tools/call run_agent", { agent_id: "web" });
    const decided = (scope: string) =>
      decideByRules(governing.matches, callerWith(scope), SCOPE_RULES).allowed;
    expect(decided("agents:web:run")).toBe(true);
    expect(decided("agents:run")).toBe(true);
    expect(decided("agents:api:run")).toBe(false);
  });

  const STORE = operationsIn({
    "MCP tools/call report": ["stores:<store_id>:read"],
    "MCP tools/call any": { anyOf: ["stores:<store_id>:read", "reports:read"] },
    "MCP tools/call own": { scopes: [], where: { store_id: { claim: "store" } } },
  });
  const report = (parameters: object, ...scopes: string[]) => {
    const governing = STORE.forOperation(operation("tools/call report", parameters));
    return governing.kind === "rules" && decideByRules(governing.matches, callerWith(...scopes), SCOPE_RULES);
  };

  it.each([
    [7, "7"],
    [0, "0"],
    [-7, "-7"],
    [1e2, "100"],
    [9_007_199_254_740_991, "9007199254740991"],
  ])("fills a scope with the integer %d as its decimal", (number, decimal) => {
    const parameters = JSON.parse(`{"store_id":${number}}`) as object;
    for (const store_id of [number, decimal])
      expect(report({ store_id }, `stores:${decimal}:read`)).toMatchObject({ allowed: true });
    expect(report(parameters, "stores:8:read")).toMatchObject({
      allowed: false,
      missing: [`stores:${decimal}:read`],
    });
  });

  it("needs the scope for all ids without an argument, and names the argument", () => {
    for (const parameters of [{}, { other: "8" }, Object.create({ store_id: "8" }) as object]) {
      for (const scope of [
        "stores:8:read",
        "stores::read",
        "stores:undefined:read",
        "stores:<store_id>:read",
      ])
        expect(report(parameters, scope)).toMatchObject({
          allowed: false,
          reason: "scope_insufficient",
          missing: ["stores:<store_id>:read"],
        });
      for (const scope of ["stores:read", "stores:*:read"])
        expect(report(parameters, scope)).toMatchObject({ allowed: true });
    }
  });

  it.each([
    '""',
    "7.5",
    "-0",
    "-0.0",
    "9007199254740992",
    "1e21",
    "1e400",
    "true",
    "null",
    "[]",
    '["8"]',
    '{"id":"8"}',
  ])("refuses an argument in a scope that is not a string or an integer: %s", (json) => {
    const parameters = JSON.parse(`{"store_id":${json}}`) as object;
    for (const name of ["report", "any"])
      expect(STORE.forOperation(operation(`tools/call ${name}`, parameters))).toMatchObject({
        kind: "ambiguous",
        cause:
          "The argument `store_id` must be a non-empty string or a safe integer (7, not 7.0), and its name must not occur in another letter case.",
      });
  });

  it.each(["7", '"7"'])("compares the argument %s with the claim of a `where`", (json) => {
    const parameters = JSON.parse(`{"store_id":${json}}`) as object;
    const [restriction] = STORE.forOperation(operation("tools/call own", parameters)).restrictions().active;
    expect(restriction?.parameter("store_id")).toBe("7");
  });

  it.each(["{}", '{"store_id":7.5}', '{"store_id":null}', '{"store_id":["7"]}', '{"Store_id":"7"}'])(
    "has no value for a `where` in %s",
    (json) => {
      const own = operation("tools/call own", JSON.parse(json) as object);
      expect(STORE.forOperation(own).restrictions().active[0]?.parameter("store_id")).toBe("");
    },
  );

  it("reads the arguments of an operation only once", () => {
    const parameters = { agent_id: "web" };
    const governing = call("tools/call run_agent", parameters);
    parameters.agent_id = "api";
    expect(governing.matches[0]?.parameter("agent_id")).toBe("web");
    expect(governing.matches[0]?.parameter("other")).toBe("");
  });
});

describe("the methods of the protocol", () => {
  it.each([
    ["tools/call", true],
    ["prompts/get", true],
    ["resources/read", true],
    ["tools/list", false],
    ["prompts/list", false],
    ["resources/list", false],
    ["resources/templates/list", false],
    ["subscriptions/listen", false],
    ["logging/setLevel", false],
    ["tasks/list", false],
    ["tasks/get", false],
    ["tasks/result", false],
    ["tasks/update", false],
    ["tasks/cancel", false],
  ])("accepts the method %s, and requires a name or refuses it: %s", (method, named) => {
    expect(tableIssues({ [named ? `MCP ${method} *` : `MCP ${method}`]: [] })).toEqual([]);
    expect(tableIssues({ [named ? `MCP ${method}` : `MCP ${method} *`]: [] })).toHaveLength(1);
  });

  it("recognizes the methods that need no rule, and those with a name", () => {
    expect(["initialize", "server/discover", "ping", "notifications/x"].every(isHousekeeping)).toBe(true);
    expect(["initializes", "tools/call", "xnotifications/y"].some(isHousekeeping)).toBe(false);
    const isNamed = (method: string) => MCP_METHODS.isNamed(method);
    expect([isNamed("tools/call"), isNamed("tools/list"), isNamed("toString")]).toEqual([
      true,
      false,
      undefined,
    ]);
  });

  it.each([
    ["tools/call", true],
    ["tasks/get", true],
    ["completion/complete", true],
    ["server/discover", true],
    ["notifications/cancelled", true],
    ["initialize", false],
    ["ping", false],
    ["logging/setLevel", false],
    ["resources/subscribe", false],
    ["resources/unsubscribe", false],
    ["tasks/list", false],
    ["tasks/result", false],
    ["acme/do", false],
  ])("reports whether it has %s in the stateless revision of the protocol: %s", (method, isStateless) => {
    expect(MCP_METHODS.isStateless(method)).toBe(isStateless);
  });

  it.each(["acme/do", "Acme.v1/do-it", "a/b/c", "a/b_c.d"])("accepts the extension %s", (method) => {
    expect(isExtensionMethod(method)).toBe(true);
  });

  it.each([
    "tools/call",
    "tasks/anything",
    "initialize",
    "notifications/x",
    "server/discover",
    "completion/complete",
    "acme",
    "/do",
    "acme/",
    "1/do",
    "acme do",
    " acme/do",
    "acme/do ",
    "acme//do",
  ])("rejects the extension %j", (method) => {
    expect(isExtensionMethod(method)).toBe(false);
  });

  it("include those that a server adds, with a name and without one", () => {
    const methods = new OperationMethods({ "acme/run": "job", "acme/list": null });
    expect(
      ["acme/run", "acme/list", "acme/other", "tools/call"].map((method) => methods.isNamed(method)),
    ).toEqual([true, false, undefined, true]);
    expect(methods.get("acme/run")).toEqual({ nameParameter: "job" });
    expect(methods.findMistake("acme/run", "backup")).toBeUndefined();
    expect(methods.findMistake("acme/run", undefined)?.message).toBe("`acme/run` needs a name.");
    expect(methods.findMistake("acme/list", "x")?.message).toBe("`acme/list` takes no name.");
    expect(methods.findMistake("acme/lists", undefined)?.hint).toBe("Did you mean `acme/list`?");
  });

  it.each([
    ["acme/run", "backup", undefined],
    ["a/b/c", undefined, undefined],
    ["tool/call", "x", "Did you mean `tools/call`?"],
    ["tools.call", "x", "Write `MCP tools/call x`."],
    ["acme", undefined, "Write `MCP <method> <name>`"],
    ["/do", undefined, "Write `MCP <method> <name>`"],
    ["acme/", undefined, "Write `MCP <method> <name>`"],
  ])("of an unknown server may be any that is not misspelled: %s", (method, name, hint) => {
    const mistake = ANY_METHODS.findMistake(method, name);
    if (hint === undefined) expect(mistake).toBeUndefined();
    else expect(mistake?.hint).toContain(hint);
  });

  it.each(["resources/subscribe docs://a", "resource/subscribe docs://a"])(
    "suggests them only if they have rules: %s",
    (text) => {
      const [method = "", name] = text.split(" ");
      expect(MCP_METHODS.findMistake(method, name)?.hint).not.toContain("resources/subscribe");
    },
  );

  it("renders them in keys without `MCP`, with their name if they have one", () => {
    expect(renderOperation({ method: "tools/list" })).toBe("tools/list");
    expect(renderOperation({ method: "tools/call", name: "search" })).toBe("tools/call search");
  });

  it("finds no rule for HTTP requests", () => {
    expect(isOperation("MCP", "tools/call search")).toBe(true);
    for (const target of ["/mcp", "http://host/mcp", "*", ""]) expect(isOperation("MCP", target)).toBe(false);
    expect(isOperation("POST", "tools/call search")).toBe(false);
  });
});

describe("a rule for several names", () => {
  const table = operationsIn({
    "MCP tools/call *": ["all:call"],
    "MCP tools/call docs_*": ["docs:<team>:call"],
    "MCP tools/call docs_admin_*": ["docs:admin"],
    "MCP tools/call docs_search": [],
    "MCP resources/read payroll://{month}": ["payroll:<month>:read"],
    "MCP resources/read payroll://{+path}": ["payroll:read"],
    "MCP resources/read payroll://summary": [],
    "MCP resources/read q://s{?q,page}": ["search:use"],
    "MCP resources/read *": ["all:read"],
    "MCP resources/read d://{a}/b": ["first:read"],
    "MCP resources/read d://a/{b}": ["second:read"],
    "MCP prompts/get greet": ["people:<city>:greet"],
  });
  const decide = (text: string, parameters: object = {}, isPartial = false) =>
    table.forOperation({ ...operation(text, parameters), isPartial });

  it.each([
    ["tools/call docs_search", ["MCP tools/call docs_search"]],
    ["tools/call docs_admin_x", ["MCP tools/call docs_admin_*"]],
    ["tools/call docs", ["MCP tools/call *"]],
    ["tools/call docs_", ["MCP tools/call docs_*"]],
    ["resources/read payroll://summary", ["MCP resources/read payroll://summary"]],
    ["resources/read payroll://may", ["MCP resources/read payroll://{month}"]],
    ["resources/read payroll://a/b", ["MCP resources/read payroll://{+path}"]],
    ["resources/subscribe payroll://may", ["MCP resources/read payroll://{month}"]],
    ["resources/unsubscribe payroll://summary", ["MCP resources/read payroll://summary"]],
    // Neither contains the other, and no order of registration is known.
    ["resources/read d://a/b", ["MCP resources/read d://{a}/b", "MCP resources/read d://a/{b}"]],
    // Servers other than the SDK's match a comma, and run the narrower template.
    ["resources/read q://s?page=2&q=x", ["MCP resources/read *", "MCP resources/read q://s{?q,page}"]],
    ["resources/read q://s", ["MCP resources/read *", "MCP resources/read q://s{?q,page}"]],
    ["resources/read q://s?q=x&page=2", ["MCP resources/read q://s{?q,page}"]],
    [
      "resources/read payroll://a,b",
      ["MCP resources/read payroll://{+path}", "MCP resources/read payroll://{month}"],
    ],
  ])("decides %s by %j, the narrowest", (text, keys) => expect(keysOf(decide(text))).toEqual(keys));

  it.each([
    ["resources/read payroll://may", "payroll:may:read", true],
    ["resources/read payroll://may", "payroll:june:read", false],
    ["resources/read payroll://m%61y", "payroll:may:read", false],
    ["resources/read payroll://m%61y", "payroll:read", true],
    ["resources/read payroll://a,b", "payroll:a:read", false],
    ["tools/call docs_x", "docs:web:call", true],
    ["tools/call docs_x", "docs:api:call", false],
  ])("fills the scopes of %s: %s is enough: %s", (text, scope, allowed) => {
    const { matches } = decide(text, { team: "web" });
    expect(decideByRules(matches, callerWith(scope), SCOPE_RULES).allowed).toBe(allowed);
  });

  it("decides a template that is completed by the rule that contains it", () => {
    const keys = (uri: string) => keysOf(decide(`resources/read ${uri}`, {}, true));
    expect(keys("payroll://{id}")).toEqual(["MCP resources/read payroll://{month}"]);
    expect(keys("payroll://{+rest}")).toEqual(["MCP resources/read payroll://{+path}"]);
    expect(keys("other://{id}")).toEqual(["MCP resources/read *"]);
    expect(decide("resources/read {", {}, true).kind).toBe("unmapped");
    expect(decide("resources/read PAYROLL://{month}", {}, true).kind).toBe("unmapped");
  });

  it("fills the scopes of a template only with the values of its own variables, by their place", () => {
    const completes = (uri: string, parameters: object) =>
      decideByRules(
        decide(`resources/read ${uri}`, parameters, true).matches,
        callerWith("payroll:may:read"),
        SCOPE_RULES,
      ).allowed;
    expect(completes("payroll://{month}", { month: "may" })).toBe(true);
    expect(completes("payroll://{id}", { id: "may" })).toBe(true);
    expect(completes("payroll://{id}", { id: "june", month: "may" })).toBe(false);
    expect(completes("payroll://june{x}", { month: "may", x: "may" })).toBe(false);
  });

  it("needs a scope for every id where a completion has no value yet", () => {
    const completes = (scope: string, parameters: object = {}) =>
      decideByRules(decide("prompts/get greet", parameters, true).matches, callerWith(scope), SCOPE_RULES)
        .allowed;
    expect(completes("people:greet")).toBe(true);
    expect(completes("people:rome:greet")).toBe(false);
    expect(completes("people:rome:greet", { city: "rome" })).toBe(true);
  });

  it("refuses an argument that some parsers read in place of the one of a scope", () => {
    for (const parameters of [{ city: "rome", City: "oslo" }, { CITY: "rome" }, { "c\u0131ty": "x" }])
      expect(decide("prompts/get greet", parameters).kind).toBe("ambiguous");
    expect(decide("prompts/get greet", { city: "rome", town: "oslo" }).kind).toBe("rules");
  });

  it("refuses two keys for the same template", () => {
    const keys = { "MCP resources/read d://{a}": [], "MCP resources/read d://{b}": ["d:read"] };
    expect(tableIssues(keys)).toMatchObject([{ code: "route_duplicate" }]);
  });

  it("replaces the default rule of the same template", () => {
    const rules = rulesOf(
      { "MCP resources/read d://{b}": ["c:d"] },
      { "MCP resources/read d://{a}": ["a:b"] },
    );
    expect(rules.map(({ rule }) => `${rule.key} ${rule.source}`)).toEqual([
      "MCP resources/read d://{b} override",
    ]);
  });

  it("accepts only variables of the template in its scopes", () => {
    expect(tableIssues({ "MCP resources/read d://{a}": ["d:<b>:read"] })).toMatchObject([
      { code: "scope_invalid", hint: expect.stringContaining("`<a>`") as string },
    ]);
  });
});
