/** Entries of `issuers` with one mistake each. */
import { createIssuer } from "../../support/issuer.ts";
import { issuer } from "../../support/resource-servers.ts";

const ES256 = createIssuer({ algorithm: "ES256" });

/** Two valid entries. */
export const A = {
  issuer: "https://a.example",
  verificationKeys: [issuer.publicPem],
  algorithms: ["RS256"],
};
export const B = {
  issuer: "https://b.example",
  keys: { jwks: { keys: [ES256.publicJwk] } },
  algorithms: ["ES256"],
};

const PLAIN = "plain object: { issuer, keys, algorithms }";
const inherits = (...members: readonly object[]): unknown =>
  Object.assign(Object.create({ requiredClaims: ["exp"] }) as object, ...members);
const withKeys = (...verificationKeys: readonly unknown[]): object => ({
  ...A,
  issuer: B.issuer,
  algorithms: B.algorithms,
  verificationKeys,
});
const discovering = (name: string): object => ({ ...B, issuer: name, keys: { discovery: true } });

/** A description, the second entry with one mistake, its code and its path in the entry, and a part of the hint. */
export const MISTAKES: readonly (readonly [string, unknown, string, string])[] = [
  ["null", null, "option_invalid", PLAIN],
  ["undefined", undefined, "option_invalid", PLAIN],
  ["a URL", "https://b.example", "option_invalid", PLAIN],
  ["an object that inherits a property", inherits(B), "option_invalid", PLAIN],
  ["a Map", new Map(Object.entries(B)), "option_invalid", PLAIN],
  ["without a value for keys", { ...B, keys: undefined }, "option_invalid keys", "{ jwksUri }"],
  ["without a key source", { ...B, keys: {} }, "option_missing keys", "{ jwksUri }"],
  [
    "with an empty array of algorithms",
    { ...B, algorithms: [] },
    "option_invalid algorithms",
    "at least one",
  ],
  [
    "with two kinds of keys",
    { ...B, algorithms: ["HS256", "ES256"] },
    "algorithms_mixed algorithms",
    "one kind",
  ],
  [
    "with algorithm",
    { ...B, algorithm: "ES256" },
    "option_unknown algorithm",
    "Write `algorithms: [algorithm]`",
  ],
  ["the first issuer again", { ...B, issuer: A.issuer }, "option_conflict issuer", "once"],
  ["it again with a trailing slash", { ...B, issuer: `${A.issuer}/` }, "option_conflict issuer", "once"],
  ["it again in upper case", { ...B, issuer: "HTTPS://A.example:443" }, "option_conflict issuer", "once"],
  ["it again with dot segments", { ...B, issuer: `${A.issuer}/x/..` }, "option_conflict issuer", "once"],
  [
    "with a negative clock tolerance",
    { ...B, clockToleranceSeconds: -1 },
    "option_invalid clockToleranceSeconds",
    "0 or more",
  ],
  ["with serviceId", { ...B, serviceId: "x" }, "option_unknown serviceId", "Write `audience`"],
  ["with isRevoked", { ...B, isRevoked: () => true }, "option_unknown isRevoked", "table of options"],
  [
    "with verificationKeys",
    { ...B, verificationKeys: [] },
    "option_conflict verificationKeys",
    "Remove one of the two.",
  ],
  [
    "with verifyAudiance",
    { ...B, verifyAudiance: true },
    "option_unknown verifyAudiance",
    "`verifyAudience`",
  ],
  [
    "with __proto__",
    JSON.parse(`{"__proto__":{},${JSON.stringify(B).slice(1)}`),
    "option_unknown __proto__",
    "Remove it",
  ],
  [
    "with http keys",
    { ...B, keys: { jwksUri: "http://b.example" } },
    "option_invalid keys.jwksUri",
    "https URL",
  ],
  ["with discovery of an http URL", discovering("http://b.example"), "option_invalid issuer", "https URL"],
  ["with discovery of no URL", discovering("b"), "option_invalid issuer", "https URL"],
  [
    "with HS256 and a remote key source",
    { ...B, algorithms: ["HS256"], keys: { jwksUri: "https://b.example" } },
    "key_unusable keys",
    "`verificationKeys`",
  ],
  ["with a key for RS256", withKeys(issuer.publicPem), "key_unusable verificationKeys.0", ""],
  ["with a private key", withKeys(ES256.privateKey), "key_private verificationKeys.0", ""],
  [
    "with a missing file",
    { ...B, keys: { jwksFile: "/no/a" } },
    "key_file_unreadable keys.jwksFile",
    "permissions",
  ],
];
