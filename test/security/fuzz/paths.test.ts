/** Whatever a client asks for, and a table holds: mutations of what is right, and plain noise. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRouteKey } from "../../../src/policy/route-key.ts";
import { readTarget } from "../../../src/request.ts";
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
    [
      "/",
      ":",
      "*",
      "{",
      "}",
      "\\",
      " ",
      "GET ",
      "get ",
      "?",
      "#",
      "//",
      "..",
      "%2f",
      "%",
      ":a",
      "*b",
      '"',
      "(",
      "é",
      "\0",
    ],
  );

  it("gives a route, or one mistake with its fix, and never fails", () => {
    fc.assert(
      fc.property(keys, (key) => {
        const issues: unknown[] = [];
        const parsed = parseRouteKey(key, ["scopeMappings", key], (issue) => issues.push(issue));
        expect(issues).toHaveLength(parsed ? 0 : 1);
        if (!parsed) {
          expect(issues[0]).toMatchObject({
            path: ["scopeMappings", key],
            code: expect.stringMatching(/^route_/) as string,
          });
          expect((issues[0] as { readonly hint: string }).hint).not.toBe("");
          return;
        }
        expect(`${parsed.method} ${parsed.pattern.source}`).toBe(key);
        for (const segments of parsed.pattern.alternatives)
          expect(segments.filter(({ kind }) => kind === "wildcard").length).toBeLessThan(2);
        // What it says again, it says of itself.
        expect(parseRouteKey(key, [], () => undefined)?.pattern).toEqual(parsed.pattern);
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
    [
      "/",
      "//",
      ".",
      "..",
      "%2e",
      "%2F",
      "%5c",
      "\\",
      "?",
      "#",
      "%",
      "%00",
      ";",
      "@",
      ":",
      "http://",
      " ",
      "é",
      "%ff",
      "\n",
    ],
  );

  it("reads a path as it is spelled, or not at all, and never fails", () => {
    fc.assert(
      fc.property(targets, (target) => {
        const segments = readTarget(target);
        if (!segments) return;
        const path = `/${segments.join("/")}`;
        // What was read is in the target, but for the few letters that Node's own parser escapes in the absolute form.
        if (target.startsWith("/")) expect(target.split("?")[0]).toBe(path);
        expect(readTarget(path)).toEqual(segments);
        for (const [index, segment] of segments.entries()) {
          expect(segment !== "" || index === segments.length - 1).toBe(true);
          expect(decodeURIComponent(segment)).not.toMatch(/^\.{1,2}$|[/\\\0]/);
        }
        // The URL standard finds no other path in it.
        const { pathname } = new URL(path, "http://host.example");
        expect(decodeURIComponent(pathname)).toBe(decodeURIComponent(path));
      }),
      runs,
    );
  });
});
