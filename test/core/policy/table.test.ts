import { describe, expect, it } from "vitest";
import type { ScopeMappings } from "../../../src/core/policy/scope-mappings.ts";
import { textOf } from "../../support/patterns.ts";
import { governingOf, keyOf, keysOf, matchesOf, matchOf, tableOf } from "../../support/policy.ts";

const causeOf = (table: ReturnType<typeof tableOf>, method: string, target: string, ...routes: string[]) => {
  const governing = governingOf(table, method, target, ...routes);
  return governing.kind === "ambiguous" ? governing.cause : governing.kind;
};

const UNREADABLE = "The target is too long, or has an empty or dot segment, `;`, `%2F` or the like.";
const DECODED_ONLY = "The path matches a rule only after it is decoded.";
const TOO_MANY = "More than 8 rules may apply to the path.";
const OPEN = "The rule needs no token, and the path isn't spelled as in the table.";
const MISFIT = "The path doesn't match the route that the router chose.";
const UNCOVERED = "No rule covers the route, and the path isn't spelled as in the table.";
const UNCHECKED = "The path isn't spelled as in the table.";

const AGENTS = tableOf({
  "GET /agents/me": ["me:read"],
  "GET /agents/:id": ["agents:<id>:read"],
  "GET /open": "public",
  "GET /maybe": "optional",
  "GET /files/:id": ["files:read"],
  "GET /files/*path": ["files:list"],
});

