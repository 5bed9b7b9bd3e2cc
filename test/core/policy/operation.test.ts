import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPrincipal, type Principal } from "../../../src/core/token/principal.ts";
import { resolveScopeRules } from "../../../src/core/scopes/scope-rules.ts";
import { isHousekeeping, isNamed, isOperation } from "../../../src/core/policy/operation.ts";
import { decideByRules } from "../../../src/core/policy/decision.ts";
import { keysOf, PROPERTY, rulesOf, tableIssues, tableOf } from "../../support/policy.ts";

const TABLE = tableOf({
  "* /mcp": [],
  "MCP tools/list": [],
  "MCP tools/call search": ["docs:read"],
  "MCP tools/call run_agent": ["agents:<agent_id>:run"],
  "MCP tools/call constructor": ["other:use"],
  "MCP tools/call open": "public",
  "MCP prompts/get *": ["prompts:use"],
  "MCP resources/read docs://a/B?c": ["docs:read"],
  "MCP resources/read *": ["all:read"],
});
const call = (text: string, parameters: object = {}) =>
  TABLE.forOperation({ text, parameters: parameters as Readonly<Record<string, unknown>> });

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
    ["MCP tools/call  search", "without `*`"],
    ["MCP tools/call search ", "without `*`"],
    ["MCP tools/call sea*", "without `*`"],
    ["MCP tools/call a\nb", "without `*`"],
    ["MCP tools/list search", "Write `MCP tools/list`."],
    ["MCP initialize", "the rule of the transport"],
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
    ["MCP tools/cal search", "`tools/cal` is not a method of MCP clients."],
    ["MCP tools/list search", "`tools/list` takes no name."],
    ["MCP tools/call", "`tools/call` needs a name."],
    ["MCP tools/call a\nb", '"a\\nb" is not a name.'],
  ])("rejects %j, and explains the mistake", (key, message) => {
    expect(tableIssues({ [key]: [] })).toMatchObject([{ message }]);
  });

  it.each([
    "resources/read payroll://{month}",
    "resources/read docs://a{?page}",
    "resources/subscribe docs://<id>",
    "tools/call {name}",
  ])("rejects a variable, which would match only its own text: %s", (text) => {
    const [issue, ...others] = tableIssues({ [`MCP ${text}`]: [] });
    expect(others).toEqual([]);
    expect(issue).toMatchObject({ code: "route_key_invalid", path: ["scopeMappings", `MCP ${text}`] });
    expect(issue?.message).toContain("contains a variable");
    expect(issue?.hint).toContain(`Write \`MCP ${text.split(" ", 1)[0]} *\``);
  });

  it("accepts a template as the name of a completion, because clients send it", () => {
    const table = tableOf({
      "MCP completion/complete payroll://{month}": ["payroll:read"],
      "MCP completion/complete *": [],
    });
    expect(
      keysOf(table.forOperation({ text: "completion/complete payroll://{month}", parameters: {} })),
    ).toEqual(["MCP completion/complete payroll://{month}"]);
  });

  it.each([
    "resources/read docs://reports/a:b",
    "resources/read docs://reports/%7Bmonth%7D",
    "tools/call a{b}c",
    "tools/call a:b",
  ])("accepts %s, and decides by it", (text) => {
    const table = tableOf({ [`MCP ${text}`]: ["own:scope"], [`MCP ${text.split(" ", 1)[0]} *`]: [] });
    expect(keysOf(table.forOperation({ text, parameters: {} }))).toEqual([`MCP ${text}`]);
  });

  it("takes effect if it is accepted: the operation of this name is decided by it", () => {
    const names = fc.oneof(
      fc.string({ unit: "grapheme" }),
      fc.stringMatching(/^[a-zA-Z]{1,5}:\/{0,2}[\w%{}<>:/?#.@*-]{0,12}$/),
      fc.webUrl({ withQueryParameters: true, withFragments: true }),
    );
    const methods = fc.constantFrom("tools/call", "prompts/get", "resources/read", "completion/complete");
    fc.assert(
      fc.property(methods, names, (method, name) => {
        const key = `MCP ${method} ${name}`;
        if (tableIssues({ [key]: ["own:scope"] }).length > 0) return;
        const table = tableOf({ [key]: ["own:scope"], [`MCP ${method} *`]: [] });
        expect(keysOf(table.forOperation({ text: `${method} ${name}`, parameters: {} }))).toEqual([key]);
      }),
      { ...PROPERTY, numRuns: 2_000 },
    );
  });

  it.each([
    ["resources/read DOCS://a", "resources/read docs://a"],
    ["resources/read https://docs.example", "resources/read https://docs.example/"],
    ["resources/subscribe docs://x/a/../b", "resources/subscribe docs://x/b"],
    ["resources/read docs://%61%2f", "resources/read docs://a%2F"],
  ])("rejects a URI in a spelling of its own: %s", (text, canonical) => {
    expect(tableIssues({ [`MCP ${text}`]: [] })).toMatchObject([
      { code: "route_key_invalid", hint: `Write \`MCP ${canonical}\`.` },
    ]);
    expect(tableIssues({ [`MCP ${canonical}`]: [] })).toEqual([]);
  });

  it("accepts arguments in scopes, if the method has arguments", () => {
    expect(tableIssues({ "MCP tools/call *": ["a:<any>:b"], "MCP prompts/get x": ["a:<any>:b"] })).toEqual(
      [],
    );
    for (const key of ["MCP tools/list", "MCP resources/read *", "MCP resources/read tools/call x"])
      expect(tableIssues({ [key]: ["a:<uri>:b"] })).toMatchObject([{ code: "template_unknown" }]);
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

describe("the rule of an operation", () => {
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
    ["resources/read docs://%61/%42?%63", "MCP resources/read docs://a/B?c"],
    ["resources/read not a URL", "MCP resources/read *"],
    ["resources/read docs://a/B%3Fc", "MCP resources/read *"],
  ])("decides %s: %s", (text, key) => expect(keysOf(call(text))).toEqual([key]));

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
      "`ping` needs no rule of its own. Remove it: the rule of the transport, such as `* /mcp`, decides it.",
    ],
  ])("does not decide the incomplete operation %j", (text, cause) => {
    expect(call(text)).toMatchObject({ kind: "ambiguous", matches: [], cause });
  });

  it("ignores the rules of paths, whatever method a client calls", () => {
    const path = TABLE.forTarget("POST", "/mcp", true);
    expect(TABLE.forCalls(path, [{ text: "/mcp", parameters: {} }]).kind).toBe("unmapped");
  });

  it("does not map a request that the rule of its path refuses", () => {
    const refused = TABLE.forTarget("POST", "//mcp", true);
    expect(TABLE.forCalls(refused, [{ text: "tools/list", parameters: {} }])).toBe(refused);
  });

  it("leaves an operation unmapped, although the rule of its route is added", () => {
    const table = tableOf({ "* /mcp": [], "* /:any": ["any:use"] });
    const unmapped = table.forCalls(table.forTarget("POST", "/mcp", true), [
      { text: "tools/call x", parameters: {} },
    ]);
    const found = table.forRoute(unmapped, "POST", ["/:any"]);
    expect(found.kind).toBe("unmapped");
    expect(found.matches.map(({ compiled }) => compiled.rule.key)).toEqual(["* /mcp", "* /:any"]);
  });

  it("requires this rule together with those of the path and of all other operations", () => {
    const path = TABLE.forTarget("POST", "/mcp", true);
    const calls = ["tools/call search", "prompts/get x"].map((text) => ({ text, parameters: {} }));
    const governing = TABLE.forCalls(path, calls);
    expect(keysOf(governing)).toEqual(["* /mcp", "MCP tools/call search", "MCP prompts/get *"]);
    const [search, unknown] = [calls[0], { text: "tools/call x", parameters: {} }];
    expect(TABLE.forCalls(path, search ? [search, unknown] : []).kind).toBe("unmapped");
    expect(TABLE.forCalls(path, [])).toBe(path);
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

  it.each([
    [{}],
    [{ agent_id: "" }],
    [{ agent_id: 1 }],
    [{ agent_id: ["web"] }],
    [{ agent_id: { toString: () => "web" } }],
    [{ agent_id: null }],
    [Object.create({ agent_id: "web" }) as object],
  ])("refuses an argument in a scope that is not a string: %j", (parameters) => {
    expect(call("tools/call run_agent", parameters)).toMatchObject({
      kind: "ambiguous",
      cause: "A scope needs the argument `agent_id` as a non-empty string.",
    });
  });

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
    ["resources/subscribe", true],
    ["resources/unsubscribe", true],
    ["completion/complete", true],
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
    expect([isNamed("tools/call"), isNamed("tools/list"), isNamed("toString")]).toEqual([
      true,
      false,
      undefined,
    ]);
  });

  it("finds no rule for HTTP requests", () => {
    expect(isOperation("MCP", "tools/call search")).toBe(true);
    for (const target of ["/mcp", "http://host/mcp", "*", ""]) expect(isOperation("MCP", target)).toBe(false);
    expect(isOperation("POST", "tools/call search")).toBe(false);
  });
});
