/** The key in a proof and its signature: RFC 9449 section 4.3, checks 6 and 7, and the binding of check 12. */
import {
  ALICE,
  ALICE_TOKEN,
  type Attack,
  attack,
  BOB,
  BOB_TOKEN,
  boundTo,
  callerOf,
  type Caller,
  claimsOf,
  EDWARDS_CALLER,
  encode,
  nextId,
  partsOf,
  proofClaims,
  proofOf,
  rawProof,
  replay,
  RSA_CALLER,
  sent,
  sentBy,
  shown,
  thumbprintInput,
} from "../forge.ts";
import { generateKey } from "../../../../src/tools/testing/test-key.ts";
import { jwkOf, privateKeyOf, signatureOf } from "../../tokens/forge.ts";

type Jwk = Readonly<Record<string, unknown>>;

/** A token that is bound to this key, with a proof that has it. Only the key itself can be refused. */
const withKey = (expected: string, name: string, jwk: Jwk, caller: Caller = ALICE): Attack =>
  attack(expected, name, () => sentBy({ caller: { ...caller, jwk } }));

/** Alice's token, with a `jwk` that is no key. */
const withoutKey = (name: string, jwk: unknown): Attack =>
  attack("key", name, () => sentBy({ token: ALICE_TOKEN, header: { jwk } }));

/** What a JWK must have is tested with `readPublicKey`. */
const missing: readonly Attack[] = [
  ...[undefined, null, "", 5, [], {}, [ALICE.jwk], JSON.stringify(ALICE.jwk), { keys: [ALICE.jwk] }].map(
    (jwk) => withoutKey(`4.3 (3): jwk ${shown(jwk)}`, jwk),
  ),
  ...["kty", "crv", "x", "y"].flatMap((member) =>
    [undefined, "", 5, [ALICE.jwk[member]]].map((value) =>
      withoutKey(`a key with ${member} ${shown(value)}`, { ...ALICE.jwk, [member]: value }),
    ),
  ),
  ...["n", "e"].flatMap((member) =>
    [undefined, "", 65_537].map((value) =>
      withKey(
        "key",
        `an RSA key with ${member} ${shown(value)}`,
        { ...RSA_CALLER.jwk, [member]: value },
        RSA_CALLER,
      ),
    ),
  ),
  ...["constructor", "ec", "OKP", "RSA"].map((kty) =>
    withKey("key", `a key with kty ${shown(kty)}`, { ...ALICE.jwk, kty }),
  ),
  ...["p-256", "P-384", "Ed25519"].map((crv) =>
    withKey("key", `a key of an elliptic curve with crv ${shown(crv)}`, { ...ALICE.jwk, crv }),
  ),
];

const inherited: readonly Attack[] = ["kty", "crv", "x", "y"].map((member) =>
  attack(
    "key",
    `a key whose ${member} is that of a polluted prototype`,
    () => sentBy({ token: ALICE_TOKEN, header: { jwk: { ...ALICE.jwk, [member]: undefined } } }),
    { pollution: { [member]: ALICE.jwk[member] } },
  ),
);

const privateOf = (name: "p256" | "stranger" | "ed25519"): Jwk =>
  privateKeyOf(name).export({ format: "jwk" });

const secret: readonly Attack[] = [
  attack("key", "4.3 (7): a private key in the first proof of a token", () =>
    sentBy({ token: boundTo(ALICE.jwk, { jti: nextId() }), header: { jwk: privateOf("p256") } }),
  ),
  withKey("key", "4.3 (7): the private key of an elliptic curve", privateOf("p256")),
  withKey("key", "4.3 (7): a private RSA key", privateOf("stranger"), RSA_CALLER),
  withKey("key", "4.3 (7): a private Ed25519 key", privateOf("ed25519"), EDWARDS_CALLER),
  ...["d", "p", "oth"].map((member) =>
    withKey("key", `4.3 (7): a key with an empty ${member}`, { ...ALICE.jwk, [member]: "" }),
  ),
  withKey("key", "a symmetric key with ES256", { kty: "oct", k: encode("x".repeat(32)) }),
];

/** What a JWK allows is tested with tokens. */
const purposes: readonly Attack[] = [{ use: "enc" }, { key_ops: [] }, { alg: "ES384" }].map((purpose) =>
  withKey("key", `a key with ${shown(purpose)}`, { ...ALICE.jwk, ...purpose }),
);

/** Which RSA keys are weak is tested with tokens. */
const weak: readonly Attack[] = [
  attack("key", "an RSA key of 1024 bits", () =>
    sentBy({ caller: callerOf("RS256", generateKey("rsa", { modulusLength: 1024 })) }),
  ),
];

