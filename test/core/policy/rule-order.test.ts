import { ConfigurationError, type ConfigurationIssue, type ScopeMappings } from "scopegate";
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
    const table: ScopeMappings = { "GET /*path/secrets": ["secrets:read"], "GET /docs/*path": "public" };
    expect(startWith(table)).toEqual([
      {
        code: "rules_cross",
        path: ["scopeMappings", "GET /*path/secrets"],
        message:
          "also matches `GET /docs/secrets` and `GET /docs/*path/secrets`. `GET /docs/*path` (nothing) would decide, although neither path contains the other, and a caller that it allows may not satisfy this rule.",
        hint: "Add `GET /docs/secrets` and `GET /docs/*path/secrets` with what these requests require.",
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
    ["mixed segments that cross", { "GET /a-:x": ["a:b"], "GET /:y-b": ["c:d"] }, "rules_cross GET /a-:x"],
    ["methods and paths that cross", { "GET /:a/x": ["a:b"], "* /y/:b": [] }, "rules_cross GET /:a/x"],
    ["a path with fewer segments first", { "GET /:a/*p": [], "GET /*p/x": ["a:b"] }, "rules_cross GET /*p/x"],
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
      "a filtered scope",
      { "GET /:a/z/:c": ["a:read"], "GET /y/:b/x": { filtered: "a:read" } },
      "rules_cross GET /:a/z/:c",
    ],
    [
      "a report-only rule where two have no right order",
      { "* /a/b": ["w:read"], "GET /a/:x": ["s:read"], "GET /a/b": { report: ["r:read"] } },
      "rule_outranked GET /a/:x",
    ],
    [
      "mixed segments beside a wider rule, which doesn't decide what they have in common",
      { "GET /:f.json": "public", "GET /x:b": ["a:b"], "GET /{*p}": ["a:b"] },
      "rules_cross GET /x:b",
    ],
    [
      "mixed segments beside a rule for some of the paths that they have in common",
      { "GET /:f-z": "public", "GET /a-:b": ["a:b"], "GET /a-:b-z": ["a:b"] },
      "rules_cross GET /a-:b",
    ],
    [
      "a report-only rule",
      { "GET /:a/x": ["a:b"], "GET /y/:b": { report: ["a:b"] } },
      "rules_cross GET /:a/x",
    ],
  ])("does not start: %s", (_, table, issue) => {
    const [code = "", ...key] = issue.split(" ");
    for (const order of [table, Object.fromEntries(Object.entries(table).reverse())])
      expect(codesOf(order)).toEqual([`${code} scopeMappings.${key.join(" ")}`]);
  });

  it("names no key for mixed segments if no pattern can express what they have in common", () => {
    const [issue] = startWith({ "GET /a-:x": ["a:b"], "GET /:y-b": ["c:d"] });
    expect(issue?.hint).toBe("Change one of the two paths, or let both rules require the same.");
  });

  it("names the option of a base table's rule", () => {
    const defaultScopeMappings: ScopeMappings = { "DELETE /{*path}": ["a:b"] };
    expect(codesOf({ "* /x": [] }, { defaultScopeMappings })).toEqual([
      "rule_outranked defaultScopeMappings.DELETE /{*path}",
    ]);
  });

  it("reports with other mistakes, those of the table included", () => {
    const table: ScopeMappings = { "GET /:a/x": ["a:b"], "GET /y/:b": [] };
    expect(codesOf(table, { maxTokenBytes: -1 })).toEqual([
      "option_invalid maxTokenBytes",
      "rules_cross scopeMappings.GET /:a/x",
    ]);
    expect(codesOf({ ...table, "get /z": [] })).toEqual([
      "route_method_unknown scopeMappings.get /z",
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

describe("a table whose order of rules is total", () => {
  it.each<[string, ScopeMappings, Partial<Parameters<typeof createResourceServer>[0]>?]>([
    ["an API below a public website", { "GET /{*path}": "public", "* /api{/*path}": ["a:b"] }],
    ["an admin area below a public website", { "* /admin/*path": ["admin"], "GET /{*path}": "public" }],
    ["an exact method at the narrower path", { "DELETE /agents/:id": ["a:b"], "* /{*path}": ["c:d"] }],
    ["the key of the message", { "DELETE /{*path}": ["p:d"], "* /a/:id": [], "DELETE /a/:id": ["p:d"] }],
    [
      "a third rule where two cross",
      { "GET /*p/s": ["a:b"], "GET /d/*p": [], "GET /d/s": ["a:b"], "GET /d/*p/s": ["a:b"] },
    ],
    ["two methods that share no request", { "GET /:a/x": ["a:b"], "POST /y/:b": [] }],
    ["the same scopes", { "GET /:a/x": ["a:b"], "GET /y/:b": ["c:d", "a:b"] }],
    ["a wider scope for all ids", { "GET /:a/x": ["r:<a>:w"], "GET /y/:b": ["r:w"] }],
    ["an id that is certain", { "GET /:a/x": ["r:<a>:w"], "GET /y/:b": ["r:y:w"] }],
    ["the same parameter", { "GET /:a/x/:c": ["r:<a>:w"], "GET /:b/:c/y": ["r:<b>:w"] }],
    [
      "every one of several scopes",
      { "GET /:a/x": { anyOf: ["a:b", "c:d"] }, "GET /y/:b": { anyOf: ["c:d", "a:b"] } },
    ],
    ["a filtered scope", { "GET /:a/x": { filtered: "a:read" }, "GET /y/:b": ["a:7:read"] }],
    ["two public rules", { "GET /:a/x": "public", "GET /y/:b": "public" }],
    ["a public rule beside a stricter one", { "GET /:a/x": "public", "GET /y/:b": ["a:b"] }],
    [
      "two equal filtered scopes",
      { "GET /:a/z/x": { filtered: "a:read" }, "GET /y/:b/x": { filtered: "a:read" } },
    ],
    ["the same parameter before a wildcard", { "GET /:a/x/*p": ["r:<a>:w"], "GET /:b/*p/y": ["r:<b>:w"] }],
    ["any token", { "GET /:a/z/:c": [], "GET /y/:b/x": { filtered: "a:read" } }],
    ["optional", { "GET /:a/x": "optional", "GET /y/:b": "optional", "GET /z/:b": [] }],
    ["two report-only rules", { "GET /:a/x": { report: ["a:b"] }, "GET /y/:b": { report: ["c:d"] } }],
    [
      "an implied scope",
      { "GET /:a/x": ["a:b"], "GET /y/:b": ["c:d"] },
      { impliedScopes: { "c:d": ["a:b"] } },
    ],
    ["the admin scope", { "GET /:a/x": ["a:b"], "GET /y/:b": ["root"] }, { adminScope: "root" }],
    ["a HEAD rule that requires more", { "GET /x": [], "HEAD /x": ["a:b"] }],
    ["a HEAD rule without GET", { "HEAD /x": "public" }],
    ["a narrower text", { "GET /i/:name.:ext": ["a:b"], "GET /i/:name.png": "public" }],
  ])("starts: %s", (_, table, options) => {
    expect(codesOf(table, options)).toEqual([]);
    expect(codesOf(Object.fromEntries(Object.entries(table).reverse()), options)).toEqual([]);
  });

  it("compares the scopes of rules that only the whole server reports", () => {
    const table: ScopeMappings = { "GET /:a/x": ["a:b"], "GET /y/:b": ["c:d"] };
    expect(codesOf(table, { enforcement: "report" })).toEqual(["rules_cross scopeMappings.GET /:a/x"]);
    expect(codesOf({ ...table, "GET /y/:b": ["a:b"] }, { enforcement: "report" })).toEqual([]);
  });
});
