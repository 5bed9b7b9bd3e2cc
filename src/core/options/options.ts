import type { Capability } from "../capability.ts";
import type { Algorithm } from "../keys/algorithm.ts";
import type { KeyEvent } from "../keys/key-event.ts";
import type { Keys, PlainKeys } from "../keys/key-source.ts";
import type { VerificationKeyInput } from "../keys/verification-key.ts";
import type { CallerConditions } from "../policy/conditions.ts";
import type { PlainShadow, Shadow } from "../policy/shadow.ts";
import type { Decision } from "../policy/decision.ts";
import type { Batches, McpOperations, PlainMcpOperations } from "../policy/key-language.ts";
import type { ScopeMappings } from "../policy/scope-mappings.ts";
import type { Principal } from "../token/principal.ts";
import type { ObservedRequest } from "../observed-request.ts";
import type { TokenSource } from "../token/credential.ts";
import type { Grants } from "../token/grants.ts";
import type { IssuerDirectory, SharedRules } from "../token/issuer-directory.ts";
import type { OpaqueTokens } from "../token/opaque-tokens.ts";
import type { Revocations } from "../token/revocation.ts";
import type { TokenCacheRules } from "../token/token-cache.ts";
import type { RefusalBodyFunction } from "../response/custom-body.ts";
import type { PlainSenderConstraint, SenderConstraint } from "./sender-constraint.ts";
import type { PlainResource, ProtectedResource } from "./resource.ts";
import type { TrustedIssuer } from "./trusted-issuer.ts";

/** When a decision was made, how long it took, and for which request of the framework. */
export interface DecisionEvent {
  /** When it was made, by the option `now`: milliseconds since the epoch. */
  readonly at: number;
  /** How long it took, in milliseconds, with fractions. Includes waiting for keys and `isRevoked`. */
  readonly durationMs: number;
  /**
   * A digest of the policy that decided: of the effective table, and of all options that JSON can express,
   * without keys and secrets. It's the same in every process with the same policy.
   */
  readonly policy: string;
  /**
   * The object that the framework passes to handlers: the request, in Koa the context. For `check`, the
   * `source` that was passed to it. It isn't enumerable, because it holds the token, which must not appear in
   * a log of the event.
   */
  readonly source?: object;
}

