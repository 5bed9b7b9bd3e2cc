import { type ConfigurationIssue, type Report } from "../errors.ts";
import { type KeyEvent } from "../keys/key-event.ts";
import { type KeySource } from "../keys/key-source.ts";
import { notify } from "../runtime/notify.ts";
import { type TrustedParty } from "../token/issuers.ts";
import { DEFAULTS, type ResourceServerOptions } from "./options.ts";
import { resolveKeySource } from "./resolve-keys.ts";
import { conflict, resolveAlgorithms, resolveAudience } from "./resolve-token.ts";
import { type TrustedIssuer } from "./trusted-issuer.ts";

/** Whose tokens are accepted, and whether their `iss` tells whose they are. */
export interface ResolvedTrust {
  readonly parties: readonly TrustedParty[];
  readonly byIssuer: boolean;
}

type OptionName = keyof ResourceServerOptions;

/** An option, an entry of `issuers`, or a member of one. */
export type Place = OptionName | `issuers.${number}` | `issuers.${number}.${OptionName}`;

/** Calls `resolve` unless one of these has the wrong shape, which is reported already. */
export type When = <T>(places: readonly Place[], resolve: () => T) => T | undefined;

type WhenOptions = <T>(names: readonly OptionName[], resolve: () => T) => T | undefined;

type Path = readonly (string | number)[];

/** A mistake is reported, and its party left out: the options are refused as a whole then. */
export function resolveTrust(options: ResourceServerOptions, when: When, report: Report): ResolvedTrust {
  const { issuers } = options;
  if (!issuers) return { parties: resolveParty(options, [], when, report), byIssuer: false };
  reportBeside(options, report);
  const shared = withoutThose(options);
  const parties = when(["issuers"], () => {
    reportRepeated(issuers, when, report);
    return issuers.flatMap(
      (issuer, index) =>
        when([`issuers.${index}`], () => {
          const path = ["issuers", index] as const;
          return resolveParty({ ...shared, ...boundTo(issuer) }, path, whenWithin(path, when), report);
        }) ?? [],
    );
  });
  return { parties: parties ?? [], byIssuer: true };
}

function resolveParty(
  options: ResourceServerOptions,
  path: Path,
  when: WhenOptions,
  report: Report,
): readonly TrustedParty[] {
  const algorithms = when(["algorithm", "algorithms"], () => resolveAlgorithms(options, path, report));
  const audience = when(["audience", "serviceId", "verifyAudience"], () =>
    resolveAudience(options, path, report),
  );
  const keys = when(["keys", "verificationKeys", "issuer", "onKeyEvent", "now"], () => {
    const source = findSource(options, report);
    if (!source || !algorithms) return undefined;
    const { issuer, now = Date.now, onKeyEvent = warn } = options;
    const use = { algorithms, issuer, now, onKeyEvent: (event: KeyEvent) => notify(onKeyEvent, event) };
    return resolveKeySource(source, { ...use, path: options.keys ? [...path, "keys"] : path }, report);
  });
  if (!algorithms || !keys) return [];

  const settings = { ...DEFAULTS, ...options };
  const token = {
    algorithms,
    issuer: options.issuer,
    audience,
    requiredClaims: options.requiredClaims ?? [],
    tokenTypes: settings.tokenTypes,
    clockToleranceSeconds: settings.clockToleranceSeconds,
    maxTokenAgeSeconds: options.maxTokenAgeSeconds,
    now: options.now ?? Date.now,
  };
  const { scopesClaim, userIdClaim, sessionIdClaim } = settings;
  return [{ keys, token, principal: { scopesClaim, userIdClaim, sessionIdClaim } }];
}

function findSource(
  { keys, verificationKeys }: ResourceServerOptions,
  report: Report,
): KeySource | undefined {
  if (keys && verificationKeys) {
    report(conflict("verificationKeys", "keys"));
    return undefined;
  }
  if (keys) return keys;
  if (verificationKeys) return { verificationKeys };
  report({
    code: "option_missing",
    path: ["verificationKeys"],
    message: "is missing.",
    hint: "Give the keys that tokens are verified with, as `verificationKeys` or `keys`.",
  });
  return undefined;
}

/** Beside several issuers these would have to say whose they are. */
const OF_ONE_ISSUER = ["issuer", "keys", "verificationKeys", "algorithm", "algorithms"] as const;

const withoutThose = (options: ResourceServerOptions): ResourceServerOptions =>
  Object.fromEntries(Object.entries(options).filter(([name]) => !OF_ONE_ISSUER.some((one) => one === name)));

function reportBeside(options: ResourceServerOptions, report: Report): void {
  for (const name of OF_ONE_ISSUER) {
    if (options[name]) report(conflict(name, "issuers", "Write it in the entry of each issuer."));
  }
}

/** An audience of its own is asked for, even where the server asks the others for none. */
const boundTo = (issuer: TrustedIssuer): TrustedIssuer =>
  issuer.audience === undefined ? issuer : { verifyAudience: true, ...issuer };

/** Two entries for one issuer would each vouch for the tokens of the other. */
function reportRepeated(issuers: readonly TrustedIssuer[], when: When, report: Report): void {
  const names = issuers.map((entry, index) =>
    when([`issuers.${index}`, `issuers.${index}.issuer`], () =>
      URL.canParse(entry.issuer) ? new URL(entry.issuer).href : entry.issuer,
    ),
  );
  for (const [index, name] of names.entries()) {
    const first = names.indexOf(name);
    if (name !== undefined && first < index) report(repeated(["issuers", index, "issuer"], first));
  }
}

/** A member of an issuer is wrong where it has the wrong shape itself, or the option that stands in for it has. */
const whenWithin =
  ([list, index]: readonly ["issuers", number], when: When): WhenOptions =>
  (names, resolve) =>
    when([...names, ...names.map((name) => `${list}.${index}.${name}` as const)], resolve);

const repeated = (path: Path, index: number): ConfigurationIssue => ({
  code: "option_conflict",
  path,
  message: `is the issuer of \`issuers[${index}]\` again.`,
  hint: "Name each issuer once; give all of its keys in one source.",
});

/** A key source that fails must be seen by someone, even where nobody asked to be told. */
function warn({ type, source, message = "failed." }: KeyEvent): void {
  if (type === "failed") process.emitWarning(`Keys of ${source}: ${message}`, "ScopegateWarning");
  if (type === "stale")
    process.emitWarning(`Keys of ${source} are older than they should be.`, "ScopegateWarning");
}
