/** The claims of a proof: RFC 9449 section 4.3, checks 3 and 8 to 12, sections 9 and 11.1 to 11.3. */
import { createHash } from "node:crypto";
import {
  ALICE,
  ALICE_TOKEN,
  type Attack,
  attack,
  athOf,
  BOB_TOKEN,
  boundTo,
  HTU,
  jsonWith,
  nextId,
  NOW,
  ORIGIN,
  proofClaims,
  proofOf,
  rawProof,
  sent,
  sentBy,
  type Sent,
  shown,
  thumbprintOf,
} from "../forge.ts";

type Claims = Readonly<Record<string, unknown>>;

const withClaims = (expected: string, name: string, claims: Claims, more: Partial<Sent> = {}): Attack =>
  attack(expected, name, () => sentBy({ claims }, more));

/** A claim that is written as raw JSON, where `JSON.stringify` cannot write the value. */
const withRaw = (expected: string, claim: string, value: string): Attack =>
  attack(expected, `${claim} ${value.slice(0, 40)}`, () => {
    const others = { ...proofClaims(ALICE_TOKEN), [claim]: undefined };
    return sent(ALICE_TOKEN, rawProof({ payload: jsonWith(others, `"${claim}":${value}`) }));
  });

const methods: readonly Attack[] = [
  ...[
    undefined,
    null,
    "",
    "get",
    "Get",
    "gET",
    "GET ",
    " GET",
    "GET\n",
    "GET\0",
    "\uff27ET",
    "GE\u03a4",
    "*",
    "ANY",
    "GET,POST",
    "GET POST",
    "GET|POST",
    "HEAD",
    "POST",
    "PUT",
    "OPTIONS",
    "GETT",
    "GE",
    5,
    true,
    {},
    [],
    ["GET"],
    ["GET", "POST"],
    { method: "GET" },
  ].map((htm) => withClaims("htm", `4.3 (8): htm ${shown(htm)} for GET`, { htm })),
  withClaims("htm", "4.3 (8): htm GET for HEAD", {}, { method: "HEAD" }),
  withClaims("htm", "4.3 (8): htm GET for POST", {}, { method: "POST" }),
  withClaims("htm", "4.3 (8): htm GET for DELETE", {}, { method: "DELETE" }),
  withClaims("htm", "4.3 (8): htm post for POST", { htm: "post" }, { method: "POST" }),
  ...["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"].map((name) =>
    withClaims(
      "htm",
      `4.3 (8): htm DELETE for POST with ${name}`,
      { htm: "DELETE" },
      {
        method: "POST",
        fields: [[name, "DELETE"]],
      },
    ),
  ),
  withClaims(
    "htm",
    "4.3 (8): htm GET for POST with a method in the query",
    {},
    {
      method: "POST",
      target: "/agents/7?_method=GET",
    },
  ),
];

