import { agentScopeMappings, createResourceServer } from "scopegate";
import { createIssuer } from "../../../support/issuer.ts";

export const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [createIssuer().publicPem],
  defaultScopeMappings: agentScopeMappings,
});
