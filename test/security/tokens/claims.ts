/**
 * Tokens with claims of the wrong type, at the limits of their validity, for another service, or on a
 * prototype.
 */
import { claims, claimsJson, forge, NOW, row, type TokenCase } from "./forge.ts";

const of = (
  expected: string,
  more: Readonly<Record<string, unknown>>,
  options: TokenCase["options"] = {},
): TokenCase => ({ name: nameOf(more) + withOptions(options), token: claims(more), options, expected });

function nameOf(more: Readonly<Record<string, unknown>>): string {
  const json = JSON.stringify(more, (_, value: unknown) => (value === undefined ? "(absent)" : value));
  return json === "{}" ? "the default claims" : json.slice(0, 60);
}

const withOptions = (options: object): string =>
  Object.keys(options).length > 0 ? `, with the options ${JSON.stringify(options)}` : "";

const dates: readonly TokenCase[] = [
  of("accepted", {}),
  of("accepted", { exp: NOW + 1 }),
  of("expired", { exp: NOW }),
  of("expired", { exp: NOW - 1 }),
  of("accepted", { exp: NOW + 0.5 }),
  of("accepted", { exp: NOW - 9 }, { clockToleranceSeconds: 10 }),
  of("expired", { exp: NOW - 10 }, { clockToleranceSeconds: 10 }),
  of("expired", { exp: 0 }),
  of("expired", { exp: -1 }),
  of("expired", { exp: -NOW }),
  of("accepted", { exp: Number.MAX_SAFE_INTEGER }),
  of("claims", { exp: undefined }, { requiredClaims: ["exp"] }),
  of("accepted", { exp: NOW + 1 }, { requiredClaims: ["exp"] }),
  of("accepted", { nbf: NOW }),
  of("not_yet_valid", { nbf: NOW + 1 }),
  of("accepted", { nbf: NOW + 10 }, { clockToleranceSeconds: 10 }),
  of("not_yet_valid", { nbf: NOW + 11 }, { clockToleranceSeconds: 10 }),
  of("accepted", { iat: NOW - 60 }, { maxTokenAgeSeconds: 60 }),
  of("expired", { iat: NOW - 61 }, { maxTokenAgeSeconds: 60 }),
  of("not_yet_valid", { iat: NOW + 1 }, { maxTokenAgeSeconds: 60 }),
  of("claims", {}, { maxTokenAgeSeconds: 60 }),
  of("accepted", { iat: NOW + 5 }),
  of("not_yet_valid", { iat: NOW + 6 }),
  of("accepted", { iat: NOW + 60 }, { clockToleranceSeconds: 60 }),
  of("not_yet_valid", { iat: NOW + 61 }, { clockToleranceSeconds: 60 }),
  ...["exp", "nbf", "iat"].flatMap((date) => [
    ...[String(NOW + 9), "", null, true, [NOW + 9], {}, { valueOf: NOW + 9 }].map((value) =>
      of("claims", { [date]: value }),
    ),
    ...["1e400", "-1e400"].map((number) =>
      row(
        date === "exp" && number === "-1e400"
          ? "expired"
          : date === "nbf" && number === "1e400"
            ? "not_yet_valid"
            : "claims",
        `${date} ${number}`,
        claimsJson(`"${date}":${number}`),
      ),
    ),
  ]),
];

const ISSUER = { issuer: "https://issuer.example" };

const parties: readonly TokenCase[] = [
  of("accepted", { iss: "https://issuer.example" }, ISSUER),
  of("issuer", { iss: "https://issuer.example/" }, ISSUER),
  of("issuer", { iss: "https://issuer.example.evil.example" }, ISSUER),
  ...["https://issuer", "issuer.example", "h", ""].map((iss) => of("issuer", { iss }, ISSUER)),
  of("issuer", { iss: "https://ISSUER.example" }, ISSUER),
  of("issuer", { iss: "http://issuer.example" }, ISSUER),
  of("issuer", { iss: ["https://issuer.example"] }, ISSUER),
  of("issuer", {}, ISSUER),
  of("accepted", { iss: "https://other.example" }),
  of("accepted", { aud: ["agents-prod"] }),
  of("accepted", { aud: ["other", "agents-prod"] }),
  of("accepted", { aud: "b" }, { audience: ["a", "b"] }),
  of("accepted", { aud: undefined }, { verifyAudience: false }),
  of("accepted", { aud: "other" }, { verifyAudience: false }),
  of("audience", { aud: "agents-prod" }, { audience: ["a", "b"] }),
  of("accepted", { aud: "a" }, { audience: "a" }),
  of("audience", { aud: "agents-prod-2" }),
  of("audience", { aud: "agents" }),
  of("audience", { aud: "agents-prod " }),
  of("audience", { aud: ["other"] }),
  of("audience", { aud: "AGENTS-PROD" }),
  of("audience", { aud: "other agents-prod" }),
  of("audience", { aud: undefined }),
  of("audience", { aud: null }),
  of("audience", { aud: [] }),
  of("audience", { aud: {} }),
  of("audience", { aud: [["agents-prod"]] }),
  of("audience", { aud: { 0: "agents-prod", length: 1 } }),
  of("claims", { aud: ["agents-prod", 5] }),
  of("claims", { aud: 5 }, { verifyAudience: false }),
];

