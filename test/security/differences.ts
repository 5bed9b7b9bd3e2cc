/** The tokens that scopegate refuses and all four other verifiers accept, and why. */
export interface Difference {
  readonly why: string;
  /** The names of the tokens. */
  readonly tokens: readonly string[];
}

/** The names of tokens with these values of a claim. */
const claimsNamed = (name: string, ...values: readonly unknown[]): readonly string[] =>
  values.map((value) => JSON.stringify({ [name]: value }));

export const DIFFERENCES: readonly Difference[] = [
  {
    why: "Parsers disagree about duplicate property names (RFC 8725 section 2.4). scopegate rejects them; the others use JSON.parse, which keeps the last one.",
    tokens: [
      "alg twice, the valid one last",
      "alg twice, one with an escape",
      "scopes twice",
      "scopes twice, once with an escape",
      "aud twice",
      "a nested property twice",
      "kid twice in the header",
    ],
  },
  {
    why: "Non-zero unused bits are other spellings of the same token, which bypass deny lists of tokens. scopegate rejects them; the others decode leniently.",
    tokens: [
      "unused bits in a payload of 3n+1 bytes",
      "unused bits in a payload of 3n+2 bytes",
      "unused bits in the signature",
    ],
  },
  {
    why: "b64 without crit is invalid (RFC 7797 section 6), and a JWT must not be unencoded (section 7). The others ignore b64.",
    tokens: ["b64 false without crit", "b64 true"],
  },
  {
    why: "scopegate requires a valid scopes claim. The others leave scopes to the application.",
    tokens: [
      ...claimsNamed("scopes", "(absent)", null, 5, true, {}, [5], ["a", null], [["a"]]),
      '{"scopes":{"0":"platform:admin","length":1}}',
      "a claim __proto__ with scopes",
      "scopes nested as deep as the size permits",
    ],
  },
  {
    why: "iss and jti must be strings (RFC 7519 section 4.1). sub and session_id must be strings or safe integers: an object must not reach the application as a user id.",
    tokens: [
      ...["sub", "session_id"].flatMap((name) => claimsNamed(name, 5.5, 2 ** 53, null, {}, ["root"])),
      ...["iss", "jti"].flatMap((name) => claimsNamed(name, 5, 5.5, null, {}, ["root"])),
    ],
  },
];
