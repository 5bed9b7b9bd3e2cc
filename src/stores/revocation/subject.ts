/** The subject of a security event: which tokens it revokes (RFC 9493). */
import { isText, type Json } from "../../core/runtime/json.ts";
import type { RevocationTarget } from "../../core/token/revocation.ts";

/** The context of a subject. */
interface SubjectContext {
  /** The issuer whose tokens may be revoked. */
  readonly issuer: string;
  /** When the event happened. */
  readonly before: Date;
}

/**
 * Returns what a subject revokes. Returns nothing if a token can't be identified by it, as with an e-mail
 * address, or if it belongs to another issuer.
 */
export function readSubject(subject: unknown, context: SubjectContext): readonly RevocationTarget[] {
  const { format, iss, sub, jti, id, session, user, identifiers } = Object(subject) as Json;
  const { issuer, before } = context;
  switch (format) {
    // If it names both a session and its user, only the session is revoked.
    case "complex":
      return readSubject(session ?? user, context);
    // Several names of one subject (RFC 9493 section 3.2.8), which can't be nested.
    case "aliases":
      return Array.isArray(identifiers)
        ? (identifiers as readonly unknown[])
            .filter((identifier) => (Object(identifier) as Json)["format"] !== "aliases")
            .flatMap((identifier) => readSubject(identifier, context))
        : [];
    case "opaque":
      return isText(id) ? [{ sessionId: id, issuer }] : [];
    // A transmitter must not revoke the tokens of another issuer.
    case "jwt_id":
      return iss === issuer && isText(jti) ? [{ tokenId: jti, issuer }] : [];
    case "iss_sub":
      return iss === issuer && isText(sub) ? [{ userId: sub, issuer, before }] : [];
    default:
      return [];
  }
}