const types: readonly TokenCase[] = [
  of("accepted", { scopes: [] }),
  of("accepted", { scopes: "agents:read agents:write" }),
  of("accepted", { scopes: ["Ärger:lesen", "🦊", "a b"] }),
  of("accepted", { sub: "ユーザー", name: "Zoë 🦊", "emoji 🦊": "\u2028\u0000" }),
  of("accepted", { sub: "" }),
  of("accepted", { scope: "agents:read", scopes: undefined }, { scopesClaim: "scope" }),
  of(
    "accepted",
    { realm_access: { roles: ["agents:read"] }, scopes: undefined },
    { scopesClaim: ["realm_access", "roles"] },
  ),
  of("accepted", { tenant: null }, { requiredClaims: ["tenant"] }),
  of("claims", {}, { requiredClaims: ["tenant"] }),
  of("claims", { nested: { tenant: "t" } }, { requiredClaims: ["tenant"] }),
  of("claims", {}, { requiredClaims: ["toString"] }),
  ...[undefined, null, 5, true, {}, [5], ["a", null], [["a"]], { 0: "platform:admin", length: 1 }].map(
    (scopes) => of("claims", { scopes }),
  ),
  ...["sub", "session_id", "iss", "jti"].flatMap((name) =>
    [5.5, null, {}, ["root"]].map((value) => of("claims", { [name]: value })),
  ),
  // An id that is an integer becomes its decimal string. Another number would have several spellings.
  ...["sub", "session_id"].flatMap((name) => [
    of("accepted", { [name]: 5 }),
    of("claims", { [name]: 2 ** 53 }),
  ]),
  ...["iss", "jti"].map((name) => of("claims", { [name]: 5 })),
  row(
    "claims",
    "a claim __proto__ with scopes",
    forge({ payload: '{"__proto__":{"scopes":["platform:admin"]},"aud":"agents-prod"}' }),
  ),
  row("accepted", "a claim __proto__ and valid claims", claimsJson('"__proto__":{"sub":"root"}')),
  row(
    "accepted",
    "a claim constructor",
    claimsJson('"constructor":{"prototype":{"scopes":["platform:admin"]}}'),
  ),
];

const polluted = (
  expected: string,
  pollution: Readonly<Record<string, unknown>>,
  token: string,
  options: TokenCase["options"] = {},
): TokenCase => ({
  name: `a polluted prototype ${JSON.stringify(pollution)}${withOptions(options)}`,
  token,
  options,
  pollution,
  expected,
});

const pollutions: readonly TokenCase[] = [
  polluted("claims", { scopes: ["platform:admin"] }, claims({ scopes: undefined })),
  polluted("audience", { aud: "agents-prod" }, claims({ aud: undefined })),
  polluted("issuer", { iss: "https://issuer.example" }, claims({}), ISSUER),
  polluted("claims", { exp: NOW + 9 }, claims({}), { requiredClaims: ["exp"] }),
  polluted("claims", { iat: NOW }, claims({}), { maxTokenAgeSeconds: 60 }),
  polluted("malformed", { alg: "RS256" }, forge({ header: { typ: "JWT" } })),
  polluted("expired", { clockTolerance: 1e9, exp: NOW + 9 }, claims({ exp: NOW - 1 })),
  polluted("accepted", { kid: "other", typ: "id+jwt" }, claims({})),
  // jose reads these from the prototype, which can only cause a rejection.
  polluted("key", { crit: ["x"], b64: false }, claims({})),
  polluted("accepted", { sub: "root", admin: true, userId: "root" }, claims({})),
];

export const CLAIM_CASES: readonly TokenCase[] = [...dates, ...parties, ...types, ...pollutions];
