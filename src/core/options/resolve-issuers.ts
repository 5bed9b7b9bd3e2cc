import { type Report } from "../errors.ts";
import { type KeyEvent, type KeySourceContext } from "../keys/key-event.ts";
import { type KeySource } from "../keys/key-source.ts";
import { KEYS_CHANNEL, publish } from "../runtime/channels.ts";
import { notify } from "../runtime/notify.ts";
import { type IssuerConfiguration } from "../token/issuers.ts";
import { DEFAULTS, type ResourceServerOptions } from "./options.ts";
import { resolveKeySource } from "./resolve-keys.ts";
import { resolveScopeSources } from "./resolve-scope-sources.ts";
import { conflict, resolveAlgorithms, resolveAudience } from "./resolve-token.ts";
import { type TrustedIssuer } from "./trusted-issuer.ts";

/** The configured issuers, and whether the `iss` of a token selects one of them. */
export interface ResolvedIssuers {
  readonly configurations: readonly IssuerConfiguration[];
  readonly selectByIssuer: boolean;
}

type OptionName = keyof ResourceServerOptions;

/** An option, an entry of `issuers`, or a property of an entry. */
export type Place = OptionName | `issuers.${number}` | `issuers.${number}.${OptionName}`;

/** Calls `resolve` unless one of these places has the wrong shape, which was already reported. */
export type When = <T>(places: readonly Place[], resolve: () => T) => T | undefined;

type WhenOptions = <T>(names: readonly OptionName[], resolve: () => T) => T | undefined;

type Path = readonly (string | number)[];

/** Resolves all issuers. One with a mistake is reported and omitted; construction then fails as a whole. */
export function resolveIssuers(options: ResourceServerOptions, when: When, report: Report): ResolvedIssuers {
  const { issuers } = options;
  if (!issuers) return { configurations: resolveIssuer(options, [], when, report), selectByIssuer: false };
  // Several issuers cannot share these: keys and algorithms are bound to one issuer.
  const { issuer, keys, verificationKeys, algorithm, algorithms, ...shared } = options;
  const unshared = { issuer, keys, verificationKeys, algorithm, algorithms };
  for (const [name, value] of Object.entries(unshared))
    if (value) report(conflict(name as OptionName, "issuers", "Set it in the entry of each issuer."));
  const configurations = when(["issuers"], () => {
    reportRepeated(issuers, when, report);
    return issuers.flatMap((entry, index) => {
      // A property is wrong if it, or the option that is its default, has the wrong shape.
      const whenBoth: WhenOptions = (names, resolve) =>
        when([...names, ...names.map((name) => `issuers.${index}.${name}` as const)], resolve);
      const resolved = when([`issuers.${index}`], () => {
        // With its own `audience`, an entry verifies it even if the server sets `verifyAudience: false`.
        const audience = entry.audience === undefined ? {} : { verifyAudience: true };
        const settings = { __proto__: null, ...withoutOverridden(shared, entry), ...audience, ...entry };
        return resolveIssuer(settings, ["issuers", index], whenBoth, report);
      });
      return resolved ?? [];
    });
  });
  return { configurations: configurations ?? [], selectByIssuer: true };
}

function resolveIssuer(
  options: ResourceServerOptions,
  path: Path,
  when: WhenOptions,
  report: Report,
): readonly IssuerConfiguration[] {
  const { issuer, now = Date.now, onKeyEvent } = options;
  const algorithms = when(["algorithm", "algorithms"], () => resolveAlgorithms(options, path, report));
  const audience = when(["audience", "serviceId", "verifyAudience", "resource"], () =>
    resolveAudience(options, path, report),
  );
  const keys = when(["keys", "verificationKeys", "issuer", "onKeyEvent", "now"], () => {
    const source = findSource(options, report);
    if (!source || !algorithms) return undefined;
    const context: KeySourceContext = {
      algorithms,
      issuer,
      now,
      path: options.keys ? [...path, "keys"] : path,
      onKeyEvent: keyEventsOf(issuer, onKeyEvent),
    };
    return resolveKeySource(source, context, report);
  });
  const scopeSources = when(["scopesClaim", "scopeSources"], () =>
    resolveScopeSources(options, path, report),
  );
  if (!algorithms || !keys || !scopeSources) return [];

  const { userIdClaim, sessionIdClaim, ...settings } = { ...DEFAULTS, ...options };
  const { tokenTypes, clockToleranceSeconds, maxTokenAgeSeconds, requiredClaims = [] } = settings;
  const times = { clockToleranceSeconds, maxTokenAgeSeconds, now };
  const token = { algorithms, issuer, audience, requiredClaims, tokenTypes, ...times };
  return [{ keys, token, principal: { scopeSources, userIdClaim, sessionIdClaim } }];
}

/** Passes the events of an issuer's keys to a hook and to the channel. */
export const keyEventsOf =
  (
    issuer: string | undefined,
    onKeyEvent: (event: KeyEvent) => void = warn,
  ): KeySourceContext["onKeyEvent"] =>
  (given) => {
    const event = issuer === undefined ? given : { ...given, issuer };
    notify(onKeyEvent, event);
    if (KEYS_CHANNEL.hasSubscribers) publish(KEYS_CHANNEL, event);
  };

/** Returns the options of the server, without the scope claims if the issuer names its own. */
function withoutOverridden(
  { scopesClaim, scopeSources, ...others }: ResourceServerOptions,
  entry: TrustedIssuer,
): ResourceServerOptions {
  if (entry.scopesClaim !== undefined || entry.scopeSources !== undefined) return others;
  return { ...others, ...(scopesClaim && { scopesClaim }), ...(scopeSources && { scopeSources }) };
}

function findSource(options: ResourceServerOptions, report: Report): KeySource | undefined {
  const { keys, verificationKeys } = options;
  if (keys && verificationKeys) report(conflict("verificationKeys", "keys"));
  else if (verificationKeys) return { verificationKeys };
  else if (keys) return keys;
  else {
    const hint = "Pass the keys that verify tokens as `verificationKeys` or `keys`.";
    report({ code: "option_missing", path: ["verificationKeys"], message: "is missing.", hint });
  }
  return undefined;
}

/** Two entries for one issuer would each accept the tokens of the other. */
function reportRepeated(issuers: readonly TrustedIssuer[], when: When, report: Report): void {
  const names = issuers.map((entry, index) =>
    when([`issuers.${index}`, `issuers.${index}.issuer`], () =>
      URL.canParse(entry.issuer) ? new URL(entry.issuer).href : entry.issuer,
    ),
  );
  for (const [index, name] of names.entries()) {
    const first = names.indexOf(name);
    if (name === undefined || first === index) continue;
    const message = `repeats the issuer of \`issuers[${first}]\`.`;
    const hint = "List each issuer once, with all of its keys in one source.";
    report({ code: "option_conflict", path: ["issuers", index, "issuer"], message, hint });
  }
}

/** The default `onKeyEvent`: a key source that fails must not go unnoticed. */
function warn({ type, source, message = "failed." }: KeyEvent): void {
  if (type === "failed") process.emitWarning(`Keys of ${source}: ${message}`, "ScopegateWarning");
  if (type === "stale")
    process.emitWarning(`The last good keys of ${source} are in use.`, "ScopegateWarning");
}
