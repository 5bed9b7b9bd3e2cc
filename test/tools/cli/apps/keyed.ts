import { agentScopeMappings } from "scopegate";
import { apiKeys } from "scopegate/api-keys";
import { createIssuer } from "../../../support/issuer.ts";
import { createResourceServer } from "../../../support/server.ts";

export const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [createIssuer().publicPem],
  defaultScopeMappings: agentScopeMappings,
  opaqueTokens: [apiKeys({ prefix: "acme_pat_", find: () => Promise.resolve(undefined) })],
});
