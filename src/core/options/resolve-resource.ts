/** The identity of the server for OAuth clients (RFC 9728). */
import type { Report } from "../errors.ts";
import { scopesOf } from "../policy/requirement.ts";
import { OPERATION_METHOD } from "../request.ts";
import type { CompiledRule } from "../policy/rule.ts";
import { metadataUrlOf, type Resource } from "../response/resource-metadata.ts";
import type { ResourceServerOptions } from "./options.ts";

export function resolveResource(
  options: ResourceServerOptions,
  rules: readonly CompiledRule[],
  report: Report,
): Resource | undefined {
  const { resource, issuer, issuers = [] } = options;
  if (!resource) return undefined;
  const { id, metadata = {} } = resource;
  const configuredIssuers = issuer === undefined ? issuers.map((entry) => entry.issuer) : [issuer];
  const { authorizationServers = configuredIssuers, scopesSupported = supportedScopes(rules) } = resource;
  if (authorizationServers.length === 0)
    report({
      code: "option_missing",
      path: ["resource", "authorizationServers"],
      message: "is missing, and the server has no `issuer`.",
      hint: 'Write where clients get tokens: ["https://login.example/"].',
    });
  const fromOptions = {
    resource: id,
    authorization_servers: authorizationServers,
    scopes_supported: scopesSupported,
  };
  for (const name of Object.keys(fromOptions))
    if (Object.hasOwn(metadata, name))
      report({
        code: "option_conflict",
        path: ["resource", "metadata", name],
        message: "is set by another option.",
        hint: "Write `id`, `authorizationServers` or `scopesSupported` of `resource`.",
      });
  const properties = { ...fromOptions, bearer_methods_supported: ["header"], ...metadata };
  return Object.freeze({
    id,
    metadataUrl: options.resourceMetadataUrl ?? metadataUrlOf(id),
    metadata: Object.freeze(withoutEmptyArrays(properties)),
  });
}

/** RFC 9728 section 3.2: an array without elements must be omitted. */
const withoutEmptyArrays = (properties: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(properties).filter(([, value]) => !(Array.isArray(value) && value.length === 0)),
  );

/** Returns the scopes that clients may request. A template is not a scope: its parameters have no values. */
function supportedScopes(rules: readonly CompiledRule[]): readonly string[] {
  const isMcp = rules.some(({ rule }) => rule.method === OPERATION_METHOD);
  const scopes = new Set<string>();
  for (const { rule, requirement } of rules) {
    // An MCP server seldom has the routes of a base table: its clients must not request their scopes.
    if (isMcp && rule.source === "default") continue;
    for (const { template, text } of scopesOf(requirement)) if (!template) scopes.add(text);
  }
  return [...scopes].sort();
}
