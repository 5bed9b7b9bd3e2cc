/** Resolves the options of each issuer: reports options that can't be combined, and compiles the others. */
import type { Report } from "../errors.ts";
import { type Algorithm, isSymmetric } from "../keys/algorithm.ts";
import type { KeyEvent, KeySourceContext } from "../keys/key-event.ts";
import { resolveVerificationKeys } from "../keys/key-source.ts";
import type { KeyResolver } from "../keys/verification-key.ts";
import { KEYS_CHANNEL, publish } from "../runtime/channels.ts";
import { notify } from "../runtime/notify.ts";
import { findScopeMistake } from "../scopes/scope-rules.ts";
import type { IssuerConfiguration, ResolvedIssuers, SharedRules } from "../token/issuer-directory.ts";
import { isScopeClaim, isSpaceDelimited, type ResolvedScopeSource } from "../token/scope-sources.ts";
import { conflict, type Path } from "./mistakes.ts";
import { DEFAULTS } from "./defaults.ts";
import type { ResourceServerOptions } from "./options.ts";
import type { FoundIssuers } from "./options.ts";
import type { TrustedIssuer } from "./trusted-issuer.ts";

/** Returns the issuers that the options list; none if they are found. */
export const listedIssuers = <Listed>(
  issuers: readonly Listed[] | FoundIssuers | undefined,
): readonly Listed[] => (issuers && !("create" in issuers) ? issuers : []);

/** Resolves all issuers. An issuer with a mistake is reported and omitted, and construction fails. */
export function resolveIssuers(
  options: ResourceServerOptions,
  report: Report,
  hasJwts: boolean,
  rules: SharedRules,
): ResolvedIssuers {
  const { issuers } = options;
  if (!hasJwts) {
    resolveAudience(options, [], report);
    return { configurations: [], selectByIssuer: true };
  }
  if (!issuers) {
    const configuration = resolveIssuer(options, [], report);
    return { configurations: configuration ? [configuration] : [], selectByIssuer: false };
  }
  // Issuers can't share these options: keys and algorithms belong to one issuer.
  const { issuer, keys, verificationKeys, algorithm, algorithms, ...shared } = options;
  const unshared = { issuer, keys, verificationKeys, algorithm, algorithms };
  for (const [name, value] of Object.entries(unshared))
    if (value) report(conflict([name], "issuers", "Set it in the entry of each issuer."));
  if ("create" in issuers) {
    const directory = issuers.create({ ...rules, options: shared });
    return { configurations: [], selectByIssuer: true, directory };
  }
  reportRepeatedIssuers(issuers, report);
  const configurations = issuers.flatMap(
    (entry, index) => resolveEntry(entry, shared, ["issuers", index], report) ?? [],
  );
  return { configurations, selectByIssuer: true };
}

/** Two entries for one issuer would each accept the tokens of the other. */
function reportRepeatedIssuers(issuers: readonly TrustedIssuer[], report: Report): void {
  const names = issuers.map(({ issuer }) => (URL.canParse(issuer) ? new URL(issuer).href : issuer));
  for (const [index, name] of names.entries()) {
    const firstIndex = names.indexOf(name);
    if (firstIndex === index) continue;
    report({
      code: "option_conflict",
      path: ["issuers", index, "issuer"],
      message: `repeats the issuer of \`issuers[${firstIndex}]\`.`,
      hint: "List each issuer once, with all of its keys in one source.",
    });
  }
}

/** Resolves one of several issuers, with the server's options as its defaults. */
export function resolveEntry(
  entry: TrustedIssuer,
  shared: ResourceServerOptions,
  path: Path,
  report: Report,
  guardFetch?: KeySourceContext["guardFetch"],
): IssuerConfiguration | undefined {
  const defaults = { ...shared };
  if (entry.scopesClaim !== undefined || entry.scopeSources !== undefined) {
    delete defaults.scopesClaim;
    delete defaults.scopeSources;
  }
  // With its own `audience`, an entry verifies it even if the server sets `verifyAudience: false`.
  if (entry.audience !== undefined) defaults.verifyAudience = true;
  // Without a prototype: a polluted one must not set an option.
  const options = Object.assign(Object.create(null) as object, defaults, entry);
  return resolveIssuer(options, path, report, guardFetch);
}