const bytesOf = (text: unknown): Buffer => Buffer.from(String(text), "base64url");
const changed = (text: unknown): string => {
  const bytes = bytesOf(text);
  bytes[31] = (bytes[31] ?? 0) ^ 1;
  return encode(bytes);
};
const zeros = encode(Buffer.alloc(32));
const FIELD = encode(Buffer.from("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff", "hex"));

const { x: X, y: Y } = ALICE.jwk;

const curves: readonly Attack[] = Object.entries({
  "a point that isn't on the curve: another y": { y: changed(Y) },
  "a point that isn't on the curve: x is y": { y: X },
  "the point of zeros": { x: zeros, y: zeros },
  "coordinates as large as the field": { x: FIELD, y: FIELD },
  "a coordinate that is too short": { x: encode(bytesOf(X).subarray(1)) },
  "a coordinate of 4 KB": { x: encode(Buffer.alloc(4_000, 1)) },
}).map(([name, coordinates]) => withKey("key", name, { ...ALICE.jwk, ...coordinates }));

/** Other spellings of Alice's key. The thumbprint of the token is that of the usual one. */
const spelledKeys: readonly Attack[] = (
  [
    ["key", "with padding", `${String(X)}=`],
    ["binding", "with a zero byte before it", encode(Buffer.concat([Buffer.alloc(1), bytesOf(X)]))],
    ["key", "with a space", ` ${String(X)}`],
    ["key", "with a line break", `${String(X)}\n`],
    ["binding", "in hexadecimal digits", bytesOf(X).toString("hex")],
  ] as const
).map(([expected, name, x]) =>
  attack(expected, `a key with x ${name}`, () =>
    sentBy({ token: ALICE_TOKEN, header: { jwk: { ...ALICE.jwk, x } } }),
  ),
);

/** Points of Ed25519 whose order is 1, 2, 4 or 8, and spellings of them that aren't canonical. */
const LOW_ORDER: readonly string[] = [
  "0100000000000000000000000000000000000000000000000000000000000000",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "0000000000000000000000000000000000000000000000000000000000000080",
  "0000000000000000000000000000000000000000000000000000000000000000",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
  "0100000000000000000000000000000000000000000000000000000000000080",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
];

/** The neutral element with s = 0: for the key of order 1, a signature of every message. */
const NEUTRAL = encode(Buffer.concat([Buffer.from([1]), Buffer.alloc(63)]));

const lowOrder: readonly Attack[] = LOW_ORDER.map((point, index) =>
  attack("key", `an Ed25519 key of low order with a signature for every message: ${index + 1}`, () => {
    const jwk = { kty: "OKP", crv: "Ed25519", x: encode(Buffer.from(point, "hex")) };
    const token = boundTo(jwk);
    const [header, payload] = partsOf(proofOf({ caller: { ...EDWARDS_CALLER, jwk }, token }));
    return sent(token, `${header}.${payload}.${NEUTRAL}`);
  }),
);

const edwards: readonly Attack[] = [
  ...lowOrder,
  ...[0, 31, 33].map((length) => {
    const jwk = { ...EDWARDS_CALLER.jwk, x: encode(Buffer.alloc(length, 7)) };
    return withKey("key", `an Ed25519 key of ${length} bytes`, jwk, EDWARDS_CALLER);
  }),
];

const binding: readonly Attack[] = [
  attack("binding", "4.3 (12): the proof of another key", () =>
    sent(ALICE_TOKEN, proofOf({ caller: BOB, token: ALICE_TOKEN })),
  ),
  attack("binding", "4.3 (12): the token of another user with a proof for it", () =>
    sent(BOB_TOKEN, proofOf({ token: BOB_TOKEN })),
  ),
  attack("signature", "4.3 (6): the key of the token, with a signature of another", () =>
    sentBy({ signedWith: BOB.privateKey }),
  ),
  ...Object.entries({ kid: "alice", jkt: thumbprintInput(ALICE.jwk), jwks: { keys: [ALICE.jwk] } }).map(
    ([name, value]) =>
      attack("binding", `another key with ${name} in the header`, () =>
        sent(ALICE_TOKEN, proofOf({ caller: BOB, token: ALICE_TOKEN, header: { [name]: value } })),
      ),
  ),
  attack("binding", "another key with the cnf of the token as a claim", () =>
    sent(
      ALICE_TOKEN,
      proofOf({ caller: BOB, token: ALICE_TOKEN, claims: { cnf: { jwk: ALICE.jwk }, jwk: ALICE.jwk } }),
    ),
  ),
];