/** What stands in `htu`, and does not name the resource. */
const uris: readonly unknown[] = [
  undefined,
  null,
  "",
  " ",
  5,
  true,
  {},
  [],
  [HTU],
  { href: HTU },
  // Other forms than an absolute URI.
  "/agents/7",
  "agents/7",
  "//api.example/agents/7",
  "api.example/agents/7",
  "https:/api.example/agents/7",
  "https:api.example/agents/7",
  "https:///api.example/agents/7",
  "https:////api.example/agents/7",
  "https:\\\\api.example\\agents\\7",
  "https://api.example\\agents\\7",
  "https://api.example/agents\\7",
  "https\\://api.example/agents/7",
  "://api.example/agents/7",
  "https//api.example/agents/7",
  // Other schemes.
  "http://api.example/agents/7",
  "http://api.example:443/agents/7",
  "wss://api.example/agents/7",
  "ws://api.example/agents/7",
  "ftp://api.example/agents/7",
  "blob:https://api.example/agents/7",
  "filesystem:https://api.example/agents/7",
  "view-source:https://api.example/agents/7",
  "javascript:https://api.example/agents/7",
  "jar:https://api.example/agents/7",
  "httpss://api.example/agents/7",
  "https+unix://api.example/agents/7",
  // Other ports.
  "https://api.example:80/agents/7",
  "https://api.example:444/agents/7",
  "https://api.example:4430/agents/7",
  "https://api.example:65979/agents/7",
  "https://api.example:-443/agents/7",
  "https://api.example:+443/agents/7",
  "https://api.example:4 43/agents/7",
  "https://api.example:443:443/agents/7",
  "https://api.example:0x1bb/agents/7",
  "https://api.example:\uff14\uff14\uff13/agents/7",
  // Other hosts, and other spellings of the host that some parsers map to it.
  "https://evil.example/agents/7",
  "https://api.example.evil.example/agents/7",
  "https://api.example./agents/7",
  "https://.api.example/agents/7",
  "https://api..example/agents/7",
  "https://xapi.example/agents/7",
  "https://api.exampl/agents/7",
  "https://api-example/agents/7",
  "https://example/agents/7",
  "https://\u0430pi.example/agents/7",
  "https://\uff41pi.example/agents/7",
  "https://api\u3002example/agents/7",
  "https://api\uff0eexample/agents/7",
  "https://api\u2024example/agents/7",
  "https://ap\u00adi.example/agents/7",
  "https://api\u200b.example/agents/7",
  "https://\u24d0pi.example/agents/7",
  "https://ap\u0131.example/agents/7",
  "https://%61pi.example/agents/7",
  "https://api%2eexample/agents/7",
  "https://api.example%00.evil.example/agents/7",
  "https://api.example%2f@evil.example/agents/7",
  "https://xn--pi-7kc.example/agents/7",
  "https://[::1]/agents/7",
  "https://[::ffff:127.0.0.1]/agents/7",
  "https://127.0.0.1/agents/7",
  "https://2130706433/agents/7",
  "https://0x7f.1/agents/7",
  "https://localhost/agents/7",
  "https:///agents/7",
  "https://:443/agents/7",
  "https://?/agents/7",
  // User information.
  "https://user@api.example/agents/7",
  "https://user:password@api.example/agents/7",
  "https://@api.example/agents/7",
  "https://:@api.example/agents/7",
  "https://api.example@evil.example/agents/7",
  "https://api.example:443@evil.example/agents/7",
  "https://evil.example\\@api.example/agents/7",
  "https://evil.example#@api.example/agents/7",
  "https://evil.example?@api.example/agents/7",
  "https://evil.example/https://api.example/agents/7",
  "https://evil.example/?https://api.example/agents/7",
  "https://evil.example/#https://api.example/agents/7",
  "https://api.example;@evil.example/agents/7",
  // Other paths.
  "https://api.example",
  "https://api.example/",
  "https://api.example?/agents/7",
  "https://api.example#/agents/7",
  "https://api.example;/agents/7",
  "https://api.example/agents",
  "https://api.example/agents/",
  "https://api.example/agents/8",
  "https://api.example/agents/77",
  "https://api.example/agents/7/",
  "https://api.example/agents/7//",
  "https://api.example//agents/7",
  "https://api.example/agents//7",
  "https://api.example/agents/7/8",
  "https://api.example/Agents/7",
  "https://api.example/AGENTS/7",
  "https://api.example/agents/7;v=1",
  "https://api.example/agents;v=1/7",
  "https://api.example/agents/7.",
  "https://api.example/agents/7.json",
  "https://api.example/*",
  "https://api.example/agents/*",
  "https://api.example/agents/:id",
  "https://api.example/agents/{id}",
  "https://api.example/agents%2f7",
  "https://api.example/agents%2F7",
  "https://api.example/agents%5c7",
  "https://api.example%2fagents/7",
  "https://api.example/agents/%2537",
  "https://api.example/agents/%253%37",
  "https://api.example/agents/7%00",
  "https://api.example/agents/7%20",
  "https://api.example/agents/7%3f",
  "https://api.example/agents/7%23",
  "https://api.example/agents/7%0d%0a",
  "https://api.example/agents/%",
  "https://api.example/agents/7%",
  "https://api.example/agents/7%3",
  "https://api.example/agents/%zz",
  "https://api.example/agents/%u0037",
  "https://api.example/agents/\uff17",
  "https://api.example/agents/7\u0301",
  "https://api.example/agents/7\u200b",
  "https://api.example/\u0430gents/7",
  "https://api.example/agents/../7",
  "https://api.example/agents/7/..",
  "https://api.example/agents/7/.",
  "https://api.example/agents/7/%2e",
  "https://api.example/agents/..%2f7",
  "https://api.example/agents/7/..%2f7",
  "https://api.example/agents/%252e/7",
  "https://api.example/agents/x/..\\7",
  "https://api.example/agents/7/../8",
  "https://api.example/./",
  "https://api.example/..",
  // Characters that some parsers remove or change.
  " https://api.example/agents/7",
  "https://api.example/agents/7 ",
  "\thttps://api.example/agents/7",
  "https://api.example/agents/7\n",
  "https://api.example/agents/7\r\n",
  "ht\ntps://api.example/agents/7",
  "https://api\t.example/agents/7",
  "https://api.example/agents\t/7",
  "https://api.example/agents/\n7",
  "https://api.example/agents/7\0",
  "\0https://api.example/agents/7",
  "\ufeffhttps://api.example/agents/7",
  "\u00a0https://api.example/agents/7",
  "https://api.example/agents/7\u2028",
  "https ://api.example/agents/7",
  "https://api .example/agents/7",
  "https://api.example/agents/<7>",
  'https://api.example/agents/"7"',
  "https://api.example/agents/7|",
  "https://api.example/agents/7^",
  "<https://api.example/agents/7>",
  '"https://api.example/agents/7"',
  "https://api.example/agents/7,https://api.example/agents/7",
  "https://api.example/agents/7 https://evil.example/",
  `https://api.example/agents/7${"/".repeat(1_000)}`,
  `https://api.example/${"a/../".repeat(500)}agents/8`,
  `https://${"a".repeat(4_000)}/agents/7`,
  `https://api.example/agents/${"%37".repeat(1_000)}`,
];

