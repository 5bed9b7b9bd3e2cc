import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ScopeMappings } from "../../src/policy/requirement.ts";
import { createRouteTable } from "../../src/policy/route-table.ts";
import { type PathReading } from "../../src/request.ts";
import {
  answerOf,
  changeable,
  EXACT,
  getTable,
  type Kind,
  keyOf,
  keysOf,
  kinds,
  kindsTable,
  LENIENT,
  matchOf,
  narrowestByHand,
  pathOf,
  pathSegments,
  PROPERTY,
  rulesOf,
  sourceOf,
  tableIssues,
  tableOf,
} from "../support/policy.ts";

const AGENTS = tableOf({
  "GET /agents/me": ["me:read"],
  "GET /agents/:id": ["agents:<id>:read"],
  "GET /files/:id": ["files:read"],
  "GET /files/*path": ["files:list"],
  "GET /caf%C3%A9": ["cafe:read"],
  "GET /:id.json": ["json:read"],
  "GET /:page": "public",
});

describe("a path without a declared reading", () => {
  it.each([
    ["/agents/me", "GET /agents/me"],
    ["/agents/web", "GET /agents/:id"],
    ["/agents/Web", "GET /agents/:id"],
    ["/agents/W%65b", "GET /agents/:id"],
    ["/agents/caf%C3%A9", "GET /agents/:id"],
    ["/agents/%256De", "GET /agents/:id"],
    ["/caf%C3%A9", "GET /caf%C3%A9"],
    ["/report.json", "GET /:id.json"],
    ["/Imprint", "GET /:page"],
    ["/files/a/b", "GET /files/*path"],
  ])("%s has the rule %s: every reading leads there", (target, key) => {
    expect(keyOf(answerOf(AGENTS, "GET", target))).toBe(key);
  });

  it.each([
    ["another letter case leads to another rule", ["/agents/ME", "/agents/Me", "/report.JSON", "/CAF%C3%A9"]],
    ["a trailing slash leads to another rule", ["/files/a/"]],
    [
      "an encoded letter leads to another rule",
      ["/agents/m%65", "/agents/%6de", "/agents/%6D%65", "/report%2ejson", "/%72eport%2Ejson", "/caf%c3%a9"],
    ],
    ["an encoded letter of another case leads to another rule", ["/agents/%4De", "/report.%4Ason"]],
  ])("is ambiguous where %s", (_, targets) => {
    for (const target of targets) expect(keyOf(answerOf(AGENTS, "GET", target)), target).toBe("ambiguous");
  });

  it.each(["/AGENTS/me", "/agents/me/", "/%61gents/web", "/FILES/a", "/agents/me;v=1"])(
    "is ambiguous for %s, which only a router that reads it in another way would find",
    (target) => {
      expect(keyOf(answerOf(AGENTS, "GET", target))).toBe("ambiguous");
    },
  );

  it.each(["/nowhere/at/all", "/", "/NOWHERE/%61t/all/"])(
    "is unmapped for %s: no reading leads to a rule",
    (target) => {
      expect(keyOf(answerOf(AGENTS, "GET", target))).toBe("unmapped");
    },
  );

  it.each([
    ["an upper-case", "GET /Admin"],
    ["a trailing", "GET /admin/"],
    ["an encoded", "GET /%61dmin"],
    ["an upper-case, encoded and trailing", "GET /%41dmin/"],
  ])("is ambiguous where the pattern has %s spelling and the path is plain", (_, key) => {
    const table = tableOf({ [key]: ["x:y"], "GET /:page": "public" });
    expect(keyOf(answerOf(table, "GET", "/admin"))).toBe("ambiguous");
    expect(keyOf(answerOf(table, "GET", "/other"))).toBe("GET /:page");
  });

  it.each(["/files/a/;v=1", "/files/a/%3b"])(
    "is ambiguous for %s where a router that drops parameters would find a rule with a trailing slash",
    (target) => {
      const table = tableOf({ "GET /files/:id/": ["x:y"], "GET /*path": "public" });
      expect(keyOf(answerOf(table, "GET", target))).toBe("ambiguous");
    },
  );

  it("is ambiguous where a mixed segment of a rule may be spelled in another way", () => {
    const table = tableOf({ "GET /caf%C3%A9-:id": ["x:y"], "GET /:page": "public" });
    expect(keyOf(answerOf(table, "GET", "/caf%C3%A9-1"))).toBe("GET /caf%C3%A9-:id");
    expect(keyOf(answerOf(table, "GET", "/caf%c3%a9-1"))).toBe("ambiguous");
  });

  it("is ambiguous where a mixed segment could be cut in several ways", () => {
    const table = tableOf({ "GET /flights/:from-:to": ["airports:<from>:read"] });
    expect(matchOf(table, "GET", "/flights/ham-muc").parameter("from")).toBe("ham");
    for (const target of ["/flights/a-b-c", "/flights/a--b", "/flights/a%2Db"])
      expect(keyOf(answerOf(table, "GET", target)), target).toBe("ambiguous");
  });

  it("has a rule where every reading leads to rules that ask for the same", () => {
    const lookalikes = ["GET /agents", "GET /agents/", "GET /Agents"];
    for (const order of [lookalikes, lookalikes.toReversed()]) {
      const table = tableOf(Object.fromEntries(order.map((key) => [key, ["x:y"]])));
      for (const reading of [undefined, LENIENT, EXACT]) {
        expect(keyOf(answerOf(table, "GET", "/agents", { reading }))).toBe("GET /agents");
        expect(keyOf(answerOf(table, "GET", "/agents/", { reading }))).toBe("GET /agents/");
        expect(keyOf(answerOf(table, "GET", "/Agents", { reading }))).toBe("GET /Agents");
      }
    }
  });

  it("has no rule where two keys differ in encoding and ask for something else, in whichever order", () => {
    const tables: readonly ScopeMappings[] = [
      { "GET /%61dmin": "public", "GET /admin": ["x:y"] },
      { "GET /admin": ["x:y"], "GET /%61dmin": "public" },
    ];
    for (const table of tables.map((one) => tableOf(one))) {
      for (const target of ["/admin", "/%61dmin", "/ADMIN"])
        expect(keyOf(answerOf(table, "GET", target)), target).toBe("ambiguous");
    }
  });

  it("is ambiguous where there are more readings than an honest path has", () => {
    const table = tableOf({ "GET /a/a/a/a/a/a/a": ["x:y"], "GET /*path": ["x:y"] });
    expect(keyOf(answerOf(table, "GET", "/A/A/A/A/A/A/A"))).toBe("ambiguous");
    expect(keyOf(answerOf(table, "GET", "/A/A/A/A/A/A/A", { reading: EXACT }))).toBe("GET /*path");
    expect(keyOf(answerOf(table, "GET", "/a/a/a/a/a/a/a"))).toBe("GET /a/a/a/a/a/a/a");
  });

  it("is ambiguous even where one of the rules is public: a guard that guesses is a bypass", () => {
    const table = tableOf({ "GET /admin": ["admin:use"], "GET /:page": "public" });
    expect(keyOf(answerOf(table, "GET", "/ADMIN"))).toBe("ambiguous");
    expect(keyOf(answerOf(table, "GET", "/adm%69n"))).toBe("ambiguous");
    expect(keyOf(answerOf(table, "GET", "/about"))).toBe("GET /:page");
  });
});

