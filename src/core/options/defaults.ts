/** The values of omitted options. */
import type { ResourceServerOptions } from "./options.ts";
import type { TrustedIssuer } from "./trusted-issuer.ts";

/** The defaults of the options that issuers have too. */
export const TOKEN_DEFAULTS = {
  verifyAudience: true,
  scopesClaim: "scopes",
  userIdClaim: "sub",
  sessionIdClaim: "session_id",
  tokenTypes: ["JWT", "at+jwt", "application/at+jwt", null],
  clockToleranceSeconds: 0,
} as const satisfies Partial<TrustedIssuer>;

/** The defaults of all options. */
export const DEFAULTS = {
  ...TOKEN_DEFAULTS,
  algorithms: ["RS256"],
  authorization: true,
  unmappedRoutes: "deny",
  adminScope: null,
  maxTokenBytes: 16_384,
  tokenSources: [{ header: "authorization" }],
  multipleCredentials: "refuse",
  tokenCache: { maxEntries: 10_000, maxAgeSeconds: 60, maxBytes: 64 * 1024 * 1024 },
} as const satisfies ResourceServerOptions;
