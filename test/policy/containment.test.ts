import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Alternative,
  compareNarrowness,
  type Filling,
  findFilling,
} from "../../src/policy/containment.ts";
import { RouteIndex } from "../../src/policy/route-index.ts";
import {
  getTable,
  hasOneWildcard,
  type Kind,
  kinds,
  paramsByPathToRegexp,
  patternOf,
  PROPERTY,
  rulesOf,
  samplePaths,
  sourceOf,
  textOf,
} from "../support/policy.ts";

function only(source: string): Alternative {
  const [alternative, ...others] = patternOf(source).alternatives;
  if (!alternative || others.length > 0) throw new Error(`${source} has several alternatives.`);
  return alternative;
}

const contains = (covering: string, covered: string) =>
  findFilling(only(covering), only(covered)) !== undefined;

const SIGNS = { param: ":", wildcard: "*" };

/** What fills the parameters, as a pattern would write it. */
const written = (filling: Filling | undefined) =>
  filling &&
  Object.fromEntries(
    [...filling].map(([name, segments]) => [
      name,
      segments
        .map((parts) =>
          parts.map((part) => (typeof part === "string" ? part : `${SIGNS[part.type]}${part.name}`)).join(""),
        )
        .join("/"),
    ]),
  );

describe("findFilling", () => {
  it.each([
    ["/", "/", {}],
    ["/agents", "/agents", {}],
    ["/agents/", "/agents/", {}],
    ["/agents/:id", "/agents/:agent", { id: ":agent" }],
    ["/agents/:id", "/agents/web", { id: "web" }],
    ["/agents/:id", "/agents/:from-:to", { id: ":from-:to" }],
    ["/:a/:b", "/:b/:a", { a: ":b", b: ":a" }],
    ["/*path", "/*rest", { path: "*rest" }],
    ["/*path", "/a", { path: "a" }],
    ["/*path", "/a/:b/*c", { path: "a/:b/*c" }],
    ["/files/*path", '/files/*"*"', { path: "**" }],
    ["/files/*path", "/files/:a/:b", { path: ":a/:b" }],
    ["/*path/raw", "/a/b/raw", { path: "a/b" }],
    ["/*path/raw", "/*rest/raw", { path: "*rest" }],
    ["/*path/:id", "/*rest/x", { path: "*rest", id: "x" }],
    ["/*path/:id", "/a/*rest/:b", { path: "a/*rest", id: ":b" }],
    ["/*a/x/:b", "/1/x/2/x/3", { a: "1/x/2", b: "3" }],
    ["/*a/:b", "/1/2/3", { a: "1/2", b: "3" }],
    ["/a/*path", "/a/b/", { path: "b/" }],
    ["/a/*path", "/a/:b/", { path: ":b/" }],
    ["/:id.json", "/42.json", { id: "42" }],
    ["/:id.json", "/:name.json", { id: ":name" }],
    ["/:from-:to", "/ham-muc", { from: "ham", to: "muc" }],
    ["/:from-:to", "/:a-:b", { from: ":a", to: ":b" }],
  ])("%s contains %s, and its parameters are filled by position: %j", (covering, covered, filling) => {
    expect(written(findFilling(only(covering), only(covered)))).toEqual(filling);
  });

  it.each([
    ["/", "/a"],
    ["/a", "/"],
    ["/agents", "/Agents"],
    ["/agents", "/agents/"],
    ["/agents", "/:id"],
    ["/agents", "/*path"],
    ["/agents/web", "/agents/:id"],
    ["/agents/:id", "/agents"],
    ["/agents/:id", "/agents/"],
    ["/agents/:id", "/agents/:id/x"],
    ["/agents/:id", "/agents/*path"],
    ["/agents/:id", "/teams/:id"],
    ["/:id", "/"],
    ["/*path", "/"],
    ["/files/*path", "/files"],
    ["/files/*path", "/*path"],
    ["/files/*path", "/:a/x"],
    ["/*path/raw", "/raw"],
    ["/*path/raw", "/*rest"],
    ["/*path/raw", "/a/:b"],
    ["/*path/:id", "/*rest"],
    ["/*a/x/:b", "/*a/y/:b"],
    ["/*a/:b", "/a"],
    ["/*a/:b", "/*c"],
    // The empty segment behind a trailing slash is text for nobody.
    ["/a/*path", "/a/"],
    ["/a/:id", "/a/"],
    ["/*path/:id", "/a/"],
    ["/:from-:to", "/a-b-c"],
    ["/:a/*b", "/*c"],
    ["/:id.json", "/:id"],
    ["/:id.json", "/*path"],
    ["/:id.json", "/42.JSON"],
    ["/:id.json", "/42.xml"],
    ["/:id.json", "/:id.xml"],
    ["/:id.json", "/.json"],
    ["/:from-:to", "/ham"],
    ["/:from-:to", "/:x"],
    ["/:a-:b", "/:a.:b"],
  ])("%s does not contain all of %s", (covering, covered) => {
    expect(contains(covering, covered)).toBe(false);
  });

  it.each([
    ["/agents", "/Agents", {}],
    ["/Agents/:id", "/aGENTS/Web", { id: "Web" }],
    ["/:id.json", "/:name.JSON", { id: ":name" }],
  ])("%s contains %s where the router ignores letter case: %j", (covering, covered, filling) => {
    expect(written(findFilling(only(covering), only(covered), true))).toEqual(filling);
    expect(contains(covering, covered)).toBe(false);
  });

  it.each([
    ["/agents", "/teams"],
    ["/agents", "/Agents/"],
    ["/:id.json", "/:id.xml"],
  ])("%s does not contain %s even where the router ignores letter case", (covering, covered) => {
    expect(findFilling(only(covering), only(covered), true)).toBeUndefined();
  });

  const part: fc.Arbitrary<Kind> = fc.constantFrom("a", "b", "mixed", "parameter", "wildcard");
  const segments = fc.array(part, { maxLength: 4 }).filter(hasOneWildcard);

  /** A pattern and one that is likely inside it: some parameters are filled, some wildcards written out. */
  const pairs: fc.Arbitrary<readonly [Kind[], Kind[]]> = fc
    .oneof(
      fc.tuple(segments, segments),
      segments.chain((covering) =>
        fc
          .tuple(fc.constant(covering), ...covering.map(inside))
          .map(([all, ...inner]) => [all, inner.flat()] as const),
      ),
    )
    .filter(([, covered]) => hasOneWildcard(covered));

  function inside(kind: Kind): fc.Arbitrary<Kind[]> {
    if (kind === "wildcard") return fc.array(part, { minLength: 1, maxLength: 2 });
    return kind === "parameter" ? part.map((one) => [one]) : fc.constant([kind]);
  }

  it("says yes only where every path of the one pattern is a path of the other", () => {
    let yes = 0;
    fc.assert(
      fc.property(pairs, ([covering, covered]) => {
        const filling = findFilling(only(sourceOf(covering)), only(sourceOf(covered)));
        if (!filling) return;
        yes += 1;
        for (const path of samplePaths(covered)) {
          expect(paramsByPathToRegexp(sourceOf(covering), path), path.join("/")).toBeDefined();
        }
      }),
      { ...PROPERTY, numRuns: 1000 },
    );
    expect(yes).toBeGreaterThan(200);
  });

  it("says yes only where the table would find the covering rule for every path", () => {
    fc.assert(
      fc.property(kinds(), kinds(), (covering, covered) => {
        fc.pre(contains(sourceOf(covering), sourceOf(covered)));
        const index = new RouteIndex(rulesOf(getTable([sourceOf(covering)])));
        for (const path of samplePaths(covered))
          expect(index.find("GET", textOf(path)), path.join("/")).toBeDefined();
      }),
      { ...PROPERTY, numRuns: 100 },
    );
  });

  it("fills the parameters so that the covering pattern becomes the covered one", () => {
    fc.assert(
      fc.property(pairs, ([covering, covered]) => {
        const filling = written(findFilling(only(sourceOf(covering)), only(sourceOf(covered))));
        if (!filling) return;
        const rebuilt = sourceOf(covering)
          .split("/")
          .map((segment) => segment.replace(/[:*](p\d+)/, (_, name: string) => filling[name] ?? ""));
        expect(rebuilt.join("/")).toBe(sourceOf(covered));
      }),
      { ...PROPERTY, numRuns: 1000 },
    );
  });

  it("says no, of patterns without wildcards and mixed segments, only where some path is not covered", () => {
    const simple = fc.array(fc.constantFrom<Kind>("a", "b", "parameter"), { maxLength: 3 });
    fc.assert(
      fc.property(simple, simple, (covering, covered) => {
        const isCovered = samplePaths(covered).every((path) =>
          paramsByPathToRegexp(sourceOf(covering), path),
        );
        expect(contains(sourceOf(covering), sourceOf(covered))).toBe(isCovered);
      }),
      { ...PROPERTY, numRuns: 1000 },
    );
  });

  it("holds for a pattern and itself, and for one in another in a third", () => {
    fc.assert(
      fc.property(segments, segments, segments, (a, b, c) => {
        const [one, two, three] = [a, b, c].map(sourceOf) as [string, string, string];
        expect(contains(one, one)).toBe(true);
        if (contains(one, two) && contains(two, three)) expect(contains(one, three)).toBe(true);
      }),
      PROPERTY,
    );
  });
});