describe("a path with a declared reading", () => {
  it.each([
    ["/AGENTS/me", "GET /agents/me"],
    ["/agents/me/", "GET /agents/me"],
    ["/Agents/Web/", "GET /agents/:id"],
    ["/ABOUT", "GET /:page"],
  ])("that ignores case and slash: %s has the rule %s", (target, key) => {
    expect(keyOf(answerOf(AGENTS, "GET", target, { reading: LENIENT }))).toBe(key);
  });

  it.each(["/agents/ME", "/report.JSON", "/files/a/", "/agents/m%65", "/AGENTS/%6De"])(
    "that ignores case and slash still refuses %s, whose exact or decoded spelling has another rule",
    (target) => {
      expect(keyOf(answerOf(AGENTS, "GET", target, { reading: LENIENT }))).toBe("ambiguous");
    },
  );

  it.each([
    ["/agents/ME", "GET /agents/:id"],
    ["/agents/me", "GET /agents/me"],
    ["/report.JSON", "ambiguous"],
    ["/files/a/", "GET /files/*path"],
    ["/AGENTS/me", "unmapped"],
    ["/agents/me/", "unmapped"],
    ["/agents/m%65", "ambiguous"],
    ["/agents/%4De", "GET /agents/:id"],
    // The digits of an encoded octet have no letter case, however strict the router is.
    ["/caf%c3%a9", "ambiguous"],
  ])("that is exact: %s is answered by %s", (target, key) => {
    expect(keyOf(answerOf(AGENTS, "GET", target, { reading: EXACT }))).toBe(key);
  });

  it.each(["public", "optional"] as const)(
    "opens a %s rule by its exact spelling only: a stricter handler may stand behind",
    (requirement) => {
      const table = tableOf({ "GET /about": requirement, "GET /agents": [] });
      for (const target of ["/about/", "/ABOUT", "/About/"])
        expect(keyOf(answerOf(table, "GET", target, { reading: LENIENT })), target).toBe("ambiguous");
      expect(keyOf(answerOf(table, "GET", "/about", { reading: LENIENT }))).toBe("GET /about");
      expect(keyOf(answerOf(table, "GET", "/AGENTS/", { reading: LENIENT }))).toBe("GET /agents");
    },
  );

  it("ignores what it says and nothing else", () => {
    const caseOnly = { ignoreCase: true, ignoreTrailingSlash: false };
    const slashOnly = { ignoreCase: false, ignoreTrailingSlash: true };
    expect(keyOf(answerOf(AGENTS, "GET", "/AGENTS/me", { reading: caseOnly }))).toBe("GET /agents/me");
    expect(keyOf(answerOf(AGENTS, "GET", "/agents/me/", { reading: caseOnly }))).toBe("unmapped");
    expect(keyOf(answerOf(AGENTS, "GET", "/agents/me/", { reading: slashOnly }))).toBe("GET /agents/me");
    expect(keyOf(answerOf(AGENTS, "GET", "/AGENTS/me", { reading: slashOnly }))).toBe("unmapped");
  });

  it("gives parameters as the client spelled them", () => {
    const match = matchOf(AGENTS, "GET", "/AGENTS/W%65B/", { reading: LENIENT });
    expect(match.parameter("id")).toBe("WeB");
  });
});

