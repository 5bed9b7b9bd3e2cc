import { checkOptions } from "../../core/options/check-options.ts";
import {
  anyString,
  anyValue,
  clock,
  flag,
  oneOf,
  type OptionChecks,
  optionError,
} from "../../core/options/option-checks.ts";
import { type Algorithm, ALGORITHMS, isSymmetric } from "../../core/keys/algorithm.ts";
import { jwks, type Keys } from "../../capabilities/keys/index.ts";
import type { JsonWebKeySet } from "../../core/keys/verification-key.ts";
import { TOKEN_DEFAULTS } from "../../core/options/defaults.ts";
import type { TrustedIssuer } from "../../core/options/trusted-issuer.ts";
import { compact } from "../../core/runtime/compact.ts";
import type { IssuedCaller } from "./caller.ts";
import { KeyRing } from "./key-ring.ts";
import { openKeyServer, type TestKeyServer } from "./key-server.ts";
import { splitScopes } from "./mistakes.ts";
import { ProofKeys, type TestProofOptions } from "./proofs.ts";
import type { SigningKey, TestKey } from "./test-key.ts";
import { signToken } from "./sign-token.ts";
import { type ClaimOptions, claimsOf, isGood } from "./token-options.ts";
import { requireTokenOptions, type TestTokenOptions } from "./token-options.ts";

/** The options of a test issuer. */
export interface TestIssuerOptions extends ClaimOptions {
  /** The signature algorithm. Default: `"ES256"`, whose keys are created fast. */
  readonly algorithm?: Algorithm;
  /** The `iss` of its tokens. Default: `"https://issuer.test"`. */
  readonly issuer?: string;
  /** The `aud` of its tokens: the id of your service. Default: `"scopegate-tests"`. */
  readonly audience?: string | readonly string[];
  /** The `kid` of its first key; `null` for keys without a `kid`. Default: `"key-1"`. */
  readonly kid?: string | null;
  /** Its first key: a private key or, with HS*, the secret. Default: a new key. */
  readonly signingKey?: SigningKey;
  /** Additional claims of all its tokens. Default: none. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** The `typ` of its tokens; `null` for none. Default: `"JWT"`. */
  readonly tokenType?: string | null;
  /** The clock, in milliseconds since the epoch, also for servers. Default: `Date.now`. */
  readonly now?: () => number;
}

/** The options of a server that accepts the tokens of the issuer. Spread them after other options. */
export interface TestTrustOptions extends ClaimOptions {
  /** The `iss` of its tokens. */
  readonly issuer: string;
  /** The `aud` of its tokens. */
  readonly audience: string | readonly string[];
  /** The signature algorithm. */
  readonly algorithm: Algorithm;
  /** Its keys. */
  readonly keys: Keys;
  /** The clock of the issuer, if it has one. */
  readonly now?: () => number;
}

/** An issuer in memory, for tests. Never use it in production. */
export interface TestIssuer {
  /** The `iss` of its tokens. */
  readonly issuer: string;
  /** The `aud` of its tokens. */
  readonly audience: string | readonly string[];
  /** The signature algorithm. */
  readonly algorithm: Algorithm;
  /** The newest key, which signs. */
  readonly key: TestKey;
  /** The published keys as a JWK Set. With HS*, it contains the secrets. */
  readonly jwks: JsonWebKeySet;
  /** Options of `createResourceServer({ ...others, ...issuer.resourceServerOptions })`, with current keys. */
  readonly resourceServerOptions: TestTrustOptions;
  /** An entry for the option `issuers`, with the current keys. */
  readonly trustedIssuer: TrustedIssuer;
  /**
   * Creates a signed token.
   * @throws ConfigurationError for an unknown option, and for scopes that grant nothing
   */
  token(options?: TestTokenOptions): Promise<string>;
  /**
   * Creates a DPoP proof (RFC 9449) for one request with a token of `token({ bound: "dpop" })`. Send the
   * token as `Authorization: DPoP <token>`, and the proof as `DPoP`.
   * @throws ConfigurationError for an unknown option, and for a URL that isn't absolute
   */
  proofFor(options: TestProofOptions): Promise<string>;
  /** Creates a caller for `check` and `accessMatrix`. Its `token` creates tokens with these options. */
  caller(options?: TestTokenOptions): IssuedCaller;
  /** Creates a new signing key. The old keys stay published unless they are withdrawn. */
  rotate(options?: { readonly oldKeys?: "kept" | "withdrawn" }): TestKey;
  /** Removes a key from the published keys. It can still sign. */
  withdraw(kid: string): void;
  /** Publishes the keys on a free port of loopback. With `asIssuer`, the URL becomes the `iss`. */
  listen(options?: { readonly asIssuer?: boolean }): Promise<TestKeyServer>;
}

