/** Converts the options that a user writes to those that the server uses, from top to bottom. */
import { type ConfigurationIssue, ConfigurationError } from "../errors.ts";
import { type CompiledTable, compileRules } from "../policy/compile-rules.ts";
import { checkConditions } from "../policy/conditions/check-conditions.ts";
import type { Moment } from "../policy/conditions/condition.ts";
import { checkOverrides } from "../policy/overrides.ts";
import { ANY_METHODS, OperationMethods } from "../policy/operation-methods.ts";
import { parseRouteKey } from "../policy/route-key.ts";
import { checkOrder } from "../policy/rule-order.ts";
import type { ScopeMappings } from "../policy/table-entry.ts";
import type { RefusalRules } from "../response/refusal.ts";
import { readClock } from "../runtime/clock.ts";
import type { Resource } from "../response/resource-metadata.ts";
import type { ScopeRules } from "../scopes/scope.ts";
import { resolveScopeRules } from "../scopes/scope-rules.ts";
import type { TokenBinding } from "../token/binding/confirmation.ts";
import type { SenderConstraintRules } from "../token/binding/sender-constraint.ts";
import { type CredentialRules, resolveTokenSource, type TokenSource } from "../token/credential.ts";
import type { GrantsFor } from "../token/grants.ts";
import { toleranceFor } from "../token/issuers.ts";
import type { OpaqueRequirements } from "../token/opaque-requirements.ts";
import type { OpaqueContext, OpaqueTokens } from "../token/opaque-tokens.ts";
import type { Principal } from "../token/principal.ts";
import type { Revocations } from "../token/revocation.ts";
import type { TokenCacheRules } from "../token/token-cache.ts";
import { Mistakes } from "./mistakes.ts";
import { DEFAULTS } from "./defaults.ts";
import type { ResourceServerOptions } from "./options.ts";
import { audienceOf, type ResolvedIssuers, resolveIssuers } from "./resolve-issuers.ts";
import { resolveOpaqueRequirements } from "./resolve-opaque.ts";
import { hasOperations, resolveResource } from "./resolve-resource.ts";
import { findShapeMistakes } from "./schema.ts";
import { bindingsOf, resolveSenderConstraint } from "./sender-constraint.ts";
import { isPlainObject } from "./values.ts";
import { checkKnownScopes } from "./vocabulary.ts";

/** The options with all defaults, and compiled as far as possible. */
export interface ResolvedOptions extends CredentialRules, CompiledTable {
  readonly issuers: ResolvedIssuers;
  readonly tokenCache: TokenCacheRules | undefined;
  readonly now: () => number;
  readonly scopeRules: ScopeRules;
  readonly authorization: boolean;
  readonly unmappedRoutes: NonNullable<ResourceServerOptions["unmappedRoutes"]>;
  readonly challenge: RefusalRules;
  readonly resource: Resource | undefined;
  readonly isRevoked: ResourceServerOptions["isRevoked"];
  readonly revocation: Revocations | undefined;
  readonly opaqueTokens: readonly OpaqueTokens[];
  readonly opaqueContext: OpaqueContext;
  readonly opaqueRequirements: OpaqueRequirements;
  readonly grantsFor: GrantsFor | undefined;
  readonly grantsMaxAgeSeconds: number;
  readonly onDecision: ResourceServerOptions["onDecision"];
  readonly momentOf: (principal: Principal) => Moment;
  readonly bindings: readonly TokenBinding[];
  readonly requiresBinding: boolean;
  readonly senderConstraint: SenderConstraintRules | undefined;
}

/** Without one of these options, more tokens are accepted, so an unset variable must not remove it. */
const NARROWING = [
  "issuer",
  "requiredClaims",
  "clients",
  "maxTokenAgeSeconds",
  "isRevoked",
  "revocation",
  "senderConstraint",
] as const;

/** A server with `opaqueTokens` and none of these options accepts no JWTs. */
const KEY_OPTIONS = ["verificationKeys", "keys", "issuers"] as const;

