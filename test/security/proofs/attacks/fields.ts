/** Where and how a client sends its token and its proof: RFC 9449 sections 4.3 (1, 2), 7.1 and 7.2. Sent to each host. */
import {
  ALICE_TOKEN,
  type Attack,
  attack,
  proofOf,
  type Sent,
  sent,
  type ServerName,
  tokenWith,
} from "../forge.ts";

/** A token that is bound to no key. */
const UNBOUND = tokenWith();

type Field = Sent["fields"][number];

const field = (name: string, value: string): Field => [name, value];
const dpop = (token: string): Field => ["Authorization", `DPoP ${token}`];
const bearer = (token: string): Field => ["Authorization", `Bearer ${token}`];
const cookie = (token: string): Field => ["Cookie", `token=${token}`];
const other = (token: string): Field => ["Cf-Access-Jwt-Assertion", token];
const proof = (token = ALICE_TOKEN): Field => ["DPoP", proofOf({ token })];

const row = (expected: string, name: string, fields: () => Sent["fields"], server?: ServerName): Attack =>
  attack(expected, name, () => ({ fields: fields() }), { server });

const downgraded: readonly Attack[] = [
  row("proof_missing", "7.1: the scheme DPoP without a proof", () => [dpop(ALICE_TOKEN)]),
  row("proof_missing", "7.2: a bound token as Bearer", () => [bearer(ALICE_TOKEN)]),
  row("proof_missing", "7.2: a bound token as Bearer with a proof", () => [bearer(ALICE_TOKEN), proof()]),
  row("proof_missing", "7.2: a bound token in a cookie", () => [cookie(ALICE_TOKEN), proof()], "cookie"),
  row("proof_missing", "7.2: a bound token in another field", () => [other(ALICE_TOKEN), proof()], "cookie"),
  row(
    "proof_missing",
    "7.2: a bound token with another scheme",
    () => [field("X-Token", `Token ${ALICE_TOKEN}`), proof()],
    "cookie",
  ),
  row("scheme", "7.2: an unbound token as Bearer with a proof", () => [bearer(UNBOUND), proof(UNBOUND)]),
  row("scheme", "7.2: an unbound token with a field that is no proof", () => [
    bearer(UNBOUND),
    field("DPoP", "x"),
  ]),
  row("scheme", "7.2: an unbound token in a cookie", () => [cookie(UNBOUND), proof(UNBOUND)], "cookie"),
  row("binding", "7.1: an unbound token as DPoP", () => [dpop(UNBOUND), proof(UNBOUND)]),
  row("proof_missing", "7.1: an unbound token as DPoP without a proof", () => [dpop(UNBOUND)]),
  row("proof_missing", "an unbound token where a key is required", () => [bearer(UNBOUND)], "required"),
  row("binding", "a proof that binds nothing", () => [dpop(UNBOUND), proof(UNBOUND)], "required"),
  attack("proof_missing", "an unbound token where the rule requires a key", () => ({
    target: "/payments",
    fields: [bearer(UNBOUND)],
  })),
];

const MALFORMED = "credential_malformed";
const MISSING = "credential_missing";

/** Values of `Authorization`, next to a valid proof. */
const schemes: readonly Attack[] = (
  [
    [MALFORMED, "the scheme alone", "DPoP"],
    [MALFORMED, "two tokens", `DPoP ${ALICE_TOKEN} ${ALICE_TOKEN}`],
    [MALFORMED, "the scheme twice", `DPoP DPoP ${ALICE_TOKEN}`],
    [MALFORMED, "DPoP with a comma and Bearer", `DPoP ${ALICE_TOKEN}, Bearer ${ALICE_TOKEN}`],
    [MALFORMED, "DPoP with a comma and nothing", `DPoP ${ALICE_TOKEN},`],
    [MALFORMED, "Bearer with a comma and DPoP", `Bearer ${UNBOUND}, DPoP ${ALICE_TOKEN}`],
    [MALFORMED, "the schemes DPoP,Bearer", `DPoP,Bearer ${ALICE_TOKEN}`],
    [MALFORMED, "Bearer and DPoP", `Bearer DPoP ${ALICE_TOKEN}`],
    [MALFORMED, "a tab after the scheme", `DPoP\t${ALICE_TOKEN}`],
    [MALFORMED, "a token in quotation marks", `DPoP "${ALICE_TOKEN}"`],
    [MALFORMED, "a token without a scheme", ALICE_TOKEN],
    [MISSING, "the token as Basic", `Basic ${ALICE_TOKEN}`],
    [MISSING, "a scheme with a hyphen", `DPoP-JWT ${ALICE_TOKEN}`],
    [MISSING, "a scheme with one letter more", `DPoPs ${ALICE_TOKEN}`],
    [MISSING, "a scheme with one letter less", `DPo ${ALICE_TOKEN}`],
  ] as const
).map(([expected, name, value]) =>
  row(expected, `7.1: ${name}`, () => [field("Authorization", value), proof()]),
);