/** Resolves one issuer; `undefined` if its tokens can't be verified because of a mistake. */
function resolveIssuer(
  options: ResourceServerOptions & Pick<TrustedIssuer, "tenant" | "scopes">,
  path: Path,
  report: Report,
  guardFetch?: KeySourceContext["guardFetch"],
): IssuerConfiguration | undefined {
  const settings = { __proto__: null, ...DEFAULTS, ...options };
  const { issuer, now = Date.now, onKeyEvent, requiredClaims = [], maxTokenAgeSeconds } = settings;
  const { audienceOnly = false } = settings;
  const { tokenTypes, clients, clockToleranceSeconds, userIdClaim, sessionIdClaim } = settings;
  const { tenant, scopes: ceiling } = options;

  const algorithms = resolveAlgorithms(options, path, report);
  const audience = resolveAudience(options, path, report);
  const isAudience = options.resource?.isResource;
  const context = { issuer, now, path, onKeyEvent: keyEventsOf(issuer, onKeyEvent), guardFetch };
  const keys = algorithms && resolveKeys(options, { ...context, algorithms }, report);
  const scopeSources = resolveScopeSources(options, path, report);
  reportScopes(ceiling, [...path, "scopes"], report);
  if (!keys) return undefined;

  const audiences = { audience, audienceOnly, isAudience };
  const times = { clockToleranceSeconds, maxTokenAgeSeconds, now };
  return {
    keys,
    token: { algorithms, issuer, ...audiences, requiredClaims, clients, tokenTypes, ...times },
    principal: { scopeSources, userIdClaim, sessionIdClaim, tenant },
    ceiling: ceiling && [...ceiling],
  };
}

export function resolveAlgorithms(
  options: Pick<ResourceServerOptions, "algorithm" | "algorithms">,
  path: Path,
  report: Report,
): readonly Algorithm[] | undefined {
  if (options.algorithm && options.algorithms) {
    report(conflict(["algorithms"], "algorithm"));
    return undefined;
  }
  const algorithms = options.algorithms ?? (options.algorithm ? [options.algorithm] : DEFAULTS.algorithms);
  if (new Set(algorithms.map(isSymmetric)).size > 1) {
    report({
      code: "algorithms_mixed",
      path: [...path, "algorithms"],
      message: "contains HS* and asymmetric algorithms.",
      hint: "Allow only one kind: with both, an attacker could use a public key as a secret (RFC 8725 section 2.1).",
    });
    return undefined;
  }
  return [...algorithms];
}

type AudienceOptions = Pick<
  ResourceServerOptions,
  "audience" | "serviceId" | "verifyAudience" | "audienceOnly" | "resource"
>;

/** Returns the expected `aud`; `undefined` if the audience isn't verified. */
export function audienceOf(options: AudienceOptions): readonly string[] | undefined {
  if (options.verifyAudience === false) return undefined;
  const ofResource = options.resource ? audiencesOf(options.resource.written.id) : [];
  const audience = [options.audience ?? options.serviceId ?? ofResource].flat();
  return [...new Set(audience.flatMap((value) => (ofResource.includes(value) ? ofResource : value)))];
}

/** Issuers write the URL of a whole origin with and without the slash. */
const audiencesOf = (id: string): readonly string[] =>
  id === `${new URL(id).origin}/` ? [id, id.slice(0, -1)] : [id];

