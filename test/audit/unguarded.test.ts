/** What an audit says of routes that are listed as unguarded. */
import { describe, expect, it } from "vitest";
import { type ListedRoute } from "scopegate";
import { auditRoutes } from "../../src/audit/audit.ts";
import { type ScopeMappings } from "../../src/policy/requirement.ts";
import { rulesOf } from "../support/policy.ts";

const unguarded = { message: "is registered before protect.", hint: "Move it." };
const routeOf = (method: string, pattern: string): ListedRoute => ({ method, pattern, unguarded });

const audit = (table: ScopeMappings, ...routes: readonly ListedRoute[]) =>
  auditRoutes(rulesOf(table), routes, "refused");
const kindsOf = (table: ScopeMappings, ...routes: readonly ListedRoute[]) =>
  audit(table, ...routes).findings.map(({ kind }) => kind);

describe("an audit of a route that is unguarded", () => {
  it("is an error with the place and the fix, and keeps the place in the list", () => {
    const report = audit({ "GET /a": [] }, routeOf("GET", "/a"));
    expect(report).toMatchObject({ ok: false, routes: [{ pattern: "/a", unguarded }] });
    expect(report.text).toContain(
      'error route_unguarded: `GET /a` is registered before protect.\n  Move it. If it is for everybody, write "GET /a": "public"',
    );
  });

  it.each<[string, ScopeMappings]>([
    ["a valid token", { "GET /a/:x": [] }],
    ["a token or none, which nobody reads there", { "GET /a/:x": "optional" }],
    ["something for a part of it", { "GET /a/:x": "public", "GET /a/me": ["me:read"] }],
  ])("is an error where its rule asks for %s", (_, table) => {
    expect(kindsOf(table, routeOf("GET", "/a/:x"))).toContain("route_unguarded");
  });

  it("is none where the route is public", () => {
    expect(kindsOf({ "GET /a": "public" }, routeOf("GET", "/a"))).toEqual([]);
  });

  it("does not say that a route without a rule is refused, which it is not", () => {
    const { findings } = audit({}, routeOf("GET", "/a"));
    expect(findings.map(({ kind }) => kind)).toEqual(["route_unguarded", "route_unmapped"]);
    expect(findings[1]?.message).toContain("behind protect every request for it would be refused");
    const open = auditRoutes(rulesOf({}), [routeOf("GET", "/a")], "open").findings[1];
    expect(open?.message).toContain("behind protect any valid token would be enough for it");
  });

  it("leaves OPTIONS to CORS middleware, unless the table has a rule for it", () => {
    expect(kindsOf({ "* /a": [] }, routeOf("OPTIONS", "/a"))).toEqual([]);
    expect(kindsOf({ "OPTIONS /a": [] }, routeOf("OPTIONS", "/a"))).toEqual(["route_unguarded"]);
    expect(kindsOf({ "* /a": [] }, routeOf("*", "/a"))).toEqual(["route_unguarded"]);
  });

  it("is told of a route that is listed twice, whichever of the two it is", () => {
    const guarded = { method: "GET", pattern: "/a" };
    expect(kindsOf({ "GET /a": [] }, guarded, routeOf("GET", "/a/"))).toEqual(["route_unguarded"]);
    expect(kindsOf({ "GET /a": [] }, routeOf("GET", "/a"), guarded)).toEqual(["route_unguarded"]);
  });

  it.each([[true], ["before"], [null], [{}], [{ message: "x" }], [{ hint: "x" }]])(
    "takes no %j for a place",
    (place) => {
      const route = { method: "GET", pattern: "/a", unguarded: place } as unknown as ListedRoute;
      expect(() => audit({ "GET /a": [] }, route)).toThrow("audit takes { message, hint }");
    },
  );
});
