import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  agentScopeMappings,
  ConfigurationError,
  mergeScopeMappings,
  type ScopeMappings,
} from "scopegate/complete";
import { findWeakerOverrides } from "../../../src/core/policy/overrides.ts";
import { pipelineOf } from "../../../src/core/port.ts";
import { createServer, mistakesOf } from "../../support/resource-servers.ts";

const warn = vi.fn();
beforeEach(() => {
  warn.mockReset();
  vi.spyOn(process, "emitWarning").mockImplementation(warn);
});
afterEach(() => vi.restoreAllMocks());

const start = (scopeMappings: ScopeMappings, defaultScopeMappings: ScopeMappings) => () =>
  createServer({ scopeMappings, defaultScopeMappings });

/** The keys of the custom rules that allow more callers than the rules that they replace. */
function weakerOverrides(...tables: Parameters<typeof start>): readonly string[] {
  const { rules } = pipelineOf(start(...tables)()).policy;
  return findWeakerOverrides(rules).map(({ custom }) => custom.rule.key);
}

type Values = readonly [ScopeMappings["GET /"], ScopeMappings["GET /"]];

describe("a custom rule for the route of a default rule", () => {
  it.each<Values>([
    [["a:read"], []],
    [["a:read"], "public"],
    [[], "optional"],
    [["a:read", "b:read"], ["a:read"]],
    [["a:read"], { anyOf: ["a:read", "b:read"] }],
    [["a:read"], ["a:<any>:read"]],
    [["a:read"], ["a:7:read"]],
    [["a:read"], ["b:read"]],
  ])("replaces %j by %j, with a warning", (base, custom) => {
    const tables = [{ "GET /x": custom }, { "GET /x": base }] as const;
    expect(weakerOverrides(...tables)).toEqual(["GET /x"]);
    expect(start(...tables)().routes).toMatchObject([{ requirement: custom, source: "override" }]);
  });

  it.each<Values>([
    [["a:read"], ["a:read"]],
    [[], ["a:read"]],
    ["public", []],
    ["public", "public"],
    [["a:7:read"], ["a:read"]],
    [["a:read"], ["a:read", "b:read"]],
    [["a:<any>:read"], ["a:<any>:read"]],
  ])("replaces %j by %j without a warning, because it implies that", (base, custom) => {
    const tables = [{ "GET /x": custom }, { "GET /x": base }] as const;
    expect(weakerOverrides(...tables)).toEqual([]);
    expect(start(...tables)().routes).toMatchObject([{ requirement: custom, source: "override" }]);
    expect(warn).not.toHaveBeenCalled();
  });

  it("causes one process warning at startup, which names all such rules and what they require", () => {
    start({ "GET /agents/:id": [], "GET /teams": "public", "GET /health": "public" }, agentScopeMappings)();
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      "`GET /agents/:id` requires a valid token. It replaces `GET /agents/:agent_id` of the base table, which requires agents:<agent_id>:read. " +
        "`GET /teams` requires nothing. It replaces `GET /teams` of the base table, which requires teams:<any>:read.",
      "ScopegateWarning",
    );
  });

  it("describes ten of many such rules in the warning, and counts the others", () => {
    const tableWith = (requirement: ScopeMappings["GET /"]): ScopeMappings =>
      Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`GET /a${index}`, requirement]));
    start(tableWith([]), tableWith(["a:read"]))();
    const message = String(warn.mock.calls[0]?.[0]);
    expect(message).toMatch(/which requires a:read\. And 990 more: run `scopegate lint`\.$/);
    expect(message.match(/of the base table/g)).toHaveLength(10);
  });

  it("compares the places of parameters, not their names", () => {
    const base: ScopeMappings = { "GET /a/:id": ["a:<id>:read"] };
    expect(weakerOverrides({ "GET /a/:key": ["a:<key>:read"] }, base)).toEqual([]);
    expect(weakerOverrides({ "GET /a/:key": [] }, base)).toEqual(["GET /a/:key"]);
    const operations: ScopeMappings = { "MCP tools/call x": ["a:<id>:use"] };
    expect(weakerOverrides({ "MCP tools/call x": ["a:<id>:use"] }, operations)).toEqual([]);
    expect(weakerOverrides({ "MCP tools/call x": [] }, operations)).toEqual(["MCP tools/call x"]);
  });

  it.each(["GET /a/:x/:y", "MCP tools/call x"])("reports a scope of another parameter: %s", (key) => {
    expect(weakerOverrides({ [key]: ["a:<x>:read"] }, { [key]: ["a:<y>:read"] })).toEqual([key]);
  });

  it.each(["/a/:N.json", "/a/:x/:N"])("compares any kind of parameter: %s", (path) => {
    const wide = { [`GET ${path.replace("N", "custom")}`]: ["a:<custom>:read"] };
    const narrow = { [`GET ${path.replace("N", "base")}`]: ["a:<base>:read", "audit:read"] };
    expect(weakerOverrides(wide, narrow)).toEqual(Object.keys(wide));
    expect(weakerOverrides(narrow, wide)).toEqual([]);
  });

  it("is reported once if it replaces a rule at several paths", () => {
    const base: ScopeMappings = { "GET /a{/*id}": ["a:read"] };
    expect(weakerOverrides({ "GET /a{/*id}": [] }, base)).toEqual(["GET /a{/*id}"]);
  });

  it("replaces a default rule for every method, too", () => {
    const base: ScopeMappings = { "* /admin": ["admin:use"] };
    expect(weakerOverrides({ "GET /admin": "public" }, base)).toEqual(["GET /admin"]);
    expect(weakerOverrides({ "GET /admin": ["admin:use", "x:y"] }, base)).toEqual([]);
    expect(weakerOverrides({ "* /admin": ["admin:use"], "GET /admin": [] }, base)).toEqual([]);
  });

  it.each<readonly [string, ScopeMappings, ScopeMappings]>([
    ["needs no token", { "GET /a": "public" }, { "GET /a": { scopes: [], actors: "none" } }],
    [
      "loses it at one of its optional paths",
      { "GET /a": [] },
      { "GET /a{/*id}": { scopes: [], clients: ["app"] } },
    ],
    [
      "reads the scope of `unless` from another place",
      { "GET /a/:y/:x": { scopes: [], where: { y: { claim: "org" } }, unless: ["r:<x>:w"] } },
      { "GET /a/:x/:y": { scopes: [], where: { x: { claim: "org" } }, unless: ["r:<x>:w"] } },
    ],
    [
      "loses a condition of an operation",
      { "MCP tools/call x": ["x:use"] },
      { "MCP tools/call x": { scopes: [], actors: "none" } },
    ],
  ])("does not start if it %s", (_, custom, base) => {
    const [key = ""] = Object.keys(custom);
    expect(mistakesOf(start(custom, base))).toEqual([["condition_conflict", "scopeMappings", key]]);
  });

  it("starts if the scope of `unless` has the name of another parameter at the same place", () => {
    const rule = (name: string) => ({
      [`GET /a/:${name}`]: {
        scopes: [],
        where: { [name]: { claim: "org" } },
        unless: { scopes: [`r:<${name}>:w`], methods: ["GET"] },
      },
    });
    expect(start(rule("y"), rule("x"))).not.toThrow();
  });

  it("starts beside a rule for every method, whose conditions still apply", () => {
    const base: ScopeMappings = { "* /a/:id": { scopes: [], where: { id: { claim: "org" } } } };
    expect(start({ "GET /a/:id": ["a:read"] }, base)).not.toThrow();
  });

  it("starts if it repeats the condition, whatever scopes it requires", () => {
    const base: ScopeMappings = { "GET /a/:id": { scopes: ["a:read"], where: { id: { claim: "org" } } } };
    const custom: ScopeMappings = { "GET /a/:key": { scopes: [], where: { key: { claim: "org" } } } };
    expect(weakerOverrides(custom, base)).toEqual(["GET /a/:key"]);
  });
});