const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const hex = (number: bigint): Buffer => Buffer.from(number.toString(16).padStart(64, "0"), "hex");
const withSignature = (proof: string, change: (signature: Buffer) => Uint8Array): string => {
  const [header, payload, signature] = partsOf(proof);
  return `${header}.${payload}.${encode(change(Buffer.from(signature, "base64url")))}`;
};
const numbersIn = (signature: Buffer): readonly [bigint, bigint] => [
  BigInt(`0x${signature.subarray(0, 32).toString("hex")}`),
  BigInt(`0x${signature.subarray(32).toString("hex")}`),
];

const changedSignature = (name: string, change: (signature: Buffer) => Uint8Array, caller = ALICE): Attack =>
  attack("signature", `4.3 (6): ${name}`, () => {
    const token = boundTo(caller.jwk);
    return sent(token, withSignature(proofOf({ caller, token }), change));
  });

const EDWARDS_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
/** s + the order of the group, in little-endian bytes: the same number to a verifier that reduces it. */
function withLargeScalar(signature: Buffer): Buffer {
  const reversed = Buffer.from(signature.subarray(32)).reverse();
  const scalar = BigInt(`0x${reversed.toString("hex")}`) + EDWARDS_ORDER;
  return Buffer.concat([signature.subarray(0, 32), hex(scalar).reverse()]);
}

/** Which signatures are no signatures at all is tested with tokens. */
const signatures: readonly Attack[] = [
  ...[ALICE, RSA_CALLER, EDWARDS_CALLER, { ...RSA_CALLER, alg: "PS256" }].map((caller) =>
    changedSignature(
      `${caller.alg} with a signature of zeros`,
      (bytes) => Buffer.alloc(bytes.length),
      caller,
    ),
  ),
  changedSignature("EdDSA with s above the order of the group", withLargeScalar, EDWARDS_CALLER),
  ...Object.entries<() => readonly [header: string, payload: string, signature: string]>({
    "another payload under the signature": () => {
      const [header, , signature] = partsOf(proofOf());
      return [header, encode(JSON.stringify(proofClaims(ALICE_TOKEN))), signature];
    },
    "a signature over the payload alone": () => {
      const [header, payload] = partsOf(proofOf());
      return [header, payload, encode(signatureOf("ES256", payload, ALICE.privateKey))];
    },
    "the signature of the access token": () => {
      const [header, payload] = partsOf(proofOf());
      return [header, payload, partsOf(ALICE_TOKEN)[2]];
    },
  }).map(([name, parts]) =>
    attack("signature", `4.3 (6): ${name}`, () => sent(ALICE_TOKEN, parts().join("."))),
  ),
  attack("signature", "4.3 (6): a signature of the key that signs access tokens", () => {
    const jwk = jwkOf("rsa");
    return sentBy({ caller: RSA_CALLER, token: boundTo(jwk), header: { jwk } });
  }),
];

const PSS_CALLER = { ...RSA_CALLER, alg: "PS256" };

/** Replays whose bytes differ from those of the first proof. */
const respelled: readonly Attack[] = [
  replay("replayed", "11.1: the proof again, with the other valid s", ({ fields }) =>
    sent(
      ALICE_TOKEN,
      withSignature(fields[1]?.[1] ?? "", (bytes) => {
        const [r, s] = numbersIn(bytes);
        return Buffer.concat([hex(r), hex(ORDER - s)]);
      }),
    ),
  ),
  ...[ALICE, PSS_CALLER, EDWARDS_CALLER].map((caller) =>
    replay(
      "replayed",
      `11.1: the claims again with a new signature of ${caller.alg}`,
      (first) => sentBy({ caller, claims: claimsOf(first) }),
      () => sentBy({ caller }),
    ),
  ),
  replay(
    "replayed",
    "11.1: the jti again with another alg of the same key",
    (first) => sentBy({ caller: PSS_CALLER, claims: claimsOf(first) }),
    () => sentBy({ caller: RSA_CALLER }),
  ),
  replay("replayed", "11.1: the jti again with more members in the key", (first) =>
    sentBy({ claims: claimsOf(first), header: { jwk: { ...ALICE.jwk, kid: "another", use: "sig" } } }),
  ),
  replay("replayed", "11.1: the jti again, written with escapes", (first) => {
    const escaped = JSON.stringify(claimsOf(first)).replace('"jti":"proof', '"jti":"\\u0070roof');
    return sent(ALICE_TOKEN, rawProof({ payload: escaped }));
  }),
];

export const KEY_ATTACKS: readonly Attack[] = [
  ...missing,
  ...inherited,
  ...secret,
  ...purposes,
  ...weak,
  ...curves,
  ...spelledKeys,
  ...edwards,
  ...binding,
  ...signatures,
  ...respelled,
];
