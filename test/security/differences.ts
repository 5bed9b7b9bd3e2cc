/** The tokens about which verifiers disagree, and why. All five agree about every other token. */
import type { Peer } from "./peers.ts";

export interface Difference {
  readonly why: string;
  /** By the name of the token: the verdict of scopegate, and the libraries with the opposite verdict. */
  readonly tokens: Readonly<Record<string, Verdict>>;
}

export interface Verdict {
  readonly here: "accepted" | "refused";
  readonly notBy: readonly Peer[];
}

const EVERY: readonly Peer[] = ["jose", "jsonwebtoken", "fast-jwt", "hono/jwt"];

/** The same verdict for several tokens. */
const all = (
  here: Verdict["here"],
  notBy: readonly Peer[],
  ...names: readonly string[]
): Difference["tokens"] => Object.fromEntries(names.map((name) => [name, { here, notBy }]));

/** The names of tokens with these values of a claim. */
const claimsNamed = (name: string, ...values: readonly unknown[]): readonly string[] =>
  values.map((value) => JSON.stringify({ [name]: value }));

const SPACES = [" ", "\n", "\r\n", "\t"].map((space) => JSON.stringify(space));

export const DIFFERENCES: readonly Difference[] = [
  {
    why: "jsonwebtoken does not support EdDSA.",
    tokens: all("accepted", ["jsonwebtoken"], "EdDSA as the configured algorithm"),
  },
  {
    why: "In RFC 9864, `Ed25519` is EdDSA with that curve. Only scopegate and jose support this name.",
    tokens: all("accepted", ["jsonwebtoken", "fast-jwt", "hono/jwt"], "Ed25519 as the configured algorithm"),
  },
  {
    why: "Parsers disagree about duplicate property names (RFC 8725 section 2.4). scopegate rejects them; the others use JSON.parse, which keeps the last one.",
    tokens: all(
      "refused",
      EVERY,
      "alg twice, the valid one last",
      "alg twice, one with an escape",
      "scopes twice",
      "scopes twice, once with an escape",
      "aud twice",
      "a nested property twice",
      "kid twice in the header",
    ),
  },
  {
    why: "hono/jwt accepts a public key only as SPKI. scopegate also accepts X.509 and PKCS#1.",
    tokens: all(
      "accepted",
      ["hono/jwt"],
      "the certificate as the configured key",
      "a configured key: PKCS#1",
    ),
  },
  {
    why: "jsonwebtoken and fast-jwt treat a PEM with leading characters as a secret, and refuse it for RS256. scopegate ignores a leading byte order mark.",
    tokens: all(
      "accepted",
      ["jsonwebtoken", "fast-jwt"],
      "a configured key: a PEM after a byte order mark, with CRLF",
    ),
  },
  {
    why: "A PEM in an environment variable often has its line breaks written as \\n. scopegate accepts that; the others do not (jose receives an imported key).",
    tokens: all(
      "accepted",
      ["jsonwebtoken", "fast-jwt", "hono/jwt"],
      "a configured key: a PEM with literal line breaks",
    ),
  },
  {
    why: "Non-zero unused bits and padding are other spellings of the same token, which bypass deny lists of tokens. scopegate rejects them; the others decode leniently.",
    tokens: {
      ...all(
        "refused",
        EVERY,
        "unused bits in a payload of 3n+1 bytes",
        "unused bits in a payload of 3n+2 bytes",
        "unused bits in the signature",
      ),
      ...all("refused", ["jose", "hono/jwt"], "padding after the signature", "padding after the header"),
    },
  },
  {
    why: "White space is not allowed in base64url (RFC 7515 section 2). The decoders of jose and hono/jwt skip it.",
    tokens: {
      ...all("refused", ["jose"], ...SPACES.map((space) => `${space} after the token`)),
      ...all("refused", ["jose", "hono/jwt"], ...SPACES.map((space) => `${space} in the signed payload`)),
    },
  },
  {
    why: "A lenient decoder turns invalid UTF-8 into replacement characters, so that different tokens have the same claims. Only jose rejects it too.",
    tokens: all(
      "refused",
      ["jsonwebtoken", "fast-jwt", "hono/jwt"],
      "invalid UTF-8 in a claim",
      "overlong UTF-8 in a claim",
      "an incomplete UTF-8 sequence",
      "a UTF-8 encoded surrogate",
      "invalid UTF-8 in the header",
    ),
  },
  {
    why: "JSON must not start with a byte order mark (RFC 8259 section 8.1). The decoders of jose and hono/jwt remove it.",
    tokens: all(
      "refused",
      ["jose", "hono/jwt"],
      "a byte order mark before the payload",
      "a byte order mark before the header",
    ),
  },
  {
    why: "A token with an unsupported critical extension must be rejected (RFC 7515 section 4.1.11), and scopegate supports none. jose supports b64, jsonwebtoken ignores crit, and fast-jwt ignores crit: null.",
    tokens: {
      ...all(
        "refused",
        ["jsonwebtoken"],
        ...[["exp"], ["b64"], [], "exp", ["alg"], ["http://example.com/ext"]].map(
          (crit) => `crit ${JSON.stringify(crit)}`,
        ),
      ),
      ...all("refused", ["jose", "jsonwebtoken"], 'crit ["b64"] with b64 true'),
      ...all("refused", ["jsonwebtoken", "fast-jwt"], "crit null"),
    },
  },
  {
    why: "b64 without crit is invalid (RFC 7797 section 6), and a JWT must not be unencoded (section 7). The others ignore b64.",
    tokens: all("refused", EVERY, "b64 false without crit", "b64 true"),
  },
  {
    why: "scopegate rejects other token types by default (RFC 8725 section 3.11). jose and fast-jwt check the type only if an option asks for it, and jsonwebtoken never does.",
    tokens: all(
      "refused",
      ["jose", "jsonwebtoken", "fast-jwt"],
      "the typ of an ID token",
      "the typ of a logout token",
      "an array as typ",
    ),
  },
  {
    why: "scopegate accepts access tokens of RFC 9068 by default. hono/jwt needs an option for them.",
    tokens: all("accepted", ["hono/jwt"], "typ at+jwt", "typ application/at+jwt", "typ AT+JWT"),
  },
  {
    why: "A token must be rejected on or after exp (RFC 7519 section 4.1.4). fast-jwt still accepts it on exp.",
    tokens: all("refused", ["fast-jwt"], '{"exp":1700000000}'),
  },
  {
    why: "RFC 7519 section 4.1.6 does not forbid an iat in the future. scopegate rejects it only with maxTokenAgeSeconds; hono/jwt always does.",
    tokens: all("accepted", ["hono/jwt"], '{"iat":1700001000}'),
  },
  {
    why: "A number that overflows to infinity is not a date. hono/jwt rejects it too; the others compare with infinity.",
    tokens: all(
      "refused",
      ["jose", "jsonwebtoken", "fast-jwt"],
      "exp 1e400",
      "nbf -1e400",
      "iat 1e400",
      "iat -1e400",
    ),
  },
  {
    why: "A NumericDate must be a number (RFC 7519 section 2). jsonwebtoken and fast-jwt do not check iat.",
    tokens: all(
      "refused",
      ["jsonwebtoken", "fast-jwt"],
      ...claimsNamed("iat", "1700000009", "", null, true, [1700000009], {}, { valueOf: 1700000009 }),
    ),
  },
  {
    why: "fast-jwt accepts a token without aud even if an audience is configured.",
    tokens: all("refused", ["fast-jwt"], '{"aud":"(absent)"}'),
  },
  {
    why: "aud must be an array of strings (RFC 7519 section 4.1.3). The others only look for the expected audience in it.",
    tokens: all("refused", ["jose", "jsonwebtoken", "hono/jwt"], '{"aud":["agents-prod",5]}'),
  },
  {
    why: "scopegate requires a valid scopes claim. The others leave scopes to the application.",
    tokens: all(
      "refused",
      EVERY,
      ...claimsNamed("scopes", "(absent)", null, 5, true, {}, [5], ["a", null], [["a"]]),
      '{"scopes":{"0":"platform:admin","length":1}}',
      "a claim __proto__ with scopes",
      "scopes nested as deep as the size permits",
    ),
  },
  {
    why: "iss and jti must be strings (RFC 7519 section 4.1). sub and session_id must be strings or safe integers: an object must not reach the application as a user id.",
    tokens: all(
      "refused",
      EVERY,
      ...["sub", "session_id"].flatMap((name) => claimsNamed(name, 5.5, 2 ** 53, null, {}, ["root"])),
      ...["iss", "jti"].flatMap((name) => claimsNamed(name, 5, 5.5, null, {}, ["root"])),
    ),
  },
];
