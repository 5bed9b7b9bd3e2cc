import { type Role } from "./development-issuer.ts";

/** One request of the story, and how it comes out. */
export interface Scene {
  readonly title: string;
  readonly method: string;
  readonly path: string;
  readonly token?: Promise<string>;
  readonly body?: unknown;
  readonly status: number;
  /** `allowed`, or why not. */
  readonly reason: string;
  /** Whether the body says what it should. */
  readonly tells?: (body: unknown) => boolean;
}

/** The two issuers that the service of the story trusts: each token names one, and is held to its keys alone. */
interface Issuers {
  /** The operator's own backend, whose public key the service has as a PEM. */
  readonly backend: (role: Role, claims?: Record<string, unknown>) => Promise<string>;
  /** The control plane, whose key set the service fetches. */
  readonly controlPlane: { readonly issuer: string; readonly token: () => Promise<string> };
}

/** What the guard does, from a request without a token to a public route. */
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
      title: "A run of the one agent that is granted",
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
      title: "A list, filtered to what the caller may read",
      path: "/agents",
      token: mint("runner"),
      status: 200,
      reason: "allowed",
      tells: (body) => Array.isArray(body) && body.length === 1,
    },
    {
      ...get,
      title: "The knowledge configuration",
      path: "/knowledge/config",
      token: mint("reader"),
      status: 200,
      reason: "allowed",
      tells: (body) => typeof body === "object" && body !== null && "readersForType" in body,
    },
    {
      ...get,
      title: "Any valid token",
      path: "/public/stats",
      token: mint("runner"),
      status: 200,
      reason: "allowed",
    },
    {
      ...get,
      title: "The administrator",
      path: "/teams/research",
      token: mint("admin"),
      status: 200,
      reason: "allowed",
    },
    {
      ...get,
      title: "A token of the other issuer, the control plane",
      path: "/teams/research",
      token: controlPlane.token(),
      status: 200,
      reason: "allowed",
    },
    {
      ...get,
      title: "A token that names the control plane and is signed by the backend",
      path: "/teams/research",
      token: mint("admin", { iss: controlPlane.issuer }),
      status: 401,
      reason: "algorithm",
    },
    {
      ...get,
      title: "A token of an issuer that nobody trusts",
      path: "/teams/research",
      token: mint("admin", { iss: "https://stranger.example" }),
      status: 401,
      reason: "issuer",
    },
    {
      ...get,
      title: "A path that reads in two ways",
      path: "/agents%2Fweb",
      token: mint("admin"),
      status: 400,
      reason: "request_ambiguous",
    },
    {
      ...get,
      title: "A route that the policy does not name",
      path: "/debug",
      token: mint("admin"),
      status: 403,
      reason: "route_unmapped",
    },
    { ...get, title: "A public route, without a token", path: "/health", status: 200, reason: "allowed" },
  ];
}