const namedUris: readonly Attack[] = uris.map((htu) =>
  withClaims("htu", `4.3 (9): htu ${shown(htu)}`, { htu }),
);

/** The address is one that the request names, but not an origin of the service. */
const addressed = (name: string, htu: string, more: Partial<Sent>): Attack =>
  withClaims("htu", `4.3 (9): htu ${htu} with ${name}`, { htu }, more);

const EVIL = "https://evil.example/agents/7";

const addresses: readonly Attack[] = [
  addressed("its Host", EVIL, { fields: [["Host", "evil.example"]] }),
  addressed("its Host and a port", "https://evil.example:8443/agents/7", {
    fields: [["Host", "evil.example:8443"]],
  }),
  addressed("the address of the socket", "http://127.0.0.1/agents/7", { fields: [["Host", "127.0.0.1"]] }),
  addressed("http by X-Forwarded-Proto", "http://api.example/agents/7", {
    fields: [
      ["Host", "api.example"],
      ["X-Forwarded-Proto", "http"],
    ],
  }),
  addressed("X-Forwarded-Host", EVIL, { fields: [["X-Forwarded-Host", "evil.example"]] }),
  addressed("X-Forwarded-Port", "https://api.example:8443/agents/7", {
    fields: [["X-Forwarded-Port", "8443"]],
  }),
  addressed("X-Forwarded-Server", EVIL, { fields: [["X-Forwarded-Server", "evil.example"]] }),
  addressed("X-Host", EVIL, { fields: [["X-Host", "evil.example"]] }),
  addressed("Forwarded", EVIL, { fields: [["Forwarded", "host=evil.example;proto=https"]] }),
  addressed("X-Forwarded-Prefix", "https://api.example/v1/agents/7", {
    fields: [["X-Forwarded-Prefix", "/v1"]],
  }),
  addressed("X-Original-URL", "https://api.example/agents/8", { fields: [["X-Original-URL", "/agents/8"]] }),
  addressed("X-Rewrite-URL", "https://api.example/agents/8", { fields: [["X-Rewrite-URL", "/agents/8"]] }),
  addressed("Origin and Referer", EVIL, {
    fields: [
      ["Origin", "https://evil.example"],
      ["Referer", EVIL],
    ],
  }),
  addressed("an absolute target", "http://evil.example/agents/7", {
    target: "http://evil.example/agents/7",
    fields: [["Host", "evil.example"]],
  }),
  addressed("an absolute target of https", EVIL, {
    target: EVIL,
    fields: [["Host", "evil.example"]],
  }),
  addressed("an absolute target of http for the service", "http://api.example/agents/7", {
    target: "http://api.example/agents/7",
    fields: [["Host", "api.example"]],
  }),
  addressed("another path in the query", "https://api.example/agents/8", { target: "/agents/7?/agents/8" }),
  addressed("the path of another agent", HTU, { target: "/agents/8" }),
  addressed("the path of all agents", HTU, { target: "/agents" }),
];

