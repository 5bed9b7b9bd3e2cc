/** The client application that a token was issued to. */
import { claimAt } from "./claim-path.ts";

type Claims = Readonly<Record<string, unknown>>;

/** The names of the claim: RFC 8693 section 4.3, OpenID Connect, and Okta. */
export const CLIENT_CLAIMS = ["client_id", "azp", "cid"] as const;

/** Returns the client that a token was issued to. */
export function clientOf({ claims }: { readonly claims: Claims }): string | undefined {
  for (const name of CLIENT_CLAIMS) {
    const client = claimAt(claims, name);
    if (typeof client === "string" && client !== "") return client;
  }
  return undefined;
}

/** Returns whether a token has at least one client claim, and each one names an allowed client. */
export function isClientAllowed(claims: Claims, allowed: ReadonlySet<string>): boolean {
  const present = CLIENT_CLAIMS.filter((name) => Object.hasOwn(claims, name)).map((name) => claims[name]);
  return present.length > 0 && present.every((client) => typeof client === "string" && allowed.has(client));
}
