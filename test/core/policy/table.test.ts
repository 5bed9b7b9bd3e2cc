import { describe, expect, it } from "vitest";
import { governingOf, keyOf, keysOf, matchesOf, matchOf, tableOf } from "../../support/policy.ts";

// `test/model` has which rules decide, for every spelling of a path and every route that runs.

const causeOf = (table: ReturnType<typeof tableOf>, target: string, ...routes: string[]) => {
  const governing = governingOf(table, "GET", target, ...routes);
  return governing.kind === "ambiguous" ? governing.cause : governing.kind;
};

const MISFIT = "The path doesn't match the route that the router chose.";
const UNCOVERED = "No rule covers the route, and the path isn't spelled as in the table.";

const AGENTS = tableOf({
  "GET /agents/me": ["me:read"],
  "GET /agents/:id": ["agents:<id>:read"],
  "GET /open": "public",
  "GET /maybe": "optional",
  "GET /files/:id": ["files:read"],
  "GET /files/*path": ["files:list"],
});

describe("the rule for a path", () => {
  it("is for HEAD the one for GET, and ends with a text that is no encoded character", () => {
    const table = tableOf({ 'GET /:"a"0a': [], "GET /:b": ["b:read"], "* /:b": [] });
    expect(keyOf(table, "HEAD", "/x%20a")).toBe('GET /:"a"0a');
    expect(keyOf(table, "HEAD", "/x")).toBe("GET /:b");
    expect(keyOf(table, "POST", "/x")).toBe("* /:b");
  });

  it("is the one with the longer text when both are decoded, however the table and the path spell it", () => {
    const table = tableOf({ "GET /:name.%C3%A9": "public", "GET /:name-x.%C3%A9": ["x:read"] });
    expect(keyOf(table, "GET", "/a-x.%C3%A9")).toBe("GET /:name-x.%C3%A9");
    for (const target of ["/a%2Dx.%C3%A9", "/a%2dx.%c3%a9"])
      expect(table.forTarget("GET", target, false).kind).toBe("ambiguous");
  });
});

describe("a refusal by the table", () => {
  it.each<[string, string[], string]>([
    ["//agents", [], "The target is too long, or has an empty or dot segment, `;`, `%2F` or the like."],
    ["/%6fpen", [], "The path matches a rule only after it is decoded."],
    ["/OPEN", [], "The rule needs no token, and the path isn't spelled as in the table."],
    ["/Maybe", [], "The rule needs no token, and the path isn't spelled as in the table."],
    ["/agents/web", ["/teams/:id"], MISFIT],
    ["/agents/web", ["/agents"], MISFIT],
    ["/agents/web", ["/agents/:id.json"], MISFIT],
    ["/agents/me", ["/teams", "/files/:id"], MISFIT],
    ["/agents/ME", ["/:section/:id"], UNCOVERED],
    ["/agents/ME", ["/:section/:id", "/agents/:id"], UNCOVERED],
    ["/agents/ME", ["/agents/:id", "RegExp /^\\/agents/"], UNCOVERED],
    ["/agents/ME", ["/a(b)"], UNCOVERED],
  ])("names the cause, for %s and the routes %j: %s", (target, routes, cause) => {
    expect(causeOf(AGENTS, target, ...routes)).toBe(cause);
  });

  it("names the spelling of a path whose route is never checked", () => {
    const cause = "The path isn't spelled as in the table.";
    expect(AGENTS.forTarget("GET", "/agents/ME", false)).toMatchObject({ kind: "ambiguous", cause });
  });

  it.each([
    ["GET /a/", "* /a", "/a"],
    ["GET /a%2ejson", "GET /:id.json", "/A%2ejson"],
  ])("is not needed if a reading of the path is mapped: %s and %s for %s", (first, second, target) => {
    expect(keyOf(tableOf({ [first]: [], [second]: [] }), "GET", target)).toBe(`${first} and ${second}`);
  });

  it("stays, whatever route runs", () => {
    const found = AGENTS.forTarget("GET", "//", true);
    expect(AGENTS.forRoute(found, "GET", ["/agents/:id"])).toBe(found);
  });

  it.each([
    [8, "rules"],
    [9, "More than 8 rules may apply to the path."],
  ])("names the number of rules of an inexact path: %i, %s", (count, expected) => {
    const keys = Array.from({ length: count - 1 }, (_, index) => {
      const segments = Array.from({ length: 4 }, (_, place) => ((index >> place) & 1 ? `:p${place}` : "a"));
      return `GET /${segments.join("/")}`;
    });
    const table = tableOf(Object.fromEntries([...keys, "GET /*path"].map((key) => [key, []])));
    expect(causeOf(table, "/A/A/A/A")).toBe(expected);
  });
});