describe("compareNarrowness", () => {
  it.each([
    ["/agents", "/:id"],
    ["/agents", "/:id.json"],
    ["/agents", "/*path"],
    ["/:id.json", "/:id"],
    ["/:id.json", "/*path"],
    ["/:id", "/*path"],
    ["/agents/:id", "/agents/*path"],
    ["/agents/:id", "/:section/web"],
    ["/:section/web", "/:section/:id"],
    ["/:a/:b/c", "/:a/:b/:c"],
    ["/:a/b/*c", "/:a/:b/c"],
    ["/:a/*b", "/*c"],
    ["/:name.tar.gz", "/:name.gz"],
    ["/:from-:to.json", "/:from-:to"],
    ["/:from-:to/c", "/:from-:to/:d"],
    ["/a/b/*c", "/a/:b/:c/d"],
    ["/*path/b", "/*path/:id"],
    // Behind a wildcard more segments are narrower, whatever they are.
    ["/*path/:id/b", "/*path/b"],
    ["/a/*path/:id/:version", "/a/*path/raw"],
    // A longer one is narrower: the shorter one ends with a wildcard, or does not cover the same route.
    ["/*path/b", "/*path"],
    ["/a/*path/b", "/a/*path"],
    ["/*path/:id", "/*path"],
    ["/a/b", "/a"],
  ])("orders %s before %s", (narrower, wider) => {
    expect(compareNarrowness(only(narrower), only(wider))).toBeLessThan(0);
    expect(compareNarrowness(only(wider), only(narrower))).toBeGreaterThan(0);
  });

  it("tells a pattern neither narrower nor wider than itself, whatever its parameters are called", () => {
    expect(compareNarrowness(only("/:a/:b-x/*c"), only("/:d/:e-x/*f"))).toBe(0);
    expect(compareNarrowness(only("/"), only("/"))).toBe(0);
  });

  it("takes the one side of two patterns, in whichever order they come", () => {
    fc.assert(
      fc.property(kinds(), kinds(), (a, b) => {
        const [one, other] = [only(sourceOf(a)), only(sourceOf(b))];
        expect(Math.sign(compareNarrowness(one, other))).toBe(-Math.sign(compareNarrowness(other, one)) || 0);
      }),
      { ...PROPERTY, numRuns: 1000 },
    );
  });

  it("orders a pattern that is inside another before it", () => {
    const ending = fc
      .tuple(fc.array(fc.constantFrom<Kind>("a", "b", "parameter"), { maxLength: 3 }), fc.boolean())
      .map(([all, isOpen]): Kind[] => (isOpen ? [...all, "wildcard"] : all));
    fc.assert(
      fc.property(ending, ending, (a, b) => {
        const [covering, covered] = [sourceOf(a), sourceOf(b)];
        fc.pre(covering.replaceAll(/p\d/g, "p") !== covered.replaceAll(/p\d/g, "p"));
        if (contains(covering, covered))
          expect(compareNarrowness(only(covered), only(covering))).toBeLessThan(0);
      }),
      { ...PROPERTY, numRuns: 1000 },
    );
  });
});
