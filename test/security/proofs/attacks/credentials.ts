/** Where a client sends the token and the proof, and how: RFC 9449 sections 7.1, 7.2 and 11.3. */
import {
  ALICE,
  ALICE_TOKEN,
  type Attack,
  attack,
  boundTo,
  proofOf,
  sent,
  sentBy,
  type Sent,
  shown,
  tokenWith,
} from "../forge.ts";

/** A token that is bound to no key. */
const BEARER_TOKEN = tokenWith();

/** A request with these fields. `proof()` creates a fresh proof for Alice's token. */
const withFields = (
  expected: string,
  name: string,
  fields: () => Sent["fields"],
  more: Partial<Attack> & { readonly sent?: Partial<Sent> } = {},
): Attack => {
  const { sent: request = {}, ...others } = more;
  return attack(expected, name, () => ({ ...request, fields: fields() }), others);
};

const proof = () => ["DPoP", proofOf()] as const;
const bearerProof = () => ["DPoP", proofOf({ token: BEARER_TOKEN })] as const;
const authorized = (value: string) => ["Authorization", value] as const;

const downgraded: readonly Attack[] = [
  withFields("proof_missing", "7.1: the scheme DPoP without a proof", () => [
    authorized(`DPoP ${ALICE_TOKEN}`),
  ]),
  withFields("proof_missing", "7.2: a bound token as Bearer", () => [authorized(`Bearer ${ALICE_TOKEN}`)]),
  withFields("proof_missing", "7.2: a bound token as bearer", () => [authorized(`bearer ${ALICE_TOKEN}`)]),
  withFields("proof_missing", "7.2: a bound token as Bearer with its proof", () => [
    authorized(`Bearer ${ALICE_TOKEN}`),
    proof(),
  ]),
  withFields("proof_missing", "7.2: a bound token in a cookie", () => [["Cookie", `token=${ALICE_TOKEN}`]], {
    server: "cookie",
  }),
  withFields(
    "proof_missing",
    "7.2: a bound token in a cookie with its proof",
    () => [["Cookie", `token=${ALICE_TOKEN}`], proof()],
    { server: "cookie" },
  ),
  withFields(
    "proof_missing",
    "7.2: a bound token in another field",
    () => [["Cf-Access-Jwt-Assertion", ALICE_TOKEN]],
    {
      server: "cookie",
    },
  ),
  withFields(
    "proof_missing",
    "7.2: a bound token in another field with its proof",
    () => [["Cf-Access-Jwt-Assertion", ALICE_TOKEN], proof()],
    { server: "cookie" },
  ),
  withFields(
    "proof_missing",
    "7.2: a bound token in another field with a scheme",
    () => [["X-Token", `Token ${ALICE_TOKEN}`], proof()],
    { server: "cookie" },
  ),
  withFields("scheme", "7.2: an unbound token as Bearer with a proof", () => [
    authorized(`Bearer ${BEARER_TOKEN}`),
    bearerProof(),
  ]),
  withFields(
    "scheme",
    "7.2: an unbound token in a cookie with a proof",
    () => [["Cookie", `token=${BEARER_TOKEN}`], bearerProof()],
    { server: "cookie" },
  ),
  withFields("scheme", "7.2: an unbound token as Bearer with a field that is no proof", () => [
    authorized(`Bearer ${BEARER_TOKEN}`),
    ["DPoP", "x"],
  ]),
  withFields("binding", "7.1: an unbound token as DPoP", () => [
    authorized(`DPoP ${BEARER_TOKEN}`),
    bearerProof(),
  ]),
  withFields("proof_missing", "7.1: an unbound token as DPoP without a proof", () => [
    authorized(`DPoP ${BEARER_TOKEN}`),
  ]),
  withFields(
    "proof_missing",
    "an unbound token where a key is required",
    () => [authorized(`Bearer ${BEARER_TOKEN}`)],
    { server: "required" },
  ),
  withFields(
    "proof_missing",
    "an unbound token where the rule requires a key",
    () => [authorized(`Bearer ${BEARER_TOKEN}`)],
    { sent: { target: "/payments" } },
  ),
  withFields(
    "binding",
    "an unbound token with a proof where a key is required",
    () => [authorized(`DPoP ${BEARER_TOKEN}`), bearerProof()],
    { server: "required" },
  ),
  withFields(
    "proof_missing",
    "an unbound token as Bearer with a proof where a key is required",
    () => [authorized(`Bearer ${BEARER_TOKEN}`), bearerProof()],
    { server: "required" },
  ),
];

