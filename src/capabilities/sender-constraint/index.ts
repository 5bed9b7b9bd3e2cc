import { createCapability } from "../../core/create-capability.ts";
import type { SenderConstraint } from "../../core/options/sender-constraint.ts";
import { resolveSenderConstraint, type SenderConstraintOptions } from "./options.ts";
import { ProofChecker } from "./proof-checker.ts";
import { SENDER_CONSTRAINT_NAMES, shape } from "./shape.ts";

export type {
  CertificateHeader,
  DpopNonceOptions,
  DpopOptions,
  MtlsOptions,
  SenderConstraintOptions,
} from "./options.ts";
export type { SenderConstraint } from "../../core/options/sender-constraint.ts";

/**
 * Creates the value of the option `senderConstraint`: tokens that are bound to a key of the client are
 * accepted if the client proves that it holds the key, by DPoP (RFC 9449) or by its certificate (RFC 8705).
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { senderConstraint } from "scopegate/sender-constraint";
 *
 * const server = createResourceServer({
 *   serviceId: "payments-prod",
 *   verificationKeys: [process.env.JWT_PUBLIC_KEY!],
 *   scopeMappings: { "POST /payments": { scopes: ["payments:write"], senderConstrained: true } },
 *   senderConstraint: senderConstraint({ dpop: { origins: ["https://api.example"] } }),
 * });
 * ```
 */
export const senderConstraint = (options: SenderConstraintOptions): SenderConstraint =>
  createCapability<SenderConstraint>({
    option: "senderConstraint",
    written: options,
    shape,
    names: SENDER_CONSTRAINT_NAMES,
    create: ({ now }) => new ProofChecker(resolveSenderConstraint(options, now)),
  });
