/** A server with a rule for every route, and short forms of lists and findings. */
import type { ScopeMappings } from "scopegate";
import { audit, type ListedRoute } from "scopegate/audit";
import { createIssuer } from "../../../support/issuer.ts";
import { createResourceServer } from "../../../support/server.ts";

const issuer = createIssuer();

export const serverFor = (scopeMappings: ScopeMappings) =>
  createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [issuer.publicPem],
    scopeMappings,
  });

export const server = serverFor({ "* /{*path}": ["any:thing"], "GET /health": "public" });

export const written = (routes: Iterable<ListedRoute>) =>
  [...routes].map(({ method, pattern }) => `${method} ${pattern}`);

/** The routes of a list that are marked as unguarded. */
export const unguardedOf = (routes: Iterable<ListedRoute>) =>
  written([...routes].filter(({ unguarded }) => unguarded));

/** What an audit reports about guards. */
export const findingsOf = (routes: Iterable<ListedRoute>) =>
  audit(server, routes).findings.filter(({ kind }) => ["route_unguarded", "guard_missing"].includes(kind));