const OTHER_TOKEN = boundTo(ALICE.jwk, { jti: "another" });
const digest = (algorithm: string, text: string, encoding: "base64" | "base64url" | "hex"): string =>
  createHash(algorithm).update(text).digest(encoding);

/** A token whose hash has characters that base64 and base64url write differently. */
const SPELLED_TOKEN = ((): string => {
  for (let index = 0; ; index += 1) {
    const token = boundTo(ALICE.jwk, { jti: `spelled-${index}` });
    const ath = athOf(token);
    if (ath.includes("-") && ath.includes("_")) return token;
  }
})();

const hashes: readonly Attack[] = [
  ...[undefined, null, "", " ", 5, true, {}, [], [athOf(ALICE_TOKEN)], { ath: athOf(ALICE_TOKEN) }].map(
    (ath) => withClaims("ath", `4.3 (12): ath ${shown(ath)}`, { ath }),
  ),
  ...Object.entries({
    "of another token of the same key": athOf(OTHER_TOKEN),
    "of the token of another user": athOf(BOB_TOKEN),
    "of the token with its scheme": athOf(`DPoP ${ALICE_TOKEN}`),
    "of the token with a line break": athOf(`${ALICE_TOKEN}\n`),
    "of the token in lower case": athOf(ALICE_TOKEN.toLowerCase()),
    "of the token without its signature": athOf(ALICE_TOKEN.split(".").slice(0, 2).join(".")),
    "of nothing": athOf(""),
    "of the hash": athOf(athOf(ALICE_TOKEN)),
    "with padding": `${athOf(ALICE_TOKEN)}=`,
    "with a space": `${athOf(ALICE_TOKEN)} `,
    "with a line break": `${athOf(ALICE_TOKEN)}\n`,
    "in lower case": athOf(ALICE_TOKEN).toLowerCase(),
    "in upper case": athOf(ALICE_TOKEN).toUpperCase(),
    "without its last character": athOf(ALICE_TOKEN).slice(0, -1),
    "with one character more": `${athOf(ALICE_TOKEN)}A`,
    "with other unused bits": athOf(ALICE_TOKEN).slice(0, -1) + nextLetter(athOf(ALICE_TOKEN).slice(-1)),
    "in hexadecimal digits": digest("sha256", ALICE_TOKEN, "hex"),
    "in upper hexadecimal digits": digest("sha256", ALICE_TOKEN, "hex").toUpperCase(),
    "of SHA-1": digest("sha1", ALICE_TOKEN, "base64url"),
    "of SHA-384": digest("sha384", ALICE_TOKEN, "base64url"),
    "of SHA-512": digest("sha512", ALICE_TOKEN, "base64url"),
    "of SHA-256 in half, as at_hash": Buffer.from(
      digest("sha256", ALICE_TOKEN, "hex").slice(0, 32),
      "hex",
    ).toString("base64url"),
    "that is the token": ALICE_TOKEN,
    "that is the thumbprint of the key": thumbprintOf(ALICE.jwk),
  }).map(([name, ath]) => withClaims("ath", `4.3 (12): ath ${name}`, { ath })),
  ...(["base64", "base64 without padding"] as const).map((name) =>
    attack("ath", `4.3 (12): ath in ${name}`, () => {
      const ath = digest("sha256", SPELLED_TOKEN, "base64");
      const claims = { ath: name === "base64" ? ath : ath.replace("=", "") };
      return sentBy({ token: SPELLED_TOKEN, claims });
    }),
  ),
];

/** The next character of base64url: for the last one of a hash, it differs only in unused bits. */
function nextLetter(letter: string): string {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return letters[letters.indexOf(letter) + 1] ?? "A";
}