/** The options of a resource server. All are validated at construction; unknown options are errors. */
export interface ResourceServerOptions extends Partial<Omit<TrustedIssuer, "tenant" | "scopes">> {
  /**
   * The keys that verify signatures. With an asymmetric algorithm, a string is a PEM (SPKI, PKCS#1 or X.509;
   * a literal `\n` is read as a line break) or a JWK as JSON. With HS*, it is the secret. Each key is tried,
   * unless the `kid` of the token names one.
   */
  readonly verificationKeys?: readonly VerificationKeyInput[];
  /**
   * Where the keys come from: `remoteKeys({ jwksUri })`, `remoteKeys({ discovery: true })`, `jwks(set)` or
   * `jwksFile(path)`, all of `scopegate/keys`. Can't be combined with `verificationKeys`.
   */
  readonly keys?: Keys & PlainKeys;
  /**
   * Several issuers, each with its own keys and algorithms. Replaces `issuer`, `keys` and `algorithm`. The
   * `iss` of a token selects the issuer. A token with any other `iss` is rejected. Issuers that are found
   * while the server runs: `issuersFrom(find)` of `scopegate/issuers`.
   */
  readonly issuers?: readonly TrustedIssuer[] | FoundIssuers;
  /** The accepted signature algorithm (RFC 8725 section 3.1). Default: `"RS256"`. */
  readonly algorithm?: Algorithm;
  /** Several accepted algorithms; replaces `algorithm`. HS* can't be combined with asymmetric algorithms. */
  readonly algorithms?: readonly Algorithm[];
  /** The expected `iss`, compared exactly. Default: any. */
  readonly issuer?: string;
  /** The id of this service: the expected `aud`. */
  readonly serviceId?: string;
  /** The expected `aud`; overrides `serviceId`. If it's an array, one match is enough. */
  readonly audience?: string | readonly string[];
  /** `false`: tokens are verified, but scopes and unmapped routes aren't checked. Default: `true`. */
  readonly authorization?: boolean;
  /** The rules: the scopes that each route requires. Default: `{}`. */
  readonly scopeMappings?: ScopeMappings;
  /** The base table: `scopeMappings` adds to it and replaces its rules for the same routes. Default: `{}`. */
  readonly defaultScopeMappings?: ScopeMappings;
  /**
   * Routes without a rule: `"deny"` refuses with 403, `"not_found"` with 404, with or without a token, and
   * `"authenticated"` requires a valid token. `"not_found"` refuses MCP operations with 403, because a 404
   * would end the session of the client. Default: `"deny"`.
   */
  readonly unmappedRoutes?: "deny" | "not_found" | "authenticated";
  /**
   * A second table, which is compared with this one and enforces nothing: `shadowTable({ scopeMappings })` of
   * `scopegate/shadow`. Default: none.
   */
  readonly shadow?: Shadow & PlainShadow;
  /** The scope that implies every scope, such as `"platform:admin"`. Default: `null`, which is none. */
  readonly adminScope?: string | null;
  /** The scopes each scope implies, transitively: `{ "agents:write": ["agents:read"] }`. Default: `{}`. */
  readonly impliedScopes?: Readonly<Record<string, readonly string[]>>;
  /**
   * All scopes of the service, as `resource:action` for all ids of a resource. Any other scope in a rule, a
   * `map` or `impliedScopes` is a configuration error. Default: any scope.
   */
  readonly knownScopes?: readonly string[];
  /**
   * The maximum size of a token in bytes. A larger one is rejected before it is parsed. So is a token whose
   * header has more than 8,192 characters, or more than 64 values. Default: `16384`.
   */
  readonly maxTokenBytes?: number;
  /** Where a request may carry its token. Default: `[{ header: "authorization" }]`. */
  readonly tokenSources?: readonly TokenSource[];
  /**
   * What happens to a request with a token in several of `tokenSources`. `"refuse"`: it is refused, because
   * the next hop may read another token (RFC 6750 section 2). `"first"`: the first of `tokenSources` that is
   * present counts. Two headers or two cookies of a source that is read are refused even then. Default:
   * `"refuse"`.
   */
  readonly multipleCredentials?: "refuse" | "first";
  /**
   * The limits of the cache of verified tokens; `false` for no cache. A token is never cached after its
   * `exp`, or after its key was withdrawn; scopes and `isRevoked` are checked each time. Default:
   * `{ maxEntries: 10_000, maxAgeSeconds: 60, maxBytes: 67_108_864 }`, which is 64 MiB.
   */
  readonly tokenCache?: Partial<TokenCacheRules> | false;
  /**
   * Called for each request with a verified token; `true` rejects it. The request is refused with 503 if it
   * throws, returns anything but a boolean, or takes more than five seconds. Default: none.
   */
  readonly isRevoked?: (principal: Principal) => boolean | Promise<boolean>;
  /**
   * Stores which tokens, sessions, users, clients and issuers are revoked: `inMemoryRevocation()`, or
   * `sharedRevocation(store)` for several processes, both of `scopegate/revocation`. `server.revoke` adds to
   * it. Default: none.
   */
  readonly revocation?: Revocations;
  /**
   * Tokens that aren't JWTs: `introspection(...)` of `scopegate/introspection` and `apiKeys(...)` of
   * `scopegate/api-keys`. The first kind that recognizes a token verifies it. Default: none.
   */
  readonly opaqueTokens?: readonly OpaqueTokens[];
  /** Adds the scopes that a role store grants: `grantsFrom(lookup)` of `scopegate/grants`. Default: none. */
  readonly grants?: Grants;
  /**
   * Lets rules require more of their caller than scopes: `callerConditions()` of `scopegate/conditions`.
   * Default: none, so that such a rule is a configuration error.
   */
  readonly conditions?: CallerConditions;
  /**
   * Called with every decision. Only `event.source` contains the token. The function isn't awaited, and can't
   * make a request fail. Default: none.
   */
  readonly onDecision?: (decision: Decision, request: ObservedRequest, event: DecisionEvent) => void;
  /** Called when keys load, change or fail. Delays no request. Default: failures become process warnings. */
  readonly onKeyEvent?: (event: KeyEvent) => void;
  /**
   * Creates the body of each refusal. The status, the challenge and all other headers stay. If the function
   * throws, or returns anything but `{ contentType, body }`, the standard body is sent, and there is one
   * process warning for the server. It also receives details that only your log should contain, such as
   * `decision.cause`. Default: the problem as `application/problem+json`.
   */
  readonly refusalBody?: RefusalBodyFunction;
  /** The `realm` of challenges (RFC 9110 section 11.5). Default: none. */
  readonly realm?: string;
  /**
   * The `resource_metadata` of challenges: an https URL, or http on this machine (RFC 9728 section 5.1).
   * Default: none.
   */
  readonly resourceMetadataUrl?: string;
  /**
   * The identity of this server for OAuth clients, which use it to find their authorization server (RFC
   * 9728): `protectedResource({ id })` of `scopegate/resource`. `metadata` of the adapters serves it, and
   * challenges contain its URL. Default: none.
   */
  readonly resource?: ProtectedResource & PlainResource;
  /**
   * Accepts tokens that are bound to a key of the client, if the client proves that it holds the key (RFC
   * 9449, RFC 8705): `senderConstraint({ dpop, mtls })` of `scopegate/sender-constraint`. Without this
   * option, such tokens are refused. Default: none.
   */
  readonly senderConstraint?: SenderConstraint & PlainSenderConstraint;
  /**
   * Lets the table have rules for operations of MCP, such as `MCP tools/call search`: `mcpOperations()` of
   * `scopegate/mcp`. Default: none.
   */
  readonly mcp?: McpOperations & PlainMcpOperations;
  /**
   * Decides batches of tRPC by the rules for each of their procedures: `trpcBatches()` of `scopegate/trpc`.
   * Without this option, they are refused. Default: none.
   */
  readonly batches?: Batches;
  /** The clock, in milliseconds since the epoch. Default: `Date.now`. */
  readonly now?: () => number;
}

/** A value of the option `issuers`: `issuersFrom(find)` of `scopegate/issuers`. */
export interface FoundIssuers extends Capability {
  readonly option: "issuers";
  /** Creates the part of one server. */
  readonly create: (context: DirectoryContext) => IssuerDirectory;
}

/** What the issuers of one server have in common. */
export interface DirectoryContext extends SharedRules {
  /** The options of the server, which are the defaults of each issuer. */
  readonly options: ResourceServerOptions;
}