describe("forTarget", () => {
  it.each(["//agents", "/agents/../me", "/a%2fb", "/agents;v=1", "/a#b", "*"])(
    "refuses a target that routers read in different ways: %s",
    (target) => {
      expect(causeOf(AGENTS, "GET", target)).toBe(UNREADABLE);
    },
  );

  it("requires only the rule for an exact path, whether or not a route will be checked", () => {
    for (const isRouteChecked of [true, false]) {
      expect(keysOf(AGENTS.forTarget("GET", "/agents/Me", isRouteChecked))).not.toBe("unmapped");
      expect(keysOf(AGENTS.forTarget("GET", "/agents/web", isRouteChecked))).toEqual(["GET /agents/:id"]);
      expect(keysOf(AGENTS.forTarget("GET", "/open", isRouteChecked))).toEqual(["GET /open"]);
    }
  });

  it.each(["/agents/ME", "/AGENTS/x", "/agents/m%65", "/agents/me/", "/FILES/a"])(
    "refuses the inexact path %s if no route will be checked",
    (target) => {
      const found = AGENTS.forTarget("GET", target, false);
      expect(found).toMatchObject({ kind: "ambiguous", cause: UNCHECKED });
      expect(AGENTS.forTarget("GET", target, true)).toMatchObject({ kind: "rules", isExact: false });
    },
  );

  it.each([
    ["/agents/ME", "GET /agents/me and GET /agents/:id"],
    ["/agents/m%65", "GET /agents/me and GET /agents/:id"],
    ["/AGENTS/web", "GET /agents/:id"],
    ["/agents/web/", "GET /agents/:id"],
    ["/files/a/", "GET /files/:id and GET /files/*path"],
  ])("requires every rule that a reading of %s reaches: %s", (target, keys) => {
    expect(keyOf(AGENTS, "GET", target)).toBe(keys);
  });

  it("counts a catch-all rule as a reading of an inexact path", () => {
    const table = tableOf({ "GET /admin/users": ["admin:use"], "* /{*path}": [] });
    expect(keyOf(table, "GET", "/admin/users")).toBe("GET /admin/users");
    expect(keyOf(table, "GET", "/ADMIN/users")).toBe("GET /admin/users and * /{*path}");
  });

  it.each(["/OPEN", "/OPEN/", "/Maybe", "/MAYBE/"])(
    "refuses %s, an inexact path whose rules are all public or optional",
    (target) => {
      expect(causeOf(AGENTS, "GET", target)).toBe(OPEN);
    },
  );

  it.each([
    ["/open/", "GET /open"],
    ["/maybe/", "GET /maybe"],
  ])(
    "serves %s, which differs from a public or optional route by its slash only, if the route is checked",
    (target, key) => {
      expect(keyOf(AGENTS, "GET", target)).toBe(key);
      expect(AGENTS.forTarget("GET", target, false).kind).toBe("ambiguous");
    },
  );

  it.each(["/docs", "/docs/", "/docs/a"])("reads %s as an exact path of two public rules", (target) => {
    const table = tableOf({ "GET /docs{/}": "public", "GET /docs/*path": "public" });
    for (const isRouteChecked of [true, false])
      expect(table.forTarget("GET", target, isRouteChecked)).toMatchObject({ kind: "rules", isExact: true });
  });

  it("requires the rule with another slash at its end, and any other rule that the path may have", () => {
    const table = tableOf({ "GET /docs/": "public", "GET /:page": ["pages:read"] });
    expect(keyOf(table, "GET", "/docs")).toBe("GET /docs/ and GET /:page");
    expect(keyOf(table, "GET", "/docs/")).toBe("GET /docs/");
  });

  it("decides the root of a subtree by its own rule if both rules require the same", () => {
    const table = tableOf({ "GET /docs{/*path}": "public", "GET /docs": "public" });
    for (const target of ["/docs", "/docs/"]) expect(keyOf(table, "GET", target)).toBe("GET /docs");
    expect(keyOf(table, "GET", "/docs/a")).toBe("GET /docs{/*path}");
  });

  it("does not refuse an inexact path if one of its rules needs a token", () => {
    const table = tableOf({ "GET /open": "public", "GET /:page": [] });
    expect(keyOf(table, "GET", "/OPEN")).toBe("GET /open and GET /:page");
  });

  it.each(["/%6fpen", "/a%67ents/x", "/%66iles/a/b"])(
    "refuses %s if only a router that decodes the path finds a rule",
    (target) => {
      expect(causeOf(AGENTS, "GET", target)).toBe(DECODED_ONLY);
    },
  );

  it("adds the rule for a decoding reading to that of another one", () => {
    const table = tableOf({ "GET /admin": ["admin:use"], "GET /:page": [] });
    expect(keyOf(table, "GET", "/%61dmin")).toBe("GET /admin and GET /:page");
  });

  it.each([
    [8, "rules"],
    [9, TOO_MANY],
  ])("decides an inexact path with %i rules: %s", (count, expected) => {
    const keys = Array.from({ length: count - 1 }, (_, index) => {
      const segments = Array.from({ length: 4 }, (_, place) => ((index >> place) & 1 ? `:p${place}` : "a"));
      return `GET ${textOf(segments)}`;
    });
    const table = tableOf(Object.fromEntries([...keys, "GET /*path"].map((key) => [key, []])));
    expect(causeOf(table, "GET", "/A/A/A/A")).toBe(expected);
  });

  it("reports a path that no reading maps as unmapped, however it is spelled", () => {
    for (const target of ["/nowhere", "/NOWHERE/", "/%6eowhere", "/"])
      expect(keyOf(AGENTS, "GET", target)).toBe("unmapped");
    expect(keyOf(AGENTS, "POST", "/agents/me")).toBe("unmapped");
    expect(keyOf(tableOf({}), "GET", "/")).toBe("unmapped");
  });
});

describe("the parameters of a rule", () => {
  it.each([
    ["GET /agents/:id", "/agents/web", { id: "web" }],
    ["GET /agents/:id", "/agents/w%65b%3A%2a", { id: "web:*" }],
    ["GET /agents/:id", "/agents/%252f", { id: "%2f" }],
    ["GET /a/:x/:y", "/a/1/2", { x: "1", y: "2" }],
    ["GET /:id.json", "/a.b.json", { id: "a.b" }],
    ["GET /a/:x/*path", "/a/1/2/3", { x: "1" }],
    ["GET /tasks/:id\\:cancel", "/tasks/7:cancel", { id: "7" }],
  ])("reads for the rule %s from the path %s the parameters %j", (key, target, parameters) => {
    const names = Object.keys(parameters);
    const match = matchOf(tableOf({ [key]: names.map((name) => `things:<${name}>:read`) }), "GET", target);
    for (const [name, value] of Object.entries(parameters)) expect(match.parameter(name)).toBe(value);
    expect(match.parameter("other")).toBe("");
  });

  it("reads an empty parameter from a segment whose text is not spelled exactly", () => {
    const table = tableOf({ "GET /:id.json": ["files:<id>:read"] });
    expect(matchOf(table, "GET", "/a.JSON").parameter("id")).toBe("");
  });

  it("reads the parameters of each rule that an inexact path requires", () => {
    const table = tableOf({ "GET /a/:x": ["x:<x>:y"], "GET /:y/b": ["y:<y>:z"] });
    const matches = matchesOf(table, "GET", "/A/b");
    expect(matches.map(({ parameter }) => [parameter("x"), parameter("y")])).toEqual([
      ["b", ""],
      ["", "A"],
    ]);
  });
});