const times: readonly Attack[] = [
  ...[
    undefined,
    null,
    "",
    String(NOW),
    "now",
    true,
    {},
    [],
    [NOW],
    { valueOf: NOW },
    0,
    -1,
    -NOW,
    1,
    NOW - 301,
    NOW - 300.5,
    NOW - 86_400,
    NOW + 6,
    NOW + 5.5,
    NOW + 300,
    NOW * 1_000,
    NOW * 1_000_000,
    Number.MAX_SAFE_INTEGER,
    Number.MAX_VALUE,
    Number.MIN_VALUE,
    new Date(NOW * 1_000).toISOString(),
  ].map((iat) => withClaims("iat", `4.3 (11): iat ${shown(iat)}`, { iat })),
  ...["1e400", "-1e400", "1e308", "-0", "1e-400", "17000000000000000000000", "9".repeat(4_000)].map((value) =>
    withRaw("iat", "iat", value),
  ),
  ...["exp", "nbf"].flatMap((claim) =>
    [null, "", "tomorrow", String(NOW + 60), true, {}, [NOW]].map((value) =>
      withClaims("claims", `${claim} ${shown(value)} in the proof`, { [claim]: value }),
    ),
  ),
  withClaims("claims", "a proof that has expired", { exp: NOW - 1 }),
  withClaims("claims", "a proof that expires now", { exp: NOW }),
  withClaims("claims", "a proof that has expired long ago", { exp: 1 }),
  withClaims("claims", "a proof with a negative exp", { exp: -1 }),
  withClaims("claims", "a proof that isn't valid yet", { nbf: NOW + 60 }),
  withClaims("claims", "a proof that will be valid in a year", { nbf: NOW + 31_536_000 }),
  withRaw("claims", "exp", "-1e400"),
  withRaw("claims", "nbf", "1e400"),
];

const ids: readonly Attack[] = [
  ...[undefined, null, "", 5, 0, true, {}, [], ["id"], { id: "x" }].map((jti) =>
    withClaims("jti", `4.3 (3): jti ${shown(jti)}`, { jti }),
  ),
  withClaims("jti", "a jti of 257 characters", { jti: "x".repeat(257) }),
  withClaims("jti", "a jti of 4,000 characters", { jti: "x".repeat(4_000) }),
];

const sameId = (
  name: string,
  second: (jti: string) => Sent,
  first: (jti: string) => Sent = honestWith,
): Attack => {
  let jti = "";
  return attack("replayed", `11.1: ${name}`, () => second(jti), {
    earlier: () => {
      jti = nextId();
      return [first(jti)];
    },
  });
};
const honestWith = (jti: string): Sent => sentBy({ claims: { jti } });

const replays: readonly Attack[] = [
  attack("replayed", "11.1: the same request again", ([first]) => first ?? { fields: [] }, {
    earlier: () => [sentBy()],
  }),
  attack(
    "replayed",
    "11.1: the same request again, after it was refused once",
    ([first]) => first ?? { fields: [] },
    {
      earlier: () => [sentBy()],
    },
  ),
  attack(
    "htm",
    "4.3 (8): a proof again for another method",
    ([first]) => ({
      ...(first ?? { fields: [] }),
      method: "POST",
    }),
    { earlier: () => [sentBy()] },
  ),
  attack(
    "htu",
    "4.3 (9): a proof again for another path",
    ([first]) => ({
      ...(first ?? { fields: [] }),
      target: "/agents/8",
    }),
    { earlier: () => [sentBy()] },
  ),
  attack(
    "replayed",
    "11.1: a proof again with another query",
    ([first]) => ({
      ...(first ?? { fields: [] }),
      target: "/agents/7?view=full",
    }),
    { earlier: () => [sentBy()] },
  ),
  attack(
    "ath",
    "4.3 (12): a proof again with another token of its key",
    ([first]) => {
      const proof = first?.fields.find(([name]) => name === "DPoP")?.[1];
      return sent(OTHER_TOKEN, proof);
    },
    { earlier: () => [sentBy()] },
  ),
  sameId("a jti again with another method", (jti) =>
    sentBy({ claims: { jti, htm: "POST" } }, { method: "POST" }),
  ),
  sameId("a jti again with another path", (jti) =>
    sentBy({ claims: { jti, htu: `${ORIGIN}/agents/8` } }, { target: "/agents/8" }),
  ),
  sameId("a jti again with another iat", (jti) => sentBy({ claims: { jti, iat: NOW - 1 } })),
  sameId("a jti again with a later iat", (jti) => sentBy({ claims: { jti, iat: NOW + 5 } })),
  sameId("a jti again with another token of the key", (jti) =>
    sentBy({ token: OTHER_TOKEN, claims: { jti } }),
  ),
  sameId("a jti again with more claims", (jti) => sentBy({ claims: { jti, extra: 1 } })),
  sameId("a jti again with another spelling of the URI", (jti) =>
    sentBy({ claims: { jti, htu: "HTTPS://API.example:443/agents/%37?x#y" } }),
  ),
  sameId(
    "a jti of the oldest iat again",
    (jti) => sentBy({ claims: { jti, iat: NOW - 300 } }),
    (jti) => sentBy({ claims: { jti, iat: NOW - 300 } }),
  ),
  sameId(
    "a jti of the latest iat again",
    (jti) => sentBy({ claims: { jti, iat: NOW + 5 } }),
    (jti) => sentBy({ claims: { jti, iat: NOW + 5 } }),
  ),
  ...[
    "__proto__",
    "constructor",
    "toString",
    "hasOwnProperty",
    "replay:",
    "a:b",
    "\u0000",
    "\u00e9",
    "\u{1f600}",
  ].map((text) =>
    attack("replayed", `11.1: the jti ${shown(text)} again`, ([first]) => first ?? { fields: [] }, {
      earlier: () => [sentBy({ token: boundTo(ALICE.jwk), claims: { jti: `${text}${nextId()}` } })],
    }),
  ),
];

