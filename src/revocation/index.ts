/** The entry point `scopegate/revocation`: stores that know what is revoked. */
export { inMemoryRevocation, type RevocationLimits } from "./in-memory.ts";
