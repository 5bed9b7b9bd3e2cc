import { ConfigurationError, type ConfigurationIssue, type ScopeMappings } from "scopegate";
import { callerConditions } from "scopegate/conditions";
import { describe, expect, it } from "vitest";
import { createResourceServer } from "../../support/server.ts";

/** Starts a server with a table, and returns the mistakes that it reports. */
function startWith(
  scopeMappings: ScopeMappings,
  options: Partial<Parameters<typeof createResourceServer>[0]> = {},
): readonly ConfigurationIssue[] {
  try {
    createResourceServer({
      verifyAudience: false,
      algorithm: "HS256",
      verificationKeys: ["0123456789abcdef0123456789abcdef"],
      scopeMappings,
      ...options,
    });
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.issues;
    throw error;
  }
}

const codesOf = (...given: Parameters<typeof startWith>): readonly string[] =>
  startWith(...given).map(({ code, path }) => `${code} ${path.join(".")}`);

describe("a table whose order of rules is not total", () => {
  it("does not start if an exact method is written at a wider path, and the narrower path requires something else", () => {
    const table: ScopeMappings = {
      "DELETE /{*path}": ["platform:delete"],
      "* /agents/:id": ["agents:<id>:write"],
    };
    expect(startWith(table)).toEqual([
      {
        code: "rule_outranked",
        path: ["scopeMappings", "DELETE /{*path}"],
        message:
          "doesn't decide `DELETE /agents/:id`. `* /agents/:id` (agents:<id>:write) would decide, because its path is narrower. But its method is wider, and a caller that it allows may not satisfy this rule.",
        hint: "Add `DELETE /agents/:id` with what these requests require.",
      },
    ]);
  });

  it("does not start if two paths cross, and the one that decides does not imply the other", () => {
    const table: ScopeMappings = { "GET /:area/secrets": ["secrets:read"], "GET /docs/*path": "public" };
    expect(startWith(table)).toEqual([
      {
        code: "rules_cross",
        path: ["scopeMappings", "GET /:area/secrets"],
        message:
          "also matches `GET /docs/secrets`. `GET /docs/*path` (nothing) would decide, although neither path contains the other, and a caller that it allows may not satisfy this rule.",
        hint: "Add `GET /docs/secrets` with what these requests require.",
      },
    ]);
  });

  it.each<[string, ScopeMappings, string]>([
    ["POST over a wider POST", { "POST /{*path}": ["a:b"], "* /x": [] }, "rule_outranked POST /{*path}"],
    ["GET over a wider GET", { "GET /*path": ["a:b"], "* /x/:id": ["c:d"] }, "rule_outranked GET /*path"],
    ["a HEAD rule", { "HEAD /*path": ["a:b"], "GET /x": [] }, "rule_outranked HEAD /*path"],
    ["a HEAD rule that asks for less", { "HEAD /x": "public", "GET /x": ["a:b"] }, "rule_outranked HEAD /x"],
    ["a HEAD rule below GET", { "HEAD /x": "public", "GET /{*path}": ["a:b"] }, "rule_outranked HEAD /x"],
    ["a HEAD rule below `*`", { "HEAD /x": [], "* /{*path}": ["a:b"] }, "rule_outranked HEAD /x"],
    ["parameters that cross", { "GET /:a/x": ["a:b"], "GET /y/:b": ["c:d"] }, "rules_cross GET /:a/x"],
    ["texts behind parameters", { "GET /:a.x/x": ["a:b"], "GET /y.x/:b": [] }, "rules_cross GET /:a.x/x"],
    ["methods and paths that cross", { "GET /:a/x": ["a:b"], "* /y/:b": [] }, "rules_cross GET /:a/x"],
    ["a subtree", { "GET /:a/x/*p": ["a:b"], "GET /y{/*p}": [] }, "rules_cross GET /:a/x/*p"],
    [
      "optional, which lets callers without a token pass",
      { "GET /:a/x": [], "GET /y/:b": "optional" },
      "rules_cross GET /:a/x",
    ],
    [
      "a scope of another parameter",
      { "GET /:a/x/:c": ["r:<a>:w"], "GET /y/:a/:c": ["r:<a>:w"] },
      "rules_cross GET /:a/x/:c",
    ],
    [
      "one of several scopes",
      { "GET /:a/x": ["a:b"], "GET /y/:b": { anyOf: ["a:b", "c:d"] } },
      "rules_cross GET /:a/x",
    ],
    [
      "a scope with <any>",
      { "GET /:a/z/:c": ["a:read"], "GET /y/:b/x": ["a:<any>:read"] },
      "rules_cross GET /:a/z/:c",
    ],
    [
      "the parameter of another part of the segment",
      { "GET /:a/x/:c": ["r:<a>:w"], "GET /:a.json/:c/:d": ["r:<a>:w"] },
      "rules_cross GET /:a/x/:c",
    ],
  ])("does not start: %s", (_, table, issue) => {
    const [code = "", ...key] = issue.split(" ");
    for (const order of [table, Object.fromEntries(Object.entries(table).reverse())])
      expect(codesOf(order)).toEqual([`${code} scopeMappings.${key.join(" ")}`]);
  });

  it("names the option of a base table's rule", () => {
    const defaultScopeMappings: ScopeMappings = { "DELETE /{*path}": ["a:b"] };
    expect(codesOf({ "* /x": [] }, { defaultScopeMappings })).toEqual([
      "rule_outranked defaultScopeMappings.DELETE /{*path}",
    ]);
  });

  it("reports with other mistakes, those of the table included", () => {
    const table: ScopeMappings = { "GET /:a/x": ["a:b"], "GET /y/:b": [] };
    expect(codesOf(table, { adminScope: "a b" })).toEqual([
      "scope_invalid adminScope",
      "rules_cross scopeMappings.GET /:a/x",
    ]);
    expect(codesOf({ ...table, "get /z": [] } as ScopeMappings)).toEqual([
      "route_key_invalid scopeMappings.get /z",
      "rules_cross scopeMappings.GET /:a/x",
    ]);
  });

  it("lists at most 20 pairs", () => {
    const numbers = Array.from({ length: 10 }, (_, index) => index);
    const table = Object.fromEntries(
      numbers.flatMap((index) => [
        [`GET /:a/x${index}`, ["a:b"]],
        [`GET /y${index}/:b`, []],
      ]),
    );
    expect(startWith(table)).toHaveLength(20);
  });
});

