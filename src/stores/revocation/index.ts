/** The entry point `scopegate/revocation`: what is revoked, and who else may revoke. */
export {
  type RevocationOptions,
  type RevocationStatus,
  type RevocationStore,
  type RevocationTarget,
  type RevokedEntry,
} from "../../core/token/revocation.ts";
export type { RevocationEvent } from "./events.ts";
export { inMemoryRevocation, type RevocationLimits } from "./in-memory.ts";
export { redisRevocation, type RedisRevocationOptions } from "./redis.ts";
export {
  securityEvents,
  type SecurityEventsOptions,
  type SecurityEventsResponse,
} from "./security-events.ts";
