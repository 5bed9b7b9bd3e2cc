import { type Algorithm } from "../keys/algorithm.ts";
import { type KeyEvent } from "../keys/key-event.ts";
import { type KeySource } from "../keys/key-source.ts";
import { type VerificationKeyInput } from "../keys/verification-key.ts";
import { type Decision } from "../policy/decision.ts";
import { type ScopeMappings } from "../policy/requirement.ts";
import { type ClaimPath, type Principal } from "../token/principal.ts";
import { type AccessRequest } from "../request.ts";
import { type TokenSource } from "../token/credential.ts";
import { type TokenCacheRules } from "../token/token-cache.ts";
import { type TrustedIssuer } from "./trusted-issuer.ts";

/** A request as hooks see it: no credential, and the target without its query, where clients leave tokens. */
export type ObservedRequest = Omit<AccessRequest, "authorization" | "cookie">;

/** Everything that a resource server can be told. All of it is checked at construction; unknown options are errors. */
export interface ResourceServerOptions {
  /**
   * The keys that signatures are verified with; short for `keys: { verificationKeys }`. With an asymmetric algorithm a
   * string is a PEM (SPKI, PKCS#1 or X.509; a literal `\n` is read as a line break) or a JWK as JSON. With HS* it is
   * the secret. Of several keys each one is tried, unless the token's `kid` names one.
   */
  readonly verificationKeys?: readonly VerificationKeyInput[];
  /**
   * Where the keys come from: `{ jwksUri }`, `{ discovery: true }`, `{ jwksFile }`, `{ jwks }` or `{ verificationKeys }`.
   * Either this or `verificationKeys`.
   */
  readonly keys?: KeySource;
  /**
   * Several issuers, each with its own keys and algorithms, instead of `issuer`, `keys` and `algorithm`. A token's `iss`
   * chooses whose rules verify it; any other `iss` is rejected without asking anybody.
   */
  readonly issuers?: readonly TrustedIssuer[];
  /** The accepted signature algorithm (RFC 8725 section 3.1). Default: `"RS256"`. */
  readonly algorithm?: Algorithm;
  /** Several accepted algorithms, instead of `algorithm`. HS* is never mixed with asymmetric ones. */
  readonly algorithms?: readonly Algorithm[];
  /** The expected `iss`, compared exactly. Default: any. */
  readonly issuer?: string;
  /** This service's id: the expected `aud`. */
  readonly serviceId?: string;
  /** The expected `aud` instead of `serviceId`; of several, one is enough. */
  readonly audience?: string | readonly string[];
  /** Whether `aud` must name this service (RFC 7519 section 4.1.3). Default: `true`. */
  readonly verifyAudience?: boolean;
  /** `false`: tokens are verified, scopes and unmapped routes are not checked. Default: `true`. */
  readonly authorization?: boolean;
  /** The custom table. Added to the default one; the same route pattern replaces the default entry. */
  readonly scopeMappings?: ScopeMappings;
  /** The table to start from; `{}` for none. Default: the exported `defaultScopeMappings`. */
  readonly defaultScopeMappings?: ScopeMappings;
  /** What a route without a rule asks: `"deny"` refuses it, `"authenticated"` asks for a valid token. Default: `"deny"`. */
  readonly unmappedRoutes?: "deny" | "authenticated";
  /** The scope that implies every scope; `null` for none. Default: `"platform:admin"`. */
  readonly adminScope?: string | null;
  /** Scopes that a scope implies, transitively: `{ "agents:write": ["agents:read"] }`. Default: `{}`. */
  readonly impliedScopes?: Readonly<Record<string, readonly string[]>>;
  /** The claim that holds the scopes: a list of strings, or one space-delimited string. Default: `"scopes"`. */
  readonly scopesClaim?: ClaimPath;
  /** The claim that becomes `principal.userId`. Default: `"sub"`. */
  readonly userIdClaim?: ClaimPath;
  /** The claim that becomes `principal.sessionId`. Default: `"session_id"`. */
  readonly sessionIdClaim?: ClaimPath;
  /** Claims that a token must have, on top of the scopes: `["exp"]`. Default: `[]`. */
  readonly requiredClaims?: readonly string[];
  /** Accepted `typ` header values, in any case; `null` for none. Default: `["JWT", "at+jwt", "application/at+jwt", null]`. */
  readonly tokenTypes?: readonly (string | null)[];
  /** How far the issuer's clock may be off, for `exp`, `nbf` and `iat`, in seconds. Default: `0`. */
  readonly clockToleranceSeconds?: number;
  /** How old a token may be, counted from its `iat`, in seconds. Default: no limit. */
  readonly maxTokenAgeSeconds?: number;
  /** The size above which a token is refused unread, in bytes. Default: `16384`. */
  readonly maxTokenBytes?: number;
  /** Where a token may stand. More than one credential in a request is refused. Default: `[{ header: "authorization" }]`. */
  readonly tokenSources?: readonly TokenSource[];
  /**
   * How many accepted tokens are remembered, and for how long at most; never past their `exp`, nor when their key is in use
   * no more. Scopes and `isRevoked` are asked every time. `false`: none. Default: `{ maxEntries: 10_000, maxAgeSeconds: 60 }`.
   */
  readonly tokenCache?: Partial<TokenCacheRules> | false;
  /** Asked for every verified token. `true` rejects it; an error, any answer but a boolean, or none within five seconds is a 503. Default: none. */
  readonly isRevoked?: (principal: Principal) => boolean | Promise<boolean>;
  /** Told of every decision. Never waited for; what it throws is dropped. It never sees the token. Default: none. */
  readonly onDecision?: (decision: Decision, request: ObservedRequest) => void;
  /** Told when a key source is read, changes or fails. Never waited for. Default: failures become process warnings. */
  readonly onKeyEvent?: (event: KeyEvent) => void;
  /** The `realm` of challenges (RFC 9110 section 11.5). Default: none. */
  readonly realm?: string;
  /** The `resource_metadata` of challenges: an https URL (RFC 9728 section 5.1). Default: none. */
  readonly resourceMetadataUrl?: string;
  /** The clock, in milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: () => number;
}

/** What stands in for each option that is left out. */
export const DEFAULTS = {
  algorithms: ["RS256"],
  verifyAudience: true,
  authorization: true,
  unmappedRoutes: "deny",
  adminScope: "platform:admin",
  scopesClaim: "scopes",
  userIdClaim: "sub",
  sessionIdClaim: "session_id",
  tokenTypes: ["JWT", "at+jwt", "application/at+jwt", null],
  clockToleranceSeconds: 0,
  maxTokenBytes: 16_384,
  tokenSources: [{ header: "authorization" }],
  tokenCache: { maxEntries: 10_000, maxAgeSeconds: 60 },
} as const satisfies ResourceServerOptions;