const MALFORMED = "credential_malformed";
const MISSING = "credential_missing";

const schemes: readonly Attack[] = [
  withFields(MALFORMED, "7.1: the scheme alone", () => [authorized("DPoP"), proof()]),
  withFields(MALFORMED, "7.1: two tokens", () => [authorized(`DPoP ${ALICE_TOKEN} ${ALICE_TOKEN}`), proof()]),
  withFields(MALFORMED, "7.1: the scheme twice", () => [authorized(`DPoP DPoP ${ALICE_TOKEN}`), proof()]),
  withFields(MALFORMED, "7.1: DPoP with a comma and Bearer", () => [
    authorized(`DPoP ${ALICE_TOKEN}, Bearer ${ALICE_TOKEN}`),
    proof(),
  ]),
  withFields(MALFORMED, "7.1: DPoP with a comma and nothing", () => [
    authorized(`DPoP ${ALICE_TOKEN},`),
    proof(),
  ]),
  withFields(MALFORMED, "7.1: Bearer with a comma and DPoP", () => [
    authorized(`Bearer ${BEARER_TOKEN}, DPoP ${ALICE_TOKEN}`),
    proof(),
  ]),
  withFields(MALFORMED, "7.1: the schemes DPoP,Bearer", () => [
    authorized(`DPoP,Bearer ${ALICE_TOKEN}`),
    proof(),
  ]),
  withFields(MALFORMED, "7.1: Bearer and DPoP", () => [authorized(`Bearer DPoP ${ALICE_TOKEN}`), proof()]),
  withFields(MALFORMED, "7.1: DPoP and Bearer", () => [authorized(`DPoP Bearer ${ALICE_TOKEN}`), proof()]),
  withFields(MALFORMED, "7.1: a tab after the scheme", () => [authorized(`DPoP\t${ALICE_TOKEN}`), proof()]),
  withFields(MALFORMED, "7.1: a token in quotation marks", () => [
    authorized(`DPoP "${ALICE_TOKEN}"`),
    proof(),
  ]),
  withFields(MALFORMED, "7.1: the token as a parameter", () => [
    authorized(`DPoP token="${ALICE_TOKEN}"`),
    proof(),
  ]),
  withFields(MALFORMED, "7.1: a token without a scheme", () => [authorized(ALICE_TOKEN), proof()]),
  withFields(MALFORMED, "7.1: two Authorization fields of both schemes", () => [
    authorized(`Bearer ${BEARER_TOKEN}`),
    authorized(`DPoP ${ALICE_TOKEN}`),
    proof(),
  ]),
  withFields(MALFORMED, "7.1: two Authorization fields of both schemes, DPoP first", () => [
    authorized(`DPoP ${ALICE_TOKEN}`),
    authorized(`Bearer ${BEARER_TOKEN}`),
    proof(),
  ]),
  withFields(MALFORMED, "7.1: two Authorization fields of DPoP", () => [
    authorized(`DPoP ${ALICE_TOKEN}`),
    ["AUTHORIZATION", `DPoP ${ALICE_TOKEN}`],
    proof(),
  ]),
  withFields(
    MALFORMED,
    "7.1: a token in a field and in a cookie",
    () => [authorized(`DPoP ${ALICE_TOKEN}`), ["Cookie", `token=${ALICE_TOKEN}`], proof()],
    { server: "cookie" },
  ),
  withFields(
    MALFORMED,
    "7.1: a token in two fields",
    () => [authorized(`DPoP ${ALICE_TOKEN}`), ["Cf-Access-Jwt-Assertion", BEARER_TOKEN], proof()],
    { server: "cookie" },
  ),
  withFields(MISSING, "7.1: a proof without a token", () => [proof()]),
  withFields(MISSING, "7.1: nothing", () => []),
  withFields(MISSING, "7.1: the token as Basic", () => [authorized(`Basic ${ALICE_TOKEN}`), proof()]),
  withFields(MISSING, "7.1: a scheme with a hyphen", () => [authorized(`DPoP-JWT ${ALICE_TOKEN}`), proof()]),
  withFields(MISSING, "7.1: a scheme with one letter more", () => [
    authorized(`DPoPs ${ALICE_TOKEN}`),
    proof(),
  ]),
  withFields(MISSING, "7.1: a scheme with one letter less", () => [
    authorized(`DPo ${ALICE_TOKEN}`),
    proof(),
  ]),
  withFields(
    MISSING,
    "7.1: another scheme before a comma",
    () => [authorized(`Basic dXNlcjpwYXNz, DPoP ${ALICE_TOKEN}`), proof()],
    {
      // Hosts of the Fetch standard join two fields with a comma, so this counts as two fields, which are malformed.
      isDirect: true,
    },
  ),
  withFields(MISSING, "7.1: the token in Proxy-Authorization", () => [
    ["Proxy-Authorization", `DPoP ${ALICE_TOKEN}`],
    proof(),
  ]),
  withFields(MISSING, "7.1: the token in X-Authorization", () => [
    ["X-Authorization", `DPoP ${ALICE_TOKEN}`],
    proof(),
  ]),
  ...["access_token", "token", "authorization"].map((name) =>
    withFields(MISSING, `7.1: the token in the query as ${name}`, () => [proof()], {
      sent: { target: `/agents/7?${name}=${ALICE_TOKEN}` },
    }),
  ),
  withFields("proof_missing", "4.3 (1): the proof in the query", () => [authorized(`DPoP ${ALICE_TOKEN}`)], {
    sent: { target: `/agents/7?DPoP=${proofOf()}` },
  }),
  withFields("proof_missing", "4.3 (1): the proof in a cookie", () => [
    authorized(`DPoP ${ALICE_TOKEN}`),
    ["Cookie", `DPoP=${proofOf()}; dpop=${proofOf()}`],
  ]),
  ...["DPoP-Proof", "X-DPoP", "D-PoP", "DPoP_", "Proof", "DPoP-Nonce"].map((name) =>
    withFields("proof_missing", `4.3 (1): the proof in the field ${name}`, () => [
      authorized(`DPoP ${ALICE_TOKEN}`),
      [name, proofOf()],
    ]),
  ),
];

