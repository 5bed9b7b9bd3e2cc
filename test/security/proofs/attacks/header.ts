/** The type and the algorithm of a proof: RFC 9449 section 4.3, checks 4 and 5, and section 11.6. */
import { generateKey } from "../../../../src/tools/testing/test-key.ts";
import { jwkOf, privateKeyOf, publicKeyOf } from "../../tokens/forge.ts";
import {
  ALICE,
  ALICE_TOKEN,
  type Attack,
  attack,
  boundTo,
  callerOf,
  EDWARDS_CALLER,
  encode,
  partsOf,
  proofHeader,
  proofOf,
  rawProof,
  RSA_CALLER,
  sent,
  sentBy,
  shown,
} from "../forge.ts";

const types: readonly Attack[] = [
  ...[undefined, "", null, 5, ["dpop+jwt"], { typ: "dpop+jwt" }],
  ...["JWT", "at+jwt", "dpop", "dpop+jws", "dpop+jwt ", " dpop+jwt", "dpop+jwt\0", "dpop+jwt;v=1"],
  ...["text/dpop+jwt", "application/", "\uff44pop+jwt", "oauth-client-attestation-pop+jwt"],
].map((typ) => attack("type", `4.3 (4): typ ${shown(typ)}`, () => sentBy({ header: { typ } })));

const swapped: readonly Attack[] = [
  attack("type", "11.5: an access token as the proof", () => sent(ALICE_TOKEN, ALICE_TOKEN)),
  attack("token_rejected", "11.5: a proof as the access token", () => {
    const proof = proofOf();
    return sent(proof, proofOf({ token: proof }));
  }),
];

const none: readonly Attack[] = ["none", "None", "nOnE", "none ", "n\u043ene", ""].flatMap((alg) => [
  attack("malformed", `4.3 (5), 11.6: alg ${shown(alg)} without a signature`, () => {
    const [header, payload] = partsOf(proofOf({ header: { alg } }));
    return sent(ALICE_TOKEN, `${header}.${payload}.`);
  }),
  attack("algorithm", `4.3 (5), 11.6: alg ${shown(alg)} with a signature`, () => sentBy({ header: { alg } })),
]);

const SECRET = "a secret that the caller has chosen";

const symmetric: readonly Attack[] = [
  ...["HS256", "HS512"].map((alg) =>
    attack("algorithm", `4.3 (5), 11.6: ${alg} with the public key as the secret`, () => {
      const signedWith = publicKeyOf("p256").export({ type: "spki", format: "pem" }).toString();
      return sentBy({ header: { alg }, signedAs: alg, signedWith });
    }),
  ),
  attack("algorithm", "4.3 (5): HS256 with a secret in the header", () => {
    const jwk = { kty: "oct", k: encode(SECRET) };
    const header = { alg: "HS256", jwk };
    return sentBy({ token: boundTo(jwk), header, signedAs: "HS256", signedWith: SECRET });
  }),
];

const P384 = callerOf("ES384", privateKeyOf("p384"));
const P521 = callerOf("ES512", privateKeyOf("p521"));
const ED448 = callerOf("EdDSA", generateKey("ed448", {}));
const PSS_CALLER = { ...RSA_CALLER, alg: "PS256" };

const notOffered: readonly Attack[] = [
  ...[
    ...[undefined, null, 256, ["ES256"], { alg: "ES256" }],
    ...["es256", "ES256 ", "ES256,RS256", "ES256K", "RS1", "\u0395S256", "dir", "RSA-OAEP", "ECDH-ES"],
    ...["__proto__", "constructor"],
  ].map((alg) => attack("algorithm", `4.3 (5): alg ${shown(alg)}`, () => sentBy({ header: { alg } }))),
  ...[P384, P521, { ...RSA_CALLER, alg: "RS512" }, { ...RSA_CALLER, alg: "PS384" }].map((caller) =>
    attack("algorithm", `4.3 (5): ${caller.alg}, which isn't offered`, () => sentBy({ caller })),
  ),
  ...[RSA_CALLER, EDWARDS_CALLER, PSS_CALLER].map((caller) =>
    attack("algorithm", `4.3 (5): ${caller.alg}, where only ES256 is offered`, () => sentBy({ caller }), {
      server: "ES256 only",
    }),
  ),
];

/** Which keys fit which algorithms is tested with tokens. */
const confused: readonly Attack[] = [
  ...["RS256", "PS256", "EdDSA", "Ed25519"].map((alg) =>
    attack("key", `${alg} with the key of an elliptic curve`, () => sentBy({ header: { alg } })),
  ),
  ...["ES256", "EdDSA"].map((alg) =>
    attack("key", `${alg} with an RSA key`, () => sentBy({ caller: RSA_CALLER, header: { alg } })),
  ),
  attack("key", "ES256 with a P-384 key", () => sentBy({ caller: { ...P384, alg: "ES256" } })),
  attack("key", "EdDSA with an Ed448 key", () => sentBy({ caller: ED448 })),
  attack("signature", "PS256 in the header with a signature of RS256", () =>
    sentBy({ caller: RSA_CALLER, header: { alg: "PS256" } }),
  ),
];

const references: readonly Attack[] = Object.entries({ kid: "key-1", "x5t#S256": "AAAA" }).map(
  ([name, value]) =>
    attack("key", `4.3 (3): ${name} instead of jwk`, () =>
      sentBy({ header: { jwk: undefined, [name]: value } }),
    ),
);

const polluted: readonly Attack[] = [
  ...(
    [
      ["key", "jwk", ALICE.jwk],
      ["type", "typ", "dpop+jwt"],
      ["algorithm", "alg", "ES256"],
    ] as const
  ).map(([expected, name, value]) =>
    attack(expected, `the ${name} of a polluted prototype`, () => sentBy({ header: { [name]: undefined } }), {
      pollution: { [name]: value },
    }),
  ),
  attack("type", "a header inside __proto__", () =>
    sent(ALICE_TOKEN, rawProof({ header: `{"__proto__":${JSON.stringify(proofHeader(ALICE))}}` })),
  ),
];

const tampered: readonly Attack[] = [
  attack("signature", "another parameter in a signed header", () => {
    const [, payload, signature] = partsOf(proofOf());
    const header = encode(JSON.stringify({ ...proofHeader(ALICE), extra: true }));
    return sent(ALICE_TOKEN, `${header}.${payload}.${signature}`);
  }),
  attack("binding", "the jwk of another key in a signed header", () => {
    const [, payload, signature] = partsOf(proofOf());
    const header = encode(JSON.stringify({ ...proofHeader(ALICE), jwk: jwkOf("p384") }));
    return sent(ALICE_TOKEN, `${header}.${payload}.${signature}`);
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
