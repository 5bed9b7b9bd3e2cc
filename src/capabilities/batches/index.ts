import { createCapability } from "../../core/create-capability.ts";
import type { Batches } from "../../core/policy/key-language.ts";
import { createBatchRules } from "./rules.ts";

export type { Batches } from "../../core/policy/key-language.ts";

/**
 * Creates the value of the option `batches`: a request that calls several procedures of tRPC must satisfy the
 * rule for each of them. Without it, such a request is refused.
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { trpcBatches } from "scopegate/trpc";
 *
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   scopeMappings: { "GET /trpc/whoami": [], "GET /trpc/list": ["agents:read"] },
 *   batches: trpcBatches(),
 * });
 * ```
 */
export const trpcBatches = (): Batches =>
  createCapability<Batches>({ option: "batches", create: createBatchRules });