/** Without an audience, the tokens of every other service of the issuer would be accepted. */
function resolveAudience(
  options: AudienceOptions,
  path: Path,
  report: Report,
): readonly string[] | undefined {
  const { resource } = options;
  const audience = audienceOf(options);
  if (options.audienceOnly && !audience) report(conflict([...path, "audienceOnly"], "verifyAudience: false"));
  if (resource && !audience?.includes(resource.written.id))
    // RFC 8707 section 2: clients request tokens with this audience.
    report({
      code: "option_conflict",
      path: [...path, "audience"],
      message: "doesn't contain `resource.id`, which is the audience of the tokens that clients get.",
      hint: `Write ${JSON.stringify(resource.written.id)} as \`audience\`, or omit \`audience\`, \`serviceId\` and \`verifyAudience\`.`,
    });
  if (audience?.length === 0)
    report({
      code: "option_missing",
      path: [...path, path.length === 0 ? "serviceId" : "audience"],
      message: "is missing, but `verifyAudience` needs it.",
      hint: "Write the `aud` of this service's tokens, or `verifyAudience: false` to accept tokens for any service.",
    });
  return audience;
}

/** Creates the resolver of the keys, or reports why they can't be used. */
function resolveKeys(
  { keys, verificationKeys }: ResourceServerOptions,
  context: KeySourceContext,
  report: Report,
): KeyResolver | undefined {
  const { path } = context;
  if (keys && verificationKeys) report(conflict([...path, "verificationKeys"], "keys"));
  else if (keys) return keys.create({ ...context, path: [...path, "keys"] }, report);
  else if (verificationKeys) return resolveVerificationKeys(verificationKeys, context, report);
  else
    report({
      code: "option_missing",
      path: [...path, path.length === 0 ? "verificationKeys" : "keys"],
      message: "is missing.",
      hint: "Pass the keys that verify tokens as `verificationKeys` or `keys`.",
    });
  return undefined;
}

/** Passes the events of an issuer's keys to a hook and to the channel. */
export const keyEventsOf =
  (
    issuer: string | undefined,
    onKeyEvent: (event: KeyEvent) => void = warnOfKeys,
  ): KeySourceContext["onKeyEvent"] =>
  (sourceEvent) => {
    const event = issuer === undefined ? sourceEvent : { ...sourceEvent, issuer };
    notify(onKeyEvent, event);
    if (KEYS_CHANNEL.hasSubscribers) publish(KEYS_CHANNEL, event);
  };

/** The default `onKeyEvent`: a key source that fails must not go unnoticed. */
function warnOfKeys({ type, source, message = "failed." }: KeyEvent): void {
  if (type === "failed") process.emitWarning(`Keys of ${source}: ${message}`, "ScopegateWarning");
  if (type === "stale")
    process.emitWarning(`The last good keys of ${source} are in use.`, "ScopegateWarning");
}

function reportScopes(scopes: readonly string[] = [], path: Path, report: Report): void {
  for (const scope of scopes) {
    const mistake = findScopeMistake(scope);
    if (mistake) report({ code: "scope_invalid", path, ...mistake });
  }
}

/** Resolves the claims that grant scopes. Without scope checks, a token needs none of them. */
function resolveScopeSources(
  options: ResourceServerOptions,
  path: Path,
  report: Report,
): readonly ResolvedScopeSource[] {
  const { scopesClaim = DEFAULTS.scopesClaim, authorization = true, adminScope } = options;
  const { scopeSources = [{ claim: scopesClaim }] } = options;
  if (options.scopesClaim !== undefined && options.scopeSources)
    report(conflict([...path, "scopesClaim"], "scopeSources", "Write the claim as one of `scopeSources`."));
  for (const [index, { claim, map = {} }] of scopeSources.entries())
    for (const [role, scopes] of Object.entries(map)) {
      const rolePath = [...path, "scopeSources", index, "map", role];
      if (role.includes(" ") && isSpaceDelimited(claim))
        report({
          code: "option_invalid",
          path: rolePath,
          message: "contains a space, but this claim is split at spaces.",
          hint: "Write one key for each value, without spaces, or read the roles from another claim.",
        });
      reportScopes(scopes, rolePath, report);
    }
  return scopeSources.map((source) => {
    const isTrusted = !options.scopeSources || isScopeClaim(source.claim) || !adminScope;
    const resolved = { ...source, required: source.required ?? authorization };
    return isTrusted ? resolved : { ...resolved, withheld: adminScope };
  });
}
