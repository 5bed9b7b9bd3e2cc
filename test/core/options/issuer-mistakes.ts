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

/** A description, the second entry with one mistake, its code, its path in the entry, and a part of the hint. */
export const MISTAKES: readonly (readonly [string, unknown, string, readonly (string | number)[], string])[] =
  [
    ["null", null, "option_invalid", [], PLAIN],
    ["undefined", undefined, "option_invalid", [], PLAIN],
    ["a URL", "https://b.example", "option_invalid", [], PLAIN],
    ["an array", [B], "option_invalid", [], PLAIN],
    ["an object that inherits a property", inherits(B), "option_invalid", [], PLAIN],
    ["an instance of a class", Object.assign(new Date(), B), "option_invalid", [], PLAIN],
    ["a Map", new Map(Object.entries(B)), "option_invalid", [], PLAIN],
    ["without a value for keys", { ...B, keys: undefined }, "option_invalid", ["keys"], "{ jwksUri }"],
    [
      "with an empty array of algorithms",
      { ...B, algorithms: [] },
      "option_invalid",
      ["algorithms"],
      "at least one",
    ],
    ["with the algorithm none", { ...B, algorithms: ["none"] }, "option_invalid", ["algorithms", 0], "RS256"],
    [
      "with a misspelled algorithm",
      { ...B, algorithms: ["ES265"] },
      "option_invalid",
      ["algorithms", 0],
      "`ES256`",
    ],
    [
      "with a string instead of an array of algorithms",
      { ...B, algorithms: "ES256" },
      "option_invalid",
      ["algorithms"],
      "array of at least one algorithm",
    ],
    ["with an empty issuer", { ...B, issuer: "" }, "option_invalid", ["issuer"], "exactly"],
    ["with an array as issuer", { ...B, issuer: [B.issuer] }, "option_invalid", ["issuer"], "exactly"],
    [
      "the first issuer with a trailing slash",
      { ...B, issuer: `${A.issuer}/` },
      "option_conflict",
      ["issuer"],
      "once",
    ],
    [
      "the first issuer with its host in upper case",
      { ...B, issuer: "https://A.example" },
      "option_conflict",
      ["issuer"],
      "once",
    ],
    [
      "the first issuer with dot segments",
      { ...B, issuer: `${A.issuer}/x/..` },
      "option_conflict",
      ["issuer"],
      "once",
    ],
    [
      "with an empty audience",
      { ...B, audience: [] },
      "option_invalid",
      ["audience"],
      "array of at least one",
    ],
    [
      "with a string as verifyAudience",
      { ...B, verifyAudience: "false" },
      "option_invalid",
      ["verifyAudience"],
      "true or false",
    ],
    ["without accepted types", { ...B, tokenTypes: [] }, "option_invalid", ["tokenTypes"], "at least one"],
    [
      "with a negative clock tolerance",
      { ...B, clockToleranceSeconds: -1 },
      "option_invalid",
      ["clockToleranceSeconds"],
      "0 or more",
    ],
    [
      "with an infinite clock tolerance",
      { ...B, clockToleranceSeconds: Infinity },
      "option_invalid",
      ["clockToleranceSeconds"],
      "0 or more",
    ],
    ["with serviceId", { ...B, serviceId: "x" }, "option_unknown", ["serviceId"], "Write `audience`"],
    ["with isRevoked", { ...B, isRevoked: () => true }, "option_unknown", ["isRevoked"], "table of options"],
    [
      "with verificationKeys",
      { ...B, verificationKeys: [] },
      "option_unknown",
      ["verificationKeys"],
      "`keys: { verificationKeys }`",
    ],
    [
      "with requiredClaim",
      { ...B, requiredClaim: ["exp"] },
      "option_unknown",
      ["requiredClaim"],
      "`requiredClaims`",
    ],
    [
      "with verifyAudiance",
      { ...B, verifyAudiance: true },
      "option_unknown",
      ["verifyAudiance"],
      "`verifyAudience`",
    ],
    [
      "with an unknown property of keys",
      { ...B, keys: { jwksUrl: "https://b.example" } },
      "option_unknown",
      ["keys", "jwksUrl"],
      "`jwksUri`",
    ],
    [
      "with __proto__",
      JSON.parse(`{"__proto__":{},${JSON.stringify(B).slice(1)}`),
      "option_unknown",
      ["__proto__"],
      "Remove it",
    ],
    [
      "with keys at an http URL",
      { ...B, keys: { jwksUri: "http://b.example/jwks" } },
      "option_invalid",
      ["keys", "jwksUri"],
      "https URL",
    ],
    [
      "with metadata at an http URL",
      { ...B, keys: { discovery: "http://b.example" } },
      "option_invalid",
      ["keys", "discovery"],
      "https URL",
    ],
    [
      "with discovery and an http URL as issuer",
      { ...B, issuer: "http://b.example", keys: { discovery: true } },
      "option_invalid",
      ["issuer"],
      "https URL",
    ],
    [
      "with discovery and an issuer that is not a URL",
      { ...B, issuer: "b", keys: { discovery: true } },
      "option_invalid",
      ["issuer"],
      "https URL",
    ],
    [
      "with two key sources",
      { ...B, keys: { ...B.keys, jwksFile: "a.json" } },
      "option_conflict",
      ["keys", "jwksFile"],
      "one source",
    ],
    [
      "with HS256 and a remote key source",
      { ...B, algorithms: ["HS256"], keys: { jwksUri: "https://b.example" } },
      "key_unusable",
      ["keys"],
      "`verificationKeys`",
    ],
    [
      "without a key for its algorithm",
      { ...B, algorithms: ["ES384"] },
      "key_unusable",
      ["keys", "jwks", "keys"],
      "JWK Set",
    ],
    [
      "with a key for another algorithm",
      { ...B, keys: A.keys },
      "key_unusable",
      ["keys", "verificationKeys", 0],
      "",
    ],
    [
      "with a private key",
      { ...B, keys: { verificationKeys: [ES256.privateKey] } },
      "key_private",
      ["keys", "verificationKeys", 0],
      "",
    ],
    [
      "with a short secret",
      { ...B, algorithms: ["HS256"], keys: { verificationKeys: ["short"] } },
      "key_weak",
      ["keys", "verificationKeys", 0],
      "32",
    ],
    [
      "with a missing key file",
      { ...B, keys: { jwksFile: "/nowhere/jwks.json" } },
      "key_file_unreadable",
      ["keys", "jwksFile"],
      "permissions of the file",
    ],
  ];
