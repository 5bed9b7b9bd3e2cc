/** The tokens to send: valid tokens of the provider, and tokens that must be rejected. */
import { decodeJwt } from "jose";
import { createIssuer } from "../support/issuer.ts";
import type { OpenIdProvider } from "../support/openid-provider.ts";
import type { Claim } from "./expected.ts";

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

export interface Shot extends Claim {
  readonly kind: (typeof KINDS)[number];
  readonly token: string | undefined;
}

export const SCOPE = "soak:read";

const stranger = createIssuer();

/**
 * The tokens that the load sends now. Every second request has a valid token, and the other tokens take
 * turns.
 */
export class Mix {
  #valid: Shot | undefined;
  #faulty: readonly Shot[] = [];
  #older: Shot | undefined;
  #unknown: Shot | undefined;
  /** Whether to send a token with an unknown `kid`, which makes a service fetch the keys before they expire. */
  sendsUnknown = false;

  /** Creates the tokens of a key that signs from now on. The valid token of the previous key stays. */
  async renew(provider: OpenIdProvider, kid: string): Promise<void> {
    const token = await provider.token({ scope: SCOPE });
    const claims = decodeJwt(token);
    const faulty = (kind: Shot["kind"], bad: string | undefined, key: string | undefined = kid): Shot => ({
      kind,
      token: bad,
      kid: key,
      deserves: 401,
    });
    const signedByStranger = (name: string) => stranger.token(claims, { typ: "at+jwt", kid: name });
    const audience = await provider.token({ scope: SCOPE, resource: "https://another.example" });
    const shots = [
      faulty("expired", await provider.forge(token, { exp: (claims.iat ?? 0) - 1 })),
      faulty("altered", alter(token)),
      faulty("another audience", audience),
      faulty("another issuer", await provider.forge(token, { iss: "https://another.example" })),
      faulty("another's signature", await signedByStranger(kid)),
      { ...faulty("garbage", "garbage"), kid: undefined },
      { ...faulty("no token", undefined), kid: undefined },
    ];
    this.#unknown = faulty("unknown key", await signedByStranger("never-published"), "never-published");
    this.#faulty = shots;
    this.#older = this.#valid && { ...this.#valid, kind: "valid, older key" };
    this.#valid = { kind: "valid", token, kid, deserves: 200 };
  }

  /** Marks the older key as withdrawn. Its token is still sent. */
  withdrawOlder(): void {
    this.#older &&= { ...this.#older, kind: "withdrawn key" };
  }

  /** Stops sending tokens of the withdrawn key. */
  forgetWithdrawn(): void {
    if (this.#older?.kind === "withdrawn key") this.#older = undefined;
  }

  at(turn: number): Shot | undefined {
    if (turn % 2 === 0) return this.#valid;
    const others = [...this.#faulty, this.#older, this.sendsUnknown ? this.#unknown : undefined];
    const round = others.filter((shot) => shot !== undefined);
    return round[((turn - 1) / 2) % round.length];
  }
}

/** The token with other claims and the same signature. */
function alter(token: string): string {
  const [header = "", , signature = ""] = token.split(".");
  const claims = { ...decodeJwt(token), scope: "platform:admin" };
  return [header, Buffer.from(JSON.stringify(claims)).toString("base64url"), signature].join(".");
}
