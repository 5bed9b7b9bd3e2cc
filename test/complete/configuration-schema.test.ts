/** The JSON Schema of the configuration file, with a validator that knows nothing about scopegate. */
import { readFileSync } from "node:fs";
import Ajv from "ajv";
import { describe, expect, it } from "vitest";
import { parseConfiguration } from "scopegate/complete";
import { JSON_OPTION_NAMES } from "../../src/core/options/shape.ts";
import { configurationSchema, SCHEMA_FILE } from "../../scripts/configuration-schema.ts";
import { pageOf } from "../documentation/markdown.ts";
import { starts } from "../support/resource-servers.ts";
import { JSON_NAMES } from "./json-names.ts";

const schema = JSON.parse(readFileSync(SCHEMA_FILE, "utf8")) as object;
const validate = new Ajv().compile(schema);
const isValid = (json: unknown): boolean => validate(json) as boolean;

const documented = pageOf("docs/reference/configuration-file.md").blocks.filter(
  ({ language }) => language === "json",
);
const files = ["examples/knowledge-service/service.json", "examples/starters/mcp-gateway/policy.json"].map(
  (name) => ({ name, code: readFileSync(name, "utf8") }),
);
const rule = (value: unknown) => ({ scope_mappings: { "GET /a/:id": value } });

describe("configuration.schema.json", () => {
  it("is written from the shapes", () => {
    expect(schema, "Run `npm run configuration:schema` and review the difference.").toEqual(
      configurationSchema(),
    );
  });

  it.each([...documented.map(({ code, line }) => ({ name: `line ${line}`, code })), ...files])(
    "accepts the configuration in $name",
    ({ code }) => {
      expect(isValid(JSON.parse(code)), JSON.stringify(validate.errors)).toBe(true);
      expect(parseConfiguration(code)).not.toHaveProperty("$schema");
    },
  );

  it("accepts every option", () => {
    const names = JSON_NAMES.map(([name]) => name);
    expect(names).toHaveLength(JSON_OPTION_NAMES.length - 1);
    for (const [name, , value] of JSON_NAMES) expect(isValid({ [name]: value }), name).toBe(true);
  });

  it.each([
    rule("public"),
    rule([]),
    rule({ any_of: ["a:b"] }),
    rule({ scopes: [], where: { id: { claim: ["org", "id"], issuer: "https://a.example" } } }),
    rule({ scopes: ["a:b"], actors: { any_of: ["agent"], direct: true }, acr: { any_of: ["urn:mfa"] } }),
    rule({ scopes: [], actors: "none", clients: ["c"], max_auth_age_seconds: 1, sender_constrained: true }),
    rule({ scopes: [], clients: ["c"], unless: ["a:b"], except: ["GET /a/b"] }),
    { scope_mappings: { "* /{*path}": [], "M-SEARCH /a": [], "MCP tools/call search": [] } },
    { shadow: { scope_mappings: { "GET /a": "optional" } }, keys: { jwks_uri: "https://a.example/keys" } },
    { token_cache: { max_entries: 5 }, sender_constraint: { dpop: { origins: ["https://a.example"] } } },
    { resource: { id: "https://a.example/", authorization_servers: ["https://b.example/"] } },
  ])("accepts what parseConfiguration accepts: %j", (json) => {
    expect(isValid(json), JSON.stringify(validate.errors)).toBe(true);
    expect(() => parseConfiguration(json)).not.toThrow();
  });

  it.each([
    { scope_mapping: {} },
    { scopeMappings: {} },
    { max_token_bytes: "16384" },
    { algorithm: "none" },
    { keys: { jwks_url: "https://a.example/keys" } },
    { keys: { jwks: {} } },
    { keys: { fetch: {} } },
    { verification_keys: [5] },
    { issuers: [{ issuer: "a" }] },
    { issuers: [{ issuer: "a", algorithms: ["RS256"], service_id: "b" }] },
    { sender_constraint: { mtls: { from: { header: "h", format: "xfcc", trusted: true } } } },
    { shadow: { scope_mappings: { "get /a": [] } } },
    { scope_mappings: { "get /a": [] } },
    { scope_mappings: { "/a": [] } },
    rule("Public"),
    rule(true),
    rule({ any_of: [] }),
    rule({ scopes: [], any_of: ["a:b"] }),
    rule({ where: { id: { claim: "id" } } }),
    rule({ scopes: [], where: { id: "id" } }),
    rule({ scopes: [], acr: "mfa" }),
    rule({ scopes: [], max_auth_age_seconds: 0 }),
    rule({ scopes: [], sender_constrained: false }),
    rule({ scopes: [], roles: ["a"] }),
  ])("rejects a mistake: %j", (json) => {
    expect(isValid(json)).toBe(false);
    expect(startsWith(json)).toBe(false);
  });
});

/** Returns whether a server starts with these options of a file. */
function startsWith(json: object): boolean {
  try {
    return starts(parseConfiguration({ default_scope_mappings: {}, ...json }));
  } catch {
    return false;
  }
}
