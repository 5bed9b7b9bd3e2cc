import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ConfigurationIssue, ScopeMappings } from "scopegate";
import { checkDocument, fromDocument, parseDocument, renderDocument, toSecurity } from "scopegate/openapi";
import { PROPERTY } from "../../support/policy.ts";
import { starts } from "../../support/resource-servers.ts";
import {
  documentOf,
  issuesOf,
  RESPONSES,
  schemaErrorsOf,
  serverOf,
  skeletonOf,
} from "./support/documents.ts";
import { withPollution } from "../../support/polluted-prototype.ts";

const word = fc.constantFrom("agents", "teams", "a", "b-c", "v1.0", "caf%C3%A9", "__proto__", "constructor");
const parameter = fc.constantFrom(
  ":id",
  ":agent_id",
  ':"odd-name"',
  ":__proto__",
  ":name.json",
  "v:major",
  ":a-:b",
);
const METHODS = ["GET", "PUT", "POST", "DELETE", "OPTIONS", "HEAD", "PATCH", "TRACE"];

const scope = fc.constantFrom("agents:read", "agents:write", "teams:*:read", "openid", "a");
const requirementFor = (pattern: string): fc.Arbitrary<ScopeMappings["GET /"]> => {
  const names = [...pattern.matchAll(/(?<=\/):(\w+)(?=\/|$|\.json)/g)].map(
    ([, name = ""]) => `agents:<${name}>:read`,
  );
  const scopes = fc.array(fc.oneof(scope, ...names.map((name) => fc.constant(name))), { maxLength: 4 });
  return fc.oneof(
    scopes,
    fc.constantFrom("public" as const, "optional" as const),
    scopes.filter(({ length }) => length > 0).map((anyOf) => ({ anyOf })),
    fc.constant(["agents:<any>:read"]),
  );
};
const pattern = fc.array(fc.oneof(word, parameter), { maxLength: 4 }).map((parts) => `/${parts.join("/")}`);
const entry = fc
  .tuple(fc.constantFrom(...METHODS), pattern)
  .chain(([method, path]) => fc.tuple(fc.constant(`${method} ${path}`), requirementFor(path)));
/** Tables without mistakes: entries that contradict the others are left out. */
const table = fc
  .array(entry, { minLength: 1, maxLength: 12 })
  .map((entries) => {
    const kept: [string, ScopeMappings["GET /"]][] = [];
    for (const one of entries)
      if (starts({ scopeMappings: Object.fromEntries([...kept, one]) })) kept.push(one);
    return Object.fromEntries(kept);
  })
  .filter((kept) => Object.keys(kept).length > 0);

