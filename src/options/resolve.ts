import { type ConfigurationIssue, ConfigurationError, type Report } from "../errors.ts";
import { type Algorithm, isSymmetric } from "../keys/algorithm.ts";
import { type KeyEvent } from "../keys/key-event.ts";
import { createKeyResolver, type KeySource } from "../keys/key-source.ts";
import { type KeyResolver } from "../keys/verification-key.ts";
import { notify } from "../notify.ts";
import { compileRules } from "../policy/compile-rules.ts";
import { defaultScopeMappings } from "../policy/default-scope-mappings.ts";
import { type ScopeMappings } from "../policy/requirement.ts";
import { type CompiledRule } from "../policy/rule.ts";
import { type PrincipalRules } from "../principal.ts";
import { type ChallengeRules } from "../response/refusal.ts";
import { isScopeToken } from "../scope.ts";
import { resolveScopeRules } from "../scope-rules.ts";
import { type TokenSource } from "../token/credential.ts";
import { type TokenRules } from "../token/verifier.ts";
import { DEFAULTS, type ResourceServerOptions } from "./options.ts";
import { checkShape } from "./schema.ts";

/** Options with every default filled in and everything compiled that can be, one part for each room. */
export interface ResolvedOptions {
  readonly keys: KeyResolver;
  readonly token: TokenRules;
  readonly tokenSources: readonly TokenSource[];
  readonly principal: PrincipalRules;
  readonly rules: readonly CompiledRule[];
  readonly authorization: boolean;
  readonly unmappedRoutes: "deny" | "authenticated";
  readonly challenge: ChallengeRules;
  readonly isRevoked: ResourceServerOptions["isRevoked"];
  readonly onDecision: ResourceServerOptions["onDecision"];
}

type OptionName = keyof ResourceServerOptions;

/** Checks all options and compiles them, or throws one `ConfigurationError` that lists every mistake. */
export function resolveOptions(given: ResourceServerOptions): ResolvedOptions {
  const issues: ConfigurationIssue[] = [];
  const report: Report = (issue) => issues.push(issue);
  const options = withoutAbsent(given);
  checkShape(options, report);

  if (issues.some(({ path }) => path.length === 0)) throw new ConfigurationError(issues);

  // What depends on an option of the wrong shape is left unchecked: it would only repeat that mistake.
  const misshapen = new Set(issues.map(({ path }) => path[0]));
  const when = <T>(names: readonly OptionName[], resolve: () => T): T | undefined =>
    names.some((name) => misshapen.has(name)) ? undefined : resolve();

  const settings = { ...DEFAULTS, ...options };
  const algorithms = when(["algorithm", "algorithms"], () => resolveAlgorithms(options, report));
  const audience = when(["audience", "serviceId", "verifyAudience"], () => resolveAudience(options, report));
  const keys = when(
    ["keys", "verificationKeys", "onKeyEvent"],
    () => algorithms && resolveKeys(options, algorithms, report),
  );
  const scopeRules = when(["adminScope", "impliedScopes"], () => {
    if (settings.adminScope !== null && !isScopeToken(settings.adminScope)) report(notAScope("adminScope"));
    return resolveScopeRules(settings.adminScope, options.impliedScopes ?? {}, report);
  });
  const rules = compileRules(
    wellShaped("defaultScopeMappings", options.defaultScopeMappings ?? defaultScopeMappings, issues),
    wellShaped("scopeMappings", options.scopeMappings ?? {}, issues),
    report,
  );
  if (issues.length > 0 || !keys || !algorithms || !scopeRules) throw new ConfigurationError(issues);

  return {
    keys,
    token: {
      algorithms,
      issuer: options.issuer,
      audience,
      requiredClaims: [...(options.requiredClaims ?? [])],
      tokenTypes: [...settings.tokenTypes],
      clockToleranceSeconds: settings.clockToleranceSeconds,
      maxTokenAgeSeconds: options.maxTokenAgeSeconds,
      maxTokenBytes: settings.maxTokenBytes,
      now: options.now ?? Date.now,
    },
    tokenSources: [...settings.tokenSources],
    principal: {
      scopesClaim: settings.scopesClaim,
      userIdClaim: settings.userIdClaim,
      sessionIdClaim: settings.sessionIdClaim,
      scopeRules,
    },
    rules,
    authorization: settings.authorization,
    unmappedRoutes: settings.unmappedRoutes,
    challenge: { realm: options.realm, resourceMetadataUrl: options.resourceMetadataUrl },
    isRevoked: options.isRevoked,
    onDecision: options.onDecision,
  };
}

