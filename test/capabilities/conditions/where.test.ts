import type { ScopeMappings } from "scopegate";
import { describe, expect, it } from "vitest";
import { explain } from "scopegate/explain";
import { conditionIssues, decide, resultFor, resultOf } from "../../support/conditions.ts";
import { createServer, issuer } from "../../support/resource-servers.ts";

const ORG = { where: { org: { claim: "org_id" } } } as const;
const REFUSED = "caller_not_allowed where";

describe("the condition `where`", () => {
  it.each([
    ["an equal string", "acme"],
    ["an array that contains it", ["acme"]],
    ["an array of several values", ["globex", "acme"]],
  ])("accepts %s", (_, org_id) => {
    expect(resultFor(ORG, { org_id })).toBe("allowed");
  });

  it("compares an integer as its decimal string", () => {
    const table = { "GET /orgs/:org": { scopes: [], ...ORG } };
    expect(resultOf(decide(table, "GET /orgs/42", { org_id: 42 }))).toBe("allowed");
    expect(resultOf(decide(table, "GET /orgs/042", { org_id: 42 }))).toBe(REFUSED);
  });

  it.each(
    (
      [
        undefined,
        null,
        "",
        "Acme",
        "ACME",
        "acme ",
        " acme",
        "acme\u0000",
        "acmе",
        "ａcme",
        "acme/",
        "*",
        ":org",
        "<org>",
        "acme,globex",
        "acme globex",
        true,
        0,
        -0,
        NaN,
        Infinity,
        {},
        { acme: true },
        { 0: "acme", length: 1 },
        { toString: "acme" },
        [],
        [[]],
        [["acme"]],
        [{ id: "acme" }],
        ["acme", ["acme"]],
        ["acme", { id: "acme" }],
        ["acme", null],
        ["acme", true],
        ["acme", ""],
        ["acme", 2 ** 53],
        ["Acme", "acm", "acmee"],
      ] as readonly unknown[]
    ).map((claim): readonly [unknown] => [claim]),
  )("refuses the claim %j", (org_id) => {
    expect(resultFor(ORG, { org_id })).toBe(REFUSED);
  });

  it.each([
    "1e3",
    "0x10",
    "16.0",
    "+16",
    "016",
    "9007199254740992",
    "9007199254740993",
    "NaN",
    "true",
    "null",
  ])("refuses at /orgs/%s a number or another value that is written so", (org) => {
    const table = { "GET /orgs/:org": { scopes: [], ...ORG } };
    for (const org_id of [1000, 16, 2 ** 53, NaN, true, null])
      expect(resultOf(decide(table, `GET /orgs/${org}`, { org_id }))).toBe(REFUSED);
  });

  it.each(["constructor", "__proto__", "toString", "hasOwnProperty"])(
    "reads the claim %s only as an own property",
    (claim) => {
      expect(resultFor({ where: { org: { claim } } }, {})).toBe(REFUSED);
      expect(resultFor({ where: { org: { claim: [claim, "name"] } } }, {})).toBe(REFUSED);
    },
  );

  it("reads a nested claim by its path", () => {
    const nested = { where: { org: { claim: ["org", "id"] } } };
    expect(resultFor(nested, { org: { id: "acme" } })).toBe("allowed");
    expect(resultFor(nested, { "org.id": "acme" })).toBe(REFUSED);
  });

  it("compares the parameter as the handler sees it", () => {
    const table = { "GET /orgs/:org": { scopes: [], ...ORG } };
    expect(resultOf(decide(table, "GET /orgs/a%20b", { org_id: "a b" }))).toBe("allowed");
    expect(resultOf(decide(table, "GET /orgs/a%20b", { org_id: "a%20b" }))).toBe(REFUSED);
    expect(resultOf(decide(table, "GET /orgs/%2561", { org_id: "a" }))).toBe(REFUSED);
  });

  it("requires every parameter that it names", () => {
    const table = {
      "GET /orgs/:org/users/:user": {
        scopes: [],
        where: { org: { claim: "org_id" }, user: { claim: "sub" } },
      },
    };
    expect(resultOf(decide(table, "GET /orgs/acme/users/u1", { org_id: "acme", sub: "u1" }))).toBe("allowed");
    expect(resultOf(decide(table, "GET /orgs/acme/users/u2", { org_id: "acme", sub: "u1" }))).toBe(REFUSED);
    expect(resultOf(decide(table, "GET /orgs/acme/users/u1", { sub: "u1" }))).toBe(REFUSED);
  });

  describe("with claims of several values", () => {
    const byTeam = { org: { claim: "orgs" }, team: { claim: "teams" } };
    const oneRule = { "GET /orgs/:org/teams/:team": { scopes: [], where: byTeam } };
    const twoRules = {
      "* /orgs/:org{/*path}": { scopes: [], where: { org: { claim: "orgs" } } },
      "GET /orgs/:org/teams/:team": { scopes: [], where: { team: { claim: "teams" } } },
    };

    it.each([
      ["of one rule", oneRule],
      ["of two rules", twoRules],
    ])("does not combine two of them %s: nothing says that the team belongs to the tenant", (_, table) => {
      const route = "GET /orgs/a/teams/y";
      expect(resultOf(decide(table, route, { orgs: ["a", "b"], teams: ["x", "y"] }))).toBe(REFUSED);
      expect(resultOf(decide(table, route, { orgs: ["a"], teams: ["x", "y"] }))).toBe("allowed");
      expect(resultOf(decide(table, route, { orgs: ["a", "b"], teams: "y" }))).toBe("allowed");
    });

    it("does not combine two parameters of one claim, also if two rules give them one name", () => {
      const where = { id: { claim: "orgs" } };
      const table = {
        "* /orgs/:id{/*path}": { scopes: [], where },
        "GET /orgs/:org/children/:id": { scopes: [], where },
      };
      expect(resultOf(decide(table, "GET /orgs/a/children/b", { orgs: ["a", "b"] }))).toBe(REFUSED);
      expect(resultOf(decide(table, "GET /orgs/a/children/a", { orgs: ["a", "b"] }))).toBe("allowed");
    });

    it("does not count a value that is repeated as several", () => {
      expect(resultOf(decide(oneRule, "GET /orgs/a/teams/y", { orgs: ["a", "a"], teams: ["x", "y"] }))).toBe(
        "allowed",
      );
    });

    it("counts the same segment and claim of two rules once, whatever its name is", () => {
      const table = {
        "* /orgs/:org{/*path}": { scopes: [], where: { org: { claim: "orgs" } } },
        "GET /orgs/:id/logo": { scopes: [], where: { id: { claim: "orgs" } } },
      };
      expect(resultOf(decide(table, "GET /orgs/a/logo", { orgs: ["a", "b"] }))).toBe("allowed");
    });

    it.each<[string, ScopeMappings]>([
      [
        "another form of the claim",
        {
          "* /orgs/:org{/*path}": { scopes: [], where: { org: { claim: "orgs" } } },
          "GET /orgs/:id/teams/:team": { scopes: [], where: { id: { claim: ["orgs"] } } },
        },
      ],
      [
        "a further issuer",
        {
          "* /orgs/:org{/*path}": { scopes: [], where: { org: { claim: "orgs" } } },
          "GET /orgs/:id/teams/:team": {
            scopes: [],
            where: { id: [{ claim: "tenant", issuer: "https://b.test" }, { claim: "orgs" }] },
          },
        },
      ],
      [
        "another claim",
        {
          "* /orgs/:org{/*path}": { scopes: [], where: { org: { claim: "orgs" } } },
          "GET /orgs/:id/teams/:team": { scopes: [], where: { id: { claim: "tenants" } } },
        },
      ],
      [
        "a parameter before it",
        {
          "* /:area/:org/teams/:team": { scopes: [], where: { team: { claim: "tenants" } } },
          "GET /orgs/:org/teams/:id": { scopes: [], where: { id: { claim: "orgs" } } },
        },
      ],
    ])("counts one segment of two rules once, in whatever words they write it: %s", (_, table) => {
      const claims = { orgs: ["a", "b", "y"], tenants: ["a", "c", "y"] };
      expect(resultOf(decide(table, "GET /orgs/a/teams/y", claims))).toBe("allowed");
      expect(resultOf(decide(table, "GET /orgs/z/teams/z", claims))).toBe(REFUSED);
      const bothSegments = { x: { claim: "orgs" }, y: { claim: "tenants" } };
      const further = { ...table, "* /orgs/:x/teams/:y": { scopes: [], where: bothSegments } };
      expect(resultOf(decide(further, "GET /orgs/a/teams/y", claims))).toBe(REFUSED);
    });

    it("doesn't count two parts of one segment as one value", () => {
      const table = {
        "GET /files/:name": { scopes: [], where: { name: { claim: "files" } } },
        "GET /files/:id.json": { scopes: [], where: { id: { claim: "files" } } },
      };
      expect(resultOf(decide(table, "GET /files/a.json", { files: ["a", "a.json"] }))).toBe(REFUSED);
    });

    it("counts a segment of each path of a batch once, in whatever words the rules write it", async () => {
      const server = createServer({
        scopeMappings: {
          "* /trpc/:org{/*path}": { scopes: [], where: { org: { claim: "orgs" } } },
          "GET /trpc/:id": { scopes: [], where: { id: { claim: ["orgs"] } } },
        },
      });
      const authorization = `Bearer ${await issuer.token({ aud: "agents-prod", scopes: [], orgs: ["a", "b", "a,b"] })}`;
      const request = { method: "GET", target: "/trpc/a,b?batch=1", authorization };
      expect(resultOf(await server.check(request))).toBe("allowed");
    });

    it("identifies the argument of an operation by its name", () => {
      const byTeam = (claim: string) => ({ scopes: [], where: { team: { claim } } });
      const server = createServer({
        scopeMappings: {
          "MCP tools/call *": byTeam("teams"),
          "MCP tools/call search": byTeam("groups"),
          "MCP tools/call move": { scopes: [], where: { target: { claim: "teams" } } },
          "MCP resources/read docs://{team}/{+rest}": byTeam("teams"),
          "MCP resources/read docs://{team}/{page}": byTeam("groups"),
          "MCP resources/read docs://{first}/from/{team}": byTeam("teams"),
        },
      });
      const resultAt = (path: string, params = {}) =>
        resultOf(
          explain(server, {
            method: "MCP",
            path,
            params,
            scopes: [],
            claims: { teams: ["a", "b"], groups: ["a", "c"] },
          }).decision,
        );
      expect(resultAt("tools/call search", { team: "a" })).toBe("allowed");
      expect(resultAt("tools/call search", { team: "b" })).toBe(REFUSED);
      expect(resultAt("tools/call move", { team: "a", target: "b" })).toBe(REFUSED);
      expect(resultAt("resources/read docs://a/x")).toBe("allowed");
      // The two rules give one name to different parts of the URI.
      expect(resultAt("resources/read docs://a/from/b")).toBe(REFUSED);
      expect(resultAt("resources/read docs://a/from/a")).toBe("allowed");
    });

    it("counts the same parameter and claim of two rules once", () => {
      const table = {
        "* /orgs/:org{/*path}": { scopes: [], where: { org: { claim: "orgs" } } },
        "GET /orgs/:org/logo": { scopes: [], where: { org: { claim: "orgs" } } },
      };
      expect(resultOf(decide(table, "GET /orgs/a/logo", { orgs: ["a", "b"] }))).toBe("allowed");
    });
  });

  it("accepts the claim only from the issuer that it names", () => {
    const where = { org: { claim: "org_id", issuer: "https://a.test" } };
    expect(resultFor({ where }, { org_id: "acme", iss: "https://a.test" })).toBe("allowed");
    expect(resultFor({ where }, { org_id: "acme", iss: "https://b.test" })).toBe(REFUSED);
    expect(resultFor({ where }, { org_id: "acme" })).toBe(REFUSED);
  });

  it("accepts one claim for each of several issuers", () => {
    const where = {
      org: [
        { claim: "org_id", issuer: "https://a.test" },
        { claim: "tenant", issuer: "https://b.test" },
      ],
    };
    expect(resultFor({ where }, { org_id: "acme", iss: "https://a.test" })).toBe("allowed");
    expect(resultFor({ where }, { tenant: "acme", iss: "https://b.test" })).toBe("allowed");
    expect(resultFor({ where }, { tenant: "acme", iss: "https://a.test" })).toBe(REFUSED);
  });

  it("uses an argument in place of a parameter for an operation", () => {
    const table = { "MCP tools/call *": { scopes: [], ...ORG } };
    const call = (params: object) =>
      resultOf(
        decideOperation(table, "tools/call search", { org_id: "acme" }, params as Record<string, string>),
      );
    expect(call({ org: "acme" })).toBe("allowed");
    expect(call({ org: "globex" })).toBe(REFUSED);
    expect(call({})).toBe(REFUSED);
    expect(call({ org: "" })).toBe(REFUSED);
    expect(call({ org: ["acme"] })).toBe(REFUSED);
    expect(call(Object.create({ org: "acme" }) as object)).toBe(REFUSED);
  });

  it.each([
    [{ where: undefined }, "isn't an object of parameters"],
    [{ where: "org" }, "isn't an object of parameters"],
    [{ where: null }, "isn't an object of parameters"],
    [{ where: [] }, "isn't an object of parameters"],
    [{ where: {} }, "isn't an object of parameters"],
    [{ where: { org: "org_id" } }, "doesn't name a claim"],
    [{ where: { org: {} } }, "doesn't name a claim"],
    [{ where: { org: { claim: "" } } }, "doesn't name a claim"],
    [{ where: { org: { claim: [] } } }, "doesn't name a claim"],
    [{ where: { org: { claim: ["org", 1] } } }, "doesn't name a claim"],
    [{ where: { org: null } }, "doesn't name a claim"],
    [{ where: { org: [{ claim: "a" }, {}] } }, "doesn't name a claim"],
    [{ where: { org: { claim: "a", issuer: 5 } } }, "doesn't name a claim"],
    [{ where: { org: [] } }, "doesn't name a claim"],
    [{ where: { org: { claim: "a", claims: "b" } } }, "doesn't name a claim"],
    [{ where: { org: { claim: "a", issuer: "" } } }, "doesn't name a claim"],
    [{ where: { tenant: { claim: "a" } } }, "isn't a parameter of the route. It has `org`."],
  ])("rejects %j", (conditions, text) => {
    expect(conditionIssues(conditions).join()).toContain(text);
  });

  it("rejects an argument with the name of `<any>`", () => {
    expect(conditionIssues({ where: { any: { claim: "a" } } }, "MCP tools/call x")).toEqual([
      "condition_invalid where.any: can't be an argument. Give it another name.",
    ]);
  });

  it("rejects each parameter that is wrong, and names it", () => {
    const where = { org: {}, team: { claim: "team" }, user: { claim: "sub" }, other: 5 };
    const issues = conditionIssues({ where }, "GET /orgs/:org/users/:user");
    expect(issues.map((issue) => issue.split(".", 3).join("."))).toEqual([
      'condition_invalid where.org: doesn\'t name a claim. Write the parameter and the claim: { org: { claim: "org_id" } }',
      "condition_invalid where.team: isn't a parameter of the route. It has `org`, `user`",
      "condition_invalid where.other: isn't a parameter of the route. It has `org`, `user`",
      'condition_invalid where.other: doesn\'t name a claim. Write the parameter and the claim: { org: { claim: "org_id" } }',
    ]);
  });

  it.each(["GET /orgs/:org.json", "MCP tools/call search", "* /orgs/:org{/*path}"])(
    "accepts the parameter of %s, which every request has",
    (key) => {
      const server = createServer({ scopeMappings: { [key]: { scopes: [], ...ORG } } });
      expect(server.routes).toHaveLength(1);
    },
  );

  it.each([
    ["GET /orgs", "The route has no parameters."],
    [
      "GET /orgs/*org",
      "is a wildcard, which matches several segments. Write a parameter: `:org` instead of `*org`.",
    ],
    ["MCP tools/list", "isn't a parameter of the route"],
  ])("rejects a parameter of %s that not every request has", (key, text) => {
    expect(conditionIssues(ORG, key).join()).toContain(text);
  });
});

function decideOperation(
  scopeMappings: ScopeMappings,
  path: string,
  claims: Readonly<Record<string, unknown>>,
  params: Readonly<Record<string, string>>,
) {
  return explain(createServer({ scopeMappings }), { method: "MCP", path, claims, scopes: [], params })
    .decision;
}
