/** The service that the conformance suite protects: its policy, its routes and who may call them. */
import { agentScopeMappings, type Principal, type ScopeMappings } from "scopegate";
import { createIssuer } from "../support/issuer.ts";
import { createResourceServer, type ResourceServerOptions } from "../support/server.ts";
import type { Application, Route, Running, Setup } from "./applications.ts";

export const issuer = createIssuer();

export const policy: ScopeMappings = {
  ...agentScopeMappings,
  "GET /public/stats": "public",
  "GET /signed-in": [],
  "GET /optional": "optional",
  "POST /custom/endpoint": ["custom:write"],
  "GET /either": { anyOf: ["custom:read", "custom:write"] },
  "GET /items/:id": ["items:<id>:read"],
  "GET /extra/:id": [],
  "GET /throws": [],
  "* /any": ["any:use"],
  "GET /slow/:turns": [],
  "GET /mounted/items/:id": ["items:<id>:read"],
  "GET /mounted": ["mounted:read"],
};

const describe = (principal: Principal | undefined) => ({
  user: principal?.userId,
  session: principal?.sessionId,
});

export const routes: readonly Route[] = [
  {
    method: "GET",
    path: "/agents",
    handle: ({ principal }) => {
      const ids = principal?.resourceIds("agents", "read");
      return ids === "all" ? "all" : [...(ids ?? [])];
    },
  },
  { method: "GET", path: "/agents/:agent_id", handle: ({ params }) => params },
  { method: "POST", path: "/agents/:agent_id/runs", handle: ({ principal }) => describe(principal) },
  {
    method: "GET",
    path: "/public/stats",
    handle: ({ principal }) => ({ anonymous: principal === undefined }),
  },
  { method: "GET", path: "/signed-in", handle: ({ principal }) => describe(principal) },
  { method: "GET", path: "/optional", handle: ({ principal }) => ({ user: principal?.userId ?? null }) },
  { method: "POST", path: "/custom/endpoint", handle: () => "done" },
  { method: "GET", path: "/either", handle: () => "done" },
  { method: "GET", path: "/items/:id", handle: ({ params }) => params },
  { method: "GET", path: "/extra/:number", requires: ["extra:<number>:use"], handle: ({ params }) => params },
  {
    method: "GET",
    path: "/throws",
    handle: () => {
      throw new Error("the handler's own fault");
    },
  },
  { method: "ALL", path: "/any", handle: () => "any" },
  { method: "GET", path: "/unmapped", handle: () => "never" },
  {
    method: "GET",
    path: "/slow/:turns",
    handle: async ({ principal, params }) => {
      for (let turn = 0; turn < Number(params["turns"]); turn += 1) await new Promise(setImmediate);
      return describe(principal);
    },
  },
];

export const mounted: readonly Route[] = [
  { method: "GET", path: "/items/:id", handle: ({ params }) => params },
  { method: "GET", path: "/", handle: () => "root" },
  { method: "GET", path: "/unmapped", handle: () => "never" },
];

export const createServer = (options: Partial<ResourceServerOptions> = {}) =>
  createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [issuer.publicPem],
    adminScope: "platform:admin",
    scopeMappings: policy,
    ...options,
  });

/** Starts one application with the standard routes. */
export const start = (
  application: Application,
  options: Partial<ResourceServerOptions> = {},
  setup: Partial<Setup> = {},
): Promise<Running> => application.start({ server: createServer(options), routes, mounted, ...setup });
