import type { ScopeMappings } from "scopegate";
import { describe, expect, it } from "vitest";
import { explain } from "scopegate/explain";
import { type Claims, decide, resultFor, resultOf } from "../../support/conditions.ts";
import { createServer, issuer } from "../../support/resource-servers.ts";

const ORG = { where: { org: { claim: "org_id" } } } as const;
const OF_ORG = { "GET /orgs/:org": { scopes: [], ...ORG } };
const REFUSED = "caller_not_allowed where";

/** A rule whose parameters must be equal to claims. */
const bound = (claims: Readonly<Record<string, string | readonly string[]>>) => ({
  scopes: [],
  where: Object.fromEntries(Object.entries(claims).map(([name, claim]) => [name, { claim }])),
});

function decideOperation(table: ScopeMappings, path: string, claims: Claims, params: object): string {
  const query = { method: "MCP", path, claims, scopes: [], params: params as Record<string, string> };
  return resultOf(explain(createServer({ scopeMappings: table }), query).decision);
}

describe("the condition `where`", () => {
  it.each([
    ["an equal string", ["acme"]],
    ["an array that contains it", [["acme"], ["globex", "acme"]]],
  ])("accepts %s", (_, values) => {
    for (const org_id of values) expect(resultFor(ORG, { org_id })).toBe("allowed");
  });

  it.each<[string, readonly unknown[]]>([
    ["no value", [undefined, null, "", [], [""]]],
    ["another spelling", ["Acme", "ACME", "acme ", " acme", "acme\u0000", "acm\u0435", "\uff41cme", "acme/"]],
    ["a pattern", ["*", ":org", "<org>"]],
    ["several values in a string", ["acme,globex", "acme globex"]],
    ["another type", [true, 0, -0, NaN, Infinity, {}]],
    ["an object", [{ acme: true }, { 0: "acme", length: 1 }, { toString: "acme" }]],
    ["a nested value", [[[]], [["acme"]], [{ id: "acme" }]]],
    [
      "a wrong value beside it",
      [
        ["acme", ["acme"]],
        ["acme", { id: "acme" }],
        ["acme", null],
        ["acme", true],
      ],
    ],
    [
      "a value beside it that is empty or too large",
      [
        ["acme", ""],
        ["acme", 2 ** 53],
      ],
    ],
    ["similar values", [["Acme", "acm", "acmee"]]],
  ])("refuses a claim with %s", (_, values) => {
    for (const org_id of values) expect(resultFor(ORG, { org_id }), JSON.stringify(org_id)).toBe(REFUSED);
  });

  it("compares an integer as its decimal string", () => {
    expect(resultOf(decide(OF_ORG, "GET /orgs/42", { org_id: 42 }))).toBe("allowed");
    const segments = "042 1e3 0x10 16.0 +16 016 9007199254740992 9007199254740993 NaN true null".split(" ");
    for (const org of segments)
      for (const org_id of [42, 1000, 16, 2 ** 53, NaN, true, null])
        expect(resultOf(decide(OF_ORG, `GET /orgs/${org}`, { org_id })), org).toBe(REFUSED);
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
    expect(resultOf(decide(OF_ORG, "GET /orgs/a%20b", { org_id: "a b" }))).toBe("allowed");
    expect(resultOf(decide(OF_ORG, "GET /orgs/a%20b", { org_id: "a%20b" }))).toBe(REFUSED);
    expect(resultOf(decide(OF_ORG, "GET /orgs/%2561", { org_id: "a" }))).toBe(REFUSED);
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
    const call = (params: object) => decideOperation(table, "tools/call search", { org_id: "acme" }, params);
    expect(call({ org: "acme" })).toBe("allowed");
    for (const params of [
      { org: "globex" },
      {},
      { org: "" },
      { org: ["acme"] },
      Object.create({ org: "acme" }),
    ])
      expect(call(params as object)).toBe(REFUSED);
  });

  it.each(["GET /orgs/:org.json", "MCP tools/call search", "* /orgs/:org{/*path}"])(
    "accepts the parameter of %s, which every request has",
    (key) => {
      const server = createServer({ scopeMappings: { [key]: { scopes: [], ...ORG } } });
      expect(server.routes).toHaveLength(1);
    },
  );
});

