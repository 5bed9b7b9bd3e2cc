// The server
export { createResourceServer } from "./core/server.ts";
export type { ResourceServer } from "./core/resource-server.ts";
export type { ResourceServerOptions } from "./core/options/options.ts";
export type { Health } from "./core/health.ts";

// Options that a program builds or annotates
export type { TrustedIssuer } from "./core/options/trusted-issuer.ts";
export type { RefusalBodyFunction } from "./core/response/custom-body.ts";
export type { ScopeSource } from "./core/token/scope-sources.ts";
export type { TokenSource } from "./core/token/credential.ts";

// Keys
export type { Algorithm } from "./core/keys/algorithm.ts";
export type { VerificationKeyInput } from "./core/keys/verification-key.ts";
export type { KeyEvent, KeySourceStatus } from "./core/keys/key-event.ts";

// The table
export type { Requirement } from "./core/policy/requirement.ts";
export type { ScopeMappings } from "./core/policy/scope-mappings.ts";
export { agentScopeMappings } from "./core/policy/agent-scope-mappings.ts";
export type { Rule } from "./core/policy/rule.ts";

// Requests, decisions and refusals
export type { ObservedRequest } from "./core/observed-request.ts";
export type { AccessRequest } from "./core/request.ts";
export type { Principal } from "./core/token/principal.ts";
export type { Actor } from "./core/token/actors.ts";
export type { Allowed, Decision, RefusalReason, Refused } from "./core/policy/decision.ts";
export type { Refusal } from "./core/response/refusal.ts";
export type { Problem } from "./core/response/problem.ts";

// Observation
export type { DecisionEvent } from "./core/options/options.ts";
export type { DecisionMessage } from "./core/observer.ts";
export type { CacheEvent } from "./core/token/token-cache.ts";

// Errors
export {
  ConfigurationError,
  type ConfigurationIssue,
  KeysUnavailableError,
  type Rejection,
  TokenRejectedError,
} from "./core/errors.ts";

// Scopes in the code of handlers
export { hasScopes } from "./core/scopes/has-scopes.ts";