describe("a custom rule for every method", () => {
  it("starts next to custom rules of these methods, and at another path", () => {
    const exact: ScopeMappings = { "GET /teams/:id": ["teams:<id>:read"], "* /teams/:id": ["ops:use"] };
    expect(start(exact, agentScopeMappings)).not.toThrow();
    expect(start({ "* /teams/:id/members": ["ops:use"] }, agentScopeMappings)).not.toThrow();
    expect(start({}, { "* /teams/:id": ["ops:use"], "GET /teams/:id": [] })).not.toThrow();
    expect(start({ "POST /teams/:id": ["ops:use"] }, { "GET /teams/:id": [] })).not.toThrow();
  });
});

describe("mergeScopeMappings", () => {
  it("replaces the rules of the same routes, whatever the names of parameters, and adds the others", () => {
    const merged = mergeScopeMappings(
      { "GET /a/:id": ["a:<id>:read"], "GET /b": [], "MCP tools/list": [] },
      { "GET /a/:key": ["a:<key>:read", "b:read"], "GET /c": "public" },
      { "GET /c": ["c:read"], "MCP tools/list": ["m:read"] },
    );
    expect(merged).toEqual({
      "GET /b": [],
      "GET /a/:key": ["a:<key>:read", "b:read"],
      "GET /c": ["c:read"],
      "MCP tools/list": ["m:read"],
    });
    expect(Object.isFrozen(merged)).toBe(true);
  });

  it("keeps the rest of a subtree", () => {
    const merged = mergeScopeMappings({ "GET /a{/*id}": ["a:read"] }, { "GET /a": ["a:list"] });
    expect(Object.keys(merged)).toEqual(["GET /a/*id", "GET /a"]);
  });

  it.each<[string, ScopeMappings, ScopeMappings]>([
    ["override_partial scopeMappings * /agents", agentScopeMappings, { "* /agents": [] }],
    ["route_key_invalid scopeMappings get /a", {}, { "get /a": [] } as ScopeMappings],
    [
      "condition_conflict scopeMappings GET /a",
      { "GET /a": { scopes: [], actors: "none" } },
      { "GET /a": [] },
    ],
    [
      "requirement_invalid defaultScopeMappings GET /x",
      { "GET /x": "Public" } as unknown as ScopeMappings,
      {},
    ],
    ["requirement_invalid scopeMappings GET /x", {}, { "GET /x": { scope: [] } } as unknown as ScopeMappings],
  ])("refuses what scopeMappings over defaultScopeMappings would refuse: %s", (mistake, base, layer) => {
    expect(mistakesOf(() => mergeScopeMappings(base, layer)).map((parts) => parts.join(" "))).toEqual([
      mistake,
    ]);
  });

  it.each([[[]], [new Map()], [null], [5]])("refuses a layer that is no table: %j", (layer) => {
    expect(() => mergeScopeMappings({}, layer as unknown as ScopeMappings)).toThrow(ConfigurationError);
  });

  it("replaces a rule whatever the later one requires", () => {
    expect(mergeScopeMappings(agentScopeMappings, { "GET /agents": [] })).toMatchObject({
      "GET /agents": [],
    });
    expect(warn).not.toHaveBeenCalled();
  });
});
