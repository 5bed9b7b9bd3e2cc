export { parseConfiguration } from "./options/configuration.ts";
export {
  AuditError,
  ConfigurationError,
  type ConfigurationIssue,
  type ConfigurationIssueCode,
  KeysUnavailableError,
  type Rejection,
  TokenRejectedError,
} from "./errors.ts";
export { type CacheSize, type Health } from "./health.ts";
export { type Algorithm } from "./keys/algorithm.ts";
export { type KeyEvent, type KeyLoadReason, type KeySourceStatus, type KeyState } from "./keys/key-event.ts";
export { type KeyFetch } from "./keys/fetch-json.ts";
export { type JwksFileSource } from "./keys/jwks-file.ts";
export { type KeySource } from "./keys/key-source.ts";
export { type DiscoverySource, type JwksUriSource, type RemoteOptions } from "./keys/remote-source.ts";
export { type JsonWebKey, type JsonWebKeySet, type VerificationKeyInput } from "./keys/verification-key.ts";
export { type DecisionEvent, type ResourceServerOptions } from "./options/options.ts";
export { type ResourceOptions } from "./options/resource.ts";
export { type TrustedIssuer } from "./options/trusted-issuer.ts";
export { type AuditOptions } from "./audit/catch-all.ts";
export { type AuditedRoute, type AuditFinding, type AuditRemark, type AuditReport } from "./audit/report.ts";
export {
  type Allowed,
  type Decision,
  type DecisionFacts,
  type RefusalReason,
  type Refused,
} from "./policy/decision.ts";
export { type DecisionMessage } from "./observer.ts";
export { type DecisionLog, decisionLog } from "./decision-log/decision-log.ts";
export { type DecisionSink } from "./decision-log/line-queue.ts";
export { type DecisionLogOptions } from "./decision-log/record.ts";
export { type ReplayChange, replayDecisions, type ReplayReport } from "./decision-log/replay.ts";
export { defaultScopeMappings } from "./policy/default-scope-mappings.ts";
export { type Explanation, type ExplainQuery } from "./policy/explain.ts";
export { hasScopes, type HasScopesOptions } from "./scopes/has-scopes.ts";
export { type ReportOnly, type Requirement, type ScopeMappings } from "./policy/requirement.ts";
export { type ListedRoute, type UnguardedPlace } from "./audit/coverage.ts";
export { type Enforcement, type RouteTable, type Rule, type RuleSource } from "./policy/rule.ts";
export { type ClaimPath } from "./token/claim-path.ts";
export { type GrantedUser, type GrantsFor } from "./token/grants.ts";
export { type OpaqueContext, type OpaqueTokens, type OpaqueVerification } from "./token/opaque-tokens.ts";
export { owned, type OwnedOptions, type Ownership } from "./token/owned.ts";
export { type Principal, type TokenKind } from "./token/principal.ts";
export {
  type RevocationOptions,
  type RevocationStatus,
  type RevocationStore,
  type RevocationTarget,
  type RevokedEntry,
} from "./token/revocation.ts";
export { type ClaimValue, type RequiredClaims, type RequiredClaimValues } from "./token/required-claims.ts";
export { type ScopeSource } from "./token/scope-sources.ts";
export { type AccessRequest, type ObservedRequest } from "./request.ts";
export { createResourceServer, type ResourceServer } from "./resource-server.ts";
export { type AccessEnd, untilExpiry, type UntilExpiryOptions } from "./until-expiry.ts";
export { type EndReason, type Revalidation } from "./token/revalidate.ts";
export { type Problem } from "./response/problem.ts";
export { type RefusalBody, type RefusalBodyFunction } from "./response/refusal-body.ts";
export { type Refusal } from "./response/refusal.ts";
export { type Resource } from "./response/resource-metadata.ts";
export { type Satisfaction, type SatisfiedBy } from "./scopes/scope.ts";
export { type ClaimedToken } from "./token/claimed.ts";
export { type TokenSource } from "./token/credential.ts";
export { type CacheEvent, type TokenCacheRules } from "./token/token-cache.ts";
