/** Entries of `issuers` with one mistake each. */
import { createIssuer } from "../../support/issuer.ts";
import { issuer } from "../../support/resource-servers.ts";

const ES256 = createIssuer({ algorithm: "ES256" });

/** Two valid entries. */
export const A = {
  issuer: "https://a.example",
  keys: { verificationKeys: [issuer.publicPem] },
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
const withKeys = (...verificationKeys: readonly unknown[]): object => ({ ...B, keys: { verificationKeys } });
const discovering = (name: string): object => ({ ...B, issuer: name, keys: { discovery: true } });

/** A description, the second entry with one mistake, its code and its path in the entry, and a part of the hint. */
export const MISTAKES: readonly (readonly [string, unknown, string, string])[] = [
  ["null", null, "option_invalid", PLAIN],
  ["undefined", undefined, "option_invalid", PLAIN],
  ["a URL", "https://b.example", "option_invalid", PLAIN],
  ["an array", [B], "option_invalid", PLAIN],
  ["an object that inherits a property", inherits(B), "option_invalid", PLAIN],
  ["an instance of a class", Object.assign(new Date(), B), "option_invalid", PLAIN],
  ["a Map", new Map(Object.entries(B)), "option_invalid", PLAIN],
  ["without a value for keys", { ...B, keys: undefined }, "option_invalid keys", "{ jwksUri }"],
  ["without a key source", { ...B, keys: {} }, "option_missing keys", "{ jwksUri }"],
  [
    "with an empty array of algorithms",
    { ...B, algorithms: [] },
    "option_invalid algorithms",
    "at least one",
  ],
  ["with the algorithm none", { ...B, algorithms: ["none"] }, "option_invalid algorithms.0", "RS256"],
  ["with a misspelled algorithm", { ...B, algorithms: ["ES265"] }, "option_invalid algorithms.0", "`ES256`"],
  ["with a string as algorithms", { ...B, algorithms: "ES256" }, "option_invalid algorithms", "array of at"],
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
  ["with an empty issuer", { ...B, issuer: "" }, "option_invalid issuer", "exactly"],
  ["with an array as issuer", { ...B, issuer: [B.issuer] }, "option_invalid issuer", "exactly"],
  ["the first issuer again", { ...B, issuer: A.issuer }, "option_conflict issuer", "once"],
  ["it again with a trailing slash", { ...B, issuer: `${A.issuer}/` }, "option_conflict issuer", "once"],
  ["it again in upper case", { ...B, issuer: "HTTPS://A.example:443" }, "option_conflict issuer", "once"],
  ["it again with dot segments", { ...B, issuer: `${A.issuer}/x/..` }, "option_conflict issuer", "once"],
  ["with an empty audience", { ...B, audience: [] }, "option_invalid audience", "array of at least one"],
  ["with verifyAudience as text", { ...B, verifyAudience: "no" }, "option_invalid verifyAudience", "true or"],
  ["without accepted types", { ...B, tokenTypes: [] }, "option_invalid tokenTypes", "at least one"],
  ...[-1, Infinity].map((clockToleranceSeconds): (typeof MISTAKES)[number] => [
    `with a clock tolerance of ${clockToleranceSeconds}`,
    { ...B, clockToleranceSeconds },
    "option_invalid clockToleranceSeconds",
    "0 or more",
  ]),
  ["with serviceId", { ...B, serviceId: "x" }, "option_unknown serviceId", "Write `audience`"],
  ["with isRevoked", { ...B, isRevoked: () => true }, "option_unknown isRevoked", "table of options"],
  [
    "with verificationKeys",
    { ...B, verificationKeys: [] },
    "option_unknown verificationKeys",
    "`keys: { verif",
  ],
  ["with requiredClaim", { ...B, requiredClaim: [] }, "option_unknown requiredClaim", "`requiredClaims`"],
  [
    "with verifyAudiance",
    { ...B, verifyAudiance: true },
    "option_unknown verifyAudiance",
    "`verifyAudience`",
  ],
  ["with keys.jwksUrl", { ...B, keys: { jwksUrl: "x" } }, "option_unknown keys.jwksUrl", "`jwksUri`"],
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
  [
    "with http metadata",
    { ...B, keys: { discovery: "http://b.x" } },
    "option_invalid keys.discovery",
    "https",
  ],
  ["with discovery of an http URL", discovering("http://b.example"), "option_invalid issuer", "https URL"],
  ["with discovery of no URL", discovering("b"), "option_invalid issuer", "https URL"],
  [
    "with two key sources",
    { ...B, keys: { ...B.keys, jwksFile: "a" } },
    "option_conflict keys.jwksFile",
    "one",
  ],
  [
    "with HS256 and a remote key source",
    { ...B, algorithms: ["HS256"], keys: { jwksUri: "https://b.example" } },
    "key_unusable keys",
    "`verificationKeys`",
  ],
  ["without a key for ES384", { ...B, algorithms: ["ES384"] }, "key_unusable keys.jwks.keys", "JWK Set"],
  ["with a key for RS256", { ...B, keys: A.keys }, "key_unusable keys.verificationKeys.0", ""],
  ["with a private key", withKeys(ES256.privateKey), "key_private keys.verificationKeys.0", ""],
  [
    "with a short secret",
    { ...withKeys("short"), algorithms: ["HS256"] },
    "key_weak keys.verificationKeys.0",
    "32",
  ],
  [
    "with a missing file",
    { ...B, keys: { jwksFile: "/no/a" } },
    "key_file_unreadable keys.jwksFile",
    "permissions",
  ],
];
