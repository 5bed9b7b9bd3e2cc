/** Tokens whose `cnf` names no key that can be checked: RFC 7800 section 3.1, RFC 9449 section 6.1. */
import { createHash } from "node:crypto";
import {
  ALICE,
  type Attack,
  attack,
  BOB,
  proofOf,
  sent,
  shown,
  thumbprintInput,
  thumbprintOf,
  tokenWith,
} from "../forge.ts";
import { claimsJson } from "../../tokens/forge.ts";

const JKT = thumbprintOf(ALICE.jwk);
const BOB_JKT = thumbprintOf(BOB.jwk);
const input = thumbprintInput(ALICE.jwk);
const hashed = (text: string, algorithm = "sha256"): string =>
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

const REJECTED = "token_rejected";

/** None of these is an object with a thumbprint. */
const unusable: readonly Attack[] = [
  ...[null, true, 5, "", JKT, [], [{ jkt: JKT }], {}],
  ...[null, "", 5, true, [JKT], { jkt: JKT }].map((jkt) => ({ jkt })),
  ...["JKT", "jkt#S256", "kid", "jwe", "x5t#S256", "osc"].map((name) => ({ [name]: JKT })),
  ...[{ jwk: ALICE.jwk }, { cnf: { jkt: JKT } }],
].flatMap((cnf) => withToken(REJECTED, `7.1: a token with the cnf ${shown(cnf)}`, () => tokenWith({ cnf })));

/** None of these is the SHA-256 of RFC 7638. A value of another form binds the token to nothing. */
const otherPrints: readonly Attack[] = (
  [
    ["binding", "of another key", BOB_JKT],
    ["binding", "of members in another order", hashed(JSON.stringify(ALICE.jwk))],
    ["binding", "of one more member", hashed(JSON.stringify({ alg: "ES256", ...ALICE.jwk }))],
    ["binding", "of the hash", hashed(JKT)],
    [REJECTED, "with padding", `${JKT}=`],
    [REJECTED, "with a line break", `${JKT}\n`],
    [REJECTED, "of SHA-1", hashed(input, "sha1")],
    [REJECTED, "of SHA-512", hashed(input, "sha512")],
    [REJECTED, "with the name of its hash", `urn:ietf:params:oauth:jwk-thumbprint:sha-256:${JKT}`],
    [REJECTED, "without its last character", JKT.slice(0, -1)],
    // Only the unused bits of the last character differ.
    [REJECTED, "in another spelling", JKT.slice(0, -1) + String.fromCharCode(JKT.charCodeAt(42) + 1)],
    [REJECTED, "that is a wildcard", "*"],
  ] as const
).flatMap(([expected, name, jkt]) =>
  withToken(expected, `4.3 (12): a token with a jkt ${name}`, () => tokenWith({ cnf: { jkt } })),
);

const polluted: readonly Attack[] = [
  ...withToken(REJECTED, "a jkt of a polluted prototype", () => tokenWith({ cnf: {} }), {
    pollution: { jkt: JKT },
  }),
  ...withToken(REJECTED, "a jkt inside __proto__", () => claimsJson(`"cnf":{"__proto__":{"jkt":"${JKT}"}}`)),
];

const duplicates: readonly Attack[] = [
  `"cnf":{"jkt":"${BOB_JKT}"},"cnf":{"jkt":"${JKT}"}`,
  `"cnf":{"jkt":"${JKT}","jkt":"${BOB_JKT}"}`,
].flatMap((members, index) =>
  withToken(REJECTED, `a token with two confirmations: ${index + 1}`, () => claimsJson(members)),
);

const elsewhere: readonly Attack[] = Object.entries<readonly [claims: object, pollution?: object]>({
  "the jkt outside of cnf": [{ jkt: JKT }],
  "the cnf inside act": [{ act: { sub: "agent", cnf: { jkt: JKT } } }],
  "the claim CNF": [{ CNF: { jkt: JKT } }],
  "the cnf of a polluted prototype": [{}, { cnf: { jkt: JKT } }],
}).map(([name, [claims, pollution]]) =>
  attack(
    "binding",
    `a token with ${name}`,
    () => {
      const token = tokenWith({ ...claims });
      return sent(token, proofOf({ token }));
    },
    pollution && { pollution: { ...pollution } },
  ),
);

export const CONFIRMATION_ATTACKS: readonly Attack[] = [
  ...unusable,
  ...otherPrints,
  ...polluted,
  ...duplicates,
  ...elsewhere,
];
