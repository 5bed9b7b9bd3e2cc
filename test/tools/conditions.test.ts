/** Every tool knows the conditions of the table. */
import { describe, expect, it } from "vitest";
import type { ScopeMappings } from "scopegate";
import { audit } from "scopegate/audit";
import { decisionLog } from "scopegate/decision-log";
import { checkDocument, fromDocument, toSecurity } from "scopegate/openapi";
import { page } from "scopegate/page";
import { accessMatrix, check, createTestIssuer, testConditions } from "scopegate/testing";
import { explain } from "scopegate/explain";
import { isCallable } from "../../src/adapters/mcp/caller.ts";
import { pipelineOf } from "../../src/core/port.ts";
import { readCaller } from "../../src/tools/page/browser/caller.ts";
import { stepsOf } from "../../src/tools/page/steps.ts";
import { resultOf } from "../support/conditions.ts";
import { createServer, issuer, NOW } from "../support/resource-servers.ts";
import { createResourceServer } from "../support/server.ts";
import { measure } from "../support/telemetry.ts";

const TENANT = { scopes: [], where: { org: { claim: "org_id" } } } as const;
const USER = { scopes: [], where: { id: { claim: "sub" } } } as const;
const TABLE: ScopeMappings = {
  "* /orgs/:org{/*path}": { ...TENANT, unless: ["orgs:any"], except: ["GET /orgs/:org/logo"] },
  "GET /orgs/:org/logo": "public",
  "GET /orgs/:org/users": ["users:read"],
  "POST /orgs/:org/refunds": {
    scopes: ["refunds:create"],
    also: ["orgs:<org>:pay"],
    acr: { anyOf: ["urn:mfa"] },
    maxAuthAgeSeconds: 300,
    actors: "none",
    clients: ["app"],
    unless: { scopes: ["orgs:<org>:cross"], methods: ["POST"] },
  },
};

describe("the audit", () => {
  const findingsOf = (scopeMappings: ScopeMappings, ...patterns: readonly string[]) =>
    audit(
      createServer({ scopeMappings }),
      patterns.map((pattern) => ({ method: "GET", pattern })),
    )
      .findings.filter(({ kind }) => /^(?:where|collection|scope|exception)_/.test(kind))
      .map((finding) => `${finding.severity} ${finding.kind} ${"rule" in finding ? finding.rule.key : ""}`);

  it.each<[string, ScopeMappings["GET /"], boolean]>([
    ["GET /v2/orgs/:org", ["reports:read"], true],
    ["GET /v2/orgs/:org/teams/:team", ["teams:<team>:read"], true],
    ["GET /v2/orgs/:org", { anyOf: ["orgs:<org>:read", "reports:read"] }, true],
    ["GET /v2/orgs/:org", ["orgs:read"], true],
    ["GET /v2/orgs/:org", ["orgs:<org>:read"], false],
    // What `unless` names.
    ["GET /v2/orgs/:org", ["orgs:any", "a:b"], false],
    // Behind another text, with another name, below a wider rule that binds it, and without a token.
    ["GET /reports/:org", ["reports:read"], false],
    ["GET /v2/orgs/:id", ["reports:read"], false],
    ["GET /orgs/:id/members", ["users:read"], false],
    ["GET /orgs/:id/members", ["orgs:<any>:read"], false],
    ["GET /public/:org", "public", false],
  ])("finds a parameter that other rules compare with a claim: %s, %j, %s", (key, rule, isFound) => {
    const expected = isFound ? [`warning where_missing ${key}`] : [];
    expect(findingsOf({ ...TABLE, [key]: rule }, "/orgs/:org/members")).toEqual(expected);
  });

  it("finds no such parameter for HEAD, which the rule for GET binds, or if no rule binds one", () => {
    expect(findingsOf({ "GET /orgs/:org": TENANT, "HEAD /orgs/:org": ["a:b"] }, "/orgs/:org")).toEqual([]);
    expect(findingsOf({ "GET /reports/:org": ["reports:read"] }, "/reports/:org")).toEqual([]);
  });

  it.each<[ScopeMappings, readonly string[]]>([
    [{}, ["warning where_fixed_text GET /users/me"]],
    [{ "* /users/:id": { ...USER, except: ["GET /users/me"] } }, []],
    [{ "* /users/:id": { ...USER, unless: ["users:read"] } }, []],
    [
      { "* /users/:id": { ...USER, unless: { scopes: ["users:read"], methods: ["POST"] } } },
      ["warning where_fixed_text GET /users/me"],
    ],
  ])("finds a text in the place of a parameter that is compared: %j", (table, expected) => {
    const users = { "* /users/:id": USER, "GET /users/me": ["users:read"], "GET /users/:id/posts": [] };
    expect(findingsOf({ ...users, ...table }, "/users/me").filter((kind) => !kind.includes("posts"))).toEqual(
      expected,
    );
  });

  const WIDE = ["warning exception_wide * /orgs/:org{/*path}"];

  it.each([
    ["GET /orgs/:org/logo", []],
    ["HEAD /orgs/:org/logo", []],
    ["POST /orgs/:org/logo", WIDE],
    ["* /orgs/:org/logo", WIDE],
    ["GET /orgs/:org/files/*path", WIDE],
    // A text stands where the tenant is compared.
    ["DELETE /orgs/mine/logo", []],
  ])("finds an exception with a wildcard, or for a method that changes something: %s", (key, expected) => {
    const table: ScopeMappings = { "* /orgs/:org{/*path}": { ...TENANT, except: [key] }, [key]: ["a:b"] };
    expect(findingsOf(table, "/orgs/:org/logo")).toEqual(expected);
  });

  it("lists collections whose items have a `where`, unless they are filtered", () => {
    expect(findingsOf({ ...TABLE, "GET /orgs": ["orgs:read"] }, "/orgs")).toEqual([
      "note collection_unfiltered GET /orgs",
    ]);
    expect(findingsOf({ ...TABLE, "GET /orgs": ["orgs:<any>:read"] }, "/orgs")).toEqual([]);
  });
});

