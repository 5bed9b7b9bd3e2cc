/** Fields and proofs whose form is wrong: RFC 9449 section 4.3, checks 1 and 2, and RFC 7515. */
import {
  ALICE,
  ALICE_TOKEN,
  type Attack,
  attack,
  encode,
  jsonWith,
  NOW,
  partsOf,
  proofClaims,
  proofHeader,
  proofOf,
  rawProof,
  sent,
  shown,
} from "../forge.ts";
import { seal } from "../../tokens/forge.ts";

const malformed = (name: string, proof: () => string, more: Partial<Attack> = {}): Attack =>
  attack("malformed", name, () => sent(ALICE_TOKEN, proof()), more);

const twoFields = (name: string, first: string, second: string, isSame: boolean): Attack =>
  attack("malformed", `4.3 (1): ${name}`, () => {
    const proof = proofOf();
    const fields = [
      [first, proof],
      [second, isSame ? proof : proofOf()],
    ] as const;
    return sent(ALICE_TOKEN, undefined, { fields });
  });

const fields: readonly Attack[] = [
  twoFields("two fields with two proofs", "DPoP", "DPoP", false),
  twoFields("two fields with the same proof", "DPoP", "DPoP", true),
  twoFields("two fields in lower and upper case", "dpop", "DPOP", true),
  attack("malformed", "4.3 (1): a valid field after an empty one", () =>
    sent(ALICE_TOKEN, undefined, {
      fields: [
        ["DPoP", ""],
        ["DPoP", proofOf()],
      ],
    }),
  ),
  malformed("4.3 (1): two proofs with a comma", () => `${proofOf()},${proofOf()}`),
  malformed("4.3 (1): two proofs with a comma and a space", () => `${proofOf()}, ${proofOf()}`),
  malformed("4.3 (1): two proofs with a space", () => `${proofOf()} ${proofOf()}`),
  malformed("4.3 (1): two proofs with a semicolon", () => `${proofOf()};${proofOf()}`),
  malformed("4.3 (2): a comma after the proof", () => `${proofOf()},`),
  malformed("4.3 (2): a comma before the proof", () => `,${proofOf()}`),
  malformed("4.3 (2): an empty field", () => ""),
  malformed("4.3 (2): a field of spaces", () => "   "),
  malformed("4.3 (2): a scheme before the proof", () => `DPoP ${proofOf()}`),
  malformed("4.3 (2): a proof in quotation marks", () => `"${proofOf()}"`),
  malformed("4.3 (2): a proof as a byte sequence", () => `:${proofOf()}:`),
  malformed("4.3 (2): a parameter after the proof", () => `${proofOf()};v=1`),
  malformed("4.3 (2): a name before the proof", () => `proof=${proofOf()}`),
  malformed("4.3 (2): a proof with a tab inside", () => proofOf().replace(".", ".\t")),
  malformed("4.3 (2): a proof with a raw byte FF", () => `${proofOf()}\u00ff`),
  ...[
    ["\n", "a line break"],
    ["\0", "a null character"],
    ["\r\nX: y", "a second line"],
    ["\u00a0", "a no-break space"],
    ["\u200b", "a zero-width space"],
    ["\ufeff", "a byte order mark"],
  ].flatMap(([text, name]) => [
    malformed(`4.3 (2): ${name} after the proof`, () => `${proofOf()}${text}`, { isDirect: true }),
    malformed(`4.3 (2): ${name} before the proof`, () => `${text}${proofOf()}`, { isDirect: true }),
  ]),
];

