/** The identity of the server for OAuth clients (RFC 9728). */
import { type Report } from "../errors.ts";
import { scopesOf } from "../policy/requirement.ts";
import { OPERATION_METHOD } from "../request.ts";
import { type CompiledRule } from "../policy/rule.ts";
import { metadataUrlOf, type Resource } from "../response/resource-metadata.ts";
import { type ResourceServerOptions } from "./options.ts";

export function resolveResource(
  options: ResourceServerOptions,
  rules: readonly CompiledRule[],
  report: Report,
): Resource | undefined {
  const { resource, issuer, issuers = [] } = options;
  if (!resource) return undefined;
  const { id, scopesSupported, metadata = {} } = resource;
  const known = issuer === undefined ? issuers.map((one) => one.issuer) : [issuer];
  const authorizationServers = resource.authorizationServers ?? known;
  if (authorizationServers.length === 0)
    report({
      code: "option_missing",
      path: ["resource", "authorizationServers"],
      message: "is missing, and the server has no `issuer`.",
      hint: 'Write where clients get tokens: ["https://login.example/"].',
    });
  const own = {
    resource: id,
    authorization_servers: authorizationServers,
    scopes_supported: scopesSupported ?? supportedScopes(rules),
    bearer_methods_supported: ["header"],
  };
  for (const name of Object.keys(own).filter((one) => Object.hasOwn(metadata, one)))
    if (name !== "bearer_methods_supported")
      report({
        code: "option_conflict",
        path: ["resource", "metadata", name],
        message: "is set by another option.",
        hint: "Write `id`, `authorizationServers` or `scopesSupported` of `resource`.",
      });
  return Object.freeze({
    id,
    metadataUrl: options.resourceMetadataUrl ?? metadataUrlOf(id),
    metadata: Object.freeze(withoutEmpty({ ...own, ...metadata })),
  });
}

/** RFC 9728 section 3.2: an array without elements must be omitted. */
const withoutEmpty = (members: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(members).filter(([, value]) => !(Array.isArray(value) && value.length === 0)),
  );

/** Returns the scopes that clients may request. A template is not a scope: its parameters have no values. */
function supportedScopes(all: readonly CompiledRule[]): readonly string[] {
  // An MCP server seldom has the routes of a base table: its clients must not request their scopes.
  const isMcp = all.some(({ rule }) => rule.method === OPERATION_METHOD);
  const rules = isMcp ? all.filter(({ rule }) => rule.source !== "default") : all;
  const scopes = rules.flatMap(({ requirement }) => scopesOf(requirement));
  const texts = scopes.filter(({ parts }) => parts.every((part) => typeof part === "string"));
  return [...new Set(texts.map(({ text }) => text))].sort();
}