describe("forRoute", () => {
  it("returns the rules of an exact path unchanged if the route is that of its rule", () => {
    const found = AGENTS.forTarget("GET", "/agents/web", true);
    expect(AGENTS.forRoute(found, "GET", ["/agents/:agent"])).toBe(found);
  });

  it.each([
    ["/agents/me", "/agents/:id", "GET /agents/me and GET /agents/:id"],
    ["/agents/web", "/agents/:id", "GET /agents/:id"],
    ["/agents/web", "/agents/web", "GET /agents/:id"],
    ["/agents/web", "/:section/:id", "GET /agents/:id"],
    ["/files/a", "/files/*path", "GET /files/:id and GET /files/*path"],
    ["/agents/ME", "/agents/me", "GET /agents/me and GET /agents/:id"],
    ["/AGENTS/web/", "/agents/:id/", "GET /agents/:id"],
  ])("adds to the rule for %s the rule for the route %s: %s", (target, route, keys) => {
    expect(keyOf(AGENTS, "GET", target, route)).toBe(keys);
  });

  it("decides an exact path by its own rule if no rule covers the route", () => {
    expect(keyOf(AGENTS, "GET", "/agents/me", "/*path")).toBe("GET /agents/me");
    expect(keyOf(AGENTS, "GET", "/nowhere", "/*path")).toBe("unmapped");
  });

  it("refuses an inexact path if no rule covers the route", () => {
    expect(causeOf(AGENTS, "GET", "/agents/ME", "/:section/:id")).toBe(UNCOVERED);
    expect(causeOf(AGENTS, "GET", "/agents/ME", "/:section/:id", "/agents/:id")).toBe(UNCOVERED);
    expect(causeOf(AGENTS, "GET", "/agents/ME", "/agents/:id", "RegExp /^\\/agents/")).toBe(UNCOVERED);
  });

  it.each(["/teams/:id", "/agents", "/agents/:id/runs", "/agents/:id.json", "/", "/*path/x"])(
    "refuses a path that does not fit the reported route %s",
    (route) => {
      expect(causeOf(AGENTS, "GET", "/agents/web", route)).toBe(MISFIT);
    },
  );

  it("requires the rule for an empty parameter or wildcard after a trailing slash, which Fastify matches", () => {
    const table = tableOf({ "GET /agents/:id": ["agents:<id>:read"], "GET /files/*path": ["files:read"] });
    expect(matchOf(table, "GET", "/agents/", "/agents/:id").parameter("id")).toBe("");
    expect(keyOf(table, "GET", "/files/", "/files/*path")).toBe("GET /files/*path");
    expect(keyOf(tableOf({ "* /{*path}": [] }), "GET", "/", "/*path")).toBe("* /{*path}");
  });

  it("requires the narrower rule that the empty segment reaches, too", () => {
    const table = tableOf({ "GET /agents/:id": ["agents:<id>:read"], "GET /:section/:id": [] });
    const matches = matchesOf(table, "GET", "/agents/", "/:section/:id");
    expect(matches.map(({ compiled }) => compiled.rule.key)).toEqual([
      "GET /:section/:id",
      "GET /agents/:id",
    ]);
    expect(matches.map(({ parameter }) => parameter("id"))).toEqual(["", ""]);
    expect(keyOf(table, "GET", "/agents/", "/*path")).toBe("unmapped");
  });

  it("requires the rule for an empty wildcard, too, because a router may match no empty parameter", () => {
    const mappings: ScopeMappings = {
      "GET /a/:id": "public",
      "GET /a/*path": ["a:read"],
      "GET /:section/*path": "public",
    };
    const matches = matchesOf(tableOf(mappings), "GET", "/a/", "/:section/*path");
    expect(matches.map(({ compiled }) => compiled.rule.key)).toEqual([
      "GET /:section/*path",
      "GET /a/:id",
      "GET /a/*path",
    ]);
  });

  it("fills a parameter from the empty segment, not from the one before it", () => {
    const table = tableOf({ "GET /x/:path/:id": ["x:<id>:read"] });
    expect(matchOf(table, "GET", "/x/a/", "/x/:path/:id").parameter("id")).toBe("");
  });

  it("requires the rules of all patterns of a route that is mounted in several ways", () => {
    const table = tableOf({ "GET /agents/:id": [], "GET /:section/:id": ["x:y"] });
    expect(keyOf(table, "GET", "/agents/web", "/agents/:id", "/:section/:id")).toBe(
      "GET /agents/:id and GET /:section/:id",
    );
    expect(keyOf(AGENTS, "GET", "/agents/me", "/agents/:id", "/files/:id")).toBe(
      "GET /agents/me and GET /agents/:id",
    );
    expect(causeOf(AGENTS, "GET", "/agents/me", "/teams", "/files/:id")).toBe(MISFIT);
  });

  it("uses only the alternatives of a route with optional groups that the path fits", () => {
    const table = tableOf({ "GET /a": ["a:list"], "GET /a/:id": ["a:read"], "GET /:x": [] });
    expect(keyOf(table, "GET", "/a", "/a{/:id}")).toBe("GET /a");
    expect(keyOf(table, "GET", "/a/1", "/a{/:id}")).toBe("GET /a/:id");
    expect(keyOf(table, "GET", "/A", "/a{/:id}")).toBe("GET /a and GET /:x");
  });

  it.each(["RegExp /^\\/agents/", "", "agents", "/a(b)", "/a//b"])(
    "decides an unreadable route by its path alone, which must be exact: %s",
    (route) => {
      expect(keyOf(AGENTS, "GET", "/agents/me", route)).toBe("GET /agents/me");
      expect(causeOf(AGENTS, "GET", "/agents/ME", route)).toBe(UNCOVERED);
    },
  );

  it.each(["RegExp /^./", "/:x(.*)", "{/:a}{/:b}"])(
    "requires the rule for every path for an unreadable route, which may match all of them: %s",
    (route) => {
      const table = tableOf({ "GET /health": "public", "GET /{*path}": ["files:read"] });
      expect(keyOf(table, "GET", "/health", route)).toBe("GET /health and GET /{*path}");
      expect(keyOf(table, "GET", "/", route)).toBe("GET /{*path}");
    },
  );

  it("refuses a route that was matched for another request", () => {
    const found = AGENTS.forTarget("GET", "/agents/me", true);
    expect(AGENTS.forRoute(found, "GET", undefined)).toMatchObject({
      kind: "ambiguous",
      cause: "The route no longer matches the request.",
    });
  });

  it("keeps a refusal of the path", () => {
    const found = AGENTS.forTarget("GET", "//", true);
    expect(AGENTS.forRoute(found, "GET", ["/agents/:id"])).toBe(found);
  });

  it("decides each route and method separately, however many there are", () => {
    const table = tableOf({ "GET /agents/:id": "public", "GET /teams/*path": "public" });
    const ask = (method: string, route: string) => keyOf(table, method, "/agents/x", route);
    for (let round = 0; round < 10_050; round += 1) ask("GET", `/teams/${round}`);
    expect(ask("GET", "/agents/:x")).toBe("GET /agents/:id");
    expect(ask("POST", "/agents/:x")).toBe("unmapped");
    expect(ask("GET", "/agents/:x")).toBe("GET /agents/:id");
  });
});