const nonces: readonly Attack[] = [
  ...[undefined, null, "", " ", 5, true, {}, [], "nonce", "x".repeat(4_000), "\u00e9", "AAAA.AAAA.AAAA"].map(
    (nonce) =>
      attack("nonce", `4.3 (10), 9, 11.3: nonce ${shown(nonce)}`, () => sentBy({ claims: { nonce } }), {
        server: "nonce",
      }),
  ),
  attack("nonce", "9: a nonce in the header of the JWT only", () => sentBy({ header: { nonce: "nonce" } }), {
    server: "nonce",
  }),
  attack(
    "nonce",
    "9: a nonce in the field DPoP-Nonce only",
    () => sentBy({}, { fields: [["DPoP-Nonce", "nonce"]] }),
    { server: "nonce" },
  ),
];

const inherited: readonly Attack[] = Object.entries(proofClaims(ALICE_TOKEN))
  .filter(([claim]) => claim !== "jti")
  .map(([claim, value]) =>
    attack(
      claim,
      `4.3 (3): ${claim} of a polluted prototype`,
      () => sentBy({ claims: { [claim]: undefined } }),
      {
        pollution: { [claim]: value },
      },
    ),
  );

const nested: readonly Attack[] = [
  attack("htm", "4.3 (3): the claims inside __proto__", () => {
    const payload = `{"__proto__":${JSON.stringify(proofClaims(ALICE_TOKEN))}}`;
    return sent(ALICE_TOKEN, rawProof({ payload }));
  }),
  attack("htm", "4.3 (3): the claims inside another object", () =>
    sent(ALICE_TOKEN, rawProof({ payload: JSON.stringify({ claims: proofClaims(ALICE_TOKEN) }) })),
  ),
  ...["HTM", "Htu", "IAT", "Jti", "aTh"].map((name) => {
    const claim = name.toLowerCase();
    const value = proofClaims(ALICE_TOKEN)[claim];
    return withClaims(claim, `4.3 (3): the claim ${name}`, { [claim]: undefined, [name]: value });
  }),
  attack("htm", "4.3 (3): no claim at all", () => sent(ALICE_TOKEN, rawProof({ payload: "{}" }))),
  attack("htm", "11.2: a proof that was made for another request", () => {
    const proof = proofOf({ claims: { htm: "POST" } });
    return sent(ALICE_TOKEN, proof);
  }),
];

export const CLAIM_ATTACKS: readonly Attack[] = [
  ...methods,
  ...namedUris,
  ...addresses,
  ...hashes,
  ...times,
  ...ids,
  ...replays,
  ...nonces,
  ...inherited,
  ...nested,
];
