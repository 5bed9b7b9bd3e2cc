/** Converts the options that a user writes to those that the server uses, from top to bottom. */
import { type ConfigurationIssue, ConfigurationError, type Report } from "../errors.ts";
import { compileRules, rejectConditions } from "../policy/compile-rules.ts";
import type { ConditionCapability } from "../policy/condition-language.ts";
import type { Moment } from "../policy/conditions.ts";
import { checkOverrides } from "../policy/overrides.ts";
import type { PolicyRules } from "../policy/policy.ts";
import { hasOperations } from "../policy/rule.ts";
import { checkOrder } from "../policy/rule-order.ts";
import type { Comparison, ShadowCapability, ShadowContext } from "../policy/shadow.ts";
import type { RefusalRules } from "../response/refusal.ts";
import { readClock } from "../runtime/clock.ts";
import type { Resource } from "./resource.ts";
import { resolveScopeRules } from "../scopes/scope-rules.ts";
import type { IdentificationRules } from "../token/authenticate.ts";
import {
  type CredentialRules,
  type ResolvedSource,
  isCookie,
  resolveTokenSources,
  type TokenSource,
} from "../token/credential.ts";
import type { ResolvedIssuers } from "../token/issuer-directory.ts";
import { configurationFor } from "../token/issuers.ts";
import type { Principal } from "../token/principal.ts";
import type { TokenCacheRules } from "../token/token-cache.ts";
import { DEFAULTS } from "./defaults.ts";
import type { ResourceServerOptions } from "./options.ts";
import { digestPolicy } from "./policy-digest.ts";
import { audienceOf, listedIssuers, resolveIssuers } from "./resolve-issuers.ts";
import { findShapeMistakes } from "./schema.ts";
import type { BoundTokens, SenderConstraint } from "./sender-constraint.ts";
import type { TrustedIssuer } from "./trusted-issuer.ts";
import { isPlainObject } from "./values.ts";
import { checkKnownScopes, namesInGrants, namesInRules } from "./vocabulary.ts";

/** The options with all defaults, and compiled as far as possible. */
export interface ResolvedOptions extends CredentialRules, PolicyRules, IdentificationRules {
  readonly issuers: ResolvedIssuers;
  readonly tokenCache: TokenCacheRules | undefined;
  /** The digest of the policy. */
  readonly policy: string;
  /** The tolerance of tokens that no issuer configures. */
  readonly clockToleranceSeconds: number;
  readonly shadow: Comparison | undefined;
  readonly challenge: RefusalRules;
  readonly resource: Resource | undefined;
  readonly onDecision: ResourceServerOptions["onDecision"];
  readonly senderConstraint: SenderConstraint | undefined;
  readonly keyProofs: BoundTokens | undefined;
}

/** Without one of these options, more tokens are accepted, so an unset variable must not remove it. */
const NARROWING = [
  "issuer",
  "audienceOnly",
  "tokenTypes",
  "requiredClaims",
  "clients",
  "maxTokenAgeSeconds",
  "isRevoked",
  "revocation",
  "senderConstraint",
] as const;

/** A server with `opaqueTokens` and none of these options accepts no JWTs. */
const KEY_OPTIONS = ["verificationKeys", "keys", "issuers"] as const;

