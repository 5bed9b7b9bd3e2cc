import { describe, expect, it } from "vitest";
import type { ScopeMappings } from "scopegate";
import { checkDocument, type DocumentOptions, fromDocument, toSecurity } from "scopegate/openapi";
import { documentOf, RESPONSES, serverOf } from "./support/documents.ts";

/** `error security_differs` of each finding. */
const check = (document: object, table: ScopeMappings, options?: DocumentOptions): readonly string[] =>
  checkDocument(document, serverOf(table), options).findings.map(
    ({ severity, kind }) => `${severity} ${kind}`,
  );

const secured = (security: unknown, more: object = {}): object => ({
  responses: RESPONSES,
  security,
  ...more,
});
const SCHEMES = {
  components: {
    securitySchemes: {
      bearer: { type: "http", scheme: "bearer" },
      login: { type: "oauth2", flows: {} },
      linked: { $ref: "#/components/securitySchemes/bearer" },
      key: { type: "apiKey", in: "header", name: "x-key" },
    },
  },
};

describe("checkDocument", () => {
  it("accepts what toSecurity wrote, and reports each operation with its rule", () => {
    const server = serverOf({ "GET /agents/:id": ["agents:<id>:read"], "* /news": "optional" });
    const document = toSecurity(documentOf(["GET /agents/{agent}", "GET /news", "PUT /news"]), server);
    const report = checkDocument(document, server);
    expect(report.orThrow({ warnings: true })).toBe(report);
    expect(report).toMatchObject({ ok: true, findings: [], text: "3 operations, each with a rule" });
    expect(report.routes.map(({ method, pattern, rule }) => [method, pattern, rule?.key])).toEqual([
      ["GET", "/agents/:agent", "GET /agents/:id"],
      ["GET", "/news", "* /news"],
      ["PUT", "/news", "* /news"],
    ]);
  });

  it("warns about a rule that opens a part of an operation, and is not documented", () => {
    const table: ScopeMappings = {
      "GET /agents/:id": ["agents:read"],
      "GET /agents/web": "public",
      "GET /*rest": [],
    };
    const server = serverOf(table);
    const document = toSecurity(documentOf(["GET /agents/{id}"]), server);
    const { findings } = checkDocument(document, server);
    const [warning] = findings.filter(({ severity }) => severity === "warning");
    expect(warning).toMatchObject({ kind: "security_partial", rules: [{ key: "GET /agents/web" }] });
    const note = findings.find(({ severity }) => severity === "note");
    expect(note).toMatchObject({ kind: "rules_undocumented", rules: [{ key: "GET /*rest" }] });
  });

  it("reports an operation that rules cover not at all, or in part, with the line to write", () => {
    expect(check(documentOf(["GET /a/{b}"]), { "GET /a/b": "public" })).toEqual([
      "error route_partly_mapped",
      "note rules_undocumented",
    ]);
    const report = checkDocument(documentOf(["DELETE /agents/{id}"]), serverOf({}));
    expect(report.text).toBe(`1 operation, 0 with a rule; 1 error

error route_unmapped: \`DELETE /agents/:id\` has no rule: every request for it is refused.
  Add to scopeMappings: "DELETE /agents/:id": ["resource:<id>:action"]`);
    expect(() => report.orThrow()).toThrow("route_unmapped");
  });

  it.each([
    [["a:read"], secured([{ bearer: ["a:read"] }]), []],
    [["a:read", "a:write"], secured([{ bearer: ["a:write", "a:read", "a:read"] }]), []],
    [["a:read", "a:write"], secured([{ bearer: ["a:write"], login: ["a:read"] }]), []],
    [["a:read"], secured([{ bearer: ["a:read"] }, { login: ["a:read"] }, { linked: ["a:read"] }]), []],
    [{ anyOf: ["a:x", "a:y"] }, secured([{ login: ["a:y"] }, { login: ["a:x"] }]), []],
    ["optional", secured([{}, { bearer: [] }]), []],
    ["public", secured([]), []],
    ["public", secured([{}]), []],
    [[], { responses: RESPONSES }, []],
    ["public", { responses: RESPONSES }, ["error security_missing"]],
    [["a:read"], { responses: RESPONSES }, ["error security_missing"]],
    [["a:read"], secured([]), ["error security_differs"]],
    [["a:read"], secured([{}]), ["error security_differs"]],
    [["a:read"], secured([{ bearer: [] }]), ["error security_differs"]],
    [["a:read"], secured([{ bearer: ["a:write"] }]), ["error security_differs"]],
    [["a:read"], secured([{ bearer: ["a:read"] }, {}]), ["error security_differs"]],
    [["a:read"], secured([{ bearer: ["a:read", "b:read"] }]), ["error security_differs"]],
    [["a:read"], secured([{ bearer: ["a:read"] }, { bearer: [] }]), ["error security_differs"]],
    [["a:read"], secured([{ bearer: ["a:read"], key: [] }]), ["error security_differs"]],
    [["a:read"], secured([{ unknown: ["a:read"] }]), ["error security_differs"]],
    [["a:read"], secured([{ toString: ["a:read"] }]), ["error security_differs"]],
    [["a:read"], secured(null), ["error security_differs"]],
    [["a:read"], secured({ bearer: ["a:read"] }), ["error security_differs"]],
    [["a:read"], secured(["a:read"]), ["error security_differs"]],
    [["a:read"], secured([null]), ["error security_differs"]],
    [["a:read"], secured([["a:read"]]), ["error security_differs"]],
    [["a:read"], secured([{ bearer: "a:read" }]), ["error security_differs"]],
    [["a:read"], secured([{ bearer: [["a:read"]] }]), ["error security_differs"]],
    [{ anyOf: ["a:x", "a:y"] }, secured([{ bearer: ["a:x", "a:y"] }]), ["error security_differs"]],
    [[], secured([]), ["error security_differs"]],
    [[], secured([{ bearer: [] }, {}]), ["error security_differs"]],
  ] as const)("compares %j with %j", (requirement, operation, findings) => {
    const document = documentOf({ "GET /x": operation }, SCHEMES);
    expect(check(document, { "GET /x": requirement })).toEqual(findings);
  });

  it.each([
    ["authenticated", []],
    ["public", "public"],
    ["error", undefined],
  ] as const)("agrees with fromDocument about operations without security: %s", (missingSecurity, rule) => {
    const document = documentOf(["GET /x"]);
    const options = { missingSecurity };
    if (rule === undefined) {
      expect(() => fromDocument(document, options)).toThrow("has no `security`");
      for (const table of [[], "public"] as const)
        expect(check(document, { "GET /x": table }, options)).toEqual(["error security_missing"]);
      return;
    }
    expect(fromDocument(document, options)).toEqual({ "GET /x": rule });
    expect(check(document, fromDocument(document, options), options)).toEqual([]);
    expect(check(document, { "GET /x": ["x:read"] }, options)).toEqual(["error security_missing"]);
  });

  it("rejects an unknown value of missingSecurity", () => {
    const options = { missingSecurity: "none" } as unknown as DocumentOptions;
    expect(() => check(documentOf([]), {}, options)).toThrow(
      'checkDocument.missingSecurity: has an invalid value. Write one of "authenticated", "public", "error".',
    );
    expect(() => fromDocument(documentOf([]), options)).toThrow(
      "fromDocument.missingSecurity: has an invalid",
    );
  });

  const EXTENSION = "x-scopegate-requirement";

  it.each([
    [["a:<any>:read"], secured([{ bearer: [] }], { [EXTENSION]: ["a:<any>:read"] }), []],
    [["a:read"], secured([{ bearer: [] }, { login: ["a:read"] }], { [EXTENSION]: ["a:read"] }), []],
    [["a:read"], secured([], { [EXTENSION]: ["a:read"] }), ["error security_differs"]],
    [["a:read"], secured([{}], { [EXTENSION]: ["a:read"] }), ["error security_differs"]],
    [["a:read"], secured([{ bearer: ["b:read"] }], { [EXTENSION]: ["a:read"] }), ["error security_differs"]],
    [["a:read"], { responses: RESPONSES, [EXTENSION]: ["a:read"] }, ["error security_missing"]],
    [["a:read"], secured([{ bearer: [] }], { [EXTENSION]: "optional" }), ["error security_differs"]],
    [["a:read"], secured([{ bearer: [] }], { [EXTENSION]: null }), ["error security_differs"]],
    [["a:read"], secured([{ bearer: [] }], { [EXTENSION]: 5 }), ["error security_differs"]],
    [["a:read"], secured([{ bearer: [] }], { [EXTENSION]: { anyOf: [] } }), ["error security_differs"]],
    [["a:read"], secured([{ bearer: [] }], { [EXTENSION]: { all: ["a:read"] } }), ["error security_differs"]],
    [["a:read"], secured([{ bearer: [] }], { [EXTENSION]: ["b:read"] }), ["error security_differs"]],
  ] as const)("compares %j with the extension of %j", (requirement, operation, findings) => {
    const document = documentOf({ "GET /x": operation }, { ...SCHEMES, openapi: "3.0.3" });
    expect(check(document, { "GET /x": requirement })).toEqual(findings);
  });

  it("shows what differs, and how to write what no rule can express", () => {
    const operations = { "GET /x": secured([{ bearer: ["x:write"] }]), "GET /y": secured([{ key: [] }]) };
    const table = { "GET /x": { anyOf: ["x:read", "x:any"] }, "GET /y": "public" as const };
    expect(checkDocument(documentOf(operations, SCHEMES), serverOf(table)).text)
      .toBe(`2 operations, each with a rule; 2 errors

error security_differs: \`GET /x\` requires x:write. Its rule \`GET /x\` requires one of x:read x:any.
  Write the document again with toSecurity, or change the rule.

error security_differs: \`GET /y\` has a \`security\` that no rule can express. Its rule \`GET /y\` requires nothing.
  For a public operation, write \`security: []\`. Otherwise list bearer, oauth2 or openIdConnect schemes: all with the same scopes, or each with exactly one scope. They must agree with \`x-scopegate-requirement\`.`);
  });

  it("notes rules without an operation, and what OpenAPI cannot express, but no operations of MCP", () => {
    const document = documentOf({ "GET /files/{path}": secured([{ bearer: [] }]) }, SCHEMES);
    const rules = ["GET /files/*path", "GET /a{/*b}", "PUT /x", "PROPFIND /x"];
    const table = Object.fromEntries([...rules, "MCP tools/list"].map((key) => [key, []]));
    const report = checkDocument(document, serverOf(table));
    expect(report.ok).toBe(true);
    expect(report.findings).toMatchObject([
      { kind: "rules_undocumented", severity: "note", rules: rules.map((key) => ({ key })) },
    ]);
    expect(report.text).toContain(rules.map((key) => `\`${key}\``).join(", "));
  });

  const HOST = { host: { default: "https://a.example" }, major: { default: "1" } };

  it.each([
    [[{ url: "https://api.example/v1" }], undefined],
    [[{ url: "https://api.example/v1/" }, { url: "/v1" }, { url: "v1" }], undefined],
    [[{ url: "{host}/v{major}", variables: HOST }], undefined],
    [undefined, "/v1"],
    [[{ url: "https://api.example/other" }, { url: "/" }], "/v1"],
  ])("finds the rules of whole paths with the servers %j and the base path %s", (servers, basePath) => {
    const operations = { "GET /x/{id}": secured([{ bearer: ["x:<id>:read"] }]) };
    const document = documentOf(operations, { ...SCHEMES, ...(servers && { servers }) });
    const table: ScopeMappings = { "GET /v1/x/:x_id": ["x:<x_id>:read"] };
    expect(check(document, table, basePath === undefined ? {} : { basePath })).toEqual([]);
  });

  it("reads the servers of path items and operations, and the security of the document", () => {
    const inherited = documentOf(["GET /x", "PUT /x"], { ...SCHEMES, security: [{ bearer: ["x:read"] }] });
    const table = { "GET /x": ["x:read"], "PUT /x": ["x:write"] };
    expect(check(inherited, table)).toEqual(["error security_differs"]);
    const servers = (url: string) => ({ servers: [{ url }] });
    const paths = { "/x": { ...servers("/v2"), get: secured([]), put: secured([], servers("/v3")) } };
    const document = documentOf([], { paths, ...servers("/v1") });
    expect(check(document, { "GET /v2/x": "public", "PUT /v3/x": "public" })).toEqual([]);
  });

  it.each([
    ["two base paths", { "GET /x": {} }, { servers: [{ url: "/v1" }, { url: "/v2" }] }],
    ["a server without a URL", { "GET /x": {} }, { servers: [{ url: "https://{host}/x" }] }],
    ["a server that is no URL", { "GET /x": {} }, { servers: [{ url: "https://" }] }],
    ["a path without a slash", { "GET x": {} }, {}],
    ["a query", { "GET /x?a=b": {} }, {}],
    ["a parameter without a name", { "GET /x/{}": {} }, {}],
    ["a brace", { "GET /x/}": {} }, {}],
    ["a parameter twice", { "GET /{a}/{a}": {} }, {}],
    ["parameters side by side", { "GET /{a}{b}": {} }, {}],
    ["a letter that is not encoded", { "GET /é": {} }, {}],
    ["half of a character", { "GET /\ud800": {} }, {}],
    ["dot segments", { "GET /a/../b": {} }, {}],
    ["an operation that is not an object", {}, { paths: { "/x": { get: [] } } }],
    ["a method in upper case", {}, { paths: { "/x": { GET: {} } } }],
    ["a path item that is not an object", {}, { paths: { "/x": "get" } }],
    ["a path item in another file", {}, { paths: { "/x": { $ref: "./x.yaml" } } }],
    ["a reference to nothing", {}, { paths: { "/x": { $ref: "#/components/pathItems/x" } } }],
    ["a reference that is not encoded", {}, { paths: { "/x": { $ref: "#/%" } } }],
    ["a circle", {}, { paths: { "/x": { $ref: "#/paths/~1x" } } }],
  ])("reports a path that cannot be read: %s", (_, operations, others) => {
    expect(check(documentOf(operations, others), {})).toEqual(["error route_unreadable"]);
  });

  it("reads percent-encoded paths, special characters and every method of OpenAPI", () => {
    const methods = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"];
    const operations = Object.fromEntries(methods.map((method) => [`${method} /caf%C3%A9`, secured([])]));
    const document = documentOf({ ...operations, "GET /({id})": secured([]), "GET /a:b*!": secured([]) });
    const table = {
      "* /caf%C3%A9": "public",
      "GET /:id": "public",
      "GET /a\\:b\\*\\!": "public",
    } as const;
    expect(checkDocument(document, serverOf(table))).toMatchObject({ ok: true, findings: [] });
  });

  it("ignores webhooks, callbacks and extensions, and rejects a document without operations", () => {
    const operation = { post: { responses: RESPONSES } };
    const callbacks = { done: { "{$request.body#/url}": operation } };
    const document = documentOf({ "GET /x": secured([], { callbacks }) }, { webhooks: { done: operation } });
    expect(check(document, { "GET /x": "public" })).toEqual([]);
    const empty = documentOf([], { paths: { "x-a": { get: {} } }, webhooks: { done: operation } });
    expect(check(empty, {})).toEqual(["error routes_missing"]);
    const { paths, ...without } = empty;
    expect(check(without, {})).toEqual(["error routes_missing"]);
  });

  it.each([
    [{ swagger: "2.0", paths: {} }, "Convert it"],
    [{ openapi: "2.0", paths: {} }, "Convert it"],
    [{ openapi: "3.2.0", paths: {} }, "Convert it"],
    [{ openapi: 3.1, paths: {} }, 'openapi: "3.1.0"'],
    [{ openapi: "3.1", paths: {} }, 'openapi: "3.1.0"'],
    [{ openapi: "3.1.0", paths: [] }, "parseDocument"],
    [[], "parseDocument"],
    ["openapi: 3.1.0", "parseDocument"],
    [null, "parseDocument"],
    [Object.create({ openapi: "3.1.0", paths: {} }), "parseDocument"],
  ])("rejects %j, which is not a document of OpenAPI 3.0 or 3.1", (document, fix) => {
    expect(() => checkDocument(document as object, serverOf({}))).toThrow(fix);
  });
});
