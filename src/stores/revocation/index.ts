/** The entry point `scopegate/revocation`: what is revoked, and who else may revoke. */
export type {
  RevocationContext,
  RevocationOptions,
  Revocations,
  RevocationStatus,
  RevocationTarget,
} from "../../core/token/revocation.ts";
export type { RevocationEvent } from "./events.ts";
export {
  inMemoryRevocation,
  type InMemoryRevocationOptions,
  sharedRevocation,
  type SharedRevocationOptions,
} from "./revocations.ts";
export {
  securityEvents,
  type SecurityEventsOptions,
  type SecurityEventsResponse,
} from "./security-events.ts";