describe("RouteFinder", () => {
  it("makes no exception for OPTIONS, and none for HEAD beyond the rule of GET", () => {
    const table = tableOf({ "GET /agents": "public", "POST /agents": "public" });
    expect(keyOf(answerOf(table, "OPTIONS", "/agents"))).toBe("unmapped");
    expect(keyOf(answerOf(table, "HEAD", "/agents"))).toBe("GET /agents");
    expect(keyOf(answerOf(table, "get", "/agents"))).toBe("unmapped");
    const open = tableOf({ "GET /agents": ["a:b"], "OPTIONS /*path": "public" });
    expect(keyOf(answerOf(open, "OPTIONS", "/agents"))).toBe("OPTIONS /*path");
    expect(keyOf(answerOf(open, "GET", "/agents"))).toBe("GET /agents");
  });

  it("never answers a rule where a router that reads the path in another way runs another one's handler", () => {
    const withSlashes = fc
      .tuple(kinds(["a", "A", "b", "mixed", "parameter", "wildcard"]), fc.boolean())
      .map(([pattern, hasSlash]): Kind[] => (hasSlash && pattern.length > 0 ? [...pattern, ""] : pattern));
    const spelled = fc
      .tuple(
        pathSegments,
        fc.array(fc.constantFrom("plain", "plain", "upper", "encoded"), { minLength: 6, maxLength: 6 }),
      )
      .map(([path, ways]) => path.map((segment, index) => spell(segment, ways[index])));
    const flag = fc.constantFrom(undefined, false, true);
    const readings = fc.record({ ignoreCase: flag, ignoreTrailingSlash: flag });
    const seen = new Map<string, number>();
    fc.assert(
      fc.property(kindsTable(withSlashes), spelled, readings, (table, path, reading) => {
        const customs = Object.fromEntries(
          table.map((pattern, index) => [`GET ${sourceOf(pattern)}`, [`rule${index}:ask`]]),
        );
        fc.pre(tableIssues(customs).length === 0);
        const key = keyOf(tableOf(customs).findByPath("GET", pathOf(path), reading));
        const kind = key.startsWith("GET") ? "rule" : key;
        seen.set(kind, (seen.get(kind) ?? 0) + 1);
        if (key === "ambiguous") return;
        for (const router of ROUTERS.filter((one) => isPossible(one, reading))) {
          const run = routed(router, table, path);
          if (run) expect(`GET ${sourceOf(run)}`, JSON.stringify(router)).toBe(key);
        }
      }),
      { ...PROPERTY, numRuns: 1000 },
    );
    for (const kind of ["rule", "ambiguous", "unmapped"]) expect(seen.get(kind), kind).toBeGreaterThan(50);
  });

  it("knows for each reading whether letter case counts in the pattern that was matched", () => {
    const table = tableOf({ "GET /agents/:id": "public" });
    const answer = (ignoreCase: boolean) =>
      keyOf(
        answerOf(table, "GET", "/agents/web", {
          matchedPattern: "/Agents/:id",
          reading: { ignoreCase },
        }),
      );
    for (const ignoreCase of [true, false, true, false])
      expect(answer(ignoreCase)).toBe(ignoreCase ? "GET /agents/:id" : "unmapped");
  });

  it("tells the rule of a route without a request", () => {
    const table = tableOf({ "GET /agents/:id": "public" });
    expect(table.findByRoute("GET", "/agents/:name", {})?.key).toBe("GET /agents/:id");
    expect(table.findByRoute("GET", "/agents", {})).toBeUndefined();
  });

  it.each([
    ["/x/y/admin", "GET /*path/admin"],
    ["/x/y/ADMIN", "ambiguous"],
    ["/x/y/ADMIN/", "ambiguous"],
    ["/x/y/%61dmin/", "ambiguous"],
    ["/x/ADMIN/y", "GET /*path"],
    ["/ADMIN/x/y/", "GET /*path"],
    [`${"/ADMIN".repeat(50)}/x/y`, "GET /*path"],
    [`/Y${"/ADMIN".repeat(50)}/x/y`, "ambiguous"],
    [`/X${"/ADMIN".repeat(50)}/ADMIN`, "ambiguous"],
  ])("reads the texts of %s where a rule of the table has them: %s", (path, expected) => {
    const table = tableOf({ "GET /*path": [], "GET /*path/admin": ["admin"], "GET /y/*path": ["y"] });
    expect(keyOf(answerOf(table, "GET", path))).toBe(expected);
  });

  it("is ambiguous where the path of a matched route has too many readings", () => {
    const segments = Array.from({ length: 7 }, () => "a");
    const pattern = `/${segments.join("/")}`;
    const table = tableOf({ [`GET ${pattern}`]: "public" });
    expect(answerOf(table, "GET", pattern.toUpperCase(), { matchedPattern: pattern })).toBe("ambiguous");
  });

  it("takes the pattern that the framework matched, with its parameters", () => {
    const more = { matchedPattern: "/agents/:agent", params: { agent: "web" } };
    const match = matchOf(AGENTS, "GET", "/agents/web", more);
    expect(match.compiled.rule.key).toBe("GET /agents/:id");
    expect(match.parameter("id")).toBe("web");
    expect(keyOf(answerOf(AGENTS, "GET", "/AGENTS/web/", more))).toBe("GET /agents/:id");
    expect(keyOf(answerOf(AGENTS, "POST", "/agents/web", more))).toBe("unmapped");
  });

  it.each(["/agents/me", "/agents/m%65", "/agents/ME", "/AGENTS/me", "/agents/me/"])(
    "asks the rule for a part of the matched route too, where a reading of %s leads there",
    (target) => {
      const more = { matchedPattern: "/agents/:agent", params: { agent: "me" } };
      const answer = answerOf(AGENTS, "GET", target, more);
      expect(keysOf(answer)).toEqual(["GET /agents/:id", "GET /agents/me"]);
      expect(typeof answer === "object" && answer[0].parameter("id")).toBe("me");
    },
  );

  it.each(["/agents/ME", "/AGENTS/me", "/agents/me/"])(
    "does not ask the rule for a part of the route that a strict router tells from %s",
    (target) => {
      const more = { matchedPattern: "/agents/:agent", params: { agent: "ME" }, reading: EXACT };
      expect(keysOf(answerOf(AGENTS, "GET", target, more))).toEqual(["GET /agents/:id"]);
    },
  );

  it("fills the parameters of a rule for a part of the route from the path", () => {
    const table = tableOf({ "GET /*path": "public", "GET /files/:id/raw": ["files:<id>:read"] });
    const answer = answerOf(table, "GET", "/files/x%20y/raw", {
      matchedPattern: '/*"*"',
      params: { "*": "files/x y/raw" },
    });
    expect(keysOf(answer)).toEqual(["GET /*path", "GET /files/:id/raw"]);
    expect(typeof answer === "object" && answer[1]?.parameter("id")).toBe("x y");
  });

  it.each([
    // A rule that covers more than the route, or another part of the table.
    [["GET /agents/:id", "GET /*path"], "/agents/:x", "/agents/web", ["GET /agents/:id"]],
    [["GET /agents/me", "GET /agents/:id"], "/agents/me", "/agents/me", ["GET /agents/me"]],
    [["GET /:section/me", "GET /agents/:id"], "/agents/:x", "/agents/me", ["GET /agents/:id"]],
    [["GET /agents/:id", "POST /agents/me"], "/agents/:x", "/agents/me", ["GET /agents/:id"]],
    // One for all of the optional groups of the route, or for one of them.
    [["GET /a{/:b}", "GET /a/x"], "/a{/:id}", "/a/x", ["GET /a{/:b}", "GET /a/x"]],
    [["GET /a{/:b}", "GET /a/x"], "/a{/:id}", "/a/y", ["GET /a{/:b}"]],
    [["GET /*path", "GET /x{/y}"], "/x{/:id}", "/x/y", ["GET /*path", "GET /x{/y}"]],
    [["GET /*path", "GET /x{/y}{/z}"], "/x{/:id}", "/x/y", ["GET /*path"]],
  ])("of %j asks, for the route %s and the path %s: %j", (keys, matchedPattern, target, expected) => {
    const table = tableOf(Object.fromEntries(keys.map((key, index) => [key, [`rule${index}:ask`]])));
    expect(keysOf(answerOf(table, "GET", target, { matchedPattern }))).toEqual(expected);
  });

  it("needs a rule for all of the route: one for a part of it does not open the part", () => {
    const table = tableOf({ "GET /agents/me": "public" });
    expect(keyOf(answerOf(table, "GET", "/agents/me", { matchedPattern: "/agents/:id" }))).toBe("unmapped");
  });

  it("has the same rule for a path whether the framework told the route or not", () => {
    const tables = [
      { "GET /*w": "public", "GET /*w/b": ["x:y"] },
      { "GET /*w/c": "public", "GET /*w/:p/c": ["x:y"] },
    ] as const;
    for (const [table, path] of [
      [tables[0], "/x/b"],
      [tables[1], "/x/y/c"],
    ] as const) {
      for (const order of [Object.entries(table), Object.entries(table).toReversed()]) {
        const finder = tableOf(Object.fromEntries(order));
        const byPath = keyOf(answerOf(finder, "GET", path));
        expect(keyOf(answerOf(finder, "GET", path, { matchedPattern: path })), path).toBe(byPath);
      }
    }
  });

  it("has no rule for a matched pattern that it cannot read", () => {
    const open = tableOf({ "* /*path": "public" });
    for (const matchedPattern of ["", "agents", "/a/*", "/a(b)", "/a//b", "*"]) {
      expect(keyOf(answerOf(open, "GET", "/agents", { matchedPattern })), matchedPattern).toBe("unmapped");
    }
  });

  it("answers each matched pattern by itself, however many there are", () => {
    const table = tableOf({ "GET /agents/:id": "public", "GET /teams/*path": "public" });
    const ask = (method: string, matchedPattern: string) =>
      keyOf(answerOf(table, method, "/agents/x", { matchedPattern }));
    for (let round = 0; round < 10_050; round += 1) ask("GET", `/teams/${round}`);
    expect(ask("GET", "/agents/:x")).toBe("GET /agents/:id");
    expect(ask("POST", "/agents/:x")).toBe("unmapped");
    expect(ask("GET", "/agents/:x")).toBe("GET /agents/:id");
    expect(ask("GET", "/teams/1")).toBe("GET /teams/*path");
    expect(ask("GET", "/others/1")).toBe("unmapped");
  });
});

