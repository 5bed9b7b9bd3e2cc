/** The subject of a security event: which tokens it revokes (RFC 9493). */
import { compact } from "../../core/runtime/compact.ts";
import type { RevocationTarget } from "../../core/token/revocation.ts";

export const SESSION_REVOKED = "https://schemas.openid.net/secevent/caep/event-type/session-revoked";
export const VERIFICATION = "https://schemas.openid.net/secevent/ssf/event-type/verification";

type Json = Readonly<Record<string, unknown>>;

/** Converts a subject to a target; `undefined` if it is not supported, or belongs to another issuer. */
export function readSubject(subject: unknown, time: unknown, issuer: string): RevocationTarget | undefined {
  if (typeof subject !== "object" || subject === null) return undefined;
  const { format, iss, sub, jti, id, session, user } = subject as Json;
  // If a complex subject names a session and its user, only the session is revoked.
  if (format === "complex") return readSubject(session ?? user, time, issuer);
  if (format === "opaque") return isText(id) ? { sessionId: id, issuer } : undefined;
  // A transmitter must not revoke the tokens of another issuer.
  if (iss !== issuer) return undefined;
  if (format === "jwt_id") return isText(jti) ? { tokenId: jti, issuer } : undefined;
  if (format !== "iss_sub" || !isText(sub)) return undefined;
  const isTimed = typeof time === "number" && Number.isFinite(time);
  return { userId: sub, issuer, ...compact({ before: isTimed ? new Date(time * 1000) : undefined }) };
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
