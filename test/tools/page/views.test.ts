/** What the page shows of a decision: who may use a rule, the steps, and the caller that was entered. */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { Requirement } from "scopegate";
import { page, type PageRole } from "scopegate/page";
import { explainByPolicy } from "../../../src/capabilities/explain/explain.ts";
import { callerWithRole, readCaller, renderCaller } from "../../../src/tools/page/browser/caller.ts";
import { readPolicy } from "../../../src/tools/page/page-data.ts";
import { stepsOf } from "../../../src/tools/page/steps.ts";
import { whoMay } from "../../../src/tools/page/who-may.ts";
import { createServer } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";
import { partsOf } from "./page-text.ts";

const policyOf = (given: Partial<ResourceServerOptions>) =>
  readPolicy(partsOf(page(createServer({ adminScope: "platform:admin", ...given }))).data);

function answer(requirement: Requirement, scopes?: readonly string[]) {
  const policy = policyOf({ scopeMappings: { "GET /orgs/:org/repos/:repo": requirement } });
  const [compiled] = policy.rules.rules;
  if (!compiled) throw new Error("There is no rule.");
  return whoMay(policy, compiled, scopes && policy.callerWith(scopes));
}

describe("make", () => {
  afterEach(() => vi.unstubAllGlobals());

  it("shows the escapes of characters that change the direction of text", async () => {
    // The tests are compiled without the types of a browser.
    const module = "../../../src/tools/page/browser/dom.ts";
    const { make } = (await import(module)) as { make: (...texts: readonly string[]) => object };
    const shown: unknown[] = [];
    const element = { append: (...children: readonly unknown[]) => shown.push(...children) };
    vi.stubGlobal("document", { createElement: () => element });
    make("code", "", "GET /\u202esgninnur", " \u{1f469}\u200d\u{1f4bb}");
    expect(shown).toEqual(["GET /\\u202esgninnur", " \u{1f469}\u200d\u{1f4bb}"]);
  });
});

describe("whoMay", () => {
  it.each<[Requirement, readonly string[] | undefined, string, string]>([
    ["public", undefined, "yes", "no scope needed"],
    ["optional", undefined, "yes", "no scope needed"],
    [[], undefined, "no", "no token"],
    [[], [], "yes", "no scope needed"],
    [["repos:read"], ["orgs:read"], "no", "missing repos:read"],
    [{ anyOf: ["a:read", "b:read"] }, [], "no", "missing one of a:read b:read"],
    [["repos:<repo>:read"], ["repos:read"], "yes", "repos:read (resource-wide)"],
    [["repos:<repo>:read"], ["platform:admin"], "yes", "platform:admin (admin)"],
    [["repos:<repo>:read"], ["repos:a:read", "x", "orgs:b:read"], "some", "if repo = a"],
    [["repos:<repo>:read"], ["orgs:b:read"], "no", "missing repos:<repo>:read"],
    [
      ["repos:<repo>:read", "orgs:<org>:read"],
      ["repos:a:read"],
      "no",
      "missing repos:<repo>:read orgs:<org>:read",
    ],
    [
      ["repos:<repo>:read", "orgs:<org>:read"],
      ["repos:a:read", "orgs:b:read"],
      "some",
      "if repo = a, org = b",
    ],
    [
      ["repos:<repo>:read"],
      ["a", "b", "c", "d"].map((id) => `repos:${id}:read`),
      "some",
      "if repo = a or repo = b or repo = c or …",
    ],
  ])("responds to %j for a caller with %j: %s, %s", (requirement, scopes, state, why) => {
    expect(answer(requirement, scopes)).toEqual({ state, why });
  });
});

describe("whoMay, for a rule with conditions", () => {
  const policy = policyOf({
    scopeMappings: {
      "* /orgs/:org{/*path}": { scopes: [], where: { org: { claim: "org_id" } } },
      "GET /orgs/:org/invoices/:id": ["invoices:<id>:read"],
      "GET /me": [],
    },
  });
  const statesFor = (scopes: readonly string[] | undefined) =>
    policy.rules.rules.map((compiled) => whoMay(policy, compiled, scopes && policy.callerWith(scopes)));

  it("shows the conditions of every rule that matches, because they depend on the request", () => {
    const where = expect.stringContaining("org_id") as string;
    expect(statesFor(["invoices:read"])).toEqual([
      { state: "some", why: where },
      { state: "some", why: where },
      { state: "yes", why: "no scope needed" },
    ]);
    expect(statesFor(["invoices:7:read"])[1]).toEqual({ state: "some", why: where });
  });

  it("counts the scopes of `also` of every rule that matches", () => {
    const own = policyOf({
      scopeMappings: {
        "* /a{/*path}": { scopes: [], also: ["a:use"], except: ["GET /a/help"] },
        "GET /a/help": [],
        "GET /a/:id": ["a:<id>:read"],
      },
    });
    const statesOf = (...scopes: readonly string[]) =>
      own.rules.rules.map((compiled) => whoMay(own, compiled, own.callerWith(scopes)));
    expect(statesOf("a:7:read")).toEqual([
      { state: "no", why: "missing a:use" },
      { state: "yes", why: "no scope needed" },
      { state: "no", why: "missing a:<id>:read a:use" },
    ]);
    expect(statesOf("a:use", "a:7:read").map(({ why }) => why)).toEqual([
      "a:use (exact)",
      "no scope needed",
      "if id = 7",
    ]);
  });

  it("shows a missing scope or token before conditions", () => {
    expect(statesFor([])[1]).toEqual({ state: "no", why: "missing invoices:<id>:read" });
    expect(statesFor(undefined).map(({ state }) => state)).toEqual(["no", "no", "no"]);
  });
});