const MOUNTED = tableOf({
  'GET /:"major"1/list': ["mixed:read"],
  "GET /v1/list": ["static:read"],
  "GET /v1/:id": ["id:read"],
  "GET /:area/list": ["area:read"],
  "* /:area/list": ["any:read"],
  "* /*path": ["rest:read"],
});

const rulesBelow = (mount: string, pattern: string, isAsWritten: boolean, method = "GET") =>
  keysOf(
    MOUNTED.forRoute(MOUNTED.forTarget(method, mount + pattern.replace(":id", "list"), true), method, [
      { mount, pattern, isAsWritten },
    ]),
  );

describe("the values that the handler receives", () => {
  const WHERE = { scopes: [], where: { org: { claim: "org_id" } } };
  const VALUES = tableOf({
    "* /orgs/:org{/*path}": WHERE,
    "GET /orgs/:org/logo": [],
    "GET /orgs/:org/users/:id": ["users:<id>:read"],
    "GET /plain/:id": ["plain:read"],
    "GET /files/:id.json": ["files:<id>:read"],
    "GET /posts/:id": ["posts:<id>:read"],
    "GET /tree/:a/:b/by/:user": ["tree:<user>:read"],
    "GET /raw/*path": ["raw:read"],
    "GET /free/:org{/*path}": { scopes: [], where: WHERE.where, except: ["GET /free/:org/logo"] },
    "GET /free/:org/logo": [],
  });
  const OTHER = "The handler receives another value of a parameter than a rule has read.";

  const decide = (target: string, patterns: Parameters<typeof VALUES.forRoute>[2], values?: object) => {
    const governing = VALUES.forRoute(VALUES.forTarget("GET", target, true), "GET", patterns, {
      readHandlerValues: () => values,
    });
    return governing.kind === "ambiguous" ? governing.cause : governing.kind;
  };

  it.each([
    ["the scope of the path's rule", "/orgs/a/users/u+1", "/orgs/:org/users/:id", { org: "a", id: "u 1" }],
    ["the scope of the route's rule", "/files/a+b.json", "/files/:id.json", { id: "a b" }],
    ["a condition of a wider rule", "/orgs/acme+corp/logo", "/orgs/:org/logo", { org: "acme corp" }],
    ["a condition, at a route without a rule of its own", "/orgs/a+b/x", "/orgs/:o/:page", { o: "a b" }],
    ["an optional parameter", "/posts/a+b", "/posts{/:id}", { id: "a b" }],
    ["a parameter after a wildcard", "/tree/a/b/by/u+1", "/tree/*path/by/:user", { user: "u 1" }],
    ["a parameter after a wildcard of the rule only", "/tree/a/b/by/u+1", "/tree/:a/:b/by/:u", { u: "u 1" }],
    ["another letter case", "/orgs/ACME/logo", "/orgs/:org/logo", { org: "acme" }],
    ["another integer", "/orgs/007/logo", "/orgs/:org/logo", { org: 7 }],
    ["a rounded integer", `/orgs/${2 ** 53}1/logo`, "/orgs/:org/logo", { org: 2 ** 53 * 10 }],
    ["another bigint", "/orgs/12/logo", "/orgs/:org/logo", { org: 13n }],
    ["a later parameter of the same name", "/orgs/a/users/u", "/orgs/:id/users/:id", { id: "u" }],
    ["another segment of a wildcard", "/orgs/a/b/c", "/*rest", { rest: ["orgs", "x", "b", "c"] }],
    ["the last segment of a repeated parameter", "/orgs/a/b", "/orgs/:o+", { o: "b" }],
    ["a later wildcard of the same name", "/orgs/a/x/b", "/orgs/:org/x/*org", { org: ["b"] }],
    ["a name that the rule's place shares with others", "/orgs/a/x/b", "/*org/x/:org", { org: "b" }],
    ["a later parameter, with other text at the place", "/orgs/v-a/b", "/orgs/v-:org/:org", { org: "b" }],
    ["a group of a regular expression", "/orgs/a/b", "/(expression)", { org: "b" }],
  ])("refuses a request whose handler receives another value for %s", (_use, target, pattern, values) => {
    expect(decide(target, [pattern], values)).toBe(OTHER);
  });

  it.each([
    ["the decoded value", "/orgs/a%2Bb/users/%C3%A9", "/orgs/:org/users/:id", { org: "a+b", id: "é" }],
    ["other names", "/orgs/a/users/u", "/orgs/:id/users/:org", { id: "a", org: "u" }],
    ["the same value for a repeated name", "/orgs/a/users/a", "/orgs/:id/users/:id", { id: "a" }],
    ["an integer that isn't safe", `/orgs/${2 ** 54}/logo`, "/orgs/:org/logo", { org: 2 ** 54 }],
    ["a bigint", "/orgs/12/logo", "/orgs/:org/logo", { org: 12n }],
    ["a group of a regular expression with another name", "/orgs/a/b", "/(expression)", { 0: "b", id: "b" }],
    ["an integer", "/orgs/12/logo", "/orgs/:org/logo", { org: 12 }],
    ["an object", "/orgs/a/logo", "/orgs/:org/logo", { org: { id: "b" } }],
    ["no value", "/orgs/a/logo", "/orgs/:org/logo", {}],
    ["a value of the prototype", "/orgs/a/logo", "/orgs/:constructor/logo", {}],
    ["no parameters", "/orgs/a/logo", "/orgs/:org/logo", undefined],
    ["a wildcard", "/orgs/a/b/c", "/orgs/*rest", { rest: ["a", "b", "c"] }],
    ["a wildcard as a string", "/orgs/a/b/c", "/*rest", { rest: "orgs/a/b/c" }],
    ["a wildcard for that of the rule", "/raw/a/b", "/raw/*rest/b", { rest: "a" }],
    ["a segment with other static parts", "/files/a.json", "/files/:name.:type", { name: "x", type: "y" }],
    ["a whole segment of which the rule reads a part", "/files/a.json", "/files/:file", { file: "a.json" }],
    ["a parameter that no rule uses", "/plain/a", "/plain/:id", { id: "b" }],
    ["a parameter that only an exempt rule uses", "/free/a/logo", "/free/:org/logo", { org: "b" }],
    ["a part that is spelled differently", "/files/a.JSON", "/files/:id.json", { id: "a" }],
  ])("allows a request whose handler receives %s", (_value, target, pattern, values) => {
    expect(decide(target, [pattern], values)).toBe("rules");
  });

  it("compares by place below a mount, and by name where the pattern of the mount isn't known", () => {
    const target = "/orgs/a/users/u+1";
    const mounted = { mount: "/orgs/a", pattern: "/users/:id", isAsWritten: true };
    expect(decide(target, [mounted], { id: "u 1" })).toBe(OTHER);
    expect(decide(target, [mounted], { id: "u+1", org: "b" })).toBe("rules");
    const unknown = { ...mounted, isAsWritten: false };
    expect(decide(target, [unknown], { id: "u+1", org: "b" })).toBe(OTHER);
    expect(decide(target, [unknown], { id: "u+1", org: "a" })).toBe("rules");
    expect(decide(target, [unknown], { id: "u+1" })).toBe("rules");
  });

  it("compares each pattern that the route may be written as", () => {
    const patterns = ["/orgs/:org/logo", "/orgs/:name/:page"];
    expect(decide("/orgs/a/logo", patterns, { name: "a", page: "logo" })).toBe("rules");
    expect(decide("/orgs/a+b/logo", patterns, { name: "a b", page: "logo" })).toBe(OTHER);
  });

  it("does not compare the names of a batch, whose route has one parameter", () => {
    const table = tableOf({ "GET /trpc/:procedure": ["trpc:<procedure>:call"] });
    const batch = table.forTarget("GET", "/trpc/a,b?batch=1", true);
    const decideBatch = (procedure: string) =>
      table.forRoute(batch, "GET", ["/trpc/:procedure"], { readHandlerValues: () => ({ procedure }) }).kind;
    expect(decideBatch("a,b")).toBe("rules");
    expect(decideBatch("a")).toBe("ambiguous");
  });

  it("does not ask for values that no rule uses", () => {
    const fail = () => {
      throw new Error("The values were read.");
    };
    for (const [target, pattern] of [
      ["/plain/a", "/plain/:id"],
      ["/plain/a", "/:section/:id"],
      ["/free/a/logo", "/free/:org/logo"],
    ] as const) {
      const found = VALUES.forTarget("GET", target, true);
      expect(VALUES.forRoute(found, "GET", [pattern], { readHandlerValues: fail }).kind).toBe("rules");
    }
  });
});

describe("a route below a mount", () => {
  it("requires every rule that covers the route below some pattern of an unknown mount", () => {
    expect(rulesBelow("/v1", "/list", false)).toEqual([
      "GET /v1/list",
      'GET /:"major"1/list',
      "GET /:area/list",
      "* /*path",
    ]);
  });

  it("requires no rule that covers only a part of the route", () => {
    expect(rulesBelow("/v1", "/:id", false)).toEqual(["GET /v1/list", "GET /v1/:id", "* /*path"]);
  });

  it("requires the rule for another method only where the method has none", () => {
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
    const found = MOUNTED.forTarget("GET", "/v1/list", true);
    const route = { mount: "/v2", pattern: "/list", isAsWritten: false };
    expect(MOUNTED.forRoute(found, "GET", [route])).toMatchObject({ kind: "ambiguous" });
  });
});
