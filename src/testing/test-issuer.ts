import { type Algorithm, ALGORITHMS, isSymmetric } from "../keys/algorithm.ts";
import { type JsonWebKeySet } from "../keys/verification-key.ts";
import { type TrustedIssuer } from "../options/trusted-issuer.ts";
import { type ClaimPath } from "../token/principal.ts";
import { type IssuedCaller } from "./caller.ts";
import { KeyRing } from "./key-ring.ts";
import { openKeyServer, secretsAreNotPublished, type TestKeyServer } from "./key-server.ts";
import { mistake, requireNames } from "./mistakes.ts";
import { type SigningKey, type TestKey } from "./test-key.ts";
import { type TestTrustOptions } from "./issuer-options.ts";
import { claimsOf, isGood, requireTokenOptions, type TestTokenOptions } from "./token-options.ts";
import { issueToken } from "./issue-token.ts";

/** Who the issuer is; all of it has a default. */
export interface TestIssuerOptions {
  /** What it signs with. Default: `"ES256"`, whose keys are made fast. */
  readonly algorithm?: Algorithm;
  /** The `iss` of its tokens. Default: `"https://issuer.test"`. */
  readonly issuer?: string;
  /** The `aud` of its tokens: the id of your service. Default: `"scopegate-tests"`. */
  readonly audience?: string | readonly string[];
  /** The name of its first key; `null` for keys without names. Default: `"key-1"`. */
  readonly kid?: string | null;
  /** Its first key: a private key, or the text of a secret for HS*. Default: a new one. */
  readonly signingKey?: SigningKey;
  /** Where it writes the scopes, as the option of the server says. Default: `"scopes"`. */
  readonly scopesClaim?: ClaimPath;
  /** Where it writes the user. Default: `"sub"`. */
  readonly userIdClaim?: ClaimPath;
  /** Where it writes the session. Default: `"session_id"`. */
  readonly sessionIdClaim?: ClaimPath;
  /** Further claims of each of its tokens. Default: none. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** The `typ` of its tokens, `null` for none. Default: `"JWT"`. */
  readonly tokenType?: string | null;
  /** The clock, in milliseconds since the epoch; servers get it as well. Default: `Date.now`. */
  readonly now?: () => number;
}

/** An issuer in memory, for tests: never trust one in a service that somebody uses. */
export interface TestIssuer {
  /** The `iss` of its tokens. */
  readonly issuer: string;
  /** The `aud` of its tokens. */
  readonly audience: string | readonly string[];
  /** What it signs with. */
  readonly algorithm: Algorithm;
  /** The newest key, which signs. */
  readonly key: TestKey;
  /** The keys that are published now, as a JWK Set; with HS* the secrets themselves. */
  readonly jwks: JsonWebKeySet;
  /** For `createResourceServer({ ...others, ...issuer.resourceServerOptions })`; the keys are those of now. */
  readonly resourceServerOptions: TestTrustOptions;
  /** For an entry of `issuers`; the keys are those of now. */
  readonly trustedIssuer: TrustedIssuer;
  /**
   * A signed token.
   * @throws ConfigurationError for an unknown option, and for scopes that grant nothing
   */
  token(options?: TestTokenOptions): Promise<string>;
  /** A caller with tokens of this issuer: for `check` and `accessMatrix`, and a factory of tokens that have much in common. */
  caller(options?: TestTokenOptions): IssuedCaller;
  /** Makes a new key, which signs from now on. The old ones stay published, unless they are withdrawn. */
  rotate(options?: { readonly oldKeys?: "kept" | "withdrawn" }): TestKey;
  /** Publishes a key no more; a token can still be signed with it. */
  withdraw(kid: string): void;
  /** Publishes the keys on loopback, on a port that the system chooses. With `asIssuer` its URL becomes the `iss`. */
  listen(options?: { readonly asIssuer?: boolean }): Promise<TestKeyServer>;
}