/** Validates and compiles the options. Throws one `ConfigurationError` that lists every mistake. */
export function resolveOptions(written: ResourceServerOptions): ResolvedOptions {
  if (!isPlainObject(written))
    throw new ConfigurationError([
      {
        code: "option_invalid",
        path: [],
        message: "aren't a plain object.",
        hint: "Write createResourceServer({ serviceId, verificationKeys, ... }).",
      },
    ]);
  const options = withoutUndefined(written);
  const mistakes = new Mistakes();
  const { issues, report } = mistakes;
  for (const mistake of findShapeMistakes(options)) mistakes.reportShape(mistake);
  for (const name of NARROWING)
    if (Object.hasOwn(written, name) && written[name] === undefined)
      mistakes.reportShape({ issue: unsetVariable(name), meantOptions: [] });

  const settings = { __proto__: null, ...DEFAULTS, ...options };
  if (mistakes.areReadable(["tokenSources"])) reportRepeatedSource(settings.tokenSources, mistakes);
  if (mistakes.areReadable(["tokenSources", "senderConstraint"]) && options.senderConstraint?.dpop)
    reportDpopSources(settings.tokenSources, mistakes);
  const scopeRules = mistakes.areReadable(["adminScope", "impliedScopes"])
    ? resolveScopeRules(settings.adminScope, options.impliedScopes ?? {}, report)
    : undefined;
  // A property with the value `undefined` counts, because an unset variable must not turn JWTs off.
  const hasJwts = !options.opaqueTokens || KEY_OPTIONS.some((name) => Object.hasOwn(written, name));
  const issuers = resolveIssuers(options, mistakes, hasJwts);
  const methods = mistakes.areReadable(["mcp"]) ? new OperationMethods(options.mcp?.methods) : ANY_METHODS;
  const table = compileRules(
    readableRules("defaultScopeMappings", options.defaultScopeMappings ?? {}, mistakes, methods),
    readableRules("scopeMappings", options.scopeMappings ?? {}, mistakes, methods),
    report,
    { enforcement: settings.enforcement, methods },
  );
  const areIssuersReadable = mistakes.pathsIn("issuers").length === 0;
  if (areIssuersReadable && mistakes.areReadable(["issuer", "issuers", "opaqueTokens", "authorization"]))
    checkConditions(
      table,
      {
        authorization: settings.authorization,
        issuers: issuerNamesOf(options),
        checksKeys: options.senderConstraint !== undefined,
      },
      report,
    );
  if (scopeRules) {
    checkOrder(table, scopeRules, report);
    checkOverrides(table, scopeRules, report);
  }
  if (mistakes.areReadable(["knownScopes", "adminScope", "impliedScopes", "scopeSources", "issuers"]))
    checkKnownScopes({ ...options, adminScope: settings.adminScope }, table, report);
  const resource = mistakes.areReadable(["resource", "issuer", "issuers", "resourceMetadataUrl"])
    ? resolveResource(options, table, report)
    : undefined;
  const areIssuersComplete =
    areIssuersReadable &&
    mistakes.areReadable([
      "opaqueTokens",
      "issuer",
      "issuers",
      "requiredClaims",
      "clients",
      "maxTokenAgeSeconds",
    ]);
  const opaqueRequirements = areIssuersComplete ? resolveOpaqueRequirements(options, report) : undefined;
  if (issues.length > 0 || !scopeRules || !opaqueRequirements) throw new ConfigurationError(issues);

  const now = options.now ?? Date.now;
  const senderConstraint = options.senderConstraint && resolveSenderConstraint(options.senderConstraint, now);
  const { clockToleranceSeconds, userIdClaim, sessionIdClaim } = settings;
  return {
    issuers,
    tokenSources: settings.tokenSources.map(resolveTokenSource),
    maxTokenBytes: settings.maxTokenBytes,
    multipleCredentials: settings.multipleCredentials,
    acceptsDpop: senderConstraint?.dpop !== undefined,
    tokenCache:
      settings.tokenCache === false ? undefined : { ...DEFAULTS.tokenCache, ...settings.tokenCache },
    now,
    scopeRules,
    ...table,
    authorization: settings.authorization,
    unmappedRoutes: settings.unmappedRoutes,
    challenge: {
      realm: options.realm,
      resourceMetadataUrl: resource?.metadataUrl ?? options.resourceMetadataUrl,
      initialScopes: hasOperations(table.rules) ? initialScopesOf(resource) : [],
      dpop: senderConstraint?.dpop && {
        algorithms: senderConstraint.dpop.algorithms,
        isOnlyScheme: senderConstraint.isRequired && !senderConstraint.mtls,
      },
      unmappedStatus: settings.unmappedRoutes === "not_found" ? 404 : 403,
      refusalBody: options.refusalBody,
    },
    resource,
    isRevoked: options.isRevoked,
    revocation: options.revocation,
    opaqueTokens: [...(options.opaqueTokens ?? [])],
    opaqueContext: { now, audience: audienceOf(options), clockToleranceSeconds, userIdClaim, sessionIdClaim },
    opaqueRequirements,
    grantsFor: options.grantsFor,
    grantsMaxAgeSeconds: settings.grantsMaxAgeSeconds,
    onDecision: options.onDecision,
    momentOf: (principal) => ({
      nowSeconds: readClock(now).getTime() / 1000,
      toleranceSeconds: toleranceFor(principal, issuers.configurations, clockToleranceSeconds),
    }),
    bindings: bindingsOf(options.senderConstraint),
    requiresBinding: senderConstraint?.isRequired ?? false,
    senderConstraint,
  };
}