describe("the route that runs", () => {
  it("changes nothing if an exact path has its rule", () => {
    const found = AGENTS.forTarget("GET", "/agents/web", true);
    expect(AGENTS.forRoute(found, "GET", ["/agents/:agent"])).toBe(found);
  });

  it("adds the rule that covers all of its paths, not only those of a parameter", () => {
    expect(keyOf(AGENTS, "GET", "/files/a", "/files/*path")).toBe("GET /files/:id and GET /files/*path");
  });

  it("fills a parameter from the empty segment after a slash, not from the one before it", () => {
    const table = tableOf({ "GET /x/:path/:id": ["x:<id>:read"] });
    expect(matchOf(table, "GET", "/x/a/", "/x/:path/:id").parameter("id")).toBe("");
  });

  it("adds the narrower rule that the empty segment reaches", () => {
    const table = tableOf({ "GET /agents/:id": ["agents:<id>:read"], "GET /:section/:id": [] });
    const matches = matchesOf(table, "GET", "/agents/", "/:section/:id");
    expect(matches.map(({ compiled, parameter }) => [compiled.rule.key, parameter("id")])).toEqual([
      ["GET /:section/:id", ""],
      ["GET /agents/:id", ""],
    ]);
  });

  it("adds the rules of all of its patterns if it is mounted in several ways", () => {
    const table = tableOf({ "GET /agents/:id": [], "GET /:section/:id": ["x:y"] });
    expect(keyOf(table, "GET", "/agents/web", "/agents/:id", "/:section/:id")).toBe(
      "GET /agents/:id and GET /:section/:id",
    );
  });

  it.each(["RegExp /^./", "/:x(.*)", "{/:a}{/:b}", "", "agents", "/a(b)", "/a//b"])(
    "may match every path if it can't be read, so the rule for every path is required: %s",
    (route) => {
      const table = tableOf({ "GET /health": "public", "GET /{*path}": ["files:read"] });
      expect(keyOf(table, "GET", "/health", route)).toBe("GET /health and GET /{*path}");
      expect(causeOf(table, "/HEALTH", route)).toBe(UNCOVERED);
      expect(keyOf(table, "POST", "/health", route)).toBe("unmapped");
      expect(keyOf(AGENTS, "GET", "/agents/me", route)).toBe("GET /agents/me");
    },
  );

  it("must still match the request", () => {
    const found = AGENTS.forTarget("GET", "/agents/me", true);
    expect(AGENTS.forRoute(found, "GET", undefined)).toMatchObject({
      kind: "ambiguous",
      cause: "The route no longer matches the request.",
    });
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
      readValue: (name) => values && (Reflect.get(values, name) as unknown),
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
    ["a name that the segment repeats", "/orgs/a-b/c", "/orgs/:org-:org/:x", { org: "b", x: "c" }],
    ["a later parameter, with other text at the place", "/orgs/v-a/b", "/orgs/v-:org/:org", { org: "b" }],
    ["a group of a regular expression", "/orgs/a/b", "/(expression)", { org: "b" }],
    ["a repeated name of a pattern that can't be read", "/posts/a", "/:id(.*)/:id", { id: "a" }],
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
    ["no parameters", "/orgs/a/logo", "/orgs/:org/logo", undefined],
    ["a wildcard", "/orgs/a/b/c", "/orgs/*rest", { rest: ["a", "b", "c"] }],
    ["a wildcard as a string", "/orgs/a/b/c", "/*rest", { rest: "orgs/a/b/c" }],
    ["a wildcard for that of the rule", "/raw/a/b", "/raw/*rest/b", { rest: "a" }],
    ["a segment with other static parts", "/files/a.json", "/files/:name.:type", { name: "x", type: "y" }],
    ["a whole segment of which the rule reads a part", "/files/a.json", "/files/:file", { file: "a.json" }],
    ["a wildcard for a part of a segment", "/files/a.json", "/files/*path", { path: ["a.json"] }],
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
      table.forRoute(batch, "GET", ["/trpc/:procedure"], { readValue: () => procedure }).kind;
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
      expect(VALUES.forRoute(found, "GET", [pattern], { readValue: fail }).kind).toBe("rules");
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

  it("may end with an empty parameter after a slash", () => {
    const found = MOUNTED.forTarget("GET", "/v1/", true);
    const route = { mount: "/v1", pattern: "/:id", isAsWritten: true };
    expect(keysOf(MOUNTED.forRoute(found, "GET", [route]))).toContain("GET /v1/:id");
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