describe("a table with thousands of rules", () => {
  const numbers = Array.from({ length: 1_500 }, (_, index) => index);
  it.each<[string, (index: number) => ScopeMappings]>([
    ["cross, and require the same", (i) => ({ [`GET /:a/x${i}`]: ["a:b"], [`GET /y${i}/:b`]: ["a:b"] })],
    ["never meet", (i) => ({ [`GET /y${i}/:a/s`]: ["a:b"], [`GET /:a/p${i}/:b/t`]: ["c:d"] })],
    ["have texts behind parameters", (i) => ({ [`GET /:a.x${i}`]: ["a:b"], [`GET /:a.x${i}.y`]: ["c:d"] })],
    // Compared in pairs, each of these takes more than a minute.
  ])("starts although they %s", (_, rulesOf) => {
    expect(startWith(Object.assign({}, ...numbers.map(rulesOf)) as ScopeMappings)).toEqual([]);
  });
});

describe("a table with `also`", () => {
  const settled = { conditions: callerConditions() };
  const also = (...scopes: readonly string[]) => ({ scopes: [], also: scopes });

  it.each<[string, ScopeMappings, readonly string[]]>([
    [
      "the deciding rule requires the scopes of the other by `also`",
      { "GET /:org/settings": ["a:b"], "GET /acme/:page": also("a:b") },
      [],
    ],
    [
      "the other rule requires them by `also` as well, which the deciding rule can't lose",
      { "GET /:org/settings": { scopes: ["a:b"], also: ["a:b"] }, "GET /acme/:page": [] },
      [],
    ],
    [
      "a third rule requires them by `also`",
      { "* /{*path}": also("a:b"), "GET /:org/settings": ["a:b"], "GET /acme/:page": [] },
      [],
    ],
    [
      "`also` has a template of the same place",
      { "GET /:org/x": ["o:<org>:r"], "GET /:tenant/:page": also("o:<tenant>:r"), "GET /acme/:page": [] },
      [],
    ],
    [
      "the deciding rule is an exception",
      {
        "GET /:org/settings": { scopes: ["a:b"], also: ["a:b"], except: ["GET /acme/:page"] },
        "GET /acme/:page": [],
      },
      ["rules_cross scopeMappings.GET /:org/settings"],
    ],
    [
      "`also` of a rule for another method",
      { "POST /{*path}": also("a:b"), "GET /:org/settings": ["a:b"], "GET /acme/:page": [] },
      ["rules_cross scopeMappings.GET /:org/settings"],
    ],
    [
      "a wider method requires the scopes by `also`",
      { "DELETE /{*path}": ["a:b"], "* /agents/:id": also("a:b") },
      [],
    ],
    ["HEAD requires the scopes of GET by `also`", { "GET /a": ["a:b"], "HEAD /a": also("a:b") }, []],
    ["`also` of GET applies to HEAD", { "GET /a": { scopes: ["a:b"], also: ["a:b"] }, "HEAD /a": [] }, []],
    [
      "HEAD requires less",
      { "GET /a": ["a:b"], "HEAD /a": also("c:d") },
      ["rule_outranked scopeMappings.HEAD /a"],
    ],
  ])("compares what both require: %s", (_, table, expected) => {
    expect(codesOf(table, settled)).toEqual(expected);
  });
});

