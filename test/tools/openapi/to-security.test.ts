import { describe, expect, it } from "vitest";
import { checkDocument, fromDocument, toSecurity } from "scopegate/openapi";
import {
  documentOf,
  issuesOf,
  operationOf,
  RESPONSES,
  schemaErrorsOf,
  serverOf,
} from "./support/documents.ts";

const TABLE = {
  "GET /agents": ["agents:<any>:read"],
  "GET /agents/:agent_id": ["agents:<agent_id>:read"],
  "POST /agents": ["agents:write", "audit:write"],
  "PUT /agents": { anyOf: ["agents:write", "agents:admin"] },
  "GET /me": [],
  "GET /news": "optional",
  "GET /health": "public",
} as const;
const OPERATIONS = [
  "GET /agents",
  "GET /agents/{agent_id}",
  "POST /agents",
  "PUT /agents",
  "GET /me",
  "GET /news",
  "GET /health",
];

const securityOf = (document: object, key: string): object =>
  Object.fromEntries(
    Object.entries(operationOf(document, key)).filter(([name]) => /^security$|^x-/.test(name)),
  );

/** The security of operations, by their keys. */
const securitiesOf = (document: object, keys: readonly string[]): object =>
  Object.fromEntries(keys.map((key) => [key, securityOf(document, key)]));

