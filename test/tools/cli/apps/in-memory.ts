import { inMemoryRevocation } from "scopegate/revocation";
import { createIssuer } from "../../../support/issuer.ts";
import { createResourceServer } from "../../../support/server.ts";

export const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [createIssuer().publicPem],
  revocation: inMemoryRevocation(),
});