function spell(segment: string, way: string | undefined): string {
  if (way === "upper") return segment.toUpperCase();
  return way === "encoded"
    ? segment.replace(/^[abc]/, (char) => `%${char.charCodeAt(0).toString(16)}`)
    : segment;
}

/** How a router reads a path before it compares. */
interface Router {
  readonly ignoreCase: boolean;
  readonly ignoreTrailingSlash: boolean;
  readonly decode: boolean;
}

const BOTH = [false, true];
const ROUTERS: readonly Router[] = BOTH.flatMap((ignoreCase) =>
  BOTH.flatMap((ignoreTrailingSlash) => BOTH.map((decode) => ({ ignoreCase, ignoreTrailingSlash, decode }))),
);

/** Whether a router may stand behind a guard with this reading: one that is lenient may have stricter ones beside it. */
const isPossible = (router: Router, reading: PathReading): boolean =>
  (reading.ignoreCase !== false || !router.ignoreCase) &&
  (reading.ignoreTrailingSlash !== false || !router.ignoreTrailingSlash);

/** The pattern whose handler a router runs: it and the path in the router's own spelling, compared exactly. */
function routed(router: Router, table: readonly Kind[][], path: readonly string[]): Kind[] | undefined {
  const own = path
    .map((segment) => (router.decode ? decodeURIComponent(segment) : segment))
    .map((segment) => (router.ignoreCase ? segment.toLowerCase() : segment));
  const patterns = table.map((pattern) =>
    pattern.map((kind) => (router.ignoreCase && kind === "A" ? "a" : kind)),
  );
  const trim = <T>(all: T[]) => (router.ignoreTrailingSlash && all.at(-1) === "" ? all.slice(0, -1) : all);
  const trimmed = patterns.map(trim);
  const run = narrowestByHand(trimmed, trim(own));
  return table[trimmed.findIndex((pattern) => pattern === run)];
}