describe("toSecurity", () => {
  it("writes each kind of requirement in OpenAPI 3.1", () => {
    const document = toSecurity(documentOf(OPERATIONS), serverOf(TABLE));
    expect(securitiesOf(document, OPERATIONS)).toEqual({
      "GET /agents": { security: [{ bearer: [] }], "x-scopegate-requirement": ["agents:<any>:read"] },
      "GET /agents/{agent_id}": {
        security: [{ bearer: [] }],
        "x-scopegate-requirement": ["agents:<agent_id>:read"],
      },
      "POST /agents": { security: [{ bearer: ["agents:write", "audit:write"] }] },
      "PUT /agents": { security: [{ bearer: ["agents:write"] }, { bearer: ["agents:admin"] }] },
      "GET /me": { security: [{ bearer: [] }] },
      "GET /news": { security: [{ bearer: [] }, {}] },
      "GET /health": { security: [] },
    });
    expect(document["components"]).toMatchObject({
      securitySchemes: { bearer: { type: "http", scheme: "bearer", bearerFormat: "JWT" } },
    });
  });

  it("writes no scopes for a bearer scheme in OpenAPI 3.0, where the specification forbids them", () => {
    const document = toSecurity(documentOf(OPERATIONS, { openapi: "3.0.3" }), serverOf(TABLE));
    expect(securityOf(document, "POST /agents")).toEqual({
      security: [{ bearer: [] }],
      "x-scopegate-requirement": ["agents:write", "audit:write"],
    });
    expect(securityOf(document, "PUT /agents")).toEqual({
      security: [{ bearer: [] }],
      "x-scopegate-requirement": { anyOf: ["agents:write", "agents:admin"] },
    });
  });

  it.each([
    ["3.0.3", [{ bearer: [] }, { "login.example-tenant": ["agents:write", "audit:write"] }]],
    [
      "3.1.0",
      [
        { bearer: ["agents:write", "audit:write"] },
        { "login.example-tenant": ["agents:write", "audit:write"] },
      ],
    ],
  ])("adds the issuer's discovery as a scheme that has scopes in OpenAPI %s", (openapi, security) => {
    const server = serverOf(TABLE, { issuer: "https://login.example/tenant/", keys: { discovery: true } });
    const document = toSecurity(documentOf(OPERATIONS, { openapi }), server);
    expect(document["components"]).toMatchObject({
      securitySchemes: {
        "login.example-tenant": {
          type: "openIdConnect",
          openIdConnectUrl: "https://login.example/tenant/.well-known/openid-configuration",
        },
      },
    });
    expect(operationOf(document, "POST /agents")["security"]).toEqual(security);
  });

  it("names each of several issuers once", async () => {
    const metadata = "https://b.example/.well-known/openid-configuration";
    const sources = { "https://a.example": true, "urn:b": metadata, "https://c.example": metadata } as const;
    const issuers = Object.entries(sources).map(([issuer, discovery]) => ({
      issuer,
      keys: { discovery },
      algorithms: ["RS256" as const],
    }));
    const server = serverOf(TABLE, { issuers });
    const given = {
      bearer: { type: "apiKey", in: "header", name: "x-key" },
      mine: { type: "openIdConnect", openIdConnectUrl: metadata },
    };
    const document = toSecurity(documentOf(OPERATIONS, { components: { securitySchemes: given } }), server);
    const { securitySchemes } = document["components"] as {
      readonly securitySchemes: Record<string, object>;
    };
    expect(Object.values(securitySchemes)).toEqual([
      ...Object.values(given),
      { type: "http", scheme: "bearer", bearerFormat: "JWT" },
      { type: "openIdConnect", openIdConnectUrl: "https://a.example/.well-known/openid-configuration" },
    ]);
    expect(securitySchemes).toMatchObject(given);
    expect(await schemaErrorsOf(document)).toEqual([]);
    expect(checkDocument(document, server).findings).toEqual([]);
  });

  it("uses the schemes of the author for bearer tokens, and no others", () => {
    const securitySchemes = {
      token: { type: "http", scheme: "Bearer" },
      login: { type: "oauth2", flows: {} },
      key: { type: "apiKey", in: "header", name: "x-key" },
    };
    const document = toSecurity(
      documentOf(["GET /me"], { components: { securitySchemes } }),
      serverOf(TABLE),
    );
    expect(document["components"]).toMatchObject({ securitySchemes });
    expect(
      Object.keys((document["components"] as typeof document)["securitySchemes"] as object),
    ).toHaveLength(3);
    expect(operationOf(document, "GET /me")["security"]).toEqual([{ token: [] }, { login: [] }]);
  });

  it("adds the refusals that the rule can lead to, and describes the body of a real one", async () => {
    const server = serverOf(TABLE);
    const document = toSecurity(documentOf(OPERATIONS), server);
    const statuses = OPERATIONS.map((key) =>
      Object.keys(operationOf(document, key)["responses"] as object).join(" "),
    );
    const forScopes = ["200 401 403", "200 401 403", "200 401 403", "200 401 403"];
    expect(statuses).toEqual([...forScopes, "200 401", "200 401", "200"]);
    expect(operationOf(document, "POST /agents")["responses"]).toMatchObject({
      401: { $ref: "#/components/responses/ScopegateUnauthorized" },
      403: { $ref: "#/components/responses/ScopegateForbidden" },
    });
    const decision = await server.check({ method: "GET", target: "/me" });
    if (decision.allowed) throw new Error("allowed");
    const { problem: body } = server.refuse(decision);
    const { components } = document as unknown as {
      readonly components: { readonly schemas: Record<string, { required: string[]; properties: object }> };
    };
    const schema = components.schemas["ScopegateProblem"];
    expect(Object.keys(body).sort()).toEqual([...(schema?.required ?? [])].sort());
    expect(Object.keys(schema?.properties ?? {})).toEqual(
      expect.arrayContaining(["required_scopes", "missing_scopes"]),
    );
  });

  it("describes no body of refusals that refusalBody creates, also in a document that described one", async () => {
    const refusalBody = () => ({ contentType: "application/json", body: { error: "refused" } });
    const server = serverOf(TABLE, { refusalBody });
    const described = toSecurity(documentOf(OPERATIONS), serverOf(TABLE));
    for (const source of [documentOf(OPERATIONS), described]) {
      const document = toSecurity(source, server);
      expect(operationOf(document, "POST /agents")["responses"]).toMatchObject({
        401: { $ref: "#/components/responses/ScopegateUnauthorized" },
        403: { $ref: "#/components/responses/ScopegateForbidden" },
      });
      const headers = { "WWW-Authenticate": { schema: { type: "string" } } };
      expect(document["components"]).toMatchObject({
        responses: { ScopegateUnauthorized: { headers }, ScopegateForbidden: { headers } },
      });
      expect(JSON.stringify(document)).not.toMatch(/problem/i);
      expect(await schemaErrorsOf(document)).toEqual([]);
    }
    expect(toSecurity(toSecurity(described, server), serverOf(TABLE))).toEqual(described);
  });

  it("keeps the author's own responses, components, order and everything else", () => {
    const own = { description: "Mine" };
    const given = documentOf(
      {
        "POST /agents": {
          responses: { ...RESPONSES, 401: own, 403: own },
          "x-team": "a",
          operationId: "create",
        },
        "PUT /agents": { responses: { "4XX": own } },
      },
      {
        components: { responses: { Forbidden: own }, schemas: { Agent: { type: "object" } } },
        webhooks: { changed: { post: { responses: RESPONSES } } },
        "x-any": [1],
      },
    );
    const before = structuredClone(given);
    const document = toSecurity(given, serverOf(TABLE));
    expect(given).toEqual(before);
    expect(operationOf(document, "POST /agents")).toMatchObject({ ...operationOf(given, "POST /agents") });
    expect(operationOf(document, "PUT /agents")["responses"]).toEqual({ "4XX": own });
    expect(document["components"]).toMatchObject(given["components"] as object);
    expect(document["webhooks"]).toEqual(given["webhooks"]);
    expect(document["x-any"]).toEqual([1]);
  });

  it("replaces what it wrote before", () => {
    const first = toSecurity(documentOf(OPERATIONS, { openapi: "3.0.3" }), serverOf(TABLE));
    const open = serverOf({ "* /{*path}": "public" });
    const second = toSecurity(first, open);
    expect(operationOf(second, "POST /agents")).toEqual({ responses: RESPONSES, security: [] });
    expect(checkDocument(second, open).ok).toBe(true);
  });

  it("expands rules for every method, HEAD by the rule for GET, and wildcards to the operations", () => {
    const keys = ["GET /a", "HEAD /a", "TRACE /a", "OPTIONS /a", "PATCH /files/{name}/x"];
    const server = serverOf({
      "GET /a": ["a:read"],
      "* /a": ["a:any"],
      "* /files/*path": ["files:any"],
    });
    expect(securitiesOf(toSecurity(documentOf(keys), server), keys)).toMatchObject({
      "GET /a": { security: [{ bearer: ["a:read"] }] },
      "HEAD /a": { security: [{ bearer: ["a:read"] }] },
      "TRACE /a": { security: [{ bearer: ["a:any"] }] },
      "OPTIONS /a": { security: [{ bearer: ["a:any"] }] },
      "PATCH /files/{name}/x": { security: [{ bearer: ["files:any"] }] },
    });
  });

  it("names the parameters of the operation in templates, or their values", () => {
    const server = serverOf({
      "GET /agents/:agent_id": ["agents:<agent_id>:read"],
      "GET /files/:name.json": ["files:<name>:read"],
    });
    const keys = ["GET /agents/{id}", "GET /agents/web", "GET /files/{file}.json"];
    const document = toSecurity(documentOf(keys), server);
    expect(securitiesOf(document, keys)).toMatchObject({
      "GET /agents/{id}": { "x-scopegate-requirement": ["agents:<id>:read"] },
      "GET /agents/web": { security: [{ bearer: ["agents:web:read"] }] },
      "GET /files/{file}.json": { "x-scopegate-requirement": ["files:<file>:read"] },
    });
  });

  it("requires a token where the server does for unmapped routes", () => {
    const server = serverOf({}, { unmappedRoutes: "authenticated" });
    const document = toSecurity(documentOf(["GET /x"]), server);
    expect(operationOf(document, "GET /x")["security"]).toEqual([{ bearer: [] }]);
  });

  it("throws for every operation without a rule, and every path that cannot be read", () => {
    const document = documentOf(["GET /x", "POST /me", "GET /a?b={c}", "GET /me"]);
    expect(issuesOf(() => toSecurity(document, serverOf(TABLE)))).toEqual([
      ["document/paths//a?b={c}/get", "route_unreachable"],
      ["document/paths//x/get", "option_invalid"],
      ["document/paths//me/post", "option_invalid"],
    ]);
  });

  it("writes the operations of a local path item into its paths", async () => {
    const item = { parameters: [], get: { responses: RESPONSES } };
    const paths = {
      "/me": { $ref: "#/components/pathItems/read" },
      "/news": { $ref: "#/paths/~1me", summary: "News" },
    };
    const components = { pathItems: { read: item } };
    const document = toSecurity(documentOf([], { paths, components }), serverOf(TABLE));
    expect(operationOf(document, "GET /me")["security"]).toEqual([{ bearer: [] }]);
    expect(operationOf(document, "GET /news")["security"]).toEqual([{ bearer: [] }, {}]);
    expect(document.paths["/news"]).toMatchObject({ summary: "News", parameters: [] });
    expect(document["components"]).toMatchObject(components);
    expect(await schemaErrorsOf(document)).toEqual([]);
  });

  it("keeps keys that are names of prototypes, and reads none that is inherited", () => {
    const json = `{ "openapi": "3.1.0", "info": { "title": "a", "version": "1" },
      "paths": { "__proto__": { "x": 1 }, "/__proto__": { "get": {} }, "/constructor/{toString}": { "get": {} } },
      "components": { "securitySchemes": { "__proto__": { "type": "http", "scheme": "bearer" } } } }`;
    const server = serverOf({ "GET /__proto__": ["a:read"], "GET /constructor/:toString": [] });
    const document = toSecurity(JSON.parse(json) as object, server);
    const written = JSON.parse(JSON.stringify(document)) as typeof document;
    expect(Object.getPrototypeOf(document)).toBe(Object.prototype);
    expect(JSON.stringify(written)).toContain('"security":[{"__proto__":["a:read"]}]');
    expect(Object.keys((written as { paths: object }).paths)).toEqual([
      "__proto__",
      "/__proto__",
      "/constructor/{toString}",
    ]);
    expect(fromDocument(written)).toEqual({ "GET /__proto__": ["a:read"], "GET /constructor/:toString": [] });
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });

  it("rejects a copy of a server, and what is not a document", () => {
    const server = serverOf(TABLE);
    expect(() => toSecurity(documentOf([]), { ...server })).toThrow(TypeError);
    expect(() => toSecurity(server, documentOf([]) as never)).toThrow(
      "isn't a document of OpenAPI 3.0 or 3.1",
    );
  });
});
