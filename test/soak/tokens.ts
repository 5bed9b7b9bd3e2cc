/** The tokens to send: valid tokens of the provider, and tokens that must be rejected. */
import { decodeJwt } from "jose";
import { createIssuer } from "../support/issuer.ts";
import { type OpenIdProvider } from "../support/openid-provider.ts";
import { type Claim } from "./expected.ts";

export const KINDS = [
  "valid",
  "valid, older key",
  "withdrawn key",
  "expired",
  "altered",
  "another audience",
  "another issuer",
  "another's signature",
  "unknown key",
  "garbage",
  "no token",
] as const;

export type Kind = (typeof KINDS)[number];

export interface Shot extends Claim {
  readonly kind: Kind;
  readonly token: string | undefined;
}

export const SCOPE = "soak:read";

const stranger = createIssuer();

/** Creates a valid token that the provider signs with this key, and faulty tokens derived from it. */
export async function mint(
  provider: OpenIdProvider,
  kid: string,
): Promise<{ readonly valid: Shot; readonly faulty: readonly Shot[]; readonly unknown: Shot }> {
  const token = await provider.token({ scope: SCOPE });
  const claims = decodeJwt(token);
  const faulty = (kind: Kind, bad: string | undefined, key: string | undefined = kid): Shot => ({
    kind,
    token: bad,
    kid: key,
    deserves: 401,
  });
  const signedByStranger = (name: string) => stranger.token(claims, { typ: "at+jwt", kid: name });
  const audience = await provider.token({ scope: SCOPE, resource: "https://another.example" });
  const issuer = await provider.forge(token, { iss: "https://another.example" });
  return {
    valid: { kind: "valid", token, kid, deserves: 200 },
    faulty: [
      faulty("expired", await provider.forge(token, { exp: (claims.iat ?? 0) - 1 })),
      faulty("altered", alter(token)),
      faulty("another audience", audience),
      faulty("another issuer", issuer),
      faulty("another's signature", await signedByStranger(kid)),
      { kind: "garbage", token: "garbage", kid: undefined, deserves: 401 },
      { kind: "no token", token: undefined, kid: undefined, deserves: 401 },
    ],
    unknown: faulty("unknown key", await signedByStranger("never-published"), "never-published"),
  };
}

/** The token with other claims and the same signature. */
function alter(token: string): string {
  const [header = "", , signature = ""] = token.split(".");
  const claims = { ...decodeJwt(token), scope: "platform:admin" };
  return [header, Buffer.from(JSON.stringify(claims)).toString("base64url"), signature].join(".");
}