describe("createRouteTable", () => {
  const defaults = { "GET /agents": ["agents:read"], "GET /teams": { anyOf: ["teams:read", "teams:list"] } };
  const customs = { "GET /x": { filtered: "x:read" }, "GET /teams": "public", "* /y": [] } as const;

  it("shows the effective table, the defaults that are left first, each rule with its source", () => {
    const table = createRouteTable(rulesOf(customs, defaults));
    expect([...table]).toEqual([
      {
        key: "GET /agents",
        method: "GET",
        pattern: "/agents",
        requirement: ["agents:read"],
        source: "default",
      },
      { key: "GET /x", method: "GET", pattern: "/x", requirement: { filtered: "x:read" }, source: "custom" },
      { key: "GET /teams", method: "GET", pattern: "/teams", requirement: "public", source: "override" },
      { key: "* /y", method: "*", pattern: "/y", requirement: [], source: "custom" },
    ]);
  });

  it("is frozen, with every rule and requirement in it", () => {
    const table = createRouteTable(rulesOf(customs, defaults));
    expect(changeable(table)).toEqual([]);
    const [rule] = table;
    expect(() => (rule?.requirement as string[]).push("x")).toThrow(TypeError);
    expect(() => Object.assign(rule ?? {}, { requirement: "public" })).toThrow(TypeError);
    expect(() => Object.assign(table, { 0: rule })).toThrow(TypeError);
  });

  it("is empty for an empty table, which answers nothing", () => {
    expect([...createRouteTable(rulesOf({}))]).toEqual([]);
    expect(keyOf(answerOf(tableOf({}), "GET", "/"))).toBe("unmapped");
    expect(keyOf(answerOf(tableOf({}), "GET", "/", { matchedPattern: "/" }))).toBe("unmapped");
  });

  it("holds as many rules as the table has routes", () => {
    fc.assert(
      fc.property(kindsTable(), (table: readonly Kind[][]) => {
        const keys = [...createRouteTable(rulesOf(getTable(table.map(sourceOf))))].map(({ key }) => key);
        expect(keys).toEqual(table.map((pattern) => `GET ${sourceOf(pattern)}`));
      }),
      PROPERTY,
    );
  });
});