/** The scopes in the metadata. Clients of an MCP server also request them if a 401 names them. */
const initialScopesOf = (resource: Resource | undefined): readonly string[] =>
  (resource?.metadata["scopes_supported"] ?? []) as readonly string[];

/** The issuers whose tokens may have different claims. */
function issuerNamesOf({
  issuer,
  issuers = [],
  opaqueTokens = [],
}: ResourceServerOptions): readonly string[] {
  const names = [issuer, ...issuers.map((entry) => entry.issuer), ...opaqueTokens.map((kind) => kind.issuer)];
  return [...new Set(names.filter((name) => typeof name === "string"))];
}

function withoutUndefined(options: ResourceServerOptions): ResourceServerOptions {
  const present = Object.entries(options).filter(([, value]) => value !== undefined);
  // Without a prototype: a polluted one must not set an option.
  return Object.assign(Object.create(null) as object, Object.fromEntries(present));
}

const unsetVariable = (name: (typeof NARROWING)[number]): ConfigurationIssue => ({
  code: "option_invalid",
  path: [name],
  message: "is undefined, so more tokens would be accepted than intended.",
  hint: "Check the variable that the value comes from, or omit the option.",
});

/**
 * With the same source twice, every request would have two credentials. `scheme: null` covers every scheme.
 */
function reportRepeatedSource(sources: CredentialRules["tokenSources"], { report }: Mistakes): void {
  const resolved = sources.map(resolveTokenSource);
  const isSame = (source: TokenSource, other: TokenSource): boolean => {
    if ("cookie" in source || "cookie" in other)
      return "cookie" in source && "cookie" in other && source.cookie === other.cookie;
    const isBare = source.scheme === null || other.scheme === null;
    return (
      source.header === other.header && (isBare || isSameScheme(source.scheme ?? "", other.scheme ?? ""))
    );
  };
  const isRepeated = resolved.some((source, index) =>
    resolved.slice(index + 1).some((other) => isSame(source, other)),
  );
  if (!isRepeated) return;
  report({
    code: "option_invalid",
    path: ["tokenSources"],
    message: "contains a source twice.",
    hint: "Write each source once.",
  });
}

/** RFC 9449 section 7.1: clients send a token with a proof in `Authorization`. */
function reportDpopSources(sources: CredentialRules["tokenSources"], { report }: Mistakes): void {
  const headers = sources.flatMap((source) => ("header" in source ? source : []));
  if (!headers.some(({ header }) => header === "authorization"))
    report({
      code: "option_conflict",
      path: ["tokenSources"],
      message: "doesn't have `authorization`, where clients of DPoP send their tokens.",
      hint: 'Add { header: "authorization" }, or remove `senderConstraint.dpop`.',
    });
  if (headers.some(({ scheme }) => scheme?.toLowerCase() === "dpop"))
    report({
      code: "option_conflict",
      path: ["tokenSources"],
      message: "has the scheme DPoP, which `senderConstraint.dpop` reads with its proof.",
      hint: 'Write { header: "authorization" }.',
    });
}

const isSameScheme = (scheme = "", otherScheme = ""): boolean =>
  scheme.toLowerCase() === otherScheme.toLowerCase();

/** Returns the rules that have the right shape, so that their other mistakes are also listed. */
function readableRules(
  option: "defaultScopeMappings" | "scopeMappings",
  table: ScopeMappings,
  mistakes: Mistakes,
  methods: OperationMethods,
): ScopeMappings {
  const paths = mistakes.pathsIn(option);
  if (paths.some(({ length }) => length === 1)) return {};
  const wrongKeys = new Set(paths.map(([, key]) => String(key)));
  // A key with a wrong value may itself be wrong.
  for (const key of [...wrongKeys].filter((wrongKey) => Object.hasOwn(table, wrongKey))) {
    const route = parseRouteKey(key, methods);
    if ("code" in route) mistakes.report({ ...route, path: [option, key] });
  }
  return Object.fromEntries(Object.entries(table).filter(([key]) => !wrongKeys.has(key)));
}