const NAMES = [
  "algorithm",
  "issuer",
  "audience",
  "kid",
  "signingKey",
  "scopesClaim",
  "userIdClaim",
  "sessionIdClaim",
  "claims",
  "tokenType",
  "now",
] as const satisfies readonly (keyof TestIssuerOptions)[];

/**
 * Makes an issuer in memory with a key of its own: it signs tokens, good and bad ones, and tells a resource server how
 * to trust them. It is for tests; its keys end with the process.
 *
 * @throws ConfigurationError for an unknown option, algorithm or key
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { createTestIssuer } from "scopegate/testing";
 *
 * const issuer = createTestIssuer({ audience: "agents-prod" });
 * const server = createResourceServer({ ...issuer.resourceServerOptions, scopeMappings: { "GET /reports": ["reports:read"] } });
 *
 * const token = await issuer.token({ userId: "user-7", scopes: ["reports:read"], expiresIn: 60 });
 * const expired = await issuer.token({ scopes: ["reports:read"], rejectedAs: "expired" });
 * console.log((await server.authenticate(token)).userId, expired.length);
 * ```
 */
export function createTestIssuer(options: TestIssuerOptions = {}): TestIssuer {
  requireNames("createTestIssuer", options, NAMES);
  const { algorithm = "ES256", audience = "scopegate-tests", tokenType = "JWT", now = Date.now } = options;
  if (!ALGORITHMS.includes(algorithm)) {
    throw mistake(
      ["createTestIssuer", "algorithm"],
      "is not known.",
      `Write one of ${ALGORITHMS.join(", ")}.`,
    );
  }
  const { scopesClaim, userIdClaim, sessionIdClaim } = options;
  const told = {
    ...(scopesClaim !== undefined && { scopesClaim }),
    ...(userIdClaim !== undefined && { userIdClaim }),
    ...(sessionIdClaim !== undefined && { sessionIdClaim }),
  };
  const ring = new KeyRing(algorithm, options.kid, options.signingKey);
  let { issuer = "https://issuer.test" } = options;

  const token = async (asked: TestTokenOptions = {}): Promise<string> => {
    requireTokenOptions("token", asked);
    const defaults = { scopesClaim: "scopes", userIdClaim: "sub", sessionIdClaim: "session_id" };
    const claims = claimsOf(asked, {
      issuer,
      audience,
      claims: options.claims ?? {},
      now,
      ...defaults,
      ...told,
    });
    return issueToken(asked, claims, { algorithm, tokenType, ring });
  };

  return {
    get issuer() {
      return issuer;
    },
    audience,
    algorithm,
    get key() {
      return ring.newest;
    },
    get jwks() {
      return ring.jwks;
    },
    get resourceServerOptions() {
      const trust = { issuer, audience, algorithm, keys: { jwks: ring.jwks }, ...told };
      return { ...INSTEAD, ...trust, ...(options.now && { now }) };
    },
    get trustedIssuer() {
      return { issuer, audience, algorithms: [algorithm], keys: { jwks: ring.jwks }, ...told };
    },
    token,
    caller: (described = {}) => {
      requireTokenOptions("caller", described);
      const { scopes } = described;
      return {
        scopes: typeof scopes === "string" ? scopes.split(" ").filter((one) => one !== "") : (scopes ?? []),
        isGood: isGood(described),
        token: (changes = {}) => token({ ...described, ...changes }),
      };
    },
    rotate: (how = {}) => {
      requireNames("rotate", how, ["oldKeys"]);
      return ring.rotate(how.oldKeys ?? "kept");
    },
    withdraw: (kid) => ring.withdraw(kid),
    listen: async (how = {}) => {
      requireNames("listen", how, ["asIssuer"]);
      if (isSymmetric(algorithm)) throw secretsAreNotPublished();
      const served = await openKeyServer({ jwks: () => ring.jwks, issuer: () => issuer });
      if (how.asIssuer) issuer = served.url;
      return served;
    },
  };
}

/** Options that would stand beside those of the issuer and say something else: left out where they are spread over. */
const INSTEAD: object = { verificationKeys: undefined, algorithms: undefined, issuers: undefined };
