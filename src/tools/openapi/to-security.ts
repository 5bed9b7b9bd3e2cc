import { ConfigurationError, type ConfigurationIssue } from "../../core/errors.ts";
import { checkOptions } from "../../core/options/check-options.ts";
import { pipelineOf } from "../../core/port.ts";
import type { Requirement } from "../../core/policy/requirement.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { ResourceServer } from "../../core/resource-server.ts";
import {
  DOCUMENT_OPTIONS,
  type DocumentOptions,
  issueAt,
  listOperations,
  membersOf,
  readOwn,
  requireDocument,
} from "./document.ts";
import {
  identityOf,
  matchOf,
  policyOf,
  readSchemes,
  RESTRICTIONS,
  restrictionsBeside,
  typeOf,
  writeSecurity,
} from "./security.ts";

/**
 * Returns a copy of an OpenAPI document that says what the table of a server requires: `securitySchemes`,
 * `security` of every operation, and its responses 401 and 403, unless the author has written them. What
 * `security` can't express is in `x-scopegate-requirement` and `x-scopegate-conditions` of the operation.
 * Rules with conditions that don't belong to an operation are in `x-scopegate-restrictions` of the document.
 * It adds no operations, and doesn't know the scopes of `requireScopes`. With the option `refusalBody`, the
 * responses have no body, because only your function knows it.
 *
 * @param document OpenAPI 3.0 or 3.1; parts without changes are shared with the copy
 * @throws ConfigurationError that lists every operation without a rule, and every path that can't be read.
 *   With `unmappedRoutes: "authenticated"`, an operation without a rule requires a token instead.
 * @throws ConfigurationError for wrong options
 */
export function toSecurity<T extends object>(
  document: T,
  server: ResourceServer,
  options: DocumentOptions = {},
): T {
  const source = requireDocument(document);
  checkOptions("toSecurity", options, DOCUMENT_OPTIONS);
  const policy = policyOf(server);
  const components = componentsOf(source, server);
  const schemes = readSchemes({ ...source, components });
  const issues: ConfigurationIssue[] = [];
  const items = new Map<string, object>();
  const used = new Set<unknown>();
  for (const operation of listOperations(source, (issue) => issues.push(issue), options)) {
    const { place, path, name, item, value } = operation;
    const match = matchOf(policy, operation);
    const entry = match?.entry ?? [];
    const conditions = match?.conditions;
    if (conditions) used.add(match.rule);
    const secured = {
      ...writeSecurity(value, entry, conditions, schemes),
      responses: responsesOf(value, entry, policy.rules.conditioned === undefined),
    };
    items.set(path, { ...(items.get(path) ?? item), [name]: secured });
    if (!match && policy.unmapped !== "open")
      issues.push(issueAt(place, "has no rule.", "Add one to scopeMappings."));
  }
  if (issues.length > 0) throw new ConfigurationError(issues);
  const paths = { ...membersOf(source["paths"]), ...Object.fromEntries(items) };
  const { [RESTRICTIONS]: _, ...others } = source;
  const restrictions = restrictionsBeside(policy, used);
  return {
    ...others,
    ...(Object.keys(restrictions).length > 0 ? { [RESTRICTIONS]: restrictions } : {}),
    components,
    ...("paths" in source ? { paths } : {}),
  } as unknown as T;
}

const [text, texts] = [{ type: "string" }, { type: "array", items: { type: "string" } }];
const ALWAYS = { type: text, title: text, status: { type: "integer" }, detail: text, code: text };
const PROBLEM = {
  type: "object",
  required: Object.keys(ALWAYS),
  properties: { ...ALWAYS, required_scopes: texts, missing_scopes: texts },
};
const DESCRIPTIONS = {
  ScopegateUnauthorized: "The token is missing, or is not accepted.",
  ScopegateForbidden: "The token does not grant the scopes of this operation.",
};
const REFERENCES = Object.keys(DESCRIPTIONS).map((name) => `#/components/responses/${name}`);
const BEARER = { type: "http", scheme: "bearer", bearerFormat: "JWT" };

/** Returns the document's components, with a bearer scheme. Names with Scopegate are overwritten. */
function componentsOf(document: object, server: ResourceServer) {
  const { keys } = server;
  const hasStandardBody = pipelineOf(server).rules.challenge.refusalBody === undefined;
  const part = (name: string) => membersOf(readOwn(document, "components", name)) ?? {};
  const written = part("securitySchemes");
  const isKnown = (url: string) =>
    Object.values(written).some((scheme) => readOwn(scheme, "openIdConnectUrl") === url);
  const urls = keys.flatMap(({ discovery }) =>
    discovery === undefined || isKnown(discovery) ? [] : [discovery],
  );
  const issuers = urls.map((openIdConnectUrl) => {
    // The name of a component can't contain a slash: `login.example-tenant`.
    const name = openIdConnectUrl
      .replaceAll(/^https?:\/\/|\/?\.well-known.*/g, "")
      .replaceAll(/[^\w.-]/g, "-");
    return [name, { type: "openIdConnect", openIdConnectUrl }] as const;
  });
  const bearer = Object.hasOwn(written, "bearer") ? "scopegate-bearer" : "bearer";
  const hasBearer = Object.values(written).some((scheme) => typeOf(scheme) === "bearer");
  return {
    ...membersOf(readOwn(document, "components")),
    securitySchemes: {
      ...written,
      ...(hasBearer ? {} : { [bearer]: BEARER }),
      ...Object.fromEntries(issuers),
    },
    responses: { ...part("responses"), ...refusalsOf(hasStandardBody) },
    // Removes the schema from a document that was written before `refusalBody` was set.
    schemas: compact({ ...part("schemas"), ScopegateProblem: hasStandardBody ? PROBLEM : undefined }),
  };
}

/** Returns the responses of refusals. A body that `refusalBody` creates isn't described. */
function refusalsOf(hasStandardBody: boolean) {
  const schema = { $ref: "#/components/schemas/ScopegateProblem" };
  const content = hasStandardBody ? { "application/problem+json": { schema } } : undefined;
  const headers = { "WWW-Authenticate": { schema: text } };
  const responses = Object.entries(DESCRIPTIONS).map(
    ([name, description]) => [name, compact({ description, headers, content })] as const,
  );
  return Object.fromEntries(responses);
}

/** Returns the author's responses, and the refusals that the entry can lead to. */
function responsesOf(value: object, entry: Requirement, isUnconditioned: boolean): object {
  const kept = Object.entries(membersOf(readOwn(value, "responses")) ?? {}).filter(
    ([, response]) => !REFERENCES.includes(String(readOwn(response, "$ref"))),
  );
  const isKnown = (status: string) => kept.some(([name]) => name === status || /^4xx$/i.test(name));
  const isTokenOnly = entry === "optional" || (identityOf(entry) === "[]" && isUnconditioned);
  const statusesWithToken = isTokenOnly ? ["401"] : ["401", "403"];
  const statuses = entry === "public" ? [] : statusesWithToken;
  const added = statuses.map((status, index) => [status, { $ref: REFERENCES[index] }] as const);
  return Object.fromEntries([...kept, ...added.filter(([status]) => !isKnown(status))]);
}
