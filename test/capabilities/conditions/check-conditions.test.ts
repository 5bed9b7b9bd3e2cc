/** Conditions that cannot take effect as they are written: every mistake with its place, its text and its fix. */
import { describe, expect, it } from "vitest";
import type { ScopeMappings } from "scopegate";
import { createServer, issuer, thrownBy } from "../../support/resource-servers.ts";

const TENANT = { scopes: [], where: { org: { claim: "org_id" } } } as const;

const issuesIn = (scopeMappings: object, options: object = {}): readonly string[] =>
  thrownBy(() => createServer({ scopeMappings: scopeMappings as ScopeMappings, ...options })).issues.map(
    ({ code, path, message, hint }) => `${code} ${path.slice(1).join(" ")}: ${message} ${hint}`,
  );

const expectStart = (scopeMappings: object, options: object = {}) =>
  expect(() => createServer({ scopeMappings: scopeMappings as ScopeMappings, ...options })).not.toThrow();

const acr = (...anyOf: readonly string[]) => ({ scopes: [], acr: { anyOf } });

describe("the options of a server", () => {
  it("rejects options that switch off what conditions need", () => {
    expect(issuesIn({ "GET /orgs/:org": TENANT }, { authorization: false })).toEqual([
      "option_conflict GET /orgs/:org: has conditions, which `authorization: false` doesn't check. Remove `authorization: false`, or the conditions.",
    ]);
    expectStart({ "GET /orgs/:org": [] }, { authorization: false });
  });

  it("requires `senderConstraint` for a rule with `senderConstrained`", () => {
    const table = {
      "GET /a": { scopes: [], senderConstrained: true },
      "GET /b": { scopes: [], actors: "none" },
    };
    expect(issuesIn(table)).toEqual([
      'option_conflict GET /a senderConstrained: refuses every token: without `senderConstraint`, none can be bound to a key. Write senderConstraint: senderConstraint({ dpop: { origins: ["https://api.example"] } }), imported from scopegate/sender-constraint, or remove the condition.',
    ]);
    expectStart(table, { senderConstraint: { dpop: { origins: ["https://api.example"] } } });
  });
});

describe("the issuer of a claim", () => {
  const issuers = (...names: readonly string[]) => ({
    issuers: names.map((name) => ({
      issuer: name,
      verificationKeys: [issuer.publicPem],
      algorithms: ["RS256"],
    })),
  });
  const [a, b] = ["https://a.test", "https://b.test"] as const;
  const tableWith = (...org: readonly object[]) => ({
    "GET /orgs/:org": { scopes: [], where: { org: org.length === 1 ? org[0] : org } },
  });

  it("requires the issuer if there are several", () => {
    expect(issuesIn(tableWith({ claim: "org_id" }), issuers(a, b))).toEqual([
      `condition_conflict GET /orgs/:org where org: names no issuer, but the server accepts tokens of several. Write { claim, issuer } with "${a}" or "${b}", in an array for several issuers.`,
    ]);
    expectStart(tableWith({ claim: "org_id", issuer: a }), issuers(a, b));
    expectStart(tableWith({ claim: "org_id", issuer: a }, { claim: "tenant", issuer: b }), issuers(a, b));
  });

  it("requires an issuer of the server", () => {
    const message =
      "condition_conflict GET /orgs/:org where org: names an issuer whose tokens the server doesn't accept.";
    const other = { claim: "org_id", issuer: "https://c.test" };
    expect(issuesIn(tableWith(other), issuers(a, b))).toEqual([`${message} Write "${a}" or "${b}".`]);
    expect(issuesIn(tableWith({ claim: "org_id", issuer: a }, other), issuers(a))).toEqual([
      `${message} Write "${a}".`,
    ]);
  });

  it("allows leaving it out if there is a single issuer", () => {
    expectStart(tableWith({ claim: "org_id" }), issuers(a));
    expectStart(tableWith({ claim: "org_id" }));
  });

  it("accepts any issuer if the server checks none", () => {
    expectStart(tableWith({ claim: "org_id", issuer: a }));
  });

  it("does not require it for a rule without `where`", () => {
    expectStart({ "GET /a": { scopes: [], actors: "none" }, "GET /b": [] }, issuers(a, b));
  });
});