const places: readonly Attack[] = [
  row(MALFORMED, "7.1: Authorization twice, DPoP last", () => [bearer(UNBOUND), dpop(ALICE_TOKEN), proof()]),
  row(MALFORMED, "7.1: Authorization twice, DPoP first", () => [dpop(ALICE_TOKEN), bearer(UNBOUND), proof()]),
  row(MALFORMED, "7.1: Authorization twice, in different letter case", () => [
    dpop(ALICE_TOKEN),
    field("AUTHORIZATION", `DPoP ${ALICE_TOKEN}`),
    proof(),
  ]),
  row(
    MALFORMED,
    "7.1: a token in a field and in a cookie",
    () => [dpop(ALICE_TOKEN), cookie(ALICE_TOKEN), proof()],
    "cookie",
  ),
  row(MISSING, "7.1: nothing", () => []),
  row(MISSING, "7.1: a proof without a token", () => [proof()]),
  row(MISSING, "7.1: the token in another field", () => [
    field("Proxy-Authorization", `DPoP ${ALICE_TOKEN}`),
    proof(),
  ]),
  attack(MISSING, "7.1: the token in the query", () => ({
    target: `/agents/7?access_token=${ALICE_TOKEN}`,
    fields: [proof()],
  })),
  attack("proof_missing", "4.3 (1): the proof in the query", () =>
    sent(ALICE_TOKEN, undefined, { target: `/agents/7?DPoP=${proofOf()}` }),
  ),
  row("proof_missing", "4.3 (1): the proof in a cookie", () => [
    dpop(ALICE_TOKEN),
    field("Cookie", `DPoP=${proofOf()}; dpop=${proofOf()}`),
  ]),
  ...["DPoP-Proof", "X-DPoP", "D-PoP", "DPoP_", "DPoP-Nonce"].map((name) =>
    row("proof_missing", `4.3 (1): the proof in the field ${name}`, () => [
      dpop(ALICE_TOKEN),
      field(name, proofOf()),
    ]),
  ),
];

/** Values of the fields `DPoP`, of a request that is honest otherwise. */
const proofs: readonly Attack[] = Object.entries<() => readonly string[]>({
  "4.3 (1): two fields with two proofs": () => [proofOf(), proofOf()],
  "4.3 (1): a valid field after an empty one": () => ["", proofOf()],
  "4.3 (1): two proofs with a comma": () => [`${proofOf()},${proofOf()}`],
  "4.3 (1): two proofs with a comma and a space": () => [`${proofOf()}, ${proofOf()}`],
  "4.3 (1): two proofs with a space": () => [`${proofOf()} ${proofOf()}`],
  "4.3 (2): a comma after the proof": () => [`${proofOf()},`],
  "4.3 (2): an empty field": () => [""],
  "4.3 (2): a scheme before the proof": () => [`DPoP ${proofOf()}`],
  "4.3 (2): a proof in quotation marks": () => [`"${proofOf()}"`],
  "4.3 (2): a parameter after the proof": () => [`${proofOf()};v=1`],
  "4.3 (2): a proof with a tab inside": () => [proofOf().replace(".", ".\t")],
  "4.3 (2): a proof with a raw byte FF": () => [`${proofOf()}\u00ff`],
  "4.3 (2): 12 KB": () => [proofOf({ claims: { pad: "x".repeat(9_000) } })],
}).map(([name, values]) =>
  attack("malformed", name, () => {
    const fields = values().map((value) => field("DPoP", value));
    return sent(ALICE_TOKEN, undefined, { fields });
  }),
);

const sameProofs: readonly Attack[] = ["DPoP", "DPOP"].map((name) =>
  attack("malformed", `4.3 (1): the fields DPoP and ${name} with the same proof`, () => {
    const value = proofOf();
    return sent(ALICE_TOKEN, value, { fields: [[name, value]] });
  }),
);

export const FIELD_ATTACKS: readonly Attack[] = [
  ...downgraded,
  ...schemes,
  ...places,
  ...proofs,
  ...sameProofs,
];