describe("OpenAPI", () => {
  const operation = { responses: {} };
  const document = {
    openapi: "3.1.0",
    info: { title: "Orgs", version: "1" },
    paths: {
      "/orgs/{id}/logo": { get: operation },
      "/orgs/{id}/users": { get: operation },
      "/orgs/{id}/refunds": { post: operation },
    },
  };
  const server = createServer({ scopeMappings: TABLE });

  it("contains conditions as extensions, and none in `security`", () => {
    const written = toSecurity(document, server) as unknown as Record<string, unknown>;
    expect(written).toMatchObject({
      "x-scopegate-restrictions": { "* /orgs/:org{/*path}": TABLE["* /orgs/:org{/*path}"] },
      paths: {
        "/orgs/{id}/refunds": {
          post: {
            "x-scopegate-conditions": {
              also: ["orgs:<id>:pay"],
              unless: { scopes: ["orgs:<id>:cross"], methods: ["POST"] },
              acr: { anyOf: ["urn:mfa"] },
              maxAuthAgeSeconds: 300,
              actors: "none",
            },
          },
        },
      },
    });
    expect(JSON.stringify(written["paths"])).not.toContain("org_id");
    expect(toSecurity(toSecurity(document, server), server)).toEqual(written);
    expect(checkDocument(written, server).ok).toBe(true);
  });

  it("leaves the conditions of one path of a rule in the rule", () => {
    const paths = { "/orgs/acme/users": { get: operation } };
    const scopeMappings = { "GET /orgs/:org/users": TENANT };
    const own = createServer({ scopeMappings });
    const written = toSecurity({ ...document, paths }, own);
    expect(written).toMatchObject({ "x-scopegate-restrictions": scopeMappings });
    const again = createServer({ scopeMappings: fromDocument(written) });
    const query = { method: "GET", path: "/orgs/acme/users", scopes: [], claims: { org_id: "globex" } };
    expect(resultOf(explain(again, query).decision)).toBe("caller_not_allowed where");
  });

  it("becomes a table with the same decisions", () => {
    const again = createServer({ scopeMappings: fromDocument(toSecurity(document, server)) });
    const claims = { org_id: "acme", sub: "u1", client_id: "app", acr: "urn:mfa", auth_time: NOW };
    const scopes = ["users:read", "refunds:create", "orgs:acme:pay"];
    for (const path of ["/orgs/acme/users", "/orgs/globex/users", "/orgs/acme/refunds", "/orgs/globex/logo"])
      for (const changed of [
        {},
        { act: {} },
        { client_id: "other" },
        { acr: "x" },
        { auth_time: 1 },
        { org_id: 1 },
      ])
        for (const method of ["GET", "POST"]) {
          const query = { method, path, scopes, claims: { ...claims, ...changed } };
          expect(resultOf(explain(again, query).decision)).toBe(resultOf(explain(server, query).decision));
        }
  });

  it("reports an operation whose conditions differ, and extensions that no rule can have", () => {
    const written = toSecurity(document, server);
    const operations = written.paths["/orgs/{id}/refunds"] as Record<string, object>;
    const withConditions = (conditions: unknown) => ({
      ...written,
      paths: {
        ...written.paths,
        "/orgs/{id}/refunds": { post: { ...operations["post"], "x-scopegate-conditions": conditions } },
      },
    });
    const { findings } = checkDocument(withConditions({ actors: "none" }), server);
    expect(findings.filter(({ severity }) => severity === "error")).toMatchObject([
      { kind: "security_differs" },
    ]);
    for (const conditions of [5, {}, { roles: ["a"] }, ["actors"]])
      expect(() => fromDocument(withConditions(conditions))).toThrow("that no rule can express");
    expect(() => fromDocument({ ...written, "x-scopegate-restrictions": { "GET /x": 5 } })).toThrow(
      "isn't a table of rules",
    );
  });
});

