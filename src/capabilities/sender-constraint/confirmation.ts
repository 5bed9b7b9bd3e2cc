/** Reads the claim `cnf` (RFC 7800). */
import { confirmationOf, type TokenBinding } from "../../core/token/confirmation.ts";

type Claims = Readonly<Record<string, unknown>>;

/**
 * Returns how a token with `cnf` is bound. Every property that the server can check must be valid, and needs
 * its proof. Other properties are ignored. Without a property that the server can check, or with one that is
 * wrong, the result is `undefined`, and the token must not be accepted.
 */
export function readBinding(claims: Claims, checked: readonly TokenBinding[]): TokenBinding | undefined {
  const present = checked.filter((binding) => confirmationOf(claims, binding) !== undefined);
  return present.every((binding) => thumbprintOf(claims, binding) !== undefined) ? present[0] : undefined;
}

/** Returns the thumbprint of the key that a token is bound to; `undefined` if it has no valid one. */
export function thumbprintOf(claims: Claims, binding: TokenBinding): string | undefined {
  const thumbprint = confirmationOf(claims, binding);
  return typeof thumbprint === "string" && THUMBPRINT.test(thumbprint) ? thumbprint : undefined;
}

/** 32 bytes in canonical base64url. */
const THUMBPRINT = /^[\w-]{42}[AEIMQUYcgkosw048]$/;