/**
 * Validates and compiles the options: first the shapes of all, then what they say together. Throws one
 * `ConfigurationError` that lists every mistake of the first step that has any.
 */
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
  const unset = NARROWING.filter((name) => Object.hasOwn(written, name) && written[name] === undefined);
  const shapeIssues = [...findShapeMistakes(options), ...unset.map(unsetVariable)];
  if (shapeIssues.length > 0) throw new ConfigurationError(shapeIssues);

  const issues: ConfigurationIssue[] = [];
  const report: Report = (issue) => {
    // Every rule that needs a capability reports that it's missing. Once is enough.
    const isSame = ({ path, code }: ConfigurationIssue) =>
      code === issue.code && path.join() === issue.path.join();
    if (issue.code !== "option_missing" || !issues.some(isSame)) issues.push(issue);
  };
  const settings = { __proto__: null, ...DEFAULTS, ...options };
  reportRepeatedSource(settings.tokenSources, report);
  const now = options.now ?? Date.now;
  const keyProofs = options.senderConstraint?.create({ now });
  keyProofs?.checkSources(settings.tokenSources, report);
  const scopeRules = resolveScopeRules(settings.adminScope, options.impliedScopes ?? {}, report);
  // A property with the value `undefined` counts, because an unset variable must not turn JWTs off.
  const hasJwts = !options.opaqueTokens || KEY_OPTIONS.some((name) => Object.hasOwn(written, name));
  const issuers = resolveIssuers(options, report, hasJwts, { scopeRules, keyProofs });
  const listed = listedIssuers(options.issuers);
  const granting = { ...options, issuers: listed };
  const { authorization, unmappedRoutes, clockToleranceSeconds, userIdClaim, sessionIdClaim } = settings;
  const facts = {
    authorization,
    issuers: issuerNamesOf(options, listed),
    findsIssuers: issuers.directory !== undefined,
    hasTenants: issuers.directory !== undefined || listed.some(({ tenant }) => tenant !== undefined),
    checksKeys: keyProofs !== undefined,
  };
  const compile: ShadowContext["compile"] = (defaults, customs, reportIn) => {
    const compiled = compileRules(defaults, customs, reportIn, {
      language: options.mcp?.create(),
      conditions:
        (options.conditions as ConditionCapability | undefined)?.language ?? rejectConditions(report),
    });
    compiled.conditioned?.check(compiled, facts, reportIn);
    checkOrder({ ...compiled, scopeRules }, reportIn);
    checkOverrides(compiled, reportIn);
    checkKnownScopes(granting, namesInRules(compiled), reportIn);
    return compiled;
  };
  checkKnownScopes(granting, namesInGrants(granting), report);
  const { defaultScopeMappings = {}, scopeMappings = {} } = options;
  const table = compile(defaultScopeMappings, scopeMappings, report);
  const batches = options.batches?.create();
  const momentOf = (principal: Principal): Moment => {
    const configuration = configurationFor(principal, issuers);
    const toleranceSeconds = configuration?.token.clockToleranceSeconds ?? clockToleranceSeconds;
    const nowSeconds = readClock(now).getTime() / 1000;
    return { nowSeconds, toleranceSeconds, ceiling: configuration?.ceiling };
  };
  const rules = { scopeRules, batches, momentOf };
  const shadow = (options.shadow as ShadowCapability | undefined)?.create(
    { compile, defaultScopeMappings, unmappedRoutes, rules },
    report,
  );
  const resource = options.resource?.create(
    {
      issuers: [options.issuer ?? listed.map(({ issuer }) => issuer)].flat(),
      metadataUrl: options.resourceMetadataUrl,
      audienceOf: (principal) => configurationFor(principal, issuers)?.token.audience ?? [],
      table,
      boundTokens: keyProofs?.metadata,
    },
    report,
  );
  const audiences = { audience: audienceOf(options), audienceOnly: options.audienceOnly };
  const context = { now, ...audiences, clockToleranceSeconds, userIdClaim, sessionIdClaim };
  // Each entry can resolve all of them.
  const opaque = options.opaqueTokens?.[0]?.resolve([...options.opaqueTokens], granting, context, report);
  if (issues.length > 0) throw new ConfigurationError(issues);

  return {
    issuers,
    policy: digestPolicy(table.rules, options),
    tokenSources: resolveTokenSources(settings.tokenSources, keyProofs?.scheme),
    maxTokenBytes: settings.maxTokenBytes,
    multipleCredentials: settings.multipleCredentials,
    tokenCache:
      settings.tokenCache === false ? undefined : { ...DEFAULTS.tokenCache, ...settings.tokenCache },
    now,
    ...table,
    ...rules,
    authorization,
    unmappedRoutes,
    shadow,
    challenge: {
      realm: options.realm,
      resourceMetadataUrl: resource?.template
        ? undefined
        : (resource?.metadataUrl ?? options.resourceMetadataUrl),
      initialScopes: hasOperations(table.rules) ? initialScopesOf(resource) : [],
      fields: keyProofs,
      unmappedStatus: unmappedRoutes === "not_found" ? 404 : 403,
      refusalBody: options.refusalBody,
    },
    resource,
    isRevoked: options.isRevoked,
    revocation: options.revocation,
    opaque,
    clockToleranceSeconds,
    grants: options.grants,
    onDecision: options.onDecision,
    senderConstraint: options.senderConstraint,
    keyProofs,
    requiresBinding: keyProofs?.isRequired ?? false,
  };
}

/** The scopes in the metadata. Clients of an MCP server also request them if a 401 names them. */
const initialScopesOf = (resource: Resource | undefined): readonly string[] =>
  (resource?.metadata["scopes_supported"] ?? []) as readonly string[];

/** The issuers whose tokens may have different claims. */
function issuerNamesOf(
  { issuer, opaqueTokens = [] }: ResourceServerOptions,
  listed: readonly TrustedIssuer[],
): readonly string[] {
  const names = [issuer, ...[...listed, ...opaqueTokens].map((entry) => entry.issuer)];
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

/** With one source twice, every request would have two credentials. `scheme: null` covers every scheme. */
function reportRepeatedSource(sources: readonly TokenSource[], report: Report): void {
  const resolved = resolveTokenSources(sources);
  const isSame = (source: ResolvedSource, other: ResolvedSource): boolean => {
    if (isCookie(source) || isCookie(other))
      return isCookie(source) && isCookie(other) && source.cookie === other.cookie;
    const isSameScheme =
      !source.schemes || !other.schemes || source.schemes[0]?.prefix === other.schemes[0]?.prefix;
    return source.header === other.header && isSameScheme;
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