describe("an exception", () => {
  const restricted = (...except: readonly string[]) => ({ "* /orgs/:org{/*path}": { ...TENANT, except } });
  const place = (index: number) => `exception_unknown * /orgs/:org{/*path} except ${index}:`;
  const unknown = (key: string) =>
    `\`${key}\` isn't the key of another rule. Write the key of a rule of the table, or remove the exception.`;

  it("requires the key of another rule", () => {
    const rules = { "GET /orgs/:org/logo": [], "MCP tools/call *": [] };
    expect(
      issuesIn({
        ...restricted("GET /orgs/:org/logo", "GET /orgs/:org/lgo", "* /orgs/:id", "MCP tools/call search"),
        ...rules,
      }),
    ).toEqual([
      `${place(1)} ${unknown("GET /orgs/:org/lgo")}`,
      `${place(2)} ${unknown("* /orgs/:id")}`,
      `${place(3)} ${unknown("MCP tools/call search")}`,
    ]);
  });

  it("requires a rule for requests that this rule matches", () => {
    const rules = { "GET /health": "public", "MCP tools/list": [] };
    const useless = (key: string) =>
      `\`${key}\` decides no request that this rule matches. Remove the exception.`;
    expect(issuesIn({ ...restricted("GET /health", "MCP tools/list"), ...rules })).toEqual([
      `${place(0)} ${useless("GET /health")}`,
      `${place(1)} ${useless("MCP tools/list")}`,
    ]);
  });

  it("requires a method that the rule has", () => {
    expect(
      issuesIn({ "POST /orgs/:org": { ...TENANT, except: ["GET /orgs/:org"] }, "GET /orgs/:org": [] }),
    ).toHaveLength(1);
    expectStart({ "GET /orgs/:org": { ...TENANT, except: ["HEAD /orgs/:org"] }, "HEAD /orgs/:org": [] });
  });

  it("accepts a route with other names of its parameters, or one of its paths", () => {
    const rules = { "GET /orgs/:org/logos{/*path}": [] };
    expectStart({ ...restricted("GET /orgs/:id/logos{/*name}"), ...rules });
    expectStart({ ...restricted("GET /orgs/:id/logos"), ...rules });
  });

  it.each([
    ["MCP tools/call *", "MCP tools/call ping"],
    ["MCP tools/call docs_*", "MCP tools/call docs_read"],
    ["MCP tools/call docs_*", "MCP tools/call docs_open_*"],
    ["MCP resources/read *", "MCP resources/read docs://{id}"],
    ["MCP resources/read docs://{id}", "MCP resources/read docs://a"],
  ])("accepts an operation within the names of %s: %s", (key, exempt) => {
    expectStart({ [key]: { scopes: [], actors: "none", except: [exempt] }, [exempt]: [] });
  });

  it.each([
    ["MCP tools/call docs_*", "MCP tools/call ping"],
    ["MCP tools/call *", "MCP prompts/get ping"],
    ["MCP tools/call *", "MCP tools/list"],
    ["MCP tools/call docs_*", "MCP tools/call files_*"],
    ["MCP tools/call ping", "MCP tools/call pong"],
  ])("rejects an operation outside the names of %s: %s", (key, exempt) => {
    expect(issuesIn({ [key]: { scopes: [], actors: "none", except: [exempt] }, [exempt]: [] })).toEqual([
      `exception_unknown ${key} except 0: \`${exempt}\` decides no request that this rule matches. Remove the exception.`,
    ]);
  });
});

