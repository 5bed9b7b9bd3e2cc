/** Proofs whose form is wrong: RFC 9449 section 4.3, check 2, and RFC 7515. */
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
  proofsAroundLimit,
  rawProof,
  sent,
  shown,
} from "../forge.ts";
import { seal } from "../../tokens/forge.ts";

const malformed = (name: string, proof: () => string): Attack =>
  attack("malformed", name, () => sent(ALICE_TOKEN, proof()));

const HEADER = proofHeader(ALICE);

/** Signs two parts as they are. */
const signed = (header: string, payload: string): string => seal(header, payload, "ES256", ALICE.privateKey);
const encodedHeader = encode(JSON.stringify(HEADER));
const encodedClaims = (): string => encode(JSON.stringify(proofClaims(ALICE_TOKEN)));

const serializations: readonly Attack[] = [
  malformed("4.3 (2): a word", () => "proof"),
  malformed("4.3 (2): dots up to the limit", () => ".".repeat(8_192)),
  malformed("4.3 (2): two parts", () => proofOf().split(".").slice(0, 2).join(".")),
  malformed("4.3 (2): four parts", () => `${proofOf()}.AAAA`),
  malformed("4.3 (2): five parts, as a JWE", () => `${partsOf(proofOf())[0]}.AAAA.AAAA.AAAA.AAAA`),
  malformed("4.3 (2): a dot after the signature", () => `${proofOf()}.`),
  malformed("4.3 (2): a dot before the header", () => `.${proofOf()}`),
  malformed("4.3 (2): an empty header", () => signed("", encodedClaims())),
  malformed("4.3 (2): a detached payload", () => signed(encodedHeader, "")),
  malformed("4.3 (6): no signature", () => `${encodedHeader}.${encodedClaims()}.`),
  malformed("4.3 (2): the flattened JSON serialization", () => {
    const [header, payload, signature] = partsOf(proofOf());
    return JSON.stringify({ protected: header, payload, signature });
  }),
  malformed("4.3 (2): more than 8,192 bytes", () => proofsAroundLimit().tooLong),
  malformed("4.3 (2): megabytes", () => proofOf({ claims: { pad: "x".repeat(3_000_000) } })),
  ...["\n", "\0", "\r\nX: y", "\u00a0", "\ufeff"].flatMap((text) => [
    malformed(`4.3 (2): ${shown(text)} after the proof`, () => `${proofOf()}${text}`),
    malformed(`4.3 (2): ${shown(text)} before the proof`, () => `${text}${proofOf()}`),
  ]),
];

/** Changes only the unused bits of the last character. */
const withUnusedBits = (segment: string): string => {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return segment.slice(0, -1) + (letters[letters.indexOf(segment.slice(-1)) + 1] ?? "A");
};

/** The base64url of a text with spaces at its end, so that it has unused bits. */
const padded = (json: object): string => {
  const text = JSON.stringify(json);
  return encode(text + " ".repeat((4 - (text.length % 3)) % 3));
};

const spelled: readonly Attack[] = [
  malformed("padding after the header", () => signed(`${padded(HEADER)}==`, encodedClaims())),
  malformed("padding after the signature", () => `${proofOf()}==`),
  malformed("unused bits in the header", () => signed(withUnusedBits(padded(HEADER)), encodedClaims())),
  malformed("unused bits in the payload", () =>
    signed(encodedHeader, withUnusedBits(padded(proofClaims(ALICE_TOKEN)))),
  ),
  malformed("unused bits in the signature", () => withUnusedBits(proofOf())),
  malformed("the base64 alphabet in the payload", () => {
    const text = JSON.stringify({ ...proofClaims(ALICE_TOKEN), pad: "\u00fb\u00ff\u00fe???>>>" });
    return signed(encodedHeader, Buffer.from(text).toString("base64").replaceAll("=", ""));
  }),
];

const header = (name: string, text: string | Uint8Array): Attack =>
  malformed(`a header that is ${name}`, () => rawProof({ header: text }));
const payload = (name: string, text: string | Uint8Array): Attack =>
  malformed(`a payload that is ${name}`, () => rawProof({ payload: text }));

/** The rules of JSON are those of tokens. */
const json: readonly Attack[] = [
  ...["{", "[]", "null", '"proof"'].flatMap((text) => [header(text, text), payload(text, text)]),
  header("valid JSON after a byte order mark", `\ufeff${JSON.stringify(HEADER)}`),
  payload("valid JSON after a byte order mark", `\ufeff${JSON.stringify(proofClaims(ALICE_TOKEN))}`),
  payload("an array with the claims", JSON.stringify([proofClaims(ALICE_TOKEN)])),
  payload("not UTF-8", Buffer.concat([Buffer.from('{"x":"'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')])),
  ...['"alg":"none"', '"jwk":{}', '"\\u006awk":{}'].map((members) =>
    malformed(`duplicate header parameters: ${members}`, () =>
      rawProof({ header: jsonWith(HEADER, members) }),
    ),
  ),
  malformed("duplicate members of the key", () => {
    const { jwk, ...others } = HEADER;
    const key = jsonWith(jwk as object, '"x":"AAAA"');
    return rawProof({ header: jsonWith(others, `"jwk":${key}`) });
  }),
  ...['"htm":"POST"', '"ht\\u0075":"https://evil.example/"', `"iat":${NOW - 10_000}`].map((members) =>
    malformed(`duplicate claims: ${members}`, () =>
      rawProof({ payload: jsonWith(proofClaims(ALICE_TOKEN), members) }),
    ),
  ),
];

const extensions: readonly Attack[] = [
  ...[{ crit: ["b64"], b64: true }, { crit: [] }, { crit: ["exp"] }, { crit: null }, { b64: false }].map(
    (parameters) =>
      malformed(`the header parameters ${shown(parameters)}`, () => proofOf({ header: parameters })),
  ),
  ...Object.entries({ jku: "https://evil.example/keys", x5u: "https://evil.example/", x5c: ["MIIB"] }).map(
    ([name, value]) => malformed(`another key in ${name}`, () => proofOf({ header: { [name]: value } })),
  ),
  malformed("an unencoded payload with crit and b64", () =>
    signed(
      encode(JSON.stringify({ ...HEADER, crit: ["b64"], b64: false })),
      JSON.stringify(proofClaims(ALICE_TOKEN)),
    ),
  ),
];

export const FORM_ATTACKS: readonly Attack[] = [...serializations, ...spelled, ...json, ...extensions];
