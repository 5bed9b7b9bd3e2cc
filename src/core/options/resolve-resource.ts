/** The identity of the server for OAuth clients (RFC 9728). */
import { orUndefined, type Report } from "../errors.ts";
import { scopesOf } from "../policy/requirement.ts";
import type { CompiledTable } from "../policy/compile-rules.ts";
import { findPathRule } from "../policy/find-rules.ts";
import { readPath } from "../request.ts";
import type { CompiledRule } from "../policy/rule.ts";
import { metadataUrlOf, type Resource } from "../response/resource-metadata.ts";
import { compact } from "../runtime/compact.ts";
import type { ResourceServerOptions } from "./options.ts";
import { DPOP_DEFAULTS, type SenderConstraintOptions } from "./sender-constraint.ts";

export function resolveResource(
  options: ResourceServerOptions,
  table: Pick<CompiledTable, "rules" | "tree">,
  report: Report,
): Resource | undefined {
  const { resource, issuer, issuers = [] } = options;
  if (!resource) return undefined;
  const { id, metadata = {} } = resource;
  const configuredIssuers = issuer === undefined ? issuers.map((entry) => entry.issuer) : [issuer];
  const { authorizationServers = configuredIssuers, scopesSupported = supportedScopes(table, id) } = resource;
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
  const all = { ...fromOptions, ...describeBindings(options.senderConstraint) };
  for (const name of Object.keys(all))
    if (Object.hasOwn(metadata, name))
      report({
        code: "option_conflict",
        path: ["resource", "metadata", name],
        message: "is set by another option.",
        hint: "Write `id`, `authorizationServers` or `scopesSupported` of `resource`, or `senderConstraint`.",
      });
  const properties = { ...all, bearer_methods_supported: ["header"], ...metadata };
  return Object.freeze({
    id,
    metadataUrl: options.resourceMetadataUrl ?? metadataUrlOf(id),
    metadata: Object.freeze(withoutEmptyArrays(properties)),
  });
}

/** RFC 9728 section 2: which tokens must be bound to a key of the client. */
function describeBindings({ dpop, mtls, required }: SenderConstraintOptions = {}): object {
  return compact({
    dpop_signing_alg_values_supported: dpop && (dpop.algorithms ?? DPOP_DEFAULTS.algorithms),
    dpop_bound_access_tokens_required: dpop && required && !mtls ? true : undefined,
    tls_client_certificate_bound_access_tokens: mtls ? true : undefined,
  });
}

/** RFC 9728 section 3.2: an array without elements must be omitted. */
const withoutEmptyArrays = (properties: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(properties).filter(([, value]) => !(Array.isArray(value) && value.length === 0)),
  );

/**
 * Returns the scopes that clients request at the first sign-in. For an MCP server, these are the scopes of
 * the transport and of the lists: clients request others when they need them. If there are none, these are
 * all scopes of the table, because many authorization servers refuse a request without a scope.
 */
function supportedScopes(
  { rules, tree }: Pick<CompiledTable, "rules" | "tree">,
  id: string,
): readonly string[] {
  if (!hasOperations(rules)) return scopesOfRules(rules);
  const path = readPath(orUndefined(() => new URL(id).pathname) ?? "");
  const transport = path && findPathRule(tree, "POST", path).leaf?.compiled;
  const lists = rules.filter(({ pattern: { operation } }) => operation?.method.endsWith("/list"));
  const initial = scopesOfRules(transport ? [transport, ...lists] : lists);
  if (initial.length > 0) return initial;
  // An MCP server seldom has the routes of a base table, so its clients must not request their scopes.
  return scopesOfRules(rules.filter(({ rule }) => rule.source !== "default"));
}

export const hasOperations = (rules: readonly CompiledRule[]): boolean =>
  rules.some(({ pattern }) => pattern.operation !== undefined);

/** A template isn't a scope: its parameters have no values. */
const scopesOfRules = (rules: readonly CompiledRule[]): readonly string[] =>
  [
    ...new Set(
      rules.flatMap(({ requirement }) =>
        scopesOf(requirement).flatMap(({ template, text }) => (template ? [] : [text])),
      ),
    ),
  ].sort();