describe("the test kit", () => {
  const tests = createTestIssuer({ audience: "agents-prod" });
  const server = createResourceServer({
    ...tests.resourceServerOptions,
    senderConstraint: { dpop: { origins: ["https://api.example"], nonce: true } },
    scopeMappings: {
      ...TABLE,
      "* /orgs/:org/refunds{/*path}": { scopes: [], senderConstrained: true },
    },
  });
  const met = {
    bound: "dpop" as const,
    scopes: ["refunds:create", "orgs:pay"],
    claims: { org_id: "acme" },
    clientId: "app",
    acr: "urn:mfa",
    authAge: 60,
  };

  it("makes tokens that meet every condition", async () => {
    expect(resultOf(await check(server, "POST /orgs/acme/refunds", tests.caller(met)))).toBe("allowed");
  });

  it.each(testConditions)("makes a token that does not meet %s", async (unmet) => {
    const decision = await check(server, "POST /orgs/acme/refunds", tests.caller({ ...met, unmet }));
    expect(decision).toMatchObject({ allowed: false, condition: unmet });
  });

  it("decides for callers without a token by their claims", async () => {
    const caller = { scopes: ["users:read"], claims: { org_id: "acme" } };
    expect(resultOf(await check(server, "GET /orgs/acme/users", caller))).toBe("allowed");
    expect(resultOf(await check(server, "GET /orgs/globex/users", caller))).toBe("caller_not_allowed where");
    const matrix = await accessMatrix(server, { callers: { member: caller }, params: { org: "globex" } });
    expect(matrix.cells.find(({ route }) => route === "GET /orgs/globex/users")?.decision.allowed).toBe(
      false,
    );
  });
});

describe("the policy page", () => {
  it("contains conditions, and a step that says which one refuses", () => {
    const server = createServer({ scopeMappings: TABLE });
    expect(page(server)).toContain("org_id");
    const { claims } = readCaller('{"scopes":["users:read"],"org_id":"acme"}', "scopes");
    const stepsAt = (path: string) =>
      stepsOf(explain(server, { method: "GET", path, scopes: ["users:read"], claims: claims ?? {} }))
        .filter(({ name }) => name === "Conditions")
        .map(({ state, lines }) => `${state} ${lines.join()}`);
    expect(stepsAt("/orgs/acme/users")).toEqual(["passed none"]);
    expect(stepsAt("/orgs/globex/users")).toEqual(["failed ✗ where of * /orgs/:org{/*path} isn't satisfied"]);
  });
});

describe("the decision log and metrics", () => {
  const bearer = async (claims: object) => `Bearer ${await issuer.token({ aud: "agents-prod", ...claims })}`;

  it("write the condition and the actors", async () => {
    const lines: string[] = [];
    const log = decisionLog((line) => void lines.push(line), { subject: "plain" });
    const server = createServer({ scopeMappings: TABLE, onDecision: log });
    const { seriesOf } = measure(server);
    const authorization = await bearer({
      sub: "u1",
      scopes: ["users:read"],
      org_id: "acme",
      act: { sub: "agent" },
    });
    await server.check({ method: "GET", target: "/orgs/globex/users", authorization });
    await log.flush();
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      reason: "caller_not_allowed",
      condition: "where",
      rule: "* /orgs/:org{/*path}",
      rules: ["GET /orgs/:org/users", "* /orgs/:org{/*path}"],
      subject: "u1",
      actors: ["agent"],
    });
    expect(lines[0]).not.toMatch(/acme|globex/);
    expect(await seriesOf("decisions")).toMatchObject([
      { condition: "where", delegated: true, reason: "caller_not_allowed" },
    ]);
  });
});

describe("the lists of MCP", () => {
  it("show an operation that the caller may call with its own tenant", () => {
    const server = createServer({ scopeMappings: { "MCP tools/call search": TENANT } });
    const callerWith = (claims: Readonly<Record<string, unknown>>) =>
      pipelineOf(server).policy.callerWith([], claims);
    const target = { method: "tools/call", name: "search" };
    expect(isCallable(server, callerWith({ org_id: "acme" }), target)).toBe(true);
    expect(isCallable(server, callerWith({ org_id: ["a", "b"] }), target)).toBe(true);
    expect(isCallable(server, callerWith({}), target)).toBe(false);
    expect(isCallable(server, callerWith({ org_id: "acme" }), target, { args: { org: "globex" } })).toBe(
      false,
    );
  });

  it("show an operation that the caller may call with an id of `also`", () => {
    const server = createServer({
      scopeMappings: {
        "MCP tools/call *": { ...TENANT, also: ["teams:<team>:use"] },
        "MCP tools/call search": ["docs:<doc>:read"],
      },
    });
    const isShown = (...scopes: readonly string[]) => {
      const caller = pipelineOf(server).policy.callerWith(scopes, { org_id: "acme" });
      return isCallable(server, caller, { method: "tools/call", name: "search" });
    };
    expect(isShown("docs:d:read", "teams:a:use")).toBe(true);
    expect(isShown("docs:read", "teams:use")).toBe(true);
    expect(isShown("docs:read")).toBe(false);
    expect(isShown("teams:a:use")).toBe(false);
  });
});