/** An option that is `undefined` is left out. What is no object is left as it is, for the schema to report. */
function withoutAbsent(options: ResourceServerOptions): ResourceServerOptions {
  if (typeof options !== "object" || (options as unknown) === null) return options;
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

/** The entries of a table that have the right shape, so that the mistakes of these are listed as well. */
function wellShaped(
  option: OptionName,
  table: ScopeMappings,
  issues: readonly ConfigurationIssue[],
): ScopeMappings {
  const paths = issues.map(({ path }) => path).filter(([name]) => name === option);
  if (paths.some(({ length }) => length === 1)) return {};
  return Object.fromEntries(Object.entries(table).filter(([key]) => !paths.some((path) => path[1] === key)));
}

function resolveAlgorithms(options: ResourceServerOptions, report: Report): readonly Algorithm[] | undefined {
  if (options.algorithm && options.algorithms) {
    report(conflict("algorithms", "algorithm"));
    return undefined;
  }
  const algorithms = options.algorithms ?? (options.algorithm ? [options.algorithm] : DEFAULTS.algorithms);
  if (new Set(algorithms.map(isSymmetric)).size > 1) {
    report({
      code: "algorithms_mixed",
      path: ["algorithms"],
      message: "mixes HS* with asymmetric algorithms.",
      hint: "Allow one kind: with both, a public key could be used as a secret (RFC 8725 section 2.1).",
    });
    return undefined;
  }
  return algorithms;
}

/** `verifyAudience` without an audience would accept the tokens of every other service of the issuer. */
function resolveAudience(options: ResourceServerOptions, report: Report): readonly string[] | undefined {
  if (options.verifyAudience === false) return undefined;
  const audience = options.audience ?? options.serviceId;
  if (audience !== undefined) return typeof audience === "string" ? [audience] : [...audience];
  report({
    code: "option_missing",
    path: ["serviceId"],
    message: "is missing, and `verifyAudience` needs it.",
    hint: "Write the `aud` of this service's tokens, or `verifyAudience: false` to accept tokens meant for others.",
  });
  return undefined;
}

function resolveKeys(
  options: ResourceServerOptions,
  algorithms: readonly Algorithm[],
  report: Report,
): KeyResolver | undefined {
  const { keys, verificationKeys } = options;
  if (keys && verificationKeys) {
    report(conflict("verificationKeys", "keys"));
    return undefined;
  }
  const source: KeySource | undefined = keys ?? (verificationKeys && { verificationKeys });
  if (!source) {
    report({
      code: "option_missing",
      path: ["verificationKeys"],
      message: "is missing.",
      hint: "Give the keys that tokens are verified with, as `verificationKeys` or `keys`.",
    });
    return undefined;
  }
  const onKeyEvent = options.onKeyEvent ?? warn;
  return createKeyResolver(source, algorithms, keys ? ["keys"] : [], report, (event) =>
    notify(onKeyEvent, event),
  );
}

/** A key source that fails must be seen by someone, even where nobody asked to be told. */
function warn({ type, source, message }: KeyEvent): void {
  if (type === "failed")
    process.emitWarning(`Keys of ${source}: ${message ?? "failed."}`, "ScopegateWarning");
}

const conflict = (name: OptionName, other: OptionName): ConfigurationIssue => ({
  code: "option_conflict",
  path: [name],
  message: `stands beside \`${other}\`.`,
  hint: "Give one of the two.",
});

const notAScope = (name: OptionName): ConfigurationIssue => ({
  code: "scope_invalid",
  path: [name],
  message: "is not a scope.",
  hint: "Write printable ASCII without spaces, quotation marks and backslashes (RFC 6749 section 3.3).",
});
