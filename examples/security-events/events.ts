/** Revokes what the identity provider reports. Each other file of this folder has the route of one framework. */
import { createResourceServer } from "scopegate";
import { remoteKeys } from "scopegate/keys";
import { inMemoryRevocation, securityEvents } from "scopegate/revocation";

const issuer = "https://login.example/";
export const server = createResourceServer({
  serviceId: "orders",
  issuer,
  keys: remoteKeys({ discovery: true }),
  revocation: inMemoryRevocation(),
  scopeMappings: { "POST /events": "public" },
});
export const receive = securityEvents(server, {
  issuer,
  keys: remoteKeys({ discovery: true }),
  audience: "orders",
});
