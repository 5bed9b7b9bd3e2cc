/** The client application that a token was issued to. */
import { claimAt } from "./claim-path.ts";

type Claims = Readonly<Record<string, unknown>>;

/** The names of the claim: RFC 8693 section 4.3, OpenID Connect, and Okta. */
const CLIENT_CLAIMS = ["client_id", "azp", "cid"] as const;

/** Returns the client that a token was issued to. */
export function clientOf({ claims }: { readonly claims: Claims }): string | undefined {
  for (const name of CLIENT_CLAIMS) {
    const client = claimAt(claims, name);
    if (typeof client === "string" && client !== "") return client;
  }
  return undefined;
}

/** Returns whether a user is the client of the token, so that there is no user. */
export const isClient = (userId: string, claims: Claims): boolean =>
  CLIENT_CLAIMS.some((name) => claimAt(claims, name) === userId);

/** Returns whether each claim of the client that a token has names an allowed client, and it has one. */
export function isClientAllowed(claims: Claims, allowed: ReadonlySet<string>): boolean {
  const present = CLIENT_CLAIMS.filter((name) => Object.hasOwn(claims, name)).map((name) => claims[name]);
  return present.length > 0 && present.every((client) => typeof client === "string" && allowed.has(client));
}
