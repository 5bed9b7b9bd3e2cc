import { type ClaimPath } from "../token/principal.ts";
import { FLAWS, type TestRejection, testRejections } from "./flaws.ts";
import { mistake, requireGrantable, requireNames } from "./mistakes.ts";

/** What a token says. A claim that is given as `null` is left out. */
export interface TestTokenOptions {
  /** A list, or one space-delimited string (RFC 9068). Default: none are granted, `[]`. */
  readonly scopes?: readonly string[] | string | null;
  /** `sub`, or the issuer's `userIdClaim`. Default: `"user-1"`. */
  readonly userId?: string | null;
  /** `session_id`, or the issuer's `sessionIdClaim`. Default: left out. */
  readonly sessionId?: string | null;
  /** `aud`. Default: the issuer's audience. */
  readonly audience?: string | readonly string[] | null;
  /** `iss`. Default: the issuer's. */
  readonly issuer?: string | null;
  /** `jti`. Default: left out. */
  readonly tokenId?: string | null;
  /** Seconds from now until it expires; of one that has expired, a negative number. Default: `300`. */
  readonly expiresIn?: number | null;
  /** Any other claims; they win over those above, and one that is `undefined` is left out. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Header parameters; they win over `alg`, `typ` and `kid`, and one that is `undefined` is left out. */
  readonly header?: Readonly<Record<string, unknown>>;
  /** The key of the issuer that signs, by its `kid`; withdrawn ones sign as well. Default: the newest. */
  readonly kid?: string;
  /** Makes it a bad token, which a server rejects for this reason. The one that is not asked for is `undefined`. */
  readonly rejectedAs?: TestRejection | undefined;
}

/** Whose tokens they are, and in which claims it writes. */
export interface TokenProfile {
  readonly issuer: string;
  readonly audience: string | readonly string[];
  readonly claims: Readonly<Record<string, unknown>>;
  readonly scopesClaim: ClaimPath;
  readonly userIdClaim: ClaimPath;
  readonly sessionIdClaim: ClaimPath;
  readonly now: () => number;
}

const NAMES: readonly (keyof TestTokenOptions)[] = [
  "scopes",
  "userId",
  "sessionId",
  "audience",
  "issuer",
  "tokenId",
  "expiresIn",
  "claims",
  "header",
  "kid",
  "rejectedAs",
];

/** @throws ConfigurationError for what no token is made of */
export function requireTokenOptions(call: string, options: TestTokenOptions): void {
  requireNames(call, options, NAMES);
  const { scopes, expiresIn, rejectedAs } = options;
  if (scopes !== undefined && scopes !== null) requireGrantable(call, scopes);
  if (expiresIn !== undefined && expiresIn !== null && !Number.isFinite(expiresIn)) {
    throw mistake([call, "expiresIn"], "is no number.", "Write seconds from now, or null for no `exp`.");
  }
  if (rejectedAs !== undefined && !testRejections.includes(rejectedAs)) {
    const hint = `Write one of ${testRejections.join(", ")}.`;
    throw mistake([call, "rejectedAs"], "is no rejection that a token can be made for.", hint);
  }
}

/** Names that say that something of a token is as a test wants it, and not as it should be. */
const DELIBERATE = ["audience", "issuer", "claims", "header", "kid", "rejectedAs"] as const;

/** Whether nothing of a token was told to be otherwise: a server that trusts the issuer must accept it then. */
export function isGood(options: TestTokenOptions): boolean {
  if (DELIBERATE.some((name) => options[name] !== undefined)) return false;
  return !Object.values(options).includes(null) && (options.expiresIn ?? 1) > 0;
}

/** The claims of a token. */
export function claimsOf(options: TestTokenOptions, profile: TokenProfile): Record<string, unknown> {
  const { userId = "user-1", sessionId, scopes = [], expiresIn = 300, tokenId } = options;
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
  ];
  for (const [path, value] of named) if (value !== undefined && value !== null) write(claims, path, value);
  const [scopesName = ""] = [profile.scopesClaim].flat();
  const flaw = rejectedAs && FLAWS[rejectedAs].claims?.(now, scopesName);
  return { ...claims, ...flaw, ...options.claims };
}

/** Writes a claim where its path says, beside what stands there. */
function write(claims: Record<string, unknown>, path: ClaimPath, value: unknown): void {
  const names = [path].flat();
  let place = claims;
  for (const [index, name] of names.entries()) {
    if (index === names.length - 1) place[name] = value;
    else place = place[name] = { ...(place[name] as object | undefined) };
  }
}
