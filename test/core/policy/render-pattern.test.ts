import { describe, expect, it } from "vitest";
import { renderPattern } from "../../../src/core/policy/render-pattern.ts";
import { parseRoutePattern } from "../../../src/core/policy/route-comparison.ts";

describe("renderPattern", () => {
  it.each([
    "/",
    "/agents/:id",
    "/files/*path/",
    "/:from-:to.json",
    '/:"a b"',
    '/\\:"text"',
    '/\\:"text"-:id',
  ])("writes the pattern %s as it was parsed", (source) => {
    expect(parseRoutePattern(source)?.alternatives.map(renderPattern)).toEqual([source]);
  });
});
