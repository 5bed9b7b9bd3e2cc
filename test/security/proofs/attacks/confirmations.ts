/** Tokens whose `cnf` names no key that can be checked: RFC 7800 section 3.1, RFC 9449 section 6.1. */
import { createHash } from "node:crypto";
import {
  ALICE,
  type Attack,
  attack,
  BOB,
  encode,
  proofOf,
  sent,
  shown,
  thumbprintInput,
  thumbprintOf,
  tokenWith,
} from "../forge.ts";
import { claimsJson } from "../../tokens/forge.ts";

const JKT = thumbprintOf(ALICE.jwk);
const input = thumbprintInput(ALICE.jwk);
const hashed = (algorithm: string, text: string): string =>
  createHash(algorithm).update(text).digest("base64url");

/** The same token with a proof, and as a bearer token without one. */
const withToken = (
  expected: string,
  name: string,
  token: () => string,
  more: Partial<Attack> = {},
): readonly Attack[] => [
  attack(expected, `${name}, with a proof`, () => sent(token(), proofOf({ token: token() })), more),
  attack(
    expected === "token_rejected" ? "token_rejected" : "proof_missing",
    `${name}, as Bearer`,
    () => ({ fields: [["Authorization", `Bearer ${token()}`]] }),
    more,
  ),
];

const withConfirmation = (expected: string, cnf: unknown): readonly Attack[] =>
  withToken(expected, `7.1: a token with the cnf ${shown(cnf)}`, () => tokenWith({ cnf }));

/** None of these is an object with a thumbprint. */
const unusable: readonly unknown[] = [
  null,
  true,
  false,
  0,
  5,
  "",
  JKT,
  JSON.stringify({ jkt: JKT }),
  [],
  [{ jkt: JKT }],
  ["jkt", JKT],
  {},
  { jkt: null },
  { jkt: "" },
  { jkt: 5 },
  { jkt: true },
  { jkt: [JKT] },
  { jkt: { jkt: JKT } },
  { JKT },
  { Jkt: JKT },
  { "jkt#S256": JKT },
  { "jkt ": JKT },
  { jwk: ALICE.jwk },
  { kid: "key-1" },
  { jku: "https://evil.example/keys", kid: "key-1" },
  { jwe: "AAAA" },
  { "x5t#S256": JKT },
  { osc: {} },
  { unknown: true },
  { cnf: { jkt: JKT } },
];

/** Thumbprints of other forms of the key: not one is the SHA-256 of RFC 7638 in base64url. */
const otherPrints: Readonly<Record<string, string>> = {
  "of another key": thumbprintOf(BOB.jwk),
  "with padding": `${JKT}=`,
  "with a space": ` ${JKT}`,
  "with a line break": `${JKT}\n`,
  "in lower case": JKT.toLowerCase(),
  "in hexadecimal digits": createHash("sha256").update(input).digest("hex"),
  "of SHA-1": hashed("sha1", input),
  "of SHA-512": hashed("sha512", input),
  "with the name of its hash": `urn:ietf:params:oauth:jwk-thumbprint:sha-256:${JKT}`,
  "without its last character": JKT.slice(0, -1),
  "of the key with its members in another order": hashed(
    "sha256",
    JSON.stringify({ kty: "EC", crv: "P-256", x: ALICE.jwk["x"], y: ALICE.jwk["y"] }),
  ),
  "of the key with spaces": hashed("sha256", JSON.stringify(JSON.parse(input), undefined, 1)),
  "of the key with one more member": hashed("sha256", JSON.stringify({ alg: "ES256", ...ALICE.jwk })),
  "of the DER of the key": createHash("sha256")
    .update(ALICE.publicKey.export({ type: "spki", format: "der" }))
    .digest("base64url"),
  "that is the hash's hash": hashed("sha256", JKT),
  "that is the key": encode(input),
  "that is a wildcard": "*",
};

const polluted: readonly Attack[] = [
  ...withToken("token_rejected", "a jkt of a polluted prototype", () => tokenWith({ cnf: {} }), {
    pollution: { jkt: JKT },
  }),
  ...withToken("token_rejected", "a jkt inside __proto__", () =>
    claimsJson(`"cnf":{"__proto__":{"jkt":"${JKT}"}}`),
  ),
  attack(
    "binding",
    "a cnf of a polluted prototype",
    () => {
      const token = tokenWith();
      return sent(token, proofOf({ token }));
    },
    { pollution: { cnf: { jkt: JKT } } },
  ),
];

const duplicates: readonly Attack[] = [
  `"cnf":{"jkt":"${JKT}"},"cnf":{"jkt":"${thumbprintOf(BOB.jwk)}"}`,
  `"cnf":{"jkt":"${thumbprintOf(BOB.jwk)}"},"cnf":{"jkt":"${JKT}"}`,
  `"cnf":{"jkt":"${JKT}","jkt":"${thumbprintOf(BOB.jwk)}"}`,
  `"cnf":{"jkt":"${thumbprintOf(BOB.jwk)}","jkt":"${JKT}"}`,
  `"cnf":{},"cnf":{"jkt":"${JKT}"}`,
].flatMap((members, index) =>
  withToken("token_rejected", `a token with two confirmations: ${index + 1}`, () => claimsJson(members)),
);

const elsewhere: readonly Attack[] = [
  attack("binding", "a token with the jkt outside of cnf", () => {
    const token = tokenWith({ jkt: JKT });
    return sent(token, proofOf({ token }));
  }),
  attack("binding", "a token with the cnf inside act", () => {
    const token = tokenWith({ act: { sub: "agent", cnf: { jkt: JKT } } });
    return sent(token, proofOf({ token }));
  }),
  attack("binding", "a token with the claim CNF", () => {
    const token = tokenWith({ CNF: { jkt: JKT } });
    return sent(token, proofOf({ token }));
  }),
];

export const CONFIRMATION_ATTACKS: readonly Attack[] = [
  ...unusable.flatMap((cnf) => withConfirmation("token_rejected", cnf)),
  // A text that is no SHA-256 in base64url binds the token to nothing that can be checked.
  ...Object.entries(otherPrints).flatMap(([name, jkt]) =>
    withToken(
      /^[\w-]{42}[AEIMQUYcgkosw048]$/.test(jkt) ? "binding" : "token_rejected",
      `4.3 (12): a token with a jkt ${name}`,
      () => tokenWith({ cnf: { jkt } }),
    ),
  ),
  ...polluted,
  ...duplicates,
  ...elsewhere,
];