describe("claims of several values", () => {
  const SUBTREE = "* /orgs/:org{/*path}";
  const TEAM = "GET /orgs/:org/teams/:team";
  const several = { orgs: ["a", "b", "y"], teams: ["x", "y"], tenants: ["a", "c", "y"] };

  it.each<[string, ScopeMappings]>([
    ["of one rule", { [TEAM]: bound({ org: "orgs", team: "teams" }) }],
    ["of two rules", { [SUBTREE]: bound({ org: "orgs" }), [TEAM]: bound({ team: "teams" }) }],
  ])("are not combined if they are %s: nothing says that the team belongs to the tenant", (_, table) => {
    const result = (orgs: unknown, teams: unknown) =>
      resultOf(decide(table, "GET /orgs/a/teams/y", { orgs, teams }));
    expect(result(["a", "b"], ["x", "y"])).toBe(REFUSED);
    expect(result(["a"], ["x", "y"])).toBe("allowed");
    expect(result(["a", "b"], "y")).toBe("allowed");
    const same = { orgs: ["a", "b"], teams: ["a", "x"] };
    expect(resultOf(decide(table, "GET /orgs/a/teams/a", same))).toBe(REFUSED);
    // A value that is repeated is not several.
    expect(result(["a", "a"], ["x", "y"])).toBe("allowed");
  });

  it("are not combined for two parameters of one claim, also if two rules give them one name", () => {
    const id = bound({ id: "orgs" });
    const table = { "* /orgs/:id{/*path}": id, "GET /orgs/:org/children/:id": id };
    expect(resultOf(decide(table, "GET /orgs/a/children/b", several))).toBe(REFUSED);
    expect(resultOf(decide(table, "GET /orgs/a/children/a", several))).toBe("allowed");
  });

  it("are not combined for two parts of one segment", () => {
    const table = {
      "GET /files/:name": bound({ name: "files" }),
      "GET /files/:id.json": bound({ id: "files" }),
    };
    expect(resultOf(decide(table, "GET /files/a.json", { files: ["a", "a.json"] }))).toBe(REFUSED);
  });

  const OTHER_ISSUER = [{ claim: "tenant", issuer: "https://b.test" }, { claim: "orgs" }];
  const ORGS = { [SUBTREE]: bound({ org: "orgs" }) };
  const OF_ID = "GET /orgs/:id/teams/:t";
  const AREA = { "* /:area/:org/teams/:team": bound({ team: "tenants" }) };

  it.each<[string, ScopeMappings]>([
    ["another name", { ...ORGS, [OF_ID]: bound({ id: "orgs" }) }],
    ["another form of the claim", { ...ORGS, [OF_ID]: bound({ id: ["orgs"] }) }],
    ["a further issuer", { ...ORGS, [OF_ID]: { scopes: [], where: { id: OTHER_ISSUER } } }],
    ["another claim", { ...ORGS, [OF_ID]: bound({ id: "tenants" }) }],
    ["a parameter before it", { ...AREA, "GET /orgs/:o/teams/:id": bound({ id: "orgs" }) }],
  ])("count once for one segment, in whatever words two rules write it: %s", (_, table) => {
    expect(resultOf(decide(table, "GET /orgs/a/teams/y", several))).toBe("allowed");
    expect(resultOf(decide(table, "GET /orgs/z/teams/z", several))).toBe(REFUSED);
    const further = { ...table, "* /orgs/:x/teams/:y": bound({ x: "orgs", y: "tenants" }) };
    expect(resultOf(decide(further, "GET /orgs/a/teams/y", several))).toBe(REFUSED);
  });

  it("count once for a segment of each path of a batch, in whatever words the rules write it", async () => {
    const server = createServer({
      scopeMappings: {
        "* /trpc/:org{/*path}": bound({ org: "orgs" }),
        "GET /trpc/:id": bound({ id: ["orgs"] }),
      },
    });
    const token = await issuer.token({ aud: "agents-prod", scopes: [], orgs: ["a", "b", "a,b"] });
    const request = { method: "GET", target: "/trpc/a,b?batch=1", authorization: `Bearer ${token}` };
    expect(resultOf(await server.check(request))).toBe("allowed");
  });

  it.each<[string, object, string]>([
    ["tools/call search", { team: "a" }, "allowed"],
    ["tools/call search", { team: "b" }, REFUSED],
    ["tools/call move", { team: "a", target: "b" }, REFUSED],
    ["resources/read docs://a/x", {}, "allowed"],
    // The two rules give one name to different parts of the URI.
    ["resources/read docs://a/from/b", {}, REFUSED],
    ["resources/read docs://a/from/a", {}, "allowed"],
  ])("count once for an argument of an operation, by its name: %s %j %s", (operation, params, expected) => {
    const table: ScopeMappings = {
      "MCP tools/call *": bound({ team: "teams" }),
      "MCP tools/call search": bound({ team: "groups" }),
      "MCP tools/call move": bound({ target: "teams" }),
      "MCP resources/read docs://{team}/{+rest}": bound({ team: "teams" }),
      "MCP resources/read docs://{team}/{page}": bound({ team: "groups" }),
      "MCP resources/read docs://{first}/from/{team}": bound({ team: "teams" }),
    };
    const claims = { teams: ["a", "b"], groups: ["a", "c"] };
    expect(decideOperation(table, operation, claims, params)).toBe(expected);
  });
});