describe("a table whose order of rules is total", () => {
  it.each<[string, ScopeMappings, Partial<Parameters<typeof createResourceServer>[0]>?]>([
    ["an API below a public website", { "GET /{*path}": "public", "* /api{/*path}": ["a:b"] }],
    ["an admin area below a public website", { "* /admin/*path": ["admin"], "GET /{*path}": "public" }],
    ["an exact method at the narrower path", { "DELETE /agents/:id": ["a:b"], "* /{*path}": ["c:d"] }],
    ["the key of the message", { "DELETE /{*path}": ["p:d"], "* /a/:id": [], "DELETE /a/:id": ["p:d"] }],
    ["a third rule where two cross", { "GET /:p/s": ["a:b"], "GET /d/*p": [], "GET /d/s": ["a:b"] }],
    ["two methods that share no request", { "GET /:a/x": ["a:b"], "POST /y/:b": [] }],
    ["the same scopes", { "GET /:a/x": ["a:b"], "GET /y/:b": ["c:d", "a:b"] }],
    ["a wider scope for all ids", { "GET /:a/x": ["r:<a>:w"], "GET /y/:b": ["r:w"] }],
    ["an id that is certain", { "GET /:a/x": ["r:<a>:w"], "GET /y/:b": ["r:y:w"] }],
    ["the same parameter", { "GET /:a/x/:c": ["r:<a>:w"], "GET /:b/:c/y": ["r:<b>:w"] }],
    [
      "every one of several scopes",
      { "GET /:a/x": { anyOf: ["a:b", "c:d"] }, "GET /y/:b": { anyOf: ["c:d", "a:b"] } },
    ],
    ["a scope with <any>", { "GET /:a/x": ["a:<any>:read"], "GET /y/:b": ["a:7:read"] }],
    ["two public rules", { "GET /:a/x": "public", "GET /y/:b": "public" }],
    ["a public rule beside a stricter one", { "GET /:a/x": "public", "GET /y/:b": ["a:b"] }],
    ["two equal scopes with <any>", { "GET /:a/z/x": ["a:<any>:read"], "GET /y/:b/x": ["a:<any>:read"] }],
    ["the same parameter before a wildcard", { "GET /:a/x/*p": ["r:<a>:w"], "GET /:b/:c/y": ["r:<b>:w"] }],
    ["the same part of a segment", { "GET /:a.x/x/:c": ["r:<a>:w"], "GET /:b.x/:c/y": ["r:<b>:w"] }],
    ["the part that a text leaves", { "GET /:a.x/x": ["r:<a>:w"], "GET /y.x/:b": ["r:y:w"] }],
    ["any token", { "GET /:a/z/:c": [], "GET /y/:b/x": ["a:<any>:read"] }],
    ["optional", { "GET /:a/x": "optional", "GET /y/:b": "optional", "GET /z/:b": [] }],
    [
      "an implied scope",
      { "GET /:a/x": ["a:b"], "GET /y/:b": ["c:d"] },
      { impliedScopes: { "c:d": ["a:b"] } },
    ],
    ["the admin scope", { "GET /:a/x": ["a:b"], "GET /y/:b": ["root"] }, { adminScope: "root" }],
    ["a HEAD rule that requires more", { "GET /x": [], "HEAD /x": ["a:b"] }],
    ["a HEAD rule without GET", { "HEAD /x": "public" }],
    ["a narrower text", { "GET /i/:name.gz": ["a:b"], "GET /i/:name.tar.gz": "public" }],
  ])("starts: %s", (_, table, options) => {
    expect(codesOf(table, options)).toEqual([]);
    expect(codesOf(Object.fromEntries(Object.entries(table).reverse()), options)).toEqual([]);
  });
});
