/** Where verifiers disagree about a token, and why. Whatever is not here, all five judge alike. */
import { type Peer } from "./peers.ts";

export interface Difference {
  readonly why: string;
  /** The verdict of this library, and who has the other one, by the name of the token in the table. */
  readonly tokens: Readonly<Record<string, Verdict>>;
}

export interface Verdict {
  readonly here: "accepted" | "refused";
  readonly notBy: readonly Peer[];
}

const EVERY: readonly Peer[] = ["jose", "jsonwebtoken", "fast-jwt", "hono/jwt"];

/** One verdict for several tokens. */
const all = (
  here: Verdict["here"],
  notBy: readonly Peer[],
  ...names: readonly string[]
): Difference["tokens"] => Object.fromEntries(names.map((name) => [name, { here, notBy }]));

export const DIFFERENCES: readonly Difference[] = [
  {
    why: "jsonwebtoken knows neither EdDSA nor its curve; the others do.",
    tokens: all("accepted", ["jsonwebtoken"], "EdDSA where it is the algorithm"),
  },
  {
    why: "Ed25519 is the name that RFC 9864 gives to EdDSA with that curve; the others do not know it yet.",
    tokens: all("accepted", ["jsonwebtoken", "fast-jwt", "hono/jwt"], "Ed25519 where it is the algorithm"),
  },
  {
    why: "Two members of one name are read in different ways by different parsers (RFC 8725 section 2.4): here such a token is refused, JSON.parse keeps the last one in silence.",
    tokens: all(
      "refused",
      EVERY,
      "two members alg, the good one last",
      "two members alg, one spelled with an escape",
      "scopes twice",
      "scopes twice, once with an escape",
      "aud twice",
      "a member twice, deep inside",
      "kid twice in the header",
    ),
  },
  {
    why: "hono/jwt takes a public key as SPKI only; here X.509 and PKCS#1 are read as well.",
    tokens: all("accepted", ["hono/jwt"], "the certificate where it is the key", "a key: PKCS#1"),
  },
  {
    why: "jsonwebtoken and fast-jwt take a text with something before its frame for a secret, and refuse it for RS256; here a byte order mark of an editor does not matter.",
    tokens: all(
      "accepted",
      ["jsonwebtoken", "fast-jwt"],
      "a key: a PEM behind a byte order mark and with CRLF",
    ),
  },
  {
    why: "A key from an environment variable often has its line breaks written as \\n: here that is read, the others get no key of it (jose was given the key ready-made).",
    tokens: all(
      "accepted",
      ["jsonwebtoken", "fast-jwt", "hono/jwt"],
      "a key: a PEM with literal line breaks",
    ),
  },
  {
    why: "A token has one spelling here: unused bits that are not zero, and padding, make other texts of the same token, which get past lists of seen tokens. The others decode leniently.",
    tokens: {
      ...all(
        "refused",
        EVERY,
        "unused bits in a payload of 3n+1 bytes",
        "unused bits in a payload of 3n+2 bytes",
        "unused bits in the signature",
      ),
      ...all("refused", ["jose", "hono/jwt"], "padding behind the signature", "padding behind the header"),
    },
  },
  {
    why: "White space is no base64url (RFC 7515 section 2); jose's and hono's decoders skip it.",
    tokens: {
      ...all("refused", ["jose"], '" " behind', '"\\n" behind', '"\\r\\n" behind', '"\\t" behind'),
      ...all(
        "refused",
        ["jose", "hono/jwt"],
        '" " in the payload, and in what is signed',
        '"\\n" in the payload, and in what is signed',
        '"\\r\\n" in the payload, and in what is signed',
        '"\\t" in the payload, and in what is signed',
      ),
    },
  },
  {
    why: "Bytes that are no UTF-8 become replacement characters in a lenient decoder: two different tokens with the same claims. Only jose refuses them too.",
    tokens: all(
      "refused",
      ["jsonwebtoken", "fast-jwt", "hono/jwt"],
      "invalid UTF-8 in a claim",
      "overlong UTF-8 in a claim",
      "half a UTF-8 sequence at the end",
      "a surrogate in UTF-8",
      "invalid UTF-8 in the header",
    ),
  },
  {
    why: "A byte order mark is no JSON (RFC 8259 section 8.1); the decoders of jose and hono/jwt swallow it.",
    tokens: all(
      "refused",
      ["jose", "hono/jwt"],
      "a byte order mark before the payload",
      "a byte order mark before the header",
    ),
  },
  {
    why: "An extension that must be understood refuses the token (RFC 7515 section 4.1.11), and here none is understood; jose understands b64, jsonwebtoken does not look at crit, and fast-jwt not at one of null.",
    tokens: {
      ...all(
        "refused",
        ["jsonwebtoken"],
        'crit ["exp"]',
        'crit ["b64"]',
        "crit []",
        'crit "exp"',
        'crit ["alg"]',
        'crit ["http://example.com/ext"]',
      ),
      ...all("refused", ["jose", "jsonwebtoken"], 'crit ["b64"] with b64 true'),
      ...all("refused", ["jsonwebtoken", "fast-jwt"], "crit null"),
    },
  },
  {
    why: "b64 without crit is not valid (RFC 7797 section 6), and no JWT may be unencoded: here it is refused, the others ignore it.",
    tokens: all("refused", EVERY, "b64 false without crit", "b64 true"),
  },
  {
    why: "A token of another type is refused unless the options accept it (RFC 8725 section 3.11); jose and fast-jwt check a type only when they are told one, jsonwebtoken never.",
    tokens: all(
      "refused",
      ["jose", "jsonwebtoken", "fast-jwt"],
      "typ of an ID token",
      "typ of a logout token",
      "typ of a list",
    ),
  },
  {
    why: "Access tokens of RFC 9068 are accepted as they come; hono/jwt has to be told.",
    tokens: all("accepted", ["hono/jwt"], "typ at+jwt", "typ application/at+jwt", "typ AT+JWT"),
  },
  {
    why: "The second of exp is over (RFC 7519 section 4.1.4: on or after); fast-jwt lets it pass.",
    tokens: all("refused", ["fast-jwt"], '{"exp":1700000000} where {}'),
  },
  {
    why: "RFC 7519 section 4.1.6 forbids no iat in the future; it is refused only where maxTokenAgeSeconds makes it count. hono/jwt always refuses it.",
    tokens: all("accepted", ["hono/jwt"], '{"iat":1700001000} where {}'),
  },
  {
    why: "A number beyond every time is none; hono/jwt refuses it too, the others compare with infinity.",
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
    why: "A NumericDate is a number (RFC 7519 section 2), also where nothing is computed with it.",
    tokens: all(
      "refused",
      ["jsonwebtoken", "fast-jwt"],
      '{"iat":"1700000009"} where {}',
      '{"iat":""} where {}',
      '{"iat":null} where {}',
      '{"iat":true} where {}',
      '{"iat":[1700000009]} where {}',
      '{"iat":{}} where {}',
      '{"iat":{"valueOf":1700000009}} where {}',
    ),
  },
  {
    why: "fast-jwt checks the audience of tokens that name one, and accepts those that name none.",
    tokens: all("refused", ["fast-jwt"], '{"aud":"(absent)"} where {}'),
  },
  {
    why: "A list with something else than texts is no aud (RFC 7519 section 4.1.3); the others look for their own and stop there.",
    tokens: all("refused", ["jose", "jsonwebtoken", "hono/jwt"], '{"aud":["agents-prod",5]} where {}'),
  },
  {
    why: "The scopes are what this library is for: a token without a readable list of them is refused, the others leave that to the application.",
    tokens: all(
      "refused",
      EVERY,
      '{"scopes":"(absent)"} where {}',
      '{"scopes":null} where {}',
      '{"scopes":5} where {}',
      '{"scopes":true} where {}',
      '{"scopes":{}} where {}',
      '{"scopes":[5]} where {}',
      '{"scopes":["a",null]} where {}',
      '{"scopes":[["a"]]} where {}',
      '{"scopes":{"0":"platform:admin","length":1}} where {}',
      "a member __proto__ with scopes",
    ),
  },
  {
    why: "sub, iss and jti are texts (RFC 7519 section 4.1), session_id here as well; an object in their place would reach the application as a user id.",
    tokens: all(
      "refused",
      EVERY,
      '{"sub":5} where {}',
      '{"sub":null} where {}',
      '{"sub":{}} where {}',
      '{"sub":["root"]} where {}',
      '{"session_id":5} where {}',
      '{"session_id":null} where {}',
      '{"session_id":{}} where {}',
      '{"session_id":["root"]} where {}',
      '{"iss":5} where {}',
      '{"iss":null} where {}',
      '{"iss":{}} where {}',
      '{"iss":["root"]} where {}',
      '{"jti":5} where {}',
      '{"jti":null} where {}',
      '{"jti":{}} where {}',
      '{"jti":["root"]} where {}',
    ),
  },
];
