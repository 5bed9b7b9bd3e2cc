/** The claim `cnf`, which binds a token to a key of its client (RFC 7800). */
import { claimAt } from "./claim-path.ts";

/** How a token is bound to a key of its client: DPoP (RFC 9449), or the certificate of TLS (RFC 8705). */
export type TokenBinding = "dpop" | "mtls";

/** All of them, in the order in which they are named. */
export const TOKEN_BINDINGS: readonly TokenBinding[] = ["dpop", "mtls"];

/** The properties of `cnf`: each is the SHA-256 of the key (RFC 7638) or of the certificate. */
const MEMBERS: Readonly<Record<TokenBinding, string>> = { dpop: "jkt", mtls: "x5t#S256" };

type Claims = Readonly<Record<string, unknown>>;

/** Reads `cnf` for one server. */
export interface ConfirmationReader {
  /** Returns how a token with the claim `cnf` is bound; `undefined` refuses the token. */
  bindingOf(claims: Claims): TokenBinding | undefined;
}

/** Returns what a token says about the key that it's bound to. */
export const confirmationOf = (claims: Claims, binding: TokenBinding): unknown =>
  claimAt(claims, ["cnf", MEMBERS[binding]]);

/** Returns how a hypothetical caller is bound. The thumbprint may be any string. */
export const describedBinding = (claims: Claims): TokenBinding | undefined =>
  TOKEN_BINDINGS.find((binding) => typeof confirmationOf(claims, binding) === "string");