describe("a rule without a token", () => {
  const restricted = { "* /orgs/:org{/*path}": TENANT };

  it.each(["public", "optional"])(
    "needs an exception from the conditions that hold at its path: %s",
    (kind) => {
      expect(issuesIn({ ...restricted, "GET /orgs/:org/logo": kind })).toEqual([
        `exception_missing GET /orgs/:org/logo: is "${kind}", but the conditions of \`* /orgs/:org{/*path}\` also apply to \`GET /orgs/:org/logo\`. Add except: ["GET /orgs/:org/logo"] to \`* /orgs/:org{/*path}\`, or require a token here.`,
      ]);
    },
  );

  it("needs an exception for each of its paths", () => {
    const withExceptions = (...except: readonly string[]) => ({
      "* /orgs/:org{/*path}": { ...TENANT, except },
      "GET /orgs/:org/b{/*c}": "public",
    });
    expect(issuesIn(withExceptions("GET /orgs/:org/b"))).toHaveLength(1);
    expectStart(withExceptions("GET /orgs/:org/b", "GET /orgs/:org/b/*c"));
    expectStart(withExceptions("GET /orgs/:org/b{/*c}"));
  });

  it("needs an exception for an operation that the conditions of another rule hold for", () => {
    const table = {
      "MCP tools/call docs_*": { scopes: [], actors: "none" },
      "MCP tools/call docs_list": "public",
    };
    expect(issuesIn(table)).toEqual([
      'exception_missing MCP tools/call docs_list: is "public", but the conditions of `MCP tools/call docs_*` also apply to `MCP tools/call docs_list`. Add except: ["MCP tools/call docs_list"] to `MCP tools/call docs_*`, or require a token here.',
    ]);
  });

  it("needs none where other rules decide", () => {
    const ofNobody = { scopes: [], actors: "none" };
    expectStart({ ...restricted, "GET /{*path}": "public", "MCP tools/list": "public" });
    expectStart({ "GET /*path": "public", "GET /:page/edit": ofNobody });
    expectStart({ "MCP tools/call *": "public", "MCP tools/call delete": ofNobody });
    expectStart({ "* /a": "public", "GET /a": ofNobody });
  });

  it("reports it for at most 20 rules", () => {
    const rules = Array.from({ length: 30 }, (_, index) => [`GET /orgs/:org/logo${index}`, "public"]);
    expect(issuesIn({ ...restricted, ...(Object.fromEntries(rules) as object) })).toHaveLength(20);
  });
});

describe("two rules with an `acr`", () => {
  const wide = "* /pay{/*path}";
  const narrow = "POST /pay/refunds";
  const conflict = (key: string, other: string, common: string) =>
    `condition_conflict ${key} acr: has no value in common with \`${other}\`, but both apply to \`${common}\`. Add a value that satisfies both, or an exception.`;

  it("requires a common value where both apply", () => {
    const other = { "POST /other": acr("urn:d") };
    expect(issuesIn({ [wide]: acr("urn:a", "urn:b"), [narrow]: acr("urn:c"), ...other })).toEqual([
      conflict(wide, narrow, narrow),
    ]);
    expectStart({ [wide]: acr("urn:a", "urn:b"), [narrow]: acr("urn:b") });
    expectStart({ [wide]: acr("urn:a"), "POST /other": acr("urn:b") });
    expectStart({ [wide]: acr("urn:a"), [narrow]: { scopes: [], actors: "none" } });
  });

  it("reports them once, whatever their order in the table is", () => {
    const issues = [conflict(wide, narrow, narrow)];
    expect(issuesIn({ [narrow]: acr("urn:c"), [wide]: acr("urn:a") })).toEqual(issues);
  });

  it("allows different values if one of them is an exception of the other", () => {
    expectStart({ [wide]: { ...acr("urn:a"), except: [narrow] }, [narrow]: acr("urn:b") });
    expectStart({ [wide]: acr("urn:a"), [narrow]: { ...acr("urn:b"), except: [wide] } });
  });

  it("requires a common value if only one path of a rule is an exception", () => {
    const refunds = { "POST /pay/refunds{/*all}": acr("urn:b") };
    expect(issuesIn({ [wide]: { ...acr("urn:a"), except: [narrow] }, ...refunds })).toHaveLength(1);
    expectStart({ [wide]: { ...acr("urn:a"), except: ["POST /pay/refunds{/*all}"] }, ...refunds });
  });

  it("requires a common value for an operation, too", () => {
    expect(issuesIn({ "MCP tools/call *": acr("urn:a"), "MCP tools/call pay": acr("urn:b") })).toEqual([
      conflict("MCP tools/call *", "MCP tools/call pay", "MCP tools/call pay"),
    ]);
    expectStart({ "MCP tools/call buy": acr("urn:a"), "MCP tools/call pay": acr("urn:b") });
  });
});
