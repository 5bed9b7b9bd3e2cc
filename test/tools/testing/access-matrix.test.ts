import { describe, expect, it } from "vitest";
import { agentScopeMappings, type ScopeMappings } from "scopegate";
import { accessMatrix, type AccessMatrixOptions, createTestIssuer, type TestCaller } from "scopegate/testing";
import { createResourceServer } from "../../support/server.ts";

const issuer = createTestIssuer();
const serverWith = (scopeMappings: ScopeMappings) =>
  createResourceServer({ ...issuer.resourceServerOptions, scopeMappings });

const callers: Readonly<Record<string, TestCaller>> = {
  anonymous: "anonymous",
  reader: { scopes: ["agents:read"] },
  "web's owner": issuer.caller({ scopes: ["agents:web:read", "agents:web:run"] }),
  expired: issuer.caller({ scopes: ["platform:admin"], rejectedAs: "expired" }),
};

/** The routes of the cells, in order. */
const pathsOf = (cells: readonly { readonly route: string }[]) => [
  ...new Set(cells.map(({ route }) => route)),
];

describe("accessMatrix", () => {
  it("shows the decision for each caller and route", async () => {
    const server = serverWith({
      "GET /agents": ["agents:<any>:read"],
      "GET /agents/:agent_id": ["agents:<agent_id>:read"],
      "POST /agents/:agent_id/runs": ["agents:<agent_id>:run"],
      "GET /health": "public",
    });
    const routes = ["GET /agents", "GET /agents/web", "POST /agents/web/runs", "GET /health", "GET //x"];
    const { text } = await accessMatrix(server, { callers, routes, width: 200 });
    expect(`\n${text}\n`).toBe(`
             GET                     GET                     POST                    GET      GET
             /agents                 /agents/web             /agents/web/runs        /health  //x
anonymous    401 credential_missing  401 credential_missing  401 credential_missing  allowed  400 request_ambiguous
reader       allowed                 allowed                 403 scope_insufficient  allowed  400 request_ambiguous
web's owner  allowed                 allowed                 allowed                 allowed  400 request_ambiguous
expired      401 expired             401 expired             401 expired             allowed  400 request_ambiguous
`);
  });

  it("continues below if it is too wide", async () => {
    const server = serverWith({ "GET /a": [], "GET /b": [], "GET /c": [] });
    const of = (width: number) => accessMatrix(server, { callers: { reader: { scopes: [] } }, width });
    const wide =
      "        GET      GET      GET\n        /a       /b       /c\nreader  allowed  allowed  allowed";
    expect(String(await of(33))).toBe(wide);
    const first = "        GET      GET\n        /a       /b\nreader  allowed  allowed";
    expect(String(await of(32))).toBe(`${first}\n\n        GET\n        /c\nreader  allowed`);
    expect(String(await of(1)).split("\n\n")).toHaveLength(3);
  });

  it("checks every rule of the table", async () => {
    const { cells, unasked } = await accessMatrix(serverWith(agentScopeMappings), {
      callers: { anonymous: "anonymous" },
    });
    expect(cells.map(({ decision }) => decision.rule?.key)).toEqual(Object.keys(agentScopeMappings));
    expect(unasked).toEqual([]);
  });

  it.each<[table: ScopeMappings, params: Readonly<Record<string, string>>, routes: readonly string[]]>([
    [{ "GET /agents/:agent_id": [] }, {}, ["GET /agents/agent_id"]],
    [{ "GET /agents/:agent_id": [] }, { agent_id: "a b" }, ["GET /agents/a%20b"]],
    [{ "GET /a/id": [], "GET /a/:id": ["x:y"] }, {}, ["GET /a/id", "GET /a/id-1"]],
    [
      { "GET /files/*path": [], "GET /files/:name": ["x:y"] },
      {},
      ["GET /files/path/path", "GET /files/name"],
    ],
    [{ "GET /files/*path": [] }, { path: "a/b c" }, ["GET /files/a/b%20c"]],
    [{ "GET /:major.x": [] }, {}, ["GET /major.x"]],
    [{ "* /a": [], "GET /a": ["x:y"] }, {}, ["POST /a", "GET /a"]],
    [{ "DELETE /": [] }, {}, ["DELETE /"]],
    // A change may have to meet conditions that reading doesn't.
    [
      {
        "* /a/:id": {
          scopes: [],
          where: { id: { claim: "a" } },
          unless: { scopes: ["a:b"], methods: ["GET"] },
        },
      },
      {},
      ["GET /a/id", "POST /a/id"],
    ],
  ])("checks for %j with %j the routes %j", async (table, params, routes) => {
    const { cells } = await accessMatrix(serverWith(table), { callers: { reader: { scopes: [] } }, params });
    expect(pathsOf(cells)).toEqual(routes);
  });

  it("gives a caller the tenant of its issuer", async () => {
    const { trustedIssuer } = createTestIssuer({ issuer: "https://login.acme.example" });
    const server = createResourceServer({
      serviceId: "orgs",
      issuers: [{ ...trustedIssuer, tenant: "acme" }],
      scopeMappings: { "GET /orgs/:org": { scopes: [], where: { org: { tenant: true } } } },
    });
    const callers = {
      acme: { scopes: [], tenant: "acme" },
      globex: { scopes: [], tenant: "globex" },
      nobody: { scopes: [], claims: { tenant: "acme" } },
    };
    const { cells } = await accessMatrix(server, { callers, params: { org: "acme" } });
    expect(cells.map(({ caller, decision }) => [caller, decision.allowed])).toEqual([
      ["acme", true],
      ["globex", false],
      ["nobody", false],
    ]);
    expect(cells[0]?.decision.principal?.tenant).toBe("acme");
  });

  it("lists the rules for which it found no path", async () => {
    const table: ScopeMappings = { "GET /a/:id": ["a:read"], "GET /a/me": [] };
    const { unasked, text } = await accessMatrix(serverWith(table), { callers, params: { id: "me" } });
    expect(unasked).toEqual(["GET /a/:id"]);
    expect(text).toContain("\n\nnot checked: `GET /a/:id`, because no path was found for this rule");
  });

  it("returns the decisions as data, also for a route without a rule", async () => {
    const reader = { callers: { reader: { scopes: [] } }, routes: ["GET /a", "GET /nothing"] };
    const { cells } = await accessMatrix(serverWith({ "GET /a": ["a:read"] }), reader);
    expect(cells).toMatchObject([
      { caller: "reader", route: "GET /a", decision: { allowed: false, missing: ["a:read"] } },
      { caller: "reader", route: "GET /nothing", decision: { allowed: false, reason: "route_unmapped" } },
    ]);
  });

  it.each<[message: string, options: object]>([
    ["accessMatrix.callers: are missing. Write {", {}],
    ["are missing", { callers: {} }],
    ["Did you mean `routes`?", { callers, route: [] }],
    ["isn't a caller", { callers: { reader: "reader" } }],
    ["reader", { callers: { reader: { scopes: [""] } } }],
    ["Write `METHOD /path`", { callers, routes: ["/a"] }],
    ["Did you mean `agent_id`?", { callers, params: { agentid: "web" } }],
    ["Write a value that can be part of a path.", { callers, params: { agent_id: "" } }],
  ])("rejects wrong options with the fix: %s", async (message, options) => {
    const server = serverWith(agentScopeMappings);
    await expect(accessMatrix(server, options as AccessMatrixOptions)).rejects.toThrow(message);
  });

  it("throws if the server rejects a valid token", async () => {
    const server = createResourceServer({
      ...issuer.resourceServerOptions,
      audience: "agents-prod",
      scopeMappings: { "GET /agents": ["agents:read"] },
    });
    await expect(accessMatrix(server, { callers })).rejects.toThrow("audience");
  });
});