describe("stepsOf", () => {
  const policy = policyOf({
    scopeMappings: { "GET /health": "public", "GET /agents/:id": ["agents:<id>:read", "x"], "GET /me": [] },
  });
  const statesOf = (path: string, scopes?: readonly string[]) =>
    stepsOf(explainByPolicy(policy, { method: "GET", path, ...(scopes && { scopes }) }))
      .map(({ state }) => state[0])
      .join("");
  it.each<[string, readonly string[] | undefined, string]>([
    ["/health", undefined, "ppppp"],
    ["/agents/..", [], "fsssf"],
    ["/unknown", ["platform:admin"], "pfssf"],
    ["/agents/web", undefined, "ppfsf"],
    ["/agents/web", ["agents:web:read"], "pppff"],
    ["/agents/web", ["agents:web:read", "x"], "ppppp"],
    ["/me", [], "ppppp"],
  ])("marks where the decision for %s with %j ends: %s", (path, scopes, expected) => {
    expect(statesOf(path, scopes)).toBe(expected);
  });

  it("shows what each step found", () => {
    const explanation = explainByPolicy(policy, {
      method: "GET",
      path: "/agents/web",
      scopes: ["agents:web:read"],
    });
    expect(stepsOf(explanation).map(({ lines }) => lines)).toEqual([
      ["has one reading"],
      ["GET /agents/:id (your rule): agents:<id>:read x"],
      ["valid"],
      ["✓ agents:web:read by agents:web:read (exact)", "✗ x is missing"],
      ["403 Forbidden: scope_insufficient"],
    ]);
    const ambiguous = explainByPolicy(policy, { method: "GET", path: "/agents/.." });
    expect(stepsOf(ambiguous)[0]?.lines).toEqual([
      "The target is too long, or has an empty or dot segment, `;`, `%2F` or the like.",
    ]);
  });
});

describe("readCaller", () => {
  const token = (claims: object) => `eyJ9.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.sig`;
  it.each<[string, string, readonly string[] | undefined]>([
    ["", "scopes", undefined],
    ["  \n", "scopes", undefined],
    ["agents:read agents:run", "scopes", ["agents:read", "agents:run"]],
    ["agents:read,\n agents:run", "scopes", ["agents:read", "agents:run"]],
    ["a.b.c", "scopes", ["a.b.c"]],
    ['{ "scopes": ["agents:read"] }', "scopes", ["agents:read"]],
    ['{ "scope": "a b" }', "scope", ["a", "b"]],
    ['{ "realm_access": { "roles": ["a"] } }', "realm_access.roles", ["a"]],
    ['{ "https://a.example/roles": ["a"] }', "https://a.example/roles", ["a"]],
    ['{ "scopes": 1 }', "scopes", []],
    ['{ "scopes": ["a"]', "scopes", []],
    [token({ scopes: ["ü:read"] }), "scopes", ["ü:read"]],
    [`Bearer ${token({ scopes: ["a"] })}`, "scopes", ["a"]],
    [token({}), "scopes", []],
    [token({}), "__proto__", []],
  ])("reads %j, with the claim %s", (entered, claim, scopes) => {
    expect(readCaller(entered, claim).scopes).toEqual(scopes);
  });

  it.each<[PageRole, string]>([
    [["agents:read", "x:read"], "agents:read x:read"],
    [{ scopes: ["agents:read"] }, "agents:read"],
    [{ scopes: ["agents:read"], tenant: "acme" }, "agents:read"],
    [{ scopes: ["a:read"], claims: { org_id: "acme" } }, '{"org_id":"acme","roles":["a:read"]}'],
    ["anonymous", ""],
  ])("reads what a chosen role %j enters: %s", (role, text) => {
    const caller = callerWithRole(role);
    expect(renderCaller(caller, "roles")).toBe(text);
    const { scopes, claims } = readCaller(text, "roles");
    expect(scopes).toEqual(caller.scopes);
    if (caller.claims) expect(claims).toMatchObject(caller.claims);
  });
});
