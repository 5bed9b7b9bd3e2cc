/** The key in a proof and its signature: RFC 9449 section 4.3, checks 6 and 7, and the binding of check 12. */
import { randomBytes } from "node:crypto";
import {
  ALICE,
  ALICE_TOKEN,
  type Attack,
  attack,
  athOf,
  BOB,
  BOB_TOKEN,
  boundTo,
  callerOf,
  type Caller,
  EDWARDS_CALLER,
  encode,
  jwkFor,
  nextId,
  partsOf,
  proofClaims,
  proofHeader,
  proofIn,
  proofOf,
  rawProof,
  RSA_CALLER,
  sent,
  sentBy,
  shown,
  signingKeyFor,
  thumbprintInput,
} from "../forge.ts";
import { generateKey } from "../../../../src/tools/testing/test-key.ts";
import { signatureOf } from "../../tokens/forge.ts";

type Jwk = Readonly<Record<string, unknown>>;

/** A token that is bound to this key, with a proof that has it. Only the key itself can be refused. */
const withKey = (expected: string, name: string, jwk: Jwk, caller: Caller = ALICE): Attack =>
  attack(expected, name, () => sentBy({ caller: { ...caller, jwk } }));

/** Alice's token, with a `jwk` that is no key. */
const withoutKey = (name: string, jwk: unknown): Attack =>
  attack("key", name, () => sentBy({ token: ALICE_TOKEN, header: { jwk } }));