const jkt = (boundTo(ALICE.jwk), ALICE.jwk);

const tokens: readonly Attack[] = [
  attack("token_rejected", "7.1: an expired token with a valid proof", () =>
    sentBy({ token: boundTo(jkt, { exp: 1 }) }),
  ),
  attack("token_rejected", "7.1: a token of another service with a valid proof", () =>
    sentBy({ token: boundTo(jkt, { aud: "another" }) }),
  ),
  attack("token_rejected", "7.1: a token whose signature is altered, with a valid proof", () => {
    const token = `${ALICE_TOKEN.slice(0, -6)}AAAAAA`;
    return sent(token, proofOf({ token }));
  }),
  attack("token_rejected", "7.1: a token without a signature, with a valid proof", () => {
    const token = `${ALICE_TOKEN.split(".").slice(0, 2).join(".")}.`;
    return sent(token, proofOf({ token }));
  }),
  attack("token_rejected", "7.1: a token that the caller signed with the key of the proof", () => {
    const token = proofOf({
      header: { typ: "JWT" },
      claims: { scopes: ["agents:read"], aud: "agents-prod", sub: "user-1" },
    });
    return sent(token, proofOf({ token }));
  }),
  ...["x", "a.b.c", "a b", "%"].map((token) =>
    attack(
      token === "a b" || token === "%" ? MALFORMED : "token_rejected",
      `7.1: the token ${shown(token)} with a valid proof`,
      () => sent(token, proofOf({ token })),
    ),
  ),
];

export const CREDENTIAL_ATTACKS: readonly Attack[] = [...downgraded, ...schemes, ...tokens];
