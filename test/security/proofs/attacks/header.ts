/** The header of a proof: RFC 9449 section 4.3, checks 4 and 5, and section 11.6. */
import {
  ALICE,
  ALICE_TOKEN,
  type Attack,
  attack,
  callerOf,
  encode,
  EDWARDS_CALLER,
  jwkFor,
  partsOf,
  proofHeader,
  proofOf,
  publicKeyFor,
  rawProof,
  RSA_CALLER,
  sent,
  sentBy,
  shown,
  signingKeyFor,
  boundTo,
  athOf,
} from "../forge.ts";
import { generateKey } from "../../../../src/tools/testing/test-key.ts";
import { seal } from "../../tokens/forge.ts";

const types: readonly Attack[] = [
  undefined,
  "",
  "JWT",
  "at+jwt",
  "dpop",
  "jwt",
  "dpop+jws",
  "dpop+jwt ",
  " dpop+jwt",
  "dpop jwt",
  "dpop+jwt\0",
  "dpop+jwt,JWT",
  "dpop+jwt;v=1",
  "text/dpop+jwt",
  "application/",
  "\uff44pop+jwt",
  "d\u03c1op+jwt",
  "oauth-client-attestation-pop+jwt",
  null,
  5,
  true,
  ["dpop+jwt"],
  { typ: "dpop+jwt" },
].map((typ) => attack("type", `4.3 (4): typ ${shown(typ)}`, () => sentBy({ header: { typ } })));

const swapped: readonly Attack[] = [
  attack("type", "11.5: an access token as the proof", () => sent(ALICE_TOKEN, ALICE_TOKEN)),
  attack("type", "11.5: a client assertion signed with the same key", () =>
    sentBy({ header: { typ: "JWT" }, claims: { iss: "client", sub: "client", aud: "https://api.example" } }),
  ),
  attack("token_rejected", "11.5: a proof as the access token", () => {
    const proof = proofOf();
    return sent(proof, proofOf({ token: proof }));
  }),
];

const withoutSignature = (alg: unknown): string => {
  const [header, payload] = partsOf(proofOf({ header: { alg } }));
  return `${header}.${payload}.`;
};

const none: readonly Attack[] = [
  "none",
  "None",
  "NONE",
  "nOnE",
  "none ",
  "none\0",
  "n\u043ene",
  "",
  "NULL",
].flatMap((alg) => [
  attack("malformed", `4.3 (5), 11.6: alg ${shown(alg)} without a signature`, () =>
    sent(ALICE_TOKEN, withoutSignature(alg)),
  ),
  attack("algorithm", `4.3 (5), 11.6: alg ${shown(alg)} with a signature`, () => sentBy({ header: { alg } })),
]);

const secrets: readonly (readonly [string, string])[] = [
  ["the public key as PEM", publicKeyFor("p256").export({ type: "spki", format: "pem" }).toString()],
  ["the public key as JSON", JSON.stringify(ALICE.jwk)],
  ["x of the key", String(ALICE.jwk["x"])],
  ["an empty secret", ""],
  ["the token", ALICE_TOKEN],
];

const symmetric: readonly Attack[] = [
  ...["HS256", "HS384", "HS512"].flatMap((alg) =>
    secrets.map(([name, secret]) =>
      attack("algorithm", `4.3 (5), 11.6: ${alg} with ${name} as the secret`, () =>
        sentBy({ header: { alg }, signedAs: alg, signedWith: secret }),
      ),
    ),
  ),
  attack("algorithm", "4.3 (5): HS256 with a secret in the header", () => {
    const jwk = { kty: "oct", k: encode("a secret that the caller has chosen") };
    const secret = "a secret that the caller has chosen";
    const token = boundTo(jwk);
    return sent(
      token,
      proofOf({ token, header: { alg: "HS256", jwk }, signedAs: "HS256", signedWith: secret }),
    );
  }),
];

const P384 = callerOf("ES384", signingKeyFor("p384"));
const P521 = callerOf("ES512", signingKeyFor("p521"));
const K256 = callerOf("ES256", signingKeyFor("k256"));
const ED448 = callerOf("EdDSA", generateKey("ed448", {}));
const X25519 = generateKey("x25519", {}).export({ format: "jwk" });

const notOffered: readonly Attack[] = [
  ...[undefined, null, 256, true, ["ES256"], { alg: "ES256" }].map((alg) =>
    attack("algorithm", `4.3 (5): alg ${shown(alg)}`, () => sentBy({ header: { alg } })),
  ),
  ...[
    "es256",
    "ES256 ",
    " ES256",
    "ES256\0",
    "ES256,RS256",
    "ES256K",
    "RS1",
    "\u0395S256",
    "A256GCMKW",
    "dir",
    "RSA-OAEP",
    "ECDH-ES",
    "__proto__",
    "constructor",
    "toString",
  ].map((alg) => attack("algorithm", `4.3 (5): alg ${shown(alg)}`, () => sentBy({ header: { alg } }))),
  attack("algorithm", "4.3 (5): ES384, which isn't offered", () => sentBy({ caller: P384 })),
  attack("algorithm", "4.3 (5): ES512, which isn't offered", () => sentBy({ caller: P521 })),
  ...["RS384", "RS512", "PS384", "PS512"].map((alg) =>
    attack("algorithm", `4.3 (5): ${alg}, which isn't offered`, () =>
      sentBy({ caller: { ...RSA_CALLER, alg } }),
    ),
  ),
  ...[RSA_CALLER, EDWARDS_CALLER, { ...RSA_CALLER, alg: "PS256" }].map((caller) =>
    attack("algorithm", `4.3 (5): ${caller.alg}, where only ES256 is offered`, () => sentBy({ caller }), {
      server: "ES256 only",
    }),
  ),
];

