import { checkOptions } from "../../core/options/check-options.ts";
import { anyValue, oneOf, type OptionChecks } from "../../core/options/option-checks.ts";
import type { TrustedIssuer } from "../../core/options/trusted-issuer.ts";
import type { ClaimPath } from "../../core/token/claim-path.ts";
import type { ConditionName } from "../../core/policy/conditions.ts";
import { FLAWS, testConditions, type TestRejection, testRejections, unmetClaims } from "./flaws.ts";
import { requireGrantable } from "./mistakes.ts";
import { isTestBinding, type TestBinding } from "./proofs.ts";

/** The contents of a token. `null` omits a claim. */
export interface TestTokenOptions {
  /** An array, or one space-delimited string (RFC 9068). Default: `[]`. */
  readonly scopes?: readonly string[] | string | null;
  /** `sub`, or the issuer's `userIdClaim`. Default: `"user-1"`. */
  readonly userId?: string | null;
  /** `session_id`, or the issuer's `sessionIdClaim`. Default: none. */
  readonly sessionId?: string | null;
  /** `aud`. Default: the issuer's audience. */
  readonly audience?: string | readonly string[] | null;
  /** `iss`. Default: the issuer's. */
  readonly issuer?: string | null;
  /** `jti`. Default: none. */
  readonly tokenId?: string | null;
  /** `client_id`. Default: none. */
  readonly clientId?: string | null;
  /** The `sub` of each actor of `act` (RFC 8693), the current one first. Default: none. */
  readonly actors?: readonly string[];
  /** `acr` (RFC 9470). Default: none. */
  readonly acr?: string | null;
  /** How long ago the user logged in, in seconds: `auth_time` (RFC 9470). Default: none. */
  readonly authAge?: number | null;
  /**
   * What the token is bound to (`cnf`): `"dpop"` for the key of `issuer.proofFor`, or the certificate of a
   * client as PEM or DER. Default: nothing.
   */
  readonly bound?: TestBinding;
  /** The lifetime in seconds; negative for an expired token. Default: `300`. */
  readonly expiresIn?: number | null;
  /** Any claims. They override those above; `undefined` omits a claim. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Header parameters. They override `alg`, `typ` and `kid`; `undefined` omits one. */
  readonly header?: Readonly<Record<string, unknown>>;
  /** The `kid` of the signing key; a withdrawn key can sign too. Default: the newest key. */
  readonly kid?: string;
  /** Creates an invalid token that a server rejects for this reason. */
  readonly rejectedAs?: TestRejection | undefined;
  /**
   * Creates a valid token that doesn't meet this condition. For `where`, each of `claims` has another value.
   */
  readonly unmet?: ConditionName | undefined;
}

/** The options of a test issuer that a server must share. */
export const CLAIM_OPTIONS = ["scopesClaim", "userIdClaim", "sessionIdClaim"] as const;
export type ClaimOptions = Pick<TrustedIssuer, (typeof CLAIM_OPTIONS)[number]>;

/** The claims of an issuer, and the claim names that it uses. */
export interface TokenProfile extends Required<ClaimOptions & Pick<TrustedIssuer, "issuer" | "audience">> {
  readonly claims: Readonly<Record<string, unknown>>;
  readonly now: () => number;
}

const TOKEN_OPTIONS: OptionChecks<TestTokenOptions> = {
  // `requireGrantable` checks the scopes. A test may put any value into the other claims and the header.
  scopes: anyValue,
  userId: anyValue,
  sessionId: anyValue,
  audience: anyValue,
  issuer: anyValue,
  tokenId: anyValue,
  expiresIn: {
    accepts: (seconds) => seconds === null || Number.isFinite(seconds),
    hint: "Write seconds from now, or null for no `exp`.",
  },
  claims: anyValue,
  header: anyValue,
  kid: anyValue,
  rejectedAs: oneOf(...testRejections),
  unmet: oneOf(...testConditions),
  clientId: anyValue,
  actors: {
    accepts: (actors) => Array.isArray(actors) && actors.every((actor) => typeof actor === "string"),
    hint: 'Write the `sub` of each actor: ["agent-1"].',
  },
  acr: anyValue,
  bound: { accepts: isTestBinding, hint: 'Write "dpop", or { certificate }.' },
  authAge: {
    accepts: (seconds) => seconds === null || Number.isFinite(seconds),
    hint: "Write seconds, or null for no `auth_time`.",
  },
};

