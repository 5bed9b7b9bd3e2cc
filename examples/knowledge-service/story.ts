import type { Role } from "./development-issuer.ts";

/** One request of the story, and its expected result. */
export interface Scene {
  readonly title: string;
  readonly method: string;
  readonly path: string;
  readonly token?: Promise<string>;
  readonly body?: unknown;
  readonly status: number;
  /** `allowed`, the rejection of the token, or the reason for the refusal. */
  readonly reason: string;
  readonly hasExpectedBody?: (body: unknown) => boolean;
}

/** The two configured issuers of the service. Tokens of one are only verified with its own keys. */
interface Issuers {
  /** The backend of the operator, with its public key configured as a PEM. */
  readonly backend: (role: Role, claims?: Record<string, unknown>) => Promise<string>;
  /** The control plane, with a JWK Set that the service fetches. */
  readonly controlPlane: { readonly issuer: string; readonly token: () => Promise<string> };
}

/** Creates requests that show each kind of decision. */
export function createStory({ backend: mint, controlPlane }: Issuers): readonly Scene[] {
  const get = { method: "GET" } as const;
  const run = { method: "POST", body: { input: "hello" } } as const;
  return [
    { ...get, title: "No token", path: "/agents", status: 401, reason: "credential_missing" },
    {
      ...get,
      title: "An expired token",
      path: "/agents",
      token: mint("reader", { exp: 1 }),
      status: 401,
      reason: "expired",
    },
    {
      ...get,
      title: "A token for another service",
      path: "/agents",
      token: mint("reader", { aud: "billing" }),
      status: 401,
      reason: "audience",
    },
    {
      ...get,
      title: "A missing scope",
      path: "/knowledge/config",
      token: mint("runner"),
      status: 403,
      reason: "scope_insufficient",
    },
    {
      ...run,
      title: "A run of the agent in a granted scope",
      path: "/agents/web/runs",
      token: mint("runner"),
      status: 201,
      reason: "allowed",
    },
    {
      ...run,
      title: "A run of another agent",
      path: "/agents/data/runs",
      token: mint("runner"),
      status: 403,
      reason: "scope_insufficient",
    },
    {
      ...get,
      title: "A list, filtered to the agents that the caller may read",
      path: "/agents",
      token: mint("runner"),
      status: 200,
      reason: "allowed",
      hasExpectedBody: (body) => Array.isArray(body) && body.length === 1,
    },
    {
      ...get,
      title: "The knowledge configuration",
      path: "/knowledge/config",
      token: mint("reader"),
      status: 200,
      reason: "allowed",
      hasExpectedBody: (body) => typeof body === "object" && body !== null && "readersForType" in body,
    },
    {
      ...get,
      title: "A route that requires a valid token and no scope",
      path: "/public/stats",
      token: mint("runner"),
      status: 200,
      reason: "allowed",
    },
    {
      ...get,
      title: "A token with the admin scope",
      path: "/teams/research",
      token: mint("admin"),
      status: 200,
      reason: "allowed",
    },
    {
      ...get,
      title: "A token of the second issuer, the control plane",
      path: "/teams/research",
      token: controlPlane.token(),
      status: 200,
      reason: "allowed",
    },
    {
      ...get,
      title: "A token with the issuer of the control plane, but signed by the backend",
      path: "/teams/research",
      token: mint("admin", { iss: controlPlane.issuer }),
      status: 401,
      reason: "algorithm",
    },
    {
      ...get,
      title: "A token of an unknown issuer",
      path: "/teams/research",
      token: mint("admin", { iss: "https://stranger.example" }),
      status: 401,
      reason: "issuer",
    },
    {
      method: "POST",
      title: "The session of a token",
      path: "/sessions",
      body: { name: "notes" },
      token: mint("member", { session_id: "s-1" }),
      status: 201,
      reason: "allowed",
    },
    {
      ...get,
      title: "The session of another token",
      path: "/sessions/s-1",
      token: mint("member", { session_id: "s-2" }),
      status: 403,
      reason: "caller_not_allowed",
    },
    {
      method: "DELETE",
      title: "An operation that needs a recent login",
      path: "/sessions/s-1",
      token: mint("member", { session_id: "s-1", auth_time: Math.floor(Date.now() / 1000) - 3600 }),
      status: 401,
      reason: "authentication_insufficient",
    },
    {
      method: "DELETE",
      title: "The same operation after a new login",
      path: "/sessions/s-1",
      token: mint("member", { session_id: "s-1" }),
      status: 204,
      reason: "allowed",
    },
    {
      ...get,
      title: "An ambiguous path",
      path: "/agents%2Fweb",
      token: mint("admin"),
      status: 400,
      reason: "request_ambiguous",
    },
    {
      ...get,
      title: "A route without a rule",
      path: "/debug",
      token: mint("admin"),
      status: 403,
      reason: "route_unmapped",
    },
    { ...get, title: "A public route, without a token", path: "/health", status: 200, reason: "allowed" },
  ];
}
