/** The claim `cnf`, which binds a token to a key of its client (RFC 7800). */
import { claimAt } from "../claim-path.ts";

/** How a token is bound to a key of its client: DPoP (RFC 9449), or the certificate of TLS (RFC 8705). */
export type TokenBinding = "dpop" | "mtls";

/** All of them, in the order in which they are named. */
export const TOKEN_BINDINGS: readonly TokenBinding[] = ["dpop", "mtls"];

/** The properties of `cnf`: each is the SHA-256 of the key (RFC 7638) or of the certificate. */
const MEMBERS: Readonly<Record<TokenBinding, string>> = { dpop: "jkt", mtls: "x5t#S256" };

/** Whether a token is bound, and by which of the bindings that the server can check. */
export type Confirmation =
  | { readonly kind: "unbound" }
  | { readonly kind: "bound"; readonly binding: TokenBinding }
  /** Not verifiable, so the token must not be accepted. */
  | { readonly kind: "unusable" };

const UNBOUND: Confirmation = { kind: "unbound" };
const UNUSABLE: Confirmation = { kind: "unusable" };

type Claims = Readonly<Record<string, unknown>>;

/**
 * Reads `cnf`. Every property that the server can check must be valid, and needs its proof. Other properties
 * are ignored. Without a property that the server can check, the claim is unusable.
 */
export function readConfirmation(claims: Claims, checked: readonly TokenBinding[]): Confirmation {
  if (claimAt(claims, "cnf") === undefined) return UNBOUND;
  const present = checked.filter((binding) => memberOf(claims, binding) !== undefined);
  const [binding] = present;
  if (binding === undefined || present.some((name) => thumbprintOf(claims, name) === undefined))
    return UNUSABLE;
  return { kind: "bound", binding };
}

/** Returns how a hypothetical caller is bound. The thumbprint may be any string. */
export const describedBinding = (claims: Claims): TokenBinding | undefined =>
  TOKEN_BINDINGS.find((binding) => typeof memberOf(claims, binding) === "string");

/** Returns the thumbprint of the key that a token is bound to; `undefined` if it has no valid one. */
export function thumbprintOf(claims: Claims, binding: TokenBinding): string | undefined {
  const member = memberOf(claims, binding);
  return typeof member === "string" && THUMBPRINT.test(member) ? member : undefined;
}

const memberOf = (claims: Claims, binding: TokenBinding): unknown =>
  claimAt(claims, ["cnf", MEMBERS[binding]]);

/** 32 bytes in canonical base64url. */
const THUMBPRINT = /^[\w-]{42}[AEIMQUYcgkosw048]$/;
