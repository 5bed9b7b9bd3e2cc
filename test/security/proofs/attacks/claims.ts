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
  claimsOf,
  HTU,
  jsonWith,
  NOW,
  ORIGIN,
  proofClaims,
  rawProof,
  replay,
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

/** No claim may have one of these values. */
const OTHER_TYPES: readonly unknown[] = [undefined, null, "", true, {}, []];

const methods: readonly Attack[] = [
  ...[...OTHER_TYPES, ["GET"], { method: "GET" }],
  ...["get", "gET", "GET ", " GET", "GET\n", "GET\0", "\uff27ET", "GE\u03a4", "GETT", "GE", "*"],
  ...["GET,POST", "HEAD", "POST"],
]
  .map((htm) => withClaims("htm", `4.3 (8): htm ${shown(htm)} for GET`, { htm }))
  .concat(
    ["HEAD", "POST", "DELETE"].map((method) =>
      withClaims("htm", `4.3 (8): htm GET for ${method}`, {}, { method }),
    ),
    ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"].map((name) =>
      withClaims(
        "htm",
        `4.3 (8): htm DELETE for POST with ${name}`,
        { htm: "DELETE" },
        { method: "POST", fields: [[name, "DELETE"]] },
      ),
    ),
  );

/** Values of `htu` that name another resource, or none. How a URI may be spelled is tested with `normalizeUri`. */
const uris: readonly unknown[] = [
  ...OTHER_TYPES,
  ...[[HTU], { href: HTU }],
  "/agents/7",
  "//api.example/agents/7",
  "api.example/agents/7",
  // Other origins.
  ...["http://api.example/agents/7", "http://api.example:443/agents/7", "wss://api.example/agents/7"],
  ...["https://api.example:80/agents/7", "https://api.example:4430/agents/7"],
  ...["https://evil.example/agents/7", "https://api.example.evil.example/agents/7"],
  ...["https://api.example./agents/7", "https://xapi.example/agents/7", "https://api.exampl/agents/7"],
  ...["https://\u0430pi.example/agents/7", "https://\uff41pi.example/agents/7"],
  ...["https://api.example@evil.example/agents/7", "https://evil.example#@api.example/agents/7"],
  ...["https://evil.example/?https://api.example/agents/7"],
  // Other paths.
  "https://api.example",
  ...[
    "/ ?/agents/7 #/agents/7 /agents /agents/8 /agents/77 /agents/7/ //agents/7",
    "/agents/7/8 /AGENTS/7 /agents/7;v=1 /agents/7.json /agents/* /agents/:id",
    "/agents%2f7 /agents/%2537 /agents/7%00 /agents/7% /agents/\uff17 /agents/../7",
    "/agents/7/..%2f7 /agents/7/../8",
  ]
    .flatMap((paths) => paths.split(" "))
    .map((path) => ORIGIN + path),
  // Two URIs, and texts that take long to parse.
  "https://api.example/agents/7,https://api.example/agents/7",
  "https://api.example/agents/7 https://evil.example/",
  `https://api.example/${"a/../".repeat(500)}agents/8`,
  `https://${"a".repeat(4_000)}/agents/7`,
];

const EVIL = "https://evil.example/agents/7";
const AGENT_8 = "https://api.example/agents/8";

/** A URI that the request names in a field. `Host` and forwarded headers are never read. */
const addresses: readonly Attack[] = (
  [
    [EVIL, [["Host", "evil.example"]]],
    ["http://127.0.0.1/agents/7", [["Host", "127.0.0.1"]]],
    ["http://api.example/agents/7", [["X-Forwarded-Proto", "http"]]],
    [EVIL, [["X-Forwarded-Host", "evil.example"]]],
    ["https://api.example:8443/agents/7", [["X-Forwarded-Port", "8443"]]],
    [EVIL, [["Forwarded", "host=evil.example;proto=https"]]],
    ["https://api.example/v1/agents/7", [["X-Forwarded-Prefix", "/v1"]]],
    [AGENT_8, [["X-Original-URL", "/agents/8"]]],
    [AGENT_8, [["X-Rewrite-URL", "/agents/8"]]],
  ] as const
).map(([htu, fields]) => withClaims("htu", `4.3 (9): htu ${htu} with ${fields[0][0]}`, { htu }, { fields }));

const targets: readonly Attack[] = (
  [
    [EVIL, EVIL],
    ["http://api.example/agents/7", "http://api.example/agents/7"],
    [AGENT_8, "/agents/7?/agents/8"],
    [HTU, "/agents/8"],
    [HTU, "/agents"],
  ] as const
).map(([htu, target]) =>
  withClaims("htu", `4.3 (9): htu ${htu} for the target ${target}`, { htu }, { target }),
);

const OTHER_TOKEN = boundTo(ALICE.jwk, { jti: "another" });
const ATH = athOf(ALICE_TOKEN);
const digest = (algorithm: string, encoding: "base64" | "base64url" | "hex"): string =>
  createHash(algorithm).update(ALICE_TOKEN).digest(encoding);

const hashes: readonly Attack[] = [
  ...[...OTHER_TYPES, [ATH], { ath: ATH }].map((ath) =>
    withClaims("ath", `4.3 (12): ath ${shown(ath)}`, { ath }),
  ),
  ...Object.entries({
    "of another token of the same key": athOf(OTHER_TOKEN),
    "of the token of another user": athOf(BOB_TOKEN),
    "of the token with its scheme": athOf(`DPoP ${ALICE_TOKEN}`),
    "of nothing": athOf(""),
    "with padding": `${ATH}=`,
    "with a line break": `${ATH}\n`,
    "in lower case": ATH.toLowerCase(),
    "without its last character": ATH.slice(0, -1),
    "with one character more": `${ATH}A`,
    "in base64": digest("sha256", "base64"),
    "in hexadecimal digits": digest("sha256", "hex"),
    "of SHA-512": digest("sha512", "base64url"),
    "of SHA-256 in half, as at_hash": Buffer.from(ATH, "base64url").subarray(0, 16).toString("base64url"),
    "that is the token": ALICE_TOKEN,
    "that is the thumbprint of the key": thumbprintOf(ALICE.jwk),
  }).map(([name, ath]) => withClaims("ath", `4.3 (12): ath ${name}`, { ath })),
];

