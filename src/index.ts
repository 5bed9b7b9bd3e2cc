export { parseConfiguration } from "./core/options/configuration.ts";
export {
  ConfigurationError,
  type ConfigurationIssue,
  type ConfigurationIssueCode,
  KeysUnavailableError,
  type Rejection,
  TokenRejectedError,
} from "./core/errors.ts";
export { type CacheSize, type Health } from "./core/health.ts";
export { type Algorithm } from "./core/keys/algorithm.ts";
export {
  type KeyEvent,
  type KeyLoadReason,
  type KeySourceStatus,
  type KeyState,
} from "./core/keys/key-event.ts";
export { type KeyFetch } from "./core/keys/fetch-json.ts";
export { type JwksFileSource } from "./core/keys/jwks-file.ts";
export { type KeySource } from "./core/keys/key-source.ts";
export { type DiscoverySource, type JwksUriSource, type RemoteOptions } from "./core/keys/remote-source.ts";
export {
  type JsonWebKey,
  type JsonWebKeySet,
  type VerificationKeyInput,
} from "./core/keys/verification-key.ts";
export { type DecisionEvent, type ResourceServerOptions } from "./core/options/options.ts";
export { type ResourceOptions } from "./core/options/resource.ts";
export { type TrustedIssuer } from "./core/options/trusted-issuer.ts";
export {
  type Allowed,
  type Decision,
  type DecisionFacts,
  type RefusalReason,
  type Refused,
} from "./core/policy/decision.ts";
export { type DecisionMessage } from "./core/observer.ts";
export { type DecisionLog, decisionLog } from "./tools/decision-log/decision-log.ts";
export { type DecisionSink } from "./tools/decision-log/line-queue.ts";
export { type DecisionLogOptions } from "./tools/decision-log/record.ts";
export { type ReplayChange, replayDecisions, type ReplayReport } from "./tools/decision-log/replay.ts";
export { defaultScopeMappings } from "./core/policy/default-scope-mappings.ts";
export { type Explanation, type ExplainQuery } from "./core/policy/explain.ts";
export { hasScopes, type HasScopesOptions } from "./core/scopes/has-scopes.ts";
export { type ReportOnly, type Requirement, type ScopeMappings } from "./core/policy/requirement.ts";
export { type Enforcement, type RouteTable, type Rule, type RuleSource } from "./core/policy/rule.ts";
export { type ClaimPath } from "./core/token/claim-path.ts";
export { type GrantedUser, type GrantsFor } from "./core/token/grants.ts";
export {
  type OpaqueContext,
  type OpaqueTokens,
  type OpaqueVerification,
} from "./core/token/opaque-tokens.ts";
export { owned, type OwnedOptions, type Ownership } from "./core/token/owned.ts";
export { type Principal, type TokenKind } from "./core/token/principal.ts";
export {
  type RevocationOptions,
  type RevocationStatus,
  type RevocationStore,
  type RevocationTarget,
  type RevokedEntry,
} from "./core/token/revocation.ts";
export {
  type ClaimValue,
  type RequiredClaims,
  type RequiredClaimValues,
} from "./core/token/required-claims.ts";
export { type ScopeSource } from "./core/token/scope-sources.ts";
export { type AccessRequest, type ObservedRequest } from "./core/request.ts";
export { createResourceServer, type ResourceServer } from "./core/server.ts";
export { type AccessEnd, untilExpiry, type UntilExpiryOptions } from "./core/until-expiry.ts";
export { type EndReason, type Revalidation } from "./core/token/revalidate.ts";
export { type Problem } from "./core/response/problem.ts";
export { type RefusalBody, type RefusalBodyFunction } from "./core/response/refusal-body.ts";
export { type Refusal } from "./core/response/refusal.ts";
export { type Resource } from "./core/response/resource-metadata.ts";
export { type Satisfaction, type SatisfiedBy } from "./core/scopes/scope.ts";
export { type ClaimedToken } from "./core/token/claimed.ts";
export { type TokenSource } from "./core/token/credential.ts";
export { type CacheEvent, type TokenCacheRules } from "./core/token/token-cache.ts";