const serializations: readonly Attack[] = [
  malformed("4.3 (2): a word", () => "proof"),
  malformed("4.3 (2): two dots", () => ".."),
  malformed("4.3 (2): dots up to the limit", () => ".".repeat(8_192)),
  malformed("4.3 (2): two parts", () => proofOf().split(".").slice(0, 2).join(".")),
  malformed("4.3 (2): four parts", () => `${proofOf()}.AAAA`),
  malformed("4.3 (2): five parts, as a JWE", () => `${partsOf(proofOf())[0]}.AAAA.AAAA.AAAA.AAAA`),
  malformed("4.3 (2): a dot after the signature", () => `${proofOf()}.`),
  malformed("4.3 (2): a dot before the header", () => `.${proofOf()}`),
  malformed("4.3 (2): an empty header", () => seal("", partsOf(proofOf())[1], "ES256", ALICE.privateKey)),
  malformed("4.3 (2): a detached payload", () =>
    seal(encode(JSON.stringify(proofHeader(ALICE))), "", "ES256", ALICE.privateKey),
  ),
  malformed("4.3 (2): the flattened JSON serialization", () => {
    const [header, payload, signature] = partsOf(proofOf());
    return JSON.stringify({ protected: header, payload, signature });
  }),
  malformed("4.3 (2): the general JSON serialization", () => {
    const [header, payload, signature] = partsOf(proofOf());
    return JSON.stringify({ payload, signatures: [{ protected: header, signature }] });
  }),
  malformed("4.3 (2): a proof in a proof", () => rawProof({ payload: proofOf() })),
  malformed("4.3 (2): 8,193 bytes", () => {
    const proof = proofOf({ header: { pad: "" } });
    return proofOf({ header: { pad: "x".repeat(Math.ceil(((8_193 - proof.length) * 3) / 4)) } });
  }),
  malformed("4.3 (2): 12 KB", () => proofOf({ claims: { pad: "x".repeat(9_000) } })),
  malformed("4.3 (2): megabytes", () => proofOf({ claims: { pad: "x".repeat(3_000_000) } }), {
    isDirect: true,
  }),
];

/** Changes only the unused bits of the last character. */
const withUnusedBits = (segment: string): string => {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return segment.slice(0, -1) + (letters[letters.indexOf(segment.slice(-1)) + 1] ?? "A");
};

/** The text with spaces at its end, so that its base64url has unused bits. */
const padded = (json: string): string => json + " ".repeat((4 - (json.length % 3)) % 3);

const sealed = (change: (header: string, payload: string) => readonly [string, string]): string => {
  const header = encode(padded(JSON.stringify(proofHeader(ALICE))));
  const payload = encode(padded(JSON.stringify(proofClaims(ALICE_TOKEN))));
  const [first, second] = change(header, payload);
  return seal(first, second, "ES256", ALICE.privateKey);
};

const spelled: readonly Attack[] = [
  malformed("padding after the header", () => sealed((header, payload) => [`${header}==`, payload])),
  malformed("padding after the payload", () => sealed((header, payload) => [header, `${payload}==`])),
  malformed("padding after the signature", () => `${proofOf()}==`),
  malformed("unused bits in the header", () =>
    sealed((header, payload) => [withUnusedBits(header), payload]),
  ),
  malformed("unused bits in the payload", () =>
    sealed((header, payload) => [header, withUnusedBits(payload)]),
  ),
  malformed("unused bits in the signature", () => withUnusedBits(proofOf())),
  malformed("the base64 alphabet in the payload", () =>
    sealed((header) => {
      const text = JSON.stringify({ ...proofClaims(ALICE_TOKEN), pad: "\u00fb\u00ff\u00fe???>>>" });
      return [header, Buffer.from(text).toString("base64").replaceAll("=", "")];
    }),
  ),
  malformed("an invalid character in the payload", () =>
    sealed((header, payload) => [header, `${payload}!!!!`]),
  ),
  malformed("percent-encoding in the header", () => sealed((header, payload) => [`%65${header}`, payload])),
];

const header = (name: string, text: string | Uint8Array): Attack =>
  malformed(`a header that is ${name}`, () => rawProof({ header: text }));
const payload = (name: string, text: string | Uint8Array): Attack =>
  malformed(`a payload that is ${name}`, () => rawProof({ payload: text }));