const missing: readonly Attack[] = [
  ...[
    undefined,
    null,
    "",
    5,
    true,
    [],
    {},
    [ALICE.jwk],
    JSON.stringify(ALICE.jwk),
    { keys: [ALICE.jwk] },
  ].map((jwk) => withoutKey(`4.3 (3): jwk ${shown(jwk)}`, jwk)),
  ...["kty", "crv", "x", "y"].flatMap((member) =>
    [undefined, null, "", 5, [ALICE.jwk[member]], {}].map((value) =>
      withoutKey(`a key of an elliptic curve with ${member} ${shown(value)}`, {
        ...ALICE.jwk,
        [member]: value,
      }),
    ),
  ),
  ...["n", "e"].flatMap((member) =>
    [undefined, null, "", 65_537].map((value) =>
      withKey(
        "key",
        `an RSA key with ${member} ${shown(value)}`,
        { ...RSA_CALLER.jwk, [member]: value },
        RSA_CALLER,
      ),
    ),
  ),
  ...["__proto__", "constructor", "toString", "ec", "Ec", "EC ", "OKP", "RSA", "AKP", "DH"].map((kty) =>
    withKey("key", `a key of an elliptic curve with kty ${shown(kty)}`, { ...ALICE.jwk, kty }),
  ),
  ...["p-256", "P256", "prime256v1", "secp256r1", "P-384", "Ed25519"].map((crv) =>
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
  signingKeyFor(name).export({ format: "jwk" });

const secret: readonly Attack[] = [
  attack("key", "4.3 (7): a private key in the first proof of a token", () =>
    sentBy({ token: boundTo(ALICE.jwk, { jti: nextId() }), header: { jwk: privateOf("p256") } }),
  ),
  withKey("key", "4.3 (7): the private key of an elliptic curve", privateOf("p256")),
  withKey("key", "4.3 (7): a private RSA key", privateOf("stranger"), RSA_CALLER),
  withKey("key", "4.3 (7): a private Ed25519 key", privateOf("ed25519"), EDWARDS_CALLER),
  ...["d", "p", "q", "dp", "dq", "qi", "oth"].flatMap((member) =>
    ["AAAA", ""].map((value) =>
      withKey("key", `4.3 (7): a key with ${member} ${shown(value)}`, { ...ALICE.jwk, [member]: value }),
    ),
  ),
  withKey("key", "4.3 (7): a key with d null", { ...ALICE.jwk, d: null }),
  withKey("key", "a symmetric key with ES256", { kty: "oct", k: encode("x".repeat(32)) }),
  withKey("key", "a symmetric key with the members of an elliptic curve", { ...ALICE.jwk, kty: "oct" }),
];

const purposes: readonly Attack[] = [
  { use: "enc" },
  { use: "" },
  { use: "SIG" },
  { key_ops: ["encrypt"] },
  { key_ops: ["deriveKey", "wrapKey"] },
  { key_ops: [] },
  { key_ops: "verify" },
  { alg: "ES384" },
  { alg: "none" },
  { alg: "HS256" },
  { alg: "ECDH-ES" },
].map((purpose) => withKey("key", `a key with ${shown(purpose)}`, { ...ALICE.jwk, ...purpose }));

/** A modulus that is odd, of so many bits. Nobody knows its factors. */
function modulus(bits: number): string {
  const bytes = randomBytes(bits / 8);
  bytes[0] = (bytes[0] ?? 0) | 0x80;
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) | 1;
  return encode(bytes);
}

const rsaWith = (more: Jwk): Jwk => ({ ...RSA_CALLER.jwk, ...more });
const SHORT_RSA = callerOf("RS256", generateKey("rsa", { modulusLength: 1024 }));

/** With the exponent 1, a message is its own signature: anybody can sign for the key. */
function proofWithExponentOne(): string {
  const jwk = rsaWith({ e: "AQ" });
  const token = boundTo(jwk);
  const header = encode(JSON.stringify({ typ: "dpop+jwt", alg: "RS256", jwk }));
  const payload = encode(JSON.stringify(proofClaims(token)));
  const digest = Buffer.from(athOf(`${header}.${payload}`), "base64url");
  const info = Buffer.from("3031300d060960864801650304020105000420", "hex");
  const size = Buffer.from(String(jwk["n"]), "base64url").length;
  const padding = Buffer.alloc(size - 3 - info.length - digest.length, 0xff);
  const message = Buffer.concat([Buffer.from([0, 1]), padding, Buffer.from([0]), info, digest]);
  return `${header}.${payload}.${encode(message)}`;
}

const weak: readonly Attack[] = [
  attack("key", "an RSA key of 1024 bits", () => sentBy({ caller: SHORT_RSA })),
  withKey("key", "an RSA key of 16384 bits", rsaWith({ n: modulus(16_384) }), RSA_CALLER),
  withKey("key", "an RSA key of 32768 bits", rsaWith({ n: modulus(32_768) }), RSA_CALLER),
  withKey("key", "an RSA exponent of 2048 bits", rsaWith({ e: modulus(2_048) }), RSA_CALLER),
  withKey("key", "an RSA exponent of 16384 bits", rsaWith({ e: modulus(16_384) }), RSA_CALLER),
  withKey(
    "key",
    "an RSA key and exponent of 8192 bits",
    rsaWith({ n: modulus(8_192), e: modulus(8_192) }),
    RSA_CALLER,
  ),
  withKey("key", "the RSA exponent 0", rsaWith({ e: "AA" }), RSA_CALLER),
  withKey("key", "the RSA exponent 2", rsaWith({ e: "Ag" }), RSA_CALLER),
  withKey("key", "an even RSA exponent", rsaWith({ e: "AQAA" }), RSA_CALLER),
  attack("key", "the RSA exponent 1, with a signature that anybody can make", () =>
    sent(boundTo(rsaWith({ e: "AQ" })), proofWithExponentOne()),
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

const curves: readonly Attack[] = [
  withKey("key", "a point that isn't on the curve: another y", { ...ALICE.jwk, y: changed(ALICE.jwk["y"]) }),
  withKey("key", "a point that isn't on the curve: another x", { ...ALICE.jwk, x: changed(ALICE.jwk["x"]) }),
  withKey("key", "a point that isn't on the curve: x is y", { ...ALICE.jwk, y: ALICE.jwk["x"] }),
  withKey("key", "the point of zeros", { ...ALICE.jwk, x: zeros, y: zeros }),
  withKey("key", "coordinates as large as the field", { ...ALICE.jwk, x: FIELD, y: FIELD }),
  withKey("key", "a coordinate that is too short", {
    ...ALICE.jwk,
    x: encode(bytesOf(ALICE.jwk["x"]).subarray(1)),
  }),
  withKey("key", "a coordinate of 20 KB", { ...ALICE.jwk, x: encode(Buffer.alloc(4_000, 1)) }),
  withKey("key", "a compressed point in x", {
    ...ALICE.jwk,
    x: encode(Buffer.concat([Buffer.from([2]), bytesOf(ALICE.jwk["x"])])),
    y: "",
  }),
];

/** Another spelling of Alice's key. The thumbprint of the token is that of the usual one. */
const X = String(ALICE.jwk["x"]);
const spelledKeys: readonly Attack[] = Object.entries({
  "with padding": `${X}=`,
  "with a zero byte before it": encode(Buffer.concat([Buffer.alloc(1), bytesOf(X)])),
  "with a space": ` ${X}`,
  "with a line break": `${X}\n`,
  "in base64": bytesOf(X).toString("base64"),
  "in hexadecimal digits": bytesOf(X).toString("hex"),
  "with characters that base64url doesn't have": `${X}!!`,
}).map(([name, x]) =>
  // Base64url of other bytes is another key.
  attack(/^[\w-]+$/.test(x) ? "binding" : "key", `a key with x ${name}`, () =>
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
  ...[0, 31, 33, 64].map((length) =>
    withKey(
      "key",
      `an Ed25519 key of ${length} bytes`,
      { kty: "OKP", crv: "Ed25519", x: encode(Buffer.alloc(length, 7)) },
      EDWARDS_CALLER,
    ),
  ),
  withKey(
    "key",
    "an Ed25519 key with crv ed25519",
    { ...EDWARDS_CALLER.jwk, crv: "ed25519" },
    EDWARDS_CALLER,
  ),
];

const binding: readonly Attack[] = [
  attack("binding", "4.3 (12): the proof of another key", () =>
    sent(ALICE_TOKEN, proofOf({ caller: BOB, token: ALICE_TOKEN })),
  ),
  attack("binding", "4.3 (12): the token of another user with a proof for it", () =>
    sent(BOB_TOKEN, proofOf({ token: BOB_TOKEN })),
  ),
  attack("binding", "4.3 (12): the whole proof of another user", () =>
    sent(ALICE_TOKEN, proofOf({ caller: BOB, token: BOB_TOKEN })),
  ),
  attack("signature", "4.3 (6): the key of the token, with a signature of another", () =>
    sentBy({ signedWith: BOB.privateKey }),
  ),
  ...Object.entries({
    kid: "alice",
    jku: "https://evil.example/keys",
    x5u: "https://evil.example/certificate",
    x5c: ["MIIB"],
    "x5t#S256": "AAAA",
    jkt: thumbprintInput(ALICE.jwk),
    jwks: { keys: [ALICE.jwk] },
  }).map(([name, value]) =>
    attack(
      /^(?:jku|x5u|x5c)$/.test(name) ? "malformed" : "binding",
      `another key with ${name} in the header`,
      () => sent(ALICE_TOKEN, proofOf({ caller: BOB, token: ALICE_TOKEN, header: { [name]: value } })),
    ),
  ),
  attack("binding", "another key with the cnf of the token as a claim", () =>
    sent(
      ALICE_TOKEN,
      proofOf({ caller: BOB, token: ALICE_TOKEN, claims: { cnf: { jwk: ALICE.jwk }, jwk: ALICE.jwk } }),
    ),
  ),
  attack("binding", "a token without a key, with a proof", () => {
    const token = boundTo(ALICE.jwk, { cnf: undefined });
    return sent(token, proofOf({ token }));
  }),
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
const ecdsa = (name: string, change: (r: bigint, s: bigint) => readonly [bigint, bigint]): Attack =>
  attack("signature", `4.3 (6): ES256: ${name}`, () =>
    sent(
      ALICE_TOKEN,
      withSignature(proofOf(), (bytes) => Buffer.concat(change(...numbersIn(bytes)).map(hex))),
    ),
  );

/** The signature as a DER sequence of two integers. */
function derOf(signature: Buffer): Uint8Array {
  const integers = [signature.subarray(0, 32), signature.subarray(32)].map((bytes) => {
    const padded = (bytes[0] ?? 0) > 0x7f ? Buffer.concat([Buffer.alloc(1), bytes]) : bytes;
    return Buffer.concat([Buffer.from([2, padded.length]), padded]);
  });
  const content = Buffer.concat(integers);
  return Buffer.concat([Buffer.from([0x30, content.length]), content]);
}

const changedSignature = (name: string, change: (signature: Buffer) => Uint8Array, caller = ALICE): Attack =>
  attack("signature", `4.3 (6): ${name}`, () => {
    const token = boundTo(caller.jwk);
    return sent(token, withSignature(proofOf({ caller, token }), change));
  });

const flip =
  (index: number) =>
  (signature: Buffer): Buffer => {
    const at = index < 0 ? signature.length + index : index;
    signature[at] = (signature[at] ?? 0) ^ 1;
    return signature;
  };

const EDWARDS_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
/** s + the order of the group, in little-endian bytes: the same number to a verifier that reduces it. */
function withLargeScalar(signature: Buffer): Buffer {
  const reversed = Buffer.from(signature.subarray(32)).reverse();
  const scalar = BigInt(`0x${reversed.toString("hex")}`) + EDWARDS_ORDER;
  return Buffer.concat([signature.subarray(0, 32), hex(scalar).reverse()]);
}

const signatures: readonly Attack[] = [
  ecdsa("r and s are zero", () => [0n, 0n]),
  ecdsa("r is zero", (_, s) => [0n, s]),
  ecdsa("s is zero", (r) => [r, 0n]),
  ecdsa("r and s are the order", () => [ORDER, ORDER]),
  ecdsa("r is the order and s is zero", () => [ORDER, 0n]),
  ecdsa("r and s are one", () => [1n, 1n]),
  ecdsa("r and s are swapped", (r, s) => [s, r]),
  changedSignature("ES256 in DER", derOf),
  changedSignature("ES256 with one byte less", (signature) => signature.subarray(0, 63)),
  changedSignature("ES256 with one byte more", (signature) => Buffer.concat([signature, Buffer.alloc(1)])),
  changedSignature("ES256 with the signature twice", (signature) => Buffer.concat([signature, signature])),
  changedSignature("ES256 with one byte", () => Buffer.alloc(1)),
  ...[ALICE, RSA_CALLER, EDWARDS_CALLER, { ...RSA_CALLER, alg: "PS256" }].flatMap((caller) => [
    changedSignature(`${caller.alg} with another first bit`, flip(0), caller),
    changedSignature(`${caller.alg} with another last bit`, flip(-1), caller),
    changedSignature(
      `${caller.alg} with a signature of zeros`,
      (bytes) => Buffer.alloc(bytes.length),
      caller,
    ),
  ]),
  changedSignature("EdDSA with s above the order of the group", withLargeScalar, EDWARDS_CALLER),
  attack("malformed", "4.3 (6): no signature", () => {
    const [header, payload] = partsOf(proofOf());
    return sent(ALICE_TOKEN, `${header}.${payload}.`);
  }),
  attack("signature", "4.3 (6): the signature of another proof", () => {
    const [header, payload] = partsOf(proofOf());
    return sent(ALICE_TOKEN, `${header}.${payload}.${partsOf(proofOf())[2]}`);
  }),
  attack("signature", "4.3 (6): another payload under the signature", () => {
    const [header, , signature] = partsOf(proofOf());
    return sent(ALICE_TOKEN, `${header}.${encode(JSON.stringify(proofClaims(ALICE_TOKEN)))}.${signature}`);
  }),
  attack("signature", "4.3 (6): another header under the signature", () => {
    const [, payload, signature] = partsOf(proofOf());
    const header = encode(JSON.stringify({ ...proofHeader(ALICE), extra: true }));
    return sent(ALICE_TOKEN, `${header}.${payload}.${signature}`);
  }),
  attack("signature", "4.3 (6): a signature over the payload alone", () => {
    const [header, payload] = partsOf(proofOf());
    return sent(
      ALICE_TOKEN,
      `${header}.${payload}.${encode(signatureOf("ES256", payload, ALICE.privateKey))}`,
    );
  }),
  attack("signature", "4.3 (6): the signature of the access token", () => {
    const [header, payload] = partsOf(proofOf());
    return sent(ALICE_TOKEN, `${header}.${payload}.${partsOf(ALICE_TOKEN)[2]}`);
  }),
  attack("signature", "4.3 (6): a signature of the key that signs access tokens", () => {
    const jwk = jwkFor("rsa");
    const token = boundTo(jwk);
    const proof = proofOf({ caller: RSA_CALLER, token, header: { jwk } });
    return sent(token, proof);
  }),
];

/** Replays whose bytes differ from those of the first proof. */
const respelled: readonly Attack[] = [
  attack(
    "replayed",
    "11.1: the proof again, with the other valid s",
    ([first]) =>
      sent(
        ALICE_TOKEN,
        withSignature(first ? proofIn(first) : "", (bytes) => {
          const [r, s] = numbersIn(bytes);
          return Buffer.concat([hex(r), hex(ORDER - s)]);
        }),
      ),
    { earlier: () => [sentBy()] },
  ),
  ...["ES256", "PS256", "EdDSA"].map((alg) => {
    const caller =
      { ES256: ALICE, PS256: { ...RSA_CALLER, alg: "PS256" }, EdDSA: EDWARDS_CALLER }[alg] ?? ALICE;
    return attack(
      "replayed",
      `11.1: the claims again with a new signature of ${alg}`,
      ([first]) => {
        const payload = JSON.parse(
          Buffer.from(partsOf(first ? proofIn(first) : "")[1], "base64url").toString(),
        ) as Jwk;
        return sentBy({ caller, claims: payload });
      },
      { earlier: () => [sentBy({ caller })] },
    );
  }),
  attack(
    "replayed",
    "11.1: the jti again with another alg of the same key",
    ([first]) => {
      const payload = JSON.parse(
        Buffer.from(partsOf(first ? proofIn(first) : "")[1], "base64url").toString(),
      ) as Jwk;
      return sentBy({ caller: { ...RSA_CALLER, alg: "PS256" }, claims: payload });
    },
    { earlier: () => [sentBy({ caller: RSA_CALLER })] },
  ),
  attack(
    "replayed",
    "11.1: the jti again with more members in the key",
    ([first]) => {
      const payload = JSON.parse(
        Buffer.from(partsOf(first ? proofIn(first) : "")[1], "base64url").toString(),
      ) as Jwk;
      return sentBy({ claims: payload, header: { jwk: { ...ALICE.jwk, kid: "another", use: "sig" } } });
    },
    { earlier: () => [sentBy()] },
  ),
  attack(
    "replayed",
    "11.1: the jti again, written with escapes",
    ([first]) => {
      const payload = JSON.parse(
        Buffer.from(partsOf(first ? proofIn(first) : "")[1], "base64url").toString(),
      ) as Jwk;
      const escaped = JSON.stringify(payload).replace('"jti":"proof', '"jti":"\\u0070roof');
      return sent(ALICE_TOKEN, rawProof({ payload: escaped }));
    },
    { earlier: () => [sentBy()] },
  ),
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
