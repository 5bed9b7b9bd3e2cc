/** Proofs whose form is wrong: RFC 9449 section 4.3, check 2, and RFC 7515. */
import {
  ALICE,
  ALICE_TOKEN,
  type Attack,
  attack,
  encode,
  jsonWith,
  NOW,
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

/** How base64url and JSON are read is tested with tokens. These show that each part of a proof is read so. */
const serializations: readonly Attack[] = [
  malformed("4.3 (2): dots up to the limit", () => ".".repeat(8_192)),
  malformed("4.3 (2): two parts", () => proofOf().split(".").slice(0, 2).join(".")),
  malformed("4.3 (2): four parts", () => `${proofOf()}.AAAA`),
  malformed("4.3 (2): a dot after the signature", () => `${proofOf()}.`),
  malformed("4.3 (2): an empty header", () => signed("", encodedClaims())),
  malformed("4.3 (2): a detached payload", () => signed(encodedHeader, "")),
  malformed("4.3 (6): no signature", () => `${encodedHeader}.${encodedClaims()}.`),
  malformed("4.3 (2): more than 8,192 bytes", () => proofsAroundLimit().tooLong),
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
  malformed("unused bits in the header", () => signed(withUnusedBits(padded(HEADER)), encodedClaims())),
  malformed("unused bits in the payload", () =>
    signed(encodedHeader, withUnusedBits(padded(proofClaims(ALICE_TOKEN)))),
  ),
  malformed("unused bits in the signature", () => withUnusedBits(proofOf())),
];

const json: readonly Attack[] = [
  ...["[]", "{", "null", '"proof"'].flatMap((text) => [
    malformed(`a header that is ${text}`, () => rawProof({ header: text })),
    malformed(`a payload that is ${text}`, () => rawProof({ payload: text })),
  ]),
  malformed("a header after a byte order mark", () =>
    rawProof({ header: `\ufeff${JSON.stringify(HEADER)}` }),
  ),
  ...['"alg":"none"', '"jwk":{}', '"\\u006awk":{}'].map((members) =>
    malformed(`duplicate header parameters: ${members}`, () =>
      rawProof({ header: jsonWith(HEADER, members) }),
    ),
  ),
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
];

export const FORM_ATTACKS: readonly Attack[] = [...serializations, ...spelled, ...json, ...extensions];
