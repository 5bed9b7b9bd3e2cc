/** Rules of a route below a mount whose pattern is not known. */
import { describe, expect, it } from "vitest";
import { keysOf, tableOf } from "../../support/policy.ts";

const table = tableOf({
  "GET /v:major/list": ["mixed:read"],
  "GET /v1/list": ["static:read"],
  "GET /v1/:id": ["id:read"],
  "GET /:area/list": ["area:read"],
  "* /:area/list": ["any:read"],
  "* /*path": ["rest:read"],
});

const rulesBelow = (mount: string, pattern: string, isAsWritten: boolean, method = "GET") =>
  keysOf(
    table.forRoute(table.forTarget(method, mount + pattern.replace(":id", "list"), true), method, [
      { mount, pattern, isAsWritten },
    ]),
  );

describe("a route below a mount", () => {
  it("requires every rule that covers the route below some pattern of an unknown mount", () => {
    expect(rulesBelow("/v1", "/list", false)).toEqual([
      "GET /v1/list",
      "GET /v:major/list",
      "GET /:area/list",
      "* /*path",
    ]);
  });

  it("requires no rule that covers only a part of the route", () => {
    expect(rulesBelow("/v1", "/:id", false)).toEqual(["GET /v1/list", "GET /v1/:id", "* /*path"]);
  });

  it("requires the rule of another method only where the method has none", () => {
    expect(rulesBelow("/x", "/list", false, "POST")).toEqual(["* /:area/list", "* /*path"]);
  });

  it("requires only the narrowest rule below a mount that the application writes like the request", () => {
    expect(rulesBelow("/v1", "/list", true)).toEqual(["GET /v1/list"]);
    expect(rulesBelow("/v1", "/:id", true)).toEqual(["GET /v1/list", "GET /v1/:id"]);
  });

  it("decides by the path alone if no rule covers the route", () => {
    const narrow = tableOf({ "GET /a/b": [] });
    const found = narrow.forTarget("GET", "/a/b", true);
    for (const isAsWritten of [true, false])
      expect(narrow.forRoute(found, "GET", [{ mount: "/a", pattern: "/:id", isAsWritten }])).toBe(found);
  });

  it("refuses a path that does not begin with the mount", () => {
    const found = table.forTarget("GET", "/v1/list", true);
    const route = { mount: "/v2", pattern: "/list", isAsWritten: false };
    expect(table.forRoute(found, "GET", [route])).toMatchObject({ kind: "ambiguous" });
  });
});
