/** The findings of an audit about routes that are listed as unguarded. */
import type { AuditOptions, ListedRoute } from "scopegate/audit";
import { describe, expect, it } from "vitest";
import { auditRoutes } from "../../../src/tools/audit/audit.ts";
import type { ScopeMappings } from "../../../src/core/policy/scope-mappings.ts";
import { compiledOf } from "../../support/policy.ts";

const unguarded = { message: "is registered before protect.", hint: "Move it." };
const routeOf = (method: string, pattern: string): ListedRoute => ({ method, pattern, unguarded });

const audit = (table: ScopeMappings, ...routes: readonly ListedRoute[]) =>
  auditRoutes(compiledOf(table), routes, "refused");
const kindsOf = (table: ScopeMappings, ...routes: readonly ListedRoute[]) =>
  audit(table, ...routes).findings.map(({ kind }) => kind);

describe("an audit of an unguarded route", () => {
  it("reports an error with the place and the fix, and keeps the place in its routes", () => {
    const report = audit({ "GET /a": [] }, routeOf("GET", "/a"));
    expect(report).toMatchObject({ ok: false, routes: [{ pattern: "/a", unguarded }] });
    expect(report.text).toContain(
      'error route_unguarded: `GET /a` is registered before protect.\n  Move it. If anyone may call it, write "GET /a": "public"',
    );
  });

  it.each<[string, ScopeMappings]>([
    ["a valid token", { "GET /a/:x": [] }],
    ["an optional token, which is not read there", { "GET /a/:x": "optional" }],
    ["scopes for a part of it", { "GET /a/:x": "public", "GET /a/me": ["me:read"] }],
  ])("reports an error where its rule requires %s", (_, table) => {
    expect(kindsOf(table, routeOf("GET", "/a/:x"))).toContain("route_unguarded");
  });

  it("reports nothing where the route is public", () => {
    expect(kindsOf({ "GET /a": "public" }, routeOf("GET", "/a"))).toEqual([]);
  });

  it("reports only that, if it has no rule either", () => {
    expect(kindsOf({}, routeOf("GET", "/a"))).toEqual(["route_unguarded"]);
    const open = auditRoutes(compiledOf({}), [routeOf("GET", "/a")], "open");
    expect(open.findings.map(({ kind }) => kind)).toEqual(["route_unguarded"]);
  });

  it("ignores OPTIONS, which CORS middleware handles, unless the table has a rule for it", () => {
    expect(kindsOf({ "* /a": [] }, routeOf("OPTIONS", "/a"))).toEqual([]);
    expect(kindsOf({ "OPTIONS /a": [] }, routeOf("OPTIONS", "/a"))).toEqual(["route_unguarded"]);
    expect(kindsOf({ "* /a": [] }, routeOf("*", "/a"))).toEqual(["route_unguarded"]);
  });

  it("reports a route that is listed twice, whichever of the two is unguarded", () => {
    const guarded = { method: "GET", pattern: "/a" };
    expect(kindsOf({ "GET /a": [] }, guarded, routeOf("GET", "/a/"))).toEqual(["route_unguarded"]);
    expect(kindsOf({ "GET /a": [] }, routeOf("GET", "/a"), guarded)).toEqual(["route_unguarded"]);
  });

  const hidden = { ...unguarded, isUncertain: true } as const;

  it("is one error if the application has no guard, and none if every route is public", () => {
    const routes = ["/a", "/b"].map((pattern) => ({ method: "GET", pattern, unguarded: hidden }));
    const report = audit({ "GET /a": [], "GET /b": [] }, ...routes);
    expect(report.findings).toMatchObject([{ kind: "guard_missing", severity: "error" }]);
    expect(report.text).toContain('write audit(server, routes, { guardedElsewhere: ["/{*path}"] })');
    expect(kindsOf({ "GET /a": "public", "GET /b": "public" }, ...routes)).toEqual([]);
    expect(kindsOf({ "GET /a": "public", "GET /b": "optional" }, ...routes)).toEqual(["guard_missing"]);
  });

  it.each<[string, ListedRoute["unguarded"], string]>([
    ["guard_missing", hidden, "the application has no guard"],
    ["route_unguarded", unguarded, "a route is outside of it"],
  ])("is no %s if its path is declared as guarded elsewhere, where %s", (kind, place) => {
    const routes = ["/a", "/a/:id"].map((pattern) => ({ method: "GET", pattern, unguarded: place as never }));
    const kindsWith = (...guardedElsewhere: readonly string[]) =>
      auditRoutes(compiledOf({ "GET /a": [], "GET /a/:id": [] }), routes, "refused", {
        guardedElsewhere,
      }).findings.map((finding) => finding.kind);
    for (const patterns of [["/{*path}"], ["/a{/*path}"], ["/a", "/a/:x"]])
      expect(kindsWith(...patterns)).toEqual([]);
    for (const patterns of [[], ["/a"], ["/a/*path"], ["/a/me"], ["a"]])
      expect(kindsWith(...patterns)).toContain(kind);
  });

  it.each([["/a"], [[1]], [true]])("refuses %j as guardedElsewhere", (guardedElsewhere) => {
    const options = { guardedElsewhere } as unknown as AuditOptions;
    expect(() => auditRoutes(compiledOf({}), [routeOf("GET", "/a")], "refused", options)).toThrow(
      'Write an array of patterns: { guardedElsewhere: ["/{*path}"] }.',
    );
  });

  it.each([[true], ["before"], [null], [{}], [{ message: "x" }], [{ hint: "x" }]])(
    "refuses %j as a place",
    (place) => {
      const route = { method: "GET", pattern: "/a", unguarded: place } as unknown as ListedRoute;
      expect(() => audit({ "GET /a": [] }, route)).toThrow("audit takes { message, hint }");
    },
  );
});
