/** What readers search for, by the address of the page, which shows it below its title. */
export const KEYWORDS: Readonly<Record<string, string>> = {
  "guides/bound-tokens": "sender-constrained tokens, token theft, stolen token, DPoP proof, RFC 9449",
  "guides/browser-sessions": "session cookie, CSRF, BFF, SPA login, refresh token",
  "guides/conditions":
    "ABAC, attributes, MFA, step-up authentication, on behalf of, delegation, multi-tenant SaaS, organization, customer, isolation, workspace, ownership, author, resource owner, BOLA, IDOR",
  "guides/cors": "preflight, OPTIONS request, Access-Control-Allow-Origin",
  "guides/decision-log": "audit trail, audit log, who accessed what",
  "guides/deployment":
    "production checklist, go live, before production, Kubernetes, Docker, readiness probe, liveness, health check, clock skew",
  "guides/fetch-hosts":
    "serverless, cold start, AWS Lambda, Cloudflare Workers, Bun, Deno, SvelteKit, edge functions, Vercel",
  "guides/frameworks": "router, mount, sub-app, prefix, middleware order, trailing slash, case sensitive",
  "guides/key-rotation": "JWKS cache, kid, rollover, new signing key",
  "guides/mcp": "Model Context Protocol, agents, tools, AI",
  "guides/metrics": "OpenTelemetry, Prometheus, Datadog, Grafana, monitoring, tracing",
  "guides/nestjs": "Nest guard, UseGuards, decorator, APP_GUARD",
  "guides/openapi": "Swagger, Redoc, Scalar, API explorer",
  "guides/opaque-tokens":
    "machine to machine, m2m, cron job, backend service, service account, API key, X-API-Key, existing API keys, introspection, RFC 7662, personal access token",
  "guides/rate-limits": "throttling, rate limiting, quota, 429, express-rate-limit, brute force",
  "guides/shadow": "dry run, report only, shadow mode, migration, gradual rollout",
  "guides/reverse-proxies": "nginx, load balancer, X-Forwarded, path prefix, trust proxy",
  "guides/revocation":
    "logout, user fired, block a user, ban, offboarding, disable account, blocklist, denylist, log out everywhere, invalidate token, Redis",
  "providers/entra": "Azure AD, Azure Active Directory, Microsoft login, app roles, groups",
  "guides/roles-to-scopes": "RBAC, roles, groups, permissions, mapping",
  "guides/several-issuers":
    "multiple issuers, issuer per customer, bring your own identity provider, SSO, two identity providers, staging and production",
  "guides/sockets": "WebSocket, ws, Socket.IO, SSE, EventSource, streaming",
  "guides/static-files":
    "SPA, React, Vite, express.static, assets, index.html, multer, multipart, file upload, 413, body size",
  "guides/testing":
    "unit tests, integration tests, end-to-end tests, e2e, Jest, Vitest, supertest, mock token, fake JWT",
  "guides/troubleshooting": "debug, why 401, why 403, unauthorized, forbidden, not working, error",
  "guides/types": "user id, current user, TypeScript, req.user, Express.Request, augmentation, generics",
  "reference/benchmarks": "performance, speed, latency, latency per request, overhead, throughput",
  "reference/versions":
    "breaking changes, semver, license, MIT, commercial use, price, pricing, free, help, questions, contact, LTS, Node.js versions",
  "reference/options": "configuration, settings, defaults, parameters",
  "understand/table":
    "two routes match, which rule wins, priority, precedence, routes, patterns, wildcard, optional, public route, allow all",
  "understand/tokens-and-keys":
    "identity provider down, outage, JWKS cache, key refresh, network calls, latency, offline",
  why: "alternatives, comparison, API gateway, already authenticated, versus, vs, passport, express-jwt, CASL, OPA, Envoy, Kong",
};
