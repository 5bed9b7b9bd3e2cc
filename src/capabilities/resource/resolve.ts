/** The identity of the server for OAuth clients (RFC 9728). */
import { orUndefined, type Report } from "../../core/errors.ts";
import type { Resource, ResourceContext, ResourceFinder } from "../../core/options/resource.ts";
import type { CompiledTable } from "../../core/policy/compile-rules.ts";
import { findPathRule } from "../../core/policy/find-rules.ts";
import { type CompiledRule, hasOperations } from "../../core/policy/rule.ts";
import { originForm, readPath } from "../../core/request.ts";
import type { Principal } from "../../core/token/principal.ts";
import { requestableScopesOf } from "./requestable-scopes.ts";
import type { ResourceTemplate } from "./template.ts";

/** The identity of a server for OAuth clients. */
export interface ResourceOptions {
  /**
   * The resource identifier (RFC 8707): the URL that clients use, as `new URL(id).href` writes it, without a
   * fragment; https, or http on this machine. It's the default of `audience`, which must contain it. With
   * parameters (`https://api.example/t/:org/mcp`), it stands for a resource for each value: a token is only
   * accepted at the path of its own resource and below, and each resource has its own metadata.
   */
  readonly id: string;
  /** The issuers that give tokens to clients. Default: the `issuer` of the server, or of all `issuers`. */
  readonly authorizationServers?: readonly string[];
  /** The scopes in the metadata. Default: the scopes of the table, except templates such as `<id>`. */
  readonly scopesSupported?: readonly string[];
  /** More properties of the document, by their names in RFC 9728: `{ resource_name: "Agents" }`. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export function resolveResource(
  resource: ResourceOptions,
  { issuers, metadataUrl, audienceOf, table, boundTokens, template }: TemplateContext,
  report: Report,
): Resource {
  const { id, metadata = {} } = resource;
  const { authorizationServers = issuers, scopesSupported = supportedScopes(table, id) } = resource;
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
  const all = { ...fromOptions, ...boundTokens };
  for (const name of Object.keys(all))
    if (Object.hasOwn(metadata, name))
      report({
        code: "option_conflict",
        path: ["resource", "metadata", name],
        message: "is set by another option.",
        hint: "Write `id`, `authorizationServers` or `scopesSupported` of `resource`, or `senderConstraint`.",
      });
  if (template && metadataUrl !== undefined)
    report({
      code: "option_conflict",
      path: ["resourceMetadataUrl"],
      message: "is one URL, but `resource.id` has parameters.",
      hint: "Remove it: each resource has the URL of RFC 9728.",
    });
  const properties = { ...all, bearer_methods_supported: ["header"], ...metadata };
  const document = Object.freeze(withoutEmptyArrays(properties));
  const url = metadataUrl ?? metadataUrlOf(id);
  const { pathname, search } = new URL(url);
  const findMetadata: Resource["findMetadata"] = (target) => {
    const origin = originForm(target);
    if (!template) return origin === pathname + search ? document : undefined;
    const path = origin?.startsWith(`${WELL_KNOWN}/`) ? origin.slice(WELL_KNOWN.length) : "";
    const resource = template.find(path);
    return resource?.path === path ? { ...document, resource: resource.id } : undefined;
  };
  const finder = template && createFinder(template, id, audienceOf);
  // Programs print the resource, and compare it with data: functions aren't listed.
  const functions = { findMetadata: { value: findMetadata }, template: { value: finder } };
  return Object.freeze(
    Object.defineProperties({ id, metadataUrl: url, metadata: document }, functions) as Resource,
  );
}

interface TemplateContext extends ResourceContext {
  readonly template: ResourceTemplate | undefined;
}

function createFinder(
  template: ResourceTemplate,
  id: string,
  audienceOf: ResourceContext["audienceOf"],
): ResourceFinder {
  const find: ResourceFinder["find"] = (target) => {
    // The target of an operation begins with the path of its transport.
    const resource = template.find(target.replace(/ .*/s, ""));
    return resource && { id: resource.id, metadataUrl: metadataUrlOf(resource.id) };
  };
  return Object.freeze({
    find,
    isFor(principal: Principal, target: string) {
      // The audience of an opaque token was compared with a list, which has no resource with a value.
      if (principal.tokenKind !== undefined) return true;
      const others = audienceOf(principal).filter((audience) => audience !== id);
      const expected = [find(target)?.id, ...others];
      return principal.audience.some((audience) => expected.includes(audience));
    },
  });
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** Puts `WELL_KNOWN` before the path; without a path, adds no slash at the end (RFC 9728 section 3.1). */
function metadataUrlOf(id: string): string {
  const { origin, pathname, search } = new URL(id);
  return `${origin}${WELL_KNOWN}${pathname === "/" ? "" : pathname}${search}`;
}

/**
 * RFC 9728 section 3.2: an array without elements must be omitted. The document is a copy, so later changes
 * to the options don't reach a server.
 */
const withoutEmptyArrays = (properties: object): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(JSON.parse(JSON.stringify(properties)) as object).filter(
      ([, value]) => !(Array.isArray(value) && value.length === 0),
    ),
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

const scopesOfRules = (rules: readonly CompiledRule[]): readonly string[] =>
  [...new Set(rules.flatMap(({ requirement }) => requestableScopesOf(requirement)))].sort();
