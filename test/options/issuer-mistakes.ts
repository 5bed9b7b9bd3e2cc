/** Entries of `issuers` with one mistake each. */
import { createIssuer } from "../support/issuer.ts";
import { issuer } from "../support/resource-servers.ts";

const ES256 = createIssuer({ algorithm: "ES256" });

/** Two entries without a mistake. */
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

/** The second entry, the one mistake in it and where it stands in the entry, and a part of the fix. */
export const MISTAKES: readonly (readonly [string, unknown, string, readonly (string | number)[], string])[] =
  [
    ["null", null, "option_invalid", [], PLAIN],
    ["left out", undefined, "option_invalid", [], PLAIN],
    ["a URL alone", "https://b.example", "option_invalid", [], PLAIN],
    ["a list", [B], "option_invalid", [], PLAIN],
    ["an entry that inherits a member", inherits(B), "option_invalid", [], PLAIN],
    ["an entry of a class", Object.assign(new Date(), B), "option_invalid", [], PLAIN],
    ["a Map", new Map(Object.entries(B)), "option_invalid", [], PLAIN],
    ["no keys", { ...B, keys: undefined }, "option_invalid", ["keys"], "{ jwksUri }"],
    ["no algorithms", { ...B, algorithms: [] }, "option_invalid", ["algorithms"], "at least one"],
    ["none as an algorithm", { ...B, algorithms: ["none"] }, "option_invalid", ["algorithms", 0], "RS256"],
    ["a misspelt algorithm", { ...B, algorithms: ["ES265"] }, "option_invalid", ["algorithms", 0], "`ES256`"],
    [
      "one algorithm as text",
      { ...B, algorithms: "ES256" },
      "option_invalid",
      ["algorithms"],
      "list of algorithms",
    ],
    ["an empty issuer", { ...B, issuer: "" }, "option_invalid", ["issuer"], "exactly"],
    ["a list of issuers", { ...B, issuer: [B.issuer] }, "option_invalid", ["issuer"], "exactly"],
    ["a slash more than the first", { ...B, issuer: `${A.issuer}/` }, "option_conflict", ["issuer"], "once"],
    [
      "the host of the first in capitals",
      { ...B, issuer: "https://A.example" },
      "option_conflict",
      ["issuer"],
      "once",
    ],
    ["a dot segment", { ...B, issuer: `${A.issuer}/x/..` }, "option_conflict", ["issuer"], "once"],
    ["an empty audience", { ...B, audience: [] }, "option_invalid", ["audience"], "list of at least one"],
    [
      "verifyAudience as text",
      { ...B, verifyAudience: "false" },
      "option_invalid",
      ["verifyAudience"],
      "true or false",
    ],
    ["no types", { ...B, tokenTypes: [] }, "option_invalid", ["tokenTypes"], "at least one"],
    [
      "a negative tolerance",
      { ...B, clockToleranceSeconds: -1 },
      "option_invalid",
      ["clockToleranceSeconds"],
      "0 or more",
    ],
    [
      "a tolerance without end",
      { ...B, clockToleranceSeconds: Infinity },
      "option_invalid",
      ["clockToleranceSeconds"],
      "0 or more",
    ],
    ["serviceId", { ...B, serviceId: "x" }, "option_unknown", ["serviceId"], "Write `audience`"],
    ["isRevoked", { ...B, isRevoked: () => true }, "option_unknown", ["isRevoked"], "table of options"],
    [
      "verificationKeys",
      { ...B, verificationKeys: [] },
      "option_unknown",
      ["verificationKeys"],
      "`keys: { verificationKeys }`",
    ],
    [
      "requiredClaim",
      { ...B, requiredClaim: ["exp"] },
      "option_unknown",
      ["requiredClaim"],
      "`requiredClaims`",
    ],
    [
      "verifyAudiance",
      { ...B, verifyAudiance: true },
      "option_unknown",
      ["verifyAudiance"],
      "`verifyAudience`",
    ],
    [
      "an unknown member of keys",
      { ...B, keys: { jwksUrl: "https://b.example" } },
      "option_unknown",
      ["keys", "jwksUrl"],
      "`jwksUri`",
    ],
    [
      "__proto__",
      JSON.parse(`{"__proto__":{},${JSON.stringify(B).slice(1)}`),
      "option_unknown",
      ["__proto__"],
      "Remove it",
    ],
    [
      "http for its keys",
      { ...B, keys: { jwksUri: "http://b.example/jwks" } },
      "option_invalid",
      ["keys", "jwksUri"],
      "https URL",
    ],
    [
      "http for its metadata",
      { ...B, keys: { discovery: "http://b.example" } },
      "option_invalid",
      ["keys", "discovery"],
      "https URL",
    ],
    [
      "http and discovery",
      { ...B, issuer: "http://b.example", keys: { discovery: true } },
      "option_invalid",
      ["issuer"],
      "https URL",
    ],
    [
      "a name and discovery",
      { ...B, issuer: "b", keys: { discovery: true } },
      "option_invalid",
      ["issuer"],
      "https URL",
    ],
    [
      "two sources of keys",
      { ...B, keys: { ...B.keys, jwksFile: "a.json" } },
      "option_conflict",
      ["keys", "jwksFile"],
      "one source",
    ],
    [
      "a secret that is published",
      { ...B, algorithms: ["HS256"], keys: { jwksUri: "https://b.example" } },
      "key_unusable",
      ["keys"],
      "`verificationKeys`",
    ],
    [
      "no key of its algorithm",
      { ...B, algorithms: ["ES384"] },
      "key_unusable",
      ["keys", "jwks", "keys"],
      "JWK Set",
    ],
    [
      "the key of another algorithm",
      { ...B, keys: A.keys },
      "key_unusable",
      ["keys", "verificationKeys", 0],
      "",
    ],
    [
      "a private key",
      { ...B, keys: { verificationKeys: [ES256.privateKey] } },
      "key_private",
      ["keys", "verificationKeys", 0],
      "",
    ],
    [
      "a short secret",
      { ...B, algorithms: ["HS256"], keys: { verificationKeys: ["short"] } },
      "key_weak",
      ["keys", "verificationKeys", 0],
      "32",
    ],
    [
      "no file",
      { ...B, keys: { jwksFile: "/nowhere/jwks.json" } },
      "key_file_unreadable",
      ["keys", "jwksFile"],
      "readable file",
    ],
  ];