const confused: readonly Attack[] = [
  attack("key", "RS256 with the key of an elliptic curve", () => sentBy({ header: { alg: "RS256" } })),
  attack("key", "PS256 with the key of an elliptic curve", () => sentBy({ header: { alg: "PS256" } })),
  attack("key", "EdDSA with the key of an elliptic curve", () => sentBy({ header: { alg: "EdDSA" } })),
  attack("key", "Ed25519 with the key of an elliptic curve", () => sentBy({ header: { alg: "Ed25519" } })),
  ...["ES256", "EdDSA", "Ed25519"].map((alg) =>
    attack("key", `${alg} with an RSA key`, () => sentBy({ caller: RSA_CALLER, header: { alg } })),
  ),
  ...["ES256", "RS256", "PS256"].map((alg) =>
    attack("key", `${alg} with an Ed25519 key`, () => sentBy({ caller: EDWARDS_CALLER, header: { alg } })),
  ),
  attack("key", "ES256 with a P-384 key", () => sentBy({ caller: { ...P384, alg: "ES256" } })),
  attack("key", "ES256 with a P-521 key", () => sentBy({ caller: { ...P521, alg: "ES256" } })),
  attack("key", "ES256 with a secp256k1 key", () => sentBy({ caller: K256 })),
  attack("key", "ES256 with a secp256k1 key that claims to be P-256", () =>
    sentBy({ caller: { ...K256, jwk: { ...K256.jwk, crv: "P-256" } } }),
  ),
  attack("key", "EdDSA with an Ed448 key", () => sentBy({ caller: ED448 })),
  attack("key", "Ed25519 with an Ed448 key", () => sentBy({ caller: { ...ED448, alg: "Ed25519" } })),
  attack("key", "EdDSA with an X25519 key", () =>
    sentBy({ caller: { ...EDWARDS_CALLER, jwk: { kty: "OKP", crv: "X25519", x: X25519.x } } }),
  ),
  attack("signature", "PS256 in the header with a signature of RS256", () =>
    sentBy({ caller: RSA_CALLER, header: { alg: "PS256" } }),
  ),
  attack("signature", "RS256 in the header with a signature of PS256", () =>
    sentBy({ caller: RSA_CALLER, signedAs: "PS256" }),
  ),
  attack("signature", "RS256 in the header with a signature of RS512", () =>
    sentBy({ caller: RSA_CALLER, signedAs: "RS512" }),
  ),
  attack("signature", "ES256 in the header with a signature over another hash", () =>
    sentBy({ signedAs: "ES384" }),
  ),
];

/** The header names a key, but has none: the server must not look for it. */
const elsewhere: Readonly<Record<string, unknown>> = {
  kid: "key-1",
  jku: "https://evil.example/keys",
  x5u: "https://evil.example/certificate",
  x5c: ["MIIB"],
  x5t: "AAAA",
  "x5t#S256": "AAAA",
};

/** Parameters for another key than that of jwk, which no proof has. */
const REFUSED = new Set(["jku", "x5u", "x5c"]);

const references: readonly Attack[] = Object.entries(elsewhere).map(([name, value]) =>
  attack(REFUSED.has(name) ? "malformed" : "key", `4.3 (3): ${name} instead of jwk`, () =>
    sentBy({ header: { jwk: undefined, [name]: value } }),
  ),
);

const polluted: readonly Attack[] = [
  attack("key", "a jwk of a polluted prototype", () => sentBy({ header: { jwk: undefined } }), {
    pollution: { jwk: ALICE.jwk },
  }),
  attack("type", "a typ of a polluted prototype", () => sentBy({ header: { typ: undefined } }), {
    pollution: { typ: "dpop+jwt" },
  }),
  attack("algorithm", "an alg of a polluted prototype", () => sentBy({ header: { alg: undefined } }), {
    pollution: { alg: "ES256" },
  }),
  attack("type", "a header inside __proto__", () => {
    const parameters = JSON.stringify(proofHeader(ALICE));
    return sent(ALICE_TOKEN, rawProof({ header: `{"__proto__":${parameters}}` }));
  }),
];

const tampered: readonly Attack[] = [
  attack("signature", "another jwk in a signed header", () => {
    const proof = proofOf({ signedWith: signingKeyFor("p256") });
    const [, payload, signature] = partsOf(proof);
    const header = encode(JSON.stringify({ ...proofHeader(ALICE), jwk: jwkFor("p256"), extra: 1 }));
    return sent(ALICE_TOKEN, `${header}.${payload}.${signature}`);
  }),
  attack("signature", "a signature over the decoded parts", () => {
    const header = JSON.stringify(proofHeader(ALICE));
    const payload = JSON.stringify({ ath: athOf(ALICE_TOKEN) });
    const signature = seal(header, payload, "ES256", ALICE.privateKey).split(".").at(-1);
    return sent(ALICE_TOKEN, `${encode(header)}.${encode(payload)}.${signature}`);
  }),
];

export const HEADER_ATTACKS: readonly Attack[] = [
  ...types,
  ...swapped,
  ...none,
  ...symmetric,
  ...notOffered,
  ...confused,
  ...references,
  ...polluted,
  ...tampered,
];
