import { createResourceServer } from "scopegate";
import { apiKeys } from "scopegate/api-keys";
import { createIssuer } from "../../../support/issuer.ts";

export const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [createIssuer().publicPem],
  opaqueTokens: [apiKeys({ prefix: "acme_pat_", find: () => Promise.resolve(undefined) })],
});
