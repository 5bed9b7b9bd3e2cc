/** Targets and route keys: mutations of valid ones, and noise. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRouteKey } from "../../../src/core/policy/route-key.ts";
import { hasTrailingSlash, readPath, segmentsOf } from "../../../src/core/request.ts";
import { mutated } from "./mutations.ts";
import { fuzzRuns } from "./runs.ts";

const runs = { numRuns: fuzzRuns() };

describe("the route key parser", () => {
  const keys = mutated(
    [
      "GET /agents/:agent_id",
      "* /files/*path",
      "POST /a{/:b}",
      "GET /:from-:to",
      "DELETE /x/y.json",
      "PATCH /",
    ],
    [...Array.from('/:*{}\\ ?#"(é\0'), "GET ", "get ", "//", "..", "%2f", "%", ":a", "*b"],
  );

  it("returns a route, or a mistake with its fix, and never throws", () => {
    fc.assert(
      fc.property(keys, (key) => {
        const parsed = parseRouteKey(key);
        if ("code" in parsed) {
          expect(parsed.code).toMatch(/^route_/);
          expect(parsed.hint).not.toBe("");
          return;
        }
        expect(`${parsed.method} ${parsed.pattern.source}`).toBe(key);
        for (const { segments } of parsed.pattern.alternatives)
          expect(segments.filter(({ kind }) => kind === "wildcard").length).toBeLessThan(2);
        expect(parseRouteKey(key)).toEqual(parsed);
      }),
      runs,
    );
  });
});

describe("the path reader", () => {
  const targets = mutated(
    [
      "/agents/web",
      "/a/b/c/",
      "/%61gents/w%C3%A9b",
      "http://host.example:80/a?b",
      "/a;v=1/b",
      "/",
      "/x?y=/../z",
    ],
    [...Array.from("/.\\?#%;@: é\n"), "//", "..", "%2e", "%2F", "%5c", "%00", "%0a", "%7F", "http://", "%ff"],
  );

  it("reads a path as it is spelled or refuses it, and never throws", () => {
    fc.assert(
      fc.property(targets, (target) => {
        const read = readPath(target);
        if (!read) return;
        const path = read.text;
        expect(`/${segmentsOf(read).join("/")}${hasTrailingSlash(read) ? "/" : ""}`).toBe(path);
        // Only in the absolute form, Node's URL parser encodes a few characters.
        if (target.startsWith("/")) expect(target.split("?")[0]).toBe(path);
        expect(readPath(path)).toEqual(read);
        expect(path).toMatch(/^[!-~]+$/);
        expect(target).not.toContain("#");
        for (const segment of segmentsOf(read))
          // eslint-disable-next-line no-control-regex -- They are what must not be there.
          expect(decodeURIComponent(segment)).not.toMatch(/^(?:\.{1,2})?$|[/\\\u0000-\u001f\u007f]/);
        // The URL standard reads the same path.
        const { pathname } = new URL(path, "http://host.example");
        expect(decodeURIComponent(pathname)).toBe(decodeURIComponent(path));
      }),
      { numRuns: fuzzRuns(5_000) },
    );
  });
});