const OPTIONS: OptionChecks<TestIssuerOptions> = {
  algorithm: oneOf(...ALGORITHMS),
  issuer: anyString,
  audience: anyValue,
  kid: anyValue,
  signingKey: anyValue,
  // A server checks these options.
  scopesClaim: anyValue,
  userIdClaim: anyValue,
  sessionIdClaim: anyValue,
  claims: anyValue,
  tokenType: anyValue,
  now: clock,
};

/** Overrides options that would conflict with the issuer's options. */
const NO_CONFLICT: object = { verificationKeys: undefined, algorithms: undefined, issuers: undefined };

/**
 * Creates an issuer in memory with its own key. It signs valid and invalid tokens, and provides the options
 * for a resource server that accepts them.
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
  checkOptions("createTestIssuer", options, OPTIONS);
  const { algorithm = "ES256", audience = "scopegate-tests", tokenType = "JWT" } = options;
  const { claims = {}, now = Date.now } = options;
  const { scopesClaim, userIdClaim, sessionIdClaim } = options;
  const claimOptions: ClaimOptions = compact({ scopesClaim, userIdClaim, sessionIdClaim });
  const ring = new KeyRing(algorithm, options.kid, options.signingKey);
  const proofKeys = new ProofKeys();
  const header = { alg: algorithm, ...compact({ typ: tokenType ?? undefined }) };
  let { issuer = "https://issuer.test" } = options;
  const shared = () => ({ issuer, audience, keys: jwks(ring.jwks), ...claimOptions });

  const claimNames = { ...TOKEN_DEFAULTS, ...claimOptions };
  const token = async (tokenOptions: TestTokenOptions = {}): Promise<string> => {
    requireTokenOptions("token", tokenOptions);
    const profile = { ...claimNames, issuer, audience, claims, now };
    const confirmation = tokenOptions.bound && proofKeys.confirmationOf(tokenOptions.bound);
    return signToken(tokenOptions, claimsOf(tokenOptions, profile, confirmation), ring, header);
  };

  // Async, so that a mistake in the options rejects the promise.
  const proofFor = async (proofOptions: TestProofOptions): Promise<string> =>
    Promise.resolve(proofKeys.sign(proofOptions, now));

  const testIssuer: TestIssuer = {
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
      return { ...NO_CONFLICT, ...shared(), algorithm, ...compact({ now: options.now }) };
    },
    get trustedIssuer() {
      return { ...shared(), algorithms: [algorithm] };
    },
    token,
    proofFor,
    caller: (described = {}) => {
      requireTokenOptions("caller", described);
      const { scopes, bound, unmet } = described;
      const isProven = bound === "dpop" && unmet !== "senderConstrained";
      return {
        scopes: typeof scopes === "string" ? splitScopes(scopes) : (scopes ?? []),
        isGood: isGood(described, claimNames),
        token: (changes = {}) => token({ ...described, ...changes }),
        proofFor: isProven ? proofFor : undefined,
      };
    },
    rotate: (how = {}) => {
      checkOptions("rotate", how, { oldKeys: oneOf("kept", "withdrawn") });
      return ring.rotate(how.oldKeys ?? "kept");
    },
    withdraw: (kid) => ring.withdraw(kid),
    listen: async (how = {}) => {
      checkOptions("listen", how, { asIssuer: flag });
      if (isSymmetric(algorithm)) {
        const hint = 'Use an asymmetric algorithm: createTestIssuer({ algorithm: "ES256" }).';
        throw optionError(["listen"], "can't publish a secret of HS*.", hint, "key_unusable");
      }
      const opened = await openKeyServer(testIssuer);
      if (how.asIssuer) issuer = opened.url;
      return opened;
    },
  };
  return testIssuer;
}