const times: readonly Attack[] = [
  ...[
    ...[...OTHER_TYPES, String(NOW), [NOW], new Date(NOW * 1_000).toISOString()],
    ...[0, -1, NOW - 301, NOW - 300.5, NOW + 6, NOW + 5.5, NOW * 1_000, Number.MAX_VALUE],
  ].map((iat) => withClaims("iat", `4.3 (11): iat ${shown(iat)}`, { iat })),
  ...["1e400", "-1e400", "1e308", "-0", "9".repeat(4_000)].map((value) => withRaw("iat", "iat", value)),
  ...["exp", "nbf"].flatMap((claim) =>
    [null, "", String(NOW + 60), {}].map((value) =>
      withClaims("claims", `${claim} ${shown(value)} in the proof`, { [claim]: value }),
    ),
  ),
  withClaims("claims", "a proof that expires now", { exp: NOW }),
  withClaims("claims", "a proof that isn't valid yet", { nbf: NOW + 1 }),
  withRaw("claims", "nbf", "1e400"),
];

const ids: readonly Attack[] = [...OTHER_TYPES, 5, ["id"], "x".repeat(257)].map((jti) =>
  withClaims("jti", `4.3 (3): jti ${shown(jti)}`, { jti }),
);

const again = (name: string, claims: Claims, more: Partial<Sent> = {}): Attack =>
  replay("replayed", `11.1: a jti again with ${name}`, (first) =>
    sentBy({ claims: { ...claimsOf(first), ...claims } }, more),
  );

const replays: readonly Attack[] = [
  replay("replayed", "11.1: the same request again", (first) => first),
  replay("htm", "4.3 (8): a proof again for another method", (first) => ({ ...first, method: "POST" })),
  replay("htu", "4.3 (9): a proof again for another path", (first) => ({ ...first, target: "/agents/8" })),
  replay("replayed", "11.1: a proof again with another query", (first) => ({
    ...first,
    target: "/agents/7?view=full",
  })),
  again("another method", { htm: "POST" }, { method: "POST" }),
  again("another path", { htu: AGENT_8 }, { target: "/agents/8" }),
  again("another iat", { iat: NOW - 1 }),
  again("more claims", { extra: 1 }),
  again("another spelling of the URI", { htu: "HTTPS://API.example:443/agents/%37?x#y" }),
  replay("replayed", "11.1: a jti again with another token of the key", (first) =>
    sentBy({ token: OTHER_TOKEN, claims: { jti: claimsOf(first)["jti"] } }),
  ),
  ...[NOW - 300, NOW + 5].map((iat) =>
    replay(
      "replayed",
      `11.1: a proof of ${iat} again`,
      (first) => first,
      () => sentBy({ claims: { iat } }),
    ),
  ),
  ...["__proto__", "constructor", "a:b", "\u0000", "\u{1f600}"].map((jti) =>
    replay(
      "replayed",
      `11.1: the jti ${shown(jti)} again`,
      (first) => first,
      () => sentBy({ claims: { jti } }),
    ),
  ),
];

/** How nonces are made and how long they are accepted is tested with `Nonces`. */
const nonces: readonly Attack[] = [...OTHER_TYPES, "nonce", "x".repeat(4_000), "\u00e9"]
  .map((nonce) => ({ name: `nonce ${shown(nonce)}`, send: () => sentBy({ claims: { nonce } }) }))
  .concat(
    { name: "a nonce in the header only", send: () => sentBy({ header: { nonce: "nonce" } }) },
    { name: "a field DPoP-Nonce", send: () => sentBy({}, { fields: [["DPoP-Nonce", "nonce"]] }) },
  )
  .map(({ name, send }) => attack("nonce", `4.3 (10), 9, 11.3: ${name}`, send, { server: "nonce" }));

const inherited: readonly Attack[] = Object.entries(proofClaims(ALICE_TOKEN)).map(([claim, value]) =>
  attack(
    claim,
    `4.3 (3): ${claim} of a polluted prototype`,
    () => sentBy({ claims: { [claim]: undefined } }),
    { pollution: { [claim]: value } },
  ),
);

const nested: readonly Attack[] = [
  attack("htm", "4.3 (3): the claims inside __proto__", () => {
    const payload = `{"__proto__":${JSON.stringify(proofClaims(ALICE_TOKEN))}}`;
    return sent(ALICE_TOKEN, rawProof({ payload }));
  }),
  ...["HTM", "Htu", "IAT", "Jti", "aTh"].map((name) => {
    const claim = name.toLowerCase();
    const value = proofClaims(ALICE_TOKEN)[claim];
    return withClaims(claim, `4.3 (3): the claim ${name}`, { [claim]: undefined, [name]: value });
  }),
];

export const CLAIM_ATTACKS: readonly Attack[] = [
  ...methods,
  ...uris.map((htu) => withClaims("htu", `4.3 (9): htu ${shown(htu)}`, { htu })),
  ...addresses,
  ...targets,
  ...hashes,
  ...times,
  ...ids,
  ...replays,
  ...nonces,
  ...inherited,
  ...nested,
];