describe("fromDocument", () => {
  const bearer = {
    bearer: { type: "http", scheme: "bearer" },
    oauth: { type: "openIdConnect", openIdConnectUrl: "https://a.example/" },
  };
  const read = (operation: object, openapi = "3.1.0") =>
    fromDocument(documentOf({ "GET /x": operation }, { openapi, components: { securitySchemes: bearer } }));

  it("rejects an extension that requires less than `security`", () => {
    const extension = { "x-scopegate-requirement": { anyOf: ["a:admin", "a:read"] } };
    const security = [{ oauth: ["a:admin"] }];
    expect(() => read({ ...extension, security }, "3.0.3")).toThrow("x-scopegate-requirement");
    expect(() => read({ ...extension, security })).toThrow("x-scopegate-requirement");
  });

  it("rejects a requirement whose scopes are undefined", () => {
    expect(() => read({ security: [{ oauth: undefined }] })).toThrow("security");
    expect(() => read({ security: [{ oauth: [] }, { bearer: undefined }] })).toThrow("security");
  });

  it("rejects a path item with a reference and an operation, because it is unclear which counts", () => {
    const { paths } = documentOf({ "GET /y": { security: [{ oauth: ["a:admin"] }] } });
    const item = { $ref: "#/paths/~1y", get: { security: [], responses: RESPONSES } };
    const components = { securitySchemes: bearer };
    const document = documentOf([], { paths: { ...paths, "/x": item }, components });
    expect(() => fromDocument(document)).toThrow("/x");
  });

  it("reads no `security` from a polluted prototype", () => {
    expect(withPollution({ security: [] }, () => read({}))).toEqual({ "GET /x": [] });
  });

  it.each(["3.0.3", "3.1.0"])(
    "returns the table that a document of OpenAPI %s was written from, which is valid",
    async (openapi) => {
      let validated = 0;
      const trip = async (rules: ScopeMappings, keys: object) => {
        const server = serverOf(rules, keys);
        const document = toSecurity(skeletonOf(rules, openapi), server);
        expect(fromDocument(document)).toEqual(rules);
        for (const format of ["json", "yaml"] as const)
          expect(fromDocument(parseDocument(renderDocument(document, format)))).toEqual(rules);
        expect(checkDocument(document, server)).toMatchObject({ ok: true, findings: [] });
        expect(toSecurity(document, server)).toEqual(document);
        // A schema takes long to check.
        if ((validated += 1) <= 5) expect(await schemaErrorsOf(document)).toEqual([]);
      };
      const discovery = { issuer: "https://login.example/", keys: { discovery: true as const } };
      const property = fc.asyncProperty(table, fc.constantFrom({}, discovery), trip);
      await fc.assert(property, { ...PROPERTY, numRuns: 60 });
    },
  );

  it("creates a table that decides as the document says", () => {
    const document = documentOf(
      { "GET /agents/{id}": { security: [{ login: ["agents:<id>:read"] }] }, "GET /news": {} },
      {
        security: [{ login: [] }, {}],
        components: { securitySchemes: { login: { type: "oauth2", flows: {} } } },
        servers: [{ url: "/v1" }],
      },
    );
    const server = serverOf(fromDocument(document));
    expect(server.routes.map(({ key, requirement }) => [key, requirement])).toEqual([
      ["GET /v1/agents/:id", ["agents:<id>:read"]],
      ["GET /v1/news", "optional"],
    ]);
    expect(fromDocument(document, { basePath: "" })).toHaveProperty(["GET /news"]);
    expect(Object.isFrozen(fromDocument(document))).toBe(true);
  });

  it("rejects operations without security, or with security that no rule can express: nothing is public by accident", () => {
    const document = documentOf(
      {
        "GET /a": {},
        "GET /b": { security: [{ key: [] }] },
        "GET /c": { security: [{ bearer: ["a:b"] }, {}] },
        "GET /d": { security: [], "x-scopegate-requirement": ["a:b"] },
        "GET /e": { "x-scopegate-requirement": ["a:b"] },
        "GET /f": { security: [{ bearer: ["a:<b>:c"] }] },
        "GET /g": { security: [{ bearer: ["a::c"] }] },
        "GET /h?i": { security: [] },
        "GET /j/{x}": { security: [] },
        "GET /j/{y}": { security: [] },
        "GET /k": { security: [] },
      },
      { components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } } },
    );
    expect(issuesOf(() => fromDocument(document, { missingSecurity: "error" }))).toEqual([
      ["document/paths//h?i/get", "route_unreachable"],
      ...["a", "b", "c", "d", "e"].map((name) => [`document/paths//${name}/get`, "option_invalid"]),
      ["document/paths//f/get", "scope_invalid"],
      ["document/paths//g/get", "scope_invalid"],
      ["scopeMappings/GET /j/:x", "route_duplicate"],
    ]);
    expect(() => fromDocument(document, { missingSecurity: "error" })).toThrow(
      /\ba"\]\.get: has no `security`\. For a public operation/,
    );
    expect(() => fromDocument(document)).toThrow(/\bb"\]\.get: has a `security` that no rule can express\./);
  });

  it("reports unclear operations to `onUnclear`, which then need a valid token, and keeps the clear ones", () => {
    const document = documentOf(
      {
        "GET /a": {},
        "GET /b": { security: [{ key: [] }] },
        "GET /e": { security: [{ bearer: ["e:read"] }] },
        "GET /f": { security: [] },
        "GET /g": { security: [{ bearer: ["g:read", "a read", "a:"] }] },
        "GET /h/{id}": { security: [{ bearer: ["h:<name>:read"] }] },
        "GET /v{version}/agents": { security: [{}] },
      },
      { components: { securitySchemes: { bearer: { type: "http", scheme: "bearer" } } } },
    );
    const unclear: string[] = [];
    const onUnclear = ({ path, message, hint }: ConfigurationIssue) =>
      void unclear.push(`${path.slice(2).join(" ")} ${message}${message.includes("path") ? ` ${hint}` : ""}`);
    const clear = { "GET /e": ["e:read"], "GET /f": "public" };
    const signedIn = { "GET /b": [], "GET /g": [], "GET /h/:id": [] };
    expect(fromDocument(document, { onUnclear })).toEqual({ "GET /a": [], ...clear, ...signedIn });
    const others = [
      "/b get has a `security` that no rule can express.",
      '/g get "a read" is a scope that no token can have.',
      '/g get "a:" is a scope that no token can have.',
      "/h/{id} get `h:<name>:read` names no parameter of its route.",
      expect.stringMatching(
        /^\/v\{version\}\/agents get has a path that no rule can name: GET \/v:version\/agents has a segment that isn't a text.* Write `\/:version\/agents`, which matches every text there\.$/,
      ) as string,
    ];
    expect(unclear.toSorted()).toEqual(["/a get has no `security`.", ...others]);

    unclear.length = 0;
    const table = fromDocument(document, { onUnclear, missingSecurity: "public" });
    expect(table).toEqual({ "GET /a": "public", ...clear, ...signedIn });
    expect(unclear.toSorted()).toEqual(others);
  });

  it("rejects two operations with one whole path", () => {
    const get = { responses: RESPONSES, security: [] };
    const paths = { "/v1/x": { get }, "/x": { get, servers: [{ url: "/v1" }] } };
    expect(() => fromDocument(documentOf([], { paths }))).toThrow("repeats `GET /v1/x`");
  });
});