/** @throws ConfigurationError for an invalid option */
export function requireTokenOptions(functionName: string, options: TestTokenOptions): void {
  checkOptions(functionName, options, TOKEN_OPTIONS);
  const { scopes } = options;
  if (scopes !== undefined && scopes !== null) requireGrantable(functionName, scopes);
}

/** The options that may make a token invalid on purpose. */
const DELIBERATE = ["audience", "issuer", "header", "kid", "rejectedAs"] as const;

/** The claims that every server checks (RFC 7519 section 4.1), and `cnf`, which most reject (RFC 7800). */
const CHECKED_CLAIMS: readonly string[] = ["iss", "aud", "exp", "nbf", "iat", "cnf"];

/** Returns whether a server with the issuer's options must accept the token. */
export function isGood(options: TestTokenOptions, profile: Required<ClaimOptions>): boolean {
  if (DELIBERATE.some((name) => options[name] !== undefined)) return false;
  const checked = [...CHECKED_CLAIMS, ...CLAIM_OPTIONS.map((name) => [profile[name]].flat()[0])];
  const isChanged = ([name, value]: [string, unknown]) => value === undefined || checked.includes(name);
  if (Object.entries(options.claims ?? {}).some(isChanged)) return false;
  return !Object.values(options).includes(null) && (options.expiresIn ?? 1) > 0;
}

export function claimsOf(
  options: TestTokenOptions,
  profile: TokenProfile,
  confirmation: object | undefined,
): Record<string, unknown> {
  const { userId = "user-1", sessionId, scopes = [], expiresIn = 300, tokenId } = options;
  const { clientId, actors = [], acr, authAge, unmet } = options;
  const { audience = profile.audience, issuer = profile.issuer, rejectedAs } = options;
  const now = Math.floor(profile.now() / 1000);
  const claims: Record<string, unknown> = { ...structuredClone(profile.claims) };
  const named: readonly (readonly [ClaimPath, unknown])[] = [
    [profile.scopesClaim, scopes],
    [profile.userIdClaim, userId],
    [profile.sessionIdClaim, sessionId],
    ["aud", audience],
    ["iss", issuer],
    ["jti", tokenId],
    ["iat", now],
    ["exp", expiresIn === null ? null : now + expiresIn],
    ["client_id", clientId],
    ["act", nestActors(actors)],
    ["acr", acr],
    ["cnf", confirmation],
    ["auth_time", authAge === undefined || authAge === null ? null : now - authAge],
  ];
  for (const [path, value] of named) if (value !== undefined && value !== null) write(claims, path, value);
  const flaw = rejectedAs ? FLAWS[rejectedAs].claims?.(now) : {};
  return { ...claims, ...flaw, ...options.claims, ...unmetClaims(unmet, now, options.claims ?? {}) };
}

/** The current actor contains the actor before it. */
const nestActors = (actors: readonly string[]): object | undefined =>
  actors.toReversed().reduce<object | undefined>((act, sub) => ({ sub, ...(act ? { act } : {}) }), undefined);

/** Sets a claim at its path, and keeps the other claims in the same objects. */
function write(claims: Record<string, unknown>, path: ClaimPath, value: unknown): void {
  const names = [path].flat();
  let place = claims;
  for (const [index, name] of names.entries()) {
    if (index === names.length - 1) place[name] = value;
    else place = place[name] = { ...(place[name] as object | undefined) };
  }
}