const notObjects: readonly (readonly [string, string | Uint8Array])[] = [
  ["not JSON", "{"],
  ["empty", " "],
  ["an array", "[]"],
  ["null", "null"],
  ["a string", '"proof"'],
  ["a number", "5"],
  ["true", "true"],
  ["UTF-16", Buffer.from("{}", "utf16le")],
];

const duplicateOf = (json: Readonly<Record<string, unknown>>, members: string): string =>
  jsonWith(json, members);

const json: readonly Attack[] = [
  ...notObjects.flatMap(([name, text]) => [header(name, text), payload(name, text)]),
  header("valid JSON after a byte order mark", `\ufeff${JSON.stringify(proofHeader(ALICE))}`),
  payload("valid JSON after a byte order mark", `\ufeff${JSON.stringify(proofClaims(ALICE_TOKEN))}`),
  payload("an array with the claims", JSON.stringify([proofClaims(ALICE_TOKEN)])),
  payload(
    "not UTF-8",
    Buffer.concat([
      Buffer.from(JSON.stringify({ ...proofClaims(ALICE_TOKEN), x: "" }).slice(0, -2)),
      Buffer.from([0xff, 0xfe]),
      Buffer.from('"}'),
    ]),
  ),
  ...["NaN", "Infinity", "0x10", "01", "+5", ".5"].map((text) =>
    payload(
      `not JSON: iat ${text}`,
      duplicateOf({ ...proofClaims(ALICE_TOKEN), iat: undefined }, `"iat":${text}`),
    ),
  ),
  ...[
    '"alg":"none"',
    '"alg":"ES256"',
    '"typ":"JWT"',
    '"jwk":{}',
    '"jwk":null',
    '"\\u006awk":{}',
    '"\\u0061lg":"none"',
  ].map((members) =>
    malformed(`duplicate header parameters: ${members}`, () =>
      rawProof({ header: duplicateOf(proofHeader(ALICE), members) }),
    ),
  ),
  ...['"x":"AAAA"', '"crv":"P-384"', '"kty":"RSA"', '"y":""'].map((members) =>
    malformed(`duplicate members of the key: ${members}`, () => {
      const { jwk, ...others } = proofHeader(ALICE);
      const key = duplicateOf(jwk as Readonly<Record<string, unknown>>, members);
      return rawProof({ header: `{"jwk":${key},${JSON.stringify(others).slice(1)}` });
    }),
  ),
  ...[
    '"htm":"POST"',
    '"htu":"https://evil.example/"',
    '"jti":"first"',
    '"ath":"x"',
    `"iat":${NOW - 10_000}`,
    '"nonce":"a","nonce":"b"',
    '"\\u0068tm":"POST"',
    '"ht\\u0075":"https://evil.example/"',
  ].map((members) =>
    malformed(`duplicate claims: ${members}`, () =>
      rawProof({ payload: duplicateOf(proofClaims(ALICE_TOKEN), members) }),
    ),
  ),
];

const extensions: readonly Attack[] = [
  ...[
    { crit: ["b64"], b64: false },
    { crit: ["b64"], b64: true },
    { crit: [] },
    { crit: ["exp"] },
    { crit: ["jwk"] },
    { crit: "b64" },
    { crit: null },
    { crit: {} },
    { b64: false },
  ].map((parameters) =>
    malformed(`the header parameters ${shown(parameters)}`, () => proofOf({ header: parameters })),
  ),
  malformed("an unencoded payload with crit and b64", () => {
    const first = encode(JSON.stringify({ ...proofHeader(ALICE), crit: ["b64"], b64: false }));
    return seal(first, JSON.stringify(proofClaims(ALICE_TOKEN)), "ES256", ALICE.privateKey);
  }),
];

export const FORM_ATTACKS: readonly Attack[] = [
  ...fields,
  ...serializations,
  ...spelled,
  ...json,
  ...extensions,
];
