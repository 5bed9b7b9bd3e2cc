import { type ConfigurationIssue, ConfigurationError, type Report } from "../errors.ts";
import { type CompiledTable, compileRules } from "../policy/compile-rules.ts";
import { checkOrder } from "../policy/rule-order.ts";
import { type ScopeMappings } from "../policy/requirement.ts";
import { type RefusalRules } from "../response/refusal.ts";
import { type Resource } from "../response/resource-metadata.ts";
import { type ScopeRules } from "../scopes/scope.ts";
import { resolveScopeRules } from "../scopes/scope-rules.ts";
import { type CredentialRules } from "../token/credential.ts";
import { type GrantsFor } from "../token/grants.ts";
import { type OpaqueContext, type OpaqueRequirements, type OpaqueTokens } from "../token/opaque-tokens.ts";
import { type RevocationStore } from "../token/revocation.ts";
import { type TokenCacheRules } from "../token/token-cache.ts";
import { DEFAULTS, type ResourceServerOptions } from "./options.ts";
import { audienceOf } from "./resolve-token.ts";
import { type Place, type ResolvedIssuers, resolveIssuers, type When } from "./resolve-issuers.ts";
import { resolveOpaqueRequirements } from "./resolve-opaque.ts";
import { resolveResource } from "./resolve-resource.ts";
import { checkShape } from "./schema.ts";
import { OPTION_NAMES } from "./shape.ts";
import { isPlainObject } from "./values.ts";

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
  readonly revocation: RevocationStore | undefined;
  readonly opaqueTokens: readonly OpaqueTokens[];
  readonly opaqueContext: OpaqueContext;
  readonly opaqueRequirements: OpaqueRequirements;
  readonly grantsFor: GrantsFor | undefined;
  readonly grantsMaxAgeSeconds: number;
  readonly onDecision: ResourceServerOptions["onDecision"];
}

type OptionName = keyof ResourceServerOptions;

/** Without these options, more tokens are accepted. So an unset variable must not remove one of them. */
const NARROWING = ["issuer", "requiredClaims", "maxTokenAgeSeconds", "isRevoked", "revocation"] as const;

/** Validates and compiles the options. Throws one `ConfigurationError` that lists every mistake. */
export function resolveOptions(given: ResourceServerOptions): ResolvedOptions {
  const issues: ConfigurationIssue[] = [];
  const report: Report = (issue) => issues.push(issue);
  if (!isPlainObject(given)) throw new ConfigurationError([NOT_PLAIN]);
  const options = withoutAbsent(given);
  checkShape(options, report);
  for (const name of NARROWING)
    if (Object.hasOwn(given, name) && given[name] === undefined) report(undefinedValue(name));

  // Checks that depend on an option of the wrong shape are skipped: they would report the mistake again.
  const invalid = new Set(issues.flatMap((issue) => [placeOf(issue.path), ...meantBy(issue)]));
  const when: When = (names, resolve) => (names.some((name) => invalid.has(name)) ? undefined : resolve());

  const settings = { __proto__: null, ...DEFAULTS, ...options };
  when(["tokenSources"], () => reportRepeated(settings.tokenSources, report));
  const scopeRules = when(["adminScope", "impliedScopes"], () =>
    resolveScopeRules(settings.adminScope, options.impliedScopes ?? {}, report),
  );
  const issuers = resolveIssuers(options, when, report);
  const table = compileRules(
    wellShaped("defaultScopeMappings", options.defaultScopeMappings ?? {}, issues),
    wellShaped("scopeMappings", options.scopeMappings ?? {}, issues),
    report,
    settings.enforcement,
  );
  // A rule with a mistake is not in the table, so the order of the others may not be what it will be.
  if (scopeRules && !issues.some(isAboutTable)) checkOrder(table, scopeRules, report);
  const resource = when(["resource", "issuer", "issuers", "resourceMetadataUrl"], () =>
    resolveResource(options, table.rules, report),
  );
  const opaqueRequirements = when(
    ["opaqueTokens", "issuer", "issuers", "requiredClaims", "maxTokenAgeSeconds"],
    () =>
      issues.some(({ path }) => path[0] === "issuers")
        ? undefined
        : resolveOpaqueRequirements(options, report),
  );
  if (issues.length > 0 || !scopeRules || !opaqueRequirements) throw new ConfigurationError(issues);

  const now = options.now ?? Date.now;
  const { clockToleranceSeconds, userIdClaim, sessionIdClaim } = settings;
  return {
    issuers,
    tokenSources: [...settings.tokenSources],
    maxTokenBytes: settings.maxTokenBytes,
    multipleCredentials: settings.multipleCredentials,
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
  };
}

const isAboutTable = ({ path: [option] }: ConfigurationIssue): boolean =>
  option === "defaultScopeMappings" || option === "scopeMappings";

const NOT_PLAIN: ConfigurationIssue = {
  code: "option_invalid",
  path: [],
  message: "are not a plain object.",
  hint: "Write createResourceServer({ serviceId, verificationKeys, ... }).",
};

const placeOf = (path: ConfigurationIssue["path"]): Place =>
  path.slice(0, path[0] === "issuers" ? 3 : 1).join(".") as Place;

/** Returns the options that the hint for an unknown option names: they are misspelled, not missing. */
const meantBy = ({ code, path, hint }: ConfigurationIssue): readonly Place[] =>
  code === "option_unknown" && path.length === 1
    ? OPTION_NAMES.filter((name) => new RegExp(`\`${name}\\b`).test(hint)).map((name) => name as Place)
    : [];

function withoutAbsent(options: ResourceServerOptions): ResourceServerOptions {
  const present = Object.entries(options).filter(([, value]) => value !== undefined);
  // Without a prototype: a polluted one must not set an option.
  return Object.assign(Object.create(null) as object, Object.fromEntries(present));
}

/** Returns the entries of a table with the right shape, so that their other mistakes are listed too. */
function wellShaped(
  option: OptionName,
  table: ScopeMappings,
  issues: readonly ConfigurationIssue[],
): ScopeMappings {
  const paths = issues.map(({ path }) => path).filter(([name]) => name === option);
  if (paths.some(({ length }) => length === 1)) return {};
  return Object.fromEntries(Object.entries(table).filter(([key]) => !paths.some((path) => path[1] === key)));
}

/** With the same source twice, every request would have two credentials. */
function reportRepeated(sources: CredentialRules["tokenSources"], report: Report): void {
  if (new Set(sources.map((source) => JSON.stringify(source))).size === sources.length) return;
  report({
    code: "option_invalid",
    path: ["tokenSources"],
    message: "contains a source twice.",
    hint: "Write each source once.",
  });
}

const undefinedValue = (name: OptionName): ConfigurationIssue => ({
  code: "option_invalid",
  path: [name],
  message: "is undefined, so more tokens would be accepted than intended.",
  hint: "Check the variable that the value comes from, or omit the option.",
});
