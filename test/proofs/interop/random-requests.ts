/** Random requests with tokens and proofs: valid ones with up to three changes. */
import { createPublicKey } from "node:crypto";
import { generateKey } from "../../../src/tools/testing/test-key.ts";
import { type Random, randomOf } from "../../model/random-tables.ts";
import {
  ALICE,
  athOf,
  BOB,
  type Caller,
  callerOf,
  EDWARDS_CALLER,
  encode,
  partsOf,
  RSA_CALLER,
  thumbprintOf,
} from "../../security/proofs/forge.ts";
import { forge, privateKeyOf, seal } from "../../security/tokens/forge.ts";
import type { Sent } from "./oracle.ts";

export const ISSUER = "https://login.example";
export const AUDIENCE = "https://api.example";
/** Those that the server is configured with. */
export const ORIGINS = ["https://api.example", "https://api.example:8443"];
export const ALGORITHMS = ["ES256", "EdDSA", "Ed25519", "PS256", "RS256"];

/** A request, and the names of its changes. */
export interface RandomRequest extends Sent {
  readonly changes: readonly string[];
}

type Json = Readonly<Record<string, unknown>>;

const CALLERS: readonly Caller[] = ALGORITHMS.map((alg) => ({
  ...(alg === "ES256" ? ALICE : alg.startsWith("Ed") ? EDWARDS_CALLER : RSA_CALLER),
  alg,
}));
const WEAK_CALLER = callerOf("RS256", generateKey("rsa", { modulusLength: 1024 }));

const issuerKey = privateKeyOf("p256");
/** The key set of the authorization server. */
export const ISSUER_JWK = { ...createPublicKey(issuerKey).export({ format: "jwk" }), alg: "ES256" };
export const ISSUER_PEM = createPublicKey(issuerKey).export({ format: "pem", type: "spki" }) as string;

const tokens = new Map<string, string>();

/** An access token of RFC 9068. Equal claims have one token. */
function tokenWith(cnf: unknown, nowSeconds: number): string {
  const name = JSON.stringify({ cnf });
  const claims = { iss: ISSUER, aud: AUDIENCE, sub: "user-7", client_id: "client-7", jti: "token-7" };
  const payload = { ...claims, iat: nowSeconds - 60, exp: nowSeconds + 3600, scopes: [], cnf };
  const header = { alg: "ES256", typ: "at+jwt" };
  const token = tokens.get(name) ?? forge({ alg: "ES256", key: issuerKey, header, payload });
  tokens.set(name, token);
  return token;
}

/** What changes work on. */
interface Draft {
  readonly random: Random;
  readonly nowSeconds: number;
  /** One of the requests before it. */
  readonly earlier: RandomRequest | undefined;
  caller: Caller;
  /** Signs the proof. */
  signer: Caller;
  cnf: unknown;
  method: string;
  origin: string;
  /** A path with a query, as the client writes it into its request line. */
  target: string;
  token: string;
  scheme: string;
  header: Json;
  payload: Json;
  /** The text of the payload, if it isn't what `JSON.stringify` renders. */
  payloadText: string | undefined;
  proof: string;
  proofs: readonly string[];
  authorization: string | undefined;
}

type Apply = (draft: Draft) => void;
type Changes = Readonly<Record<string, Apply>>;
type Values = (draft: Draft) => readonly unknown[];

/** Replaces a member of the header or of the payload. One that is `undefined` is left out. */
const replaced =
  (part: "header" | "payload", name: string, values: Values): Apply =>
  (draft) => {
    draft[part] = { ...draft[part], [name]: draft.random.pick(values(draft)) };
  };

/** Values that no claim or parameter should have. */
const WRONG_VALUES = [
  undefined,
  null,
  7,
  -1,
  1.5,
  true,
  "",
  " ",
  [],
  ["GET"],
  {},
  "\u0000",
  "\u00e9",
] as const;

const wrongValues = (part: "header" | "payload", names: readonly string[]): Changes =>
  Object.fromEntries(names.map((name) => [`${name}: wrong value`, replaced(part, name, () => WRONG_VALUES)]));

const PATHS = [
  ...["/", "/agents", "/agents/", "/agents/7", "/Agents/SEVEN", "/agents/a~b_c-d.e", "/files/a%20b"],
  ...["/files/caf%C3%A9", "/files/50%25", "/a:b/c@d/e,f/(g)/h!$&*+=", "/x/%41%7E%2d"],
];
/** What clients and proxies write differently, and what routers would read differently. */
const UNUSUAL_PATHS = [
  ...["/a/../b", "/a/%2e%2e/b", "/a//b", "//agents", "/a;v=1/b", "/a%2Fb", "/a%5Cb", "/a\\b"],
  ...["/caf\u00E9", "/%", "/%zz", "/a|b", "/a[b]^c", '/a"b', "/a{b}`c", "/a%00b"],
];

const REQUEST_CHANGES: Changes = {
  "method: another one": (draft) => {
    draft.method = draft.random.pick(["PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "QUERY", "Purge"]);
  },
  "target: unusual path": (draft) => {
    draft.target = draft.random.pick(UNUSUAL_PATHS);
  },
  "target: query": (draft) => {
    draft.target += draft.random.pick(["?", "?a=b", "?a=%7E", "?/../x", "?a=b?c=d"]);
  },
  "target: absolute form": (draft) => {
    if (draft.target.startsWith("/")) draft.target = draft.origin + draft.target;
  },
  "target: origin that is not configured": (draft) => {
    draft.origin = draft.random.pick([
      "http://api.example",
      "https://evil.example",
      "https://api.example:444",
    ]);
  },
  "token: cnf": (draft) => {
    const jkt = thumbprintOf(draft.caller.jwk);
    draft.cnf = draft.random.pick<unknown>([
      ...[undefined, null, "jkt", [], [jkt], {}],
      ...[null, 7, "", thumbprintOf(BOB.jwk), `${jkt}=`, jkt.toLowerCase(), [jkt]].map((value) => ({
        jkt: value,
      })),
      ...[{ JKT: jkt }, { "x5t#S256": jkt }, { jwk: draft.caller.jwk }, { kid: "key-1" }],
    ]);
  },
  "token: bearer token without a proof": (draft) => {
    draft.cnf = undefined;
    draft.scheme = "Bearer";
    draft.proofs = [];
  },
  "scheme: another one": (draft) => {
    draft.scheme = draft.random.pick(["dpop", "DPOP", "dPoP", "Bearer", "bearer", "Basic", "DPoP ", "DPo"]);
  },
};

const otherCase = (text: string): string =>
  text.replace(/[a-z]/i, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );

/** Respellings of an `htu`. Some mean the same URI, others don't, and parsers disagree about the rest. */
const RESPELLINGS: Readonly<Record<string, (htu: string) => unknown>> = {
  "scheme in upper case": (htu) => htu.replace(/^https?/, (scheme) => scheme.toUpperCase()),
  "host in upper case": (htu) => htu.replace("api.example", "API.Example"),
  "default port": (htu) => htu.replace(/^(https:\/\/[^:/]+)(?=\/|$)/, "$1:443"),
  "port with a zero": (htu) => htu.replace(/^(https:\/\/[^:/]+)(?=\/|$)/, "$1:0443"),
  "other port": (htu) => htu.replace(/^(https:\/\/[^:/]+)(?::\d+)?/, "$1:444"),
  "other scheme": (htu) => htu.replace(/^https/, "http"),
  "other host": (htu) => htu.replace("api.example", "evil.example"),
  "host with a dot": (htu) => htu.replace("api.example", "api.example."),
  "percent-encoded host": (htu) => htu.replace("api.", "%61pi."),
  "host of wide letters": (htu) => htu.replace("api.", "\uFF41pi."),
  "user information": (htu) => htu.replace("https://", "https://user@"),
  "three slashes": (htu) => htu.replace("https://", "https:///"),
  backslashes: (htu) => htu.replace("https://", "https:\\\\"),
  "leading space": (htu) => ` ${htu}`,
  "line break": (htu) => `${htu.slice(0, 12)}\n${htu.slice(12)}`,
  "trailing slash": (htu) => (htu.endsWith("/") ? htu.slice(0, -1) : `${htu}/`),
  "double slash": (htu) => htu.replace(/\/([^/]*)$/, "//$1"),
  "dot segments": (htu) => htu.replace(/\/([^/]*)$/, "/x/../%2E/$1"),
  "percent-encoded letter": (htu) => htu.replace(/e(?=[^e/]*$)/, "%65"),
  "decoded characters": (htu) => htu.replaceAll(/%(?:41|7E|2d)/g, decodeURIComponent),
  "hex digits in the other case": (htu) =>
    htu.replaceAll(/%[\dA-Fa-f]{2}/g, (encoded) =>
      encoded === encoded.toUpperCase() ? encoded.toLowerCase() : encoded.toUpperCase(),
    ),
  "percent-encoded slash": (htu) => htu.replace(/\/([^/]*)$/, "%2F$1"),
  "percent-encoded reserved character": (htu) => htu.replace(":b", "%3Ab").replace("@d", "%40d"),
  "decoded path": (htu) => htu.replaceAll(/(?:%[89A-F][\dA-F])+/g, decodeURIComponent),
  "letters of the path in the other case": (htu) => htu.slice(0, 24) + otherCase(htu.slice(24)),
  "query and fragment": (htu) => `${htu}?a=b#top?c`,
  "path of another resource": (htu) => `${htu}x`,
  "path only": (htu) => htu.replace(/^https?:\/\/[^/]*/, ""),
  "other protocol": (htu) => htu.replace(/^https/, "wss"),
};

const changedMember = (jwk: Json, random: Random): Json => {
  const name = random.pick(["x", "y", "n", "e"].filter((member) => member in jwk));
  const text = String(jwk[name]);
  const next = String.fromCharCode(text.charCodeAt(text.length - 1) + 1);
  const values = [
    undefined,
    `${text}=`,
    `AA${text}`,
    ` ${text}`,
    text.slice(1),
    text.slice(0, -1) + next,
    "",
  ];
  return { ...jwk, [name]: random.pick(values) };
};

const PROOF_CHANGES: Changes = {
  ...wrongValues("header", ["typ", "alg", "jwk", "crit"]),
  ...wrongValues("payload", ["htm", "htu", "ath", "iat", "jti", "exp", "nbf"]),
  "typ: another type": replaced("header", "typ", () => [
    ...["JWT", "DPoP+JWT", "dpop+jwt ", "application/dpop+jwt", "Application/DPOP+JWT", "text/dpop+jwt"],
    ...["application/application/dpop+jwt", "dpop+jwt;v=1", "at+jwt"],
  ]),
  "alg: another one": replaced("header", "alg", () => [
    ...["none", "HS256", "ES256", "ES384", "RS256", "PS256", "RS512", "EdDSA", "Ed25519", "es256", "Ed448"],
    ...["ML-DSA-44", "ES256K", "RSA1_5", "constructor", "__proto__"],
  ]),
  "jwk: another key": replaced("header", "jwk", ({ caller }) => [
    BOB.jwk,
    caller.privateKey.export({ format: "jwk" }),
    { ...caller.jwk, d: "AQAB" },
    { kty: "oct", k: encode("0123456789abcdef0123456789abcdef") },
  ]),
  "jwk: another key signs": (draft) => {
    draft.signer = BOB;
  },
  "jwk: key of another client, which signs": (draft) => {
    draft.header = { ...draft.header, alg: BOB.alg, jwk: BOB.jwk };
    draft.signer = BOB;
  },
  "jwk: another member": replaced("header", "jwk", ({ caller: { alg, jwk } }) => [
    ...["sig", "enc", "x", 7].map((use) => ({ ...jwk, use })),
    ...[["verify"], ["sign"], [], "verify"].map((operations) => ({ ...jwk, key_ops: operations })),
    ...[alg, "ES384", "HS256", "none", 7].map((name) => ({ ...jwk, alg: name })),
    ...[{ kid: "key-1" }, { x5c: ["AAAA"] }, { ext: false }].map((more) => ({ ...jwk, ...more })),
    ...["EC", "RSA", "OKP", "oct", "ec", undefined].map((kty) => ({ ...jwk, kty })),
    ...["P-256", "P-384", "p-256", "Ed25519", "X25519", undefined].map((crv) => ({ ...jwk, crv })),
  ]),
  "jwk: changed member": replaced("header", "jwk", ({ caller, random }) => [
    changedMember(caller.jwk, random),
  ]),
  "jwk: weak RSA key": (draft) => {
    draft.caller = WEAK_CALLER;
    draft.signer = WEAK_CALLER;
    draft.token = tokenWith({ jkt: thumbprintOf(WEAK_CALLER.jwk) }, draft.nowSeconds);
    draft.header = { ...draft.header, alg: WEAK_CALLER.alg, jwk: WEAK_CALLER.jwk };
    draft.payload = { ...draft.payload, ath: athOf(draft.token) };
  },
  "header: other parameters": (draft) => {
    const more = draft.random.pick<object>([
      { kid: "key-1" },
      { cty: "JWT" },
      { zip: "DEF" },
      { nonce: "n" },
    ]);
    draft.header = { ...draft.header, ...more };
  },
  "htm: another one": replaced("payload", "htm", ({ method, random }) => [
    ...[method.toLowerCase(), ` ${method}`, otherCase(method), `${method}\n`],
    random.pick(["GET", "POST", "get", "*"]),
  ]),
  ...Object.fromEntries(
    Object.entries(RESPELLINGS).map(([name, respell]): [string, Apply] => [
      `htu: ${name}`,
      (draft) => {
        const { htu } = draft.payload;
        if (typeof htu === "string") draft.payload = { ...draft.payload, htu: respell(htu) };
      },
    ]),
  ),
  "ath: another one": replaced("payload", "ath", ({ token }) => [
    ...[athOf(`${token}x`), athOf(""), `${athOf(token)}=`, token],
    ...(["hex", "base64"] as const).map((encoding) =>
      Buffer.from(athOf(token), "base64url").toString(encoding),
    ),
  ]),
  "iat: around the window": replaced("payload", "iat", ({ nowSeconds, random }) => [
    ...[-301, -300.5, -300, -1, 0, 5, 5.5, 6, 299, 300, 301].map((offset) => nowSeconds + offset),
    ...[nowSeconds * 1000, 1e308, String(nowSeconds), nowSeconds - 310 + random.below(20)],
  ]),
  "jti: length": replaced("payload", "jti", ({ random }) =>
    [1, 255, 256, 257, 1000].map((length) => `${random.below(2 ** 32)}`.padEnd(length, "j").slice(0, length)),
  ),
  "jti: Unicode": replaced("payload", "jti", ({ random }) => [
    `\u{1F511}${random.below(2 ** 32)}`,
    `\uD800${random.below(2 ** 32)}`,
  ]),
  "exp: around now": replaced("payload", "exp", ({ nowSeconds }) =>
    [-3600, -31, -30, -29, -1, 0, 1, 30, 3600].map((offset) => nowSeconds + offset),
  ),
  "nbf: around now": replaced("payload", "nbf", ({ nowSeconds }) =>
    [-3600, -1, 0, 1, 29, 30, 31, 3600].map((offset) => nowSeconds + offset),
  ),
  "payload: other claims": replaced("payload", "extra", () => [
    "x",
    7,
    { deep: [{}] },
    "\u2028",
    "\u{1F511}",
  ]),
};

/** Writes the JSON of the payload in another way. */
const rewritten =
  (rewrite: (json: string, draft: Draft) => string): Apply =>
  (draft) => {
    draft.payloadText = rewrite(JSON.stringify(draft.payload), draft);
  };

/** Changes of the JSON of the payload, before it is signed. The header has the same parser. */
const TEXT_CHANGES: Changes = {
  "JSON: repeated claim": rewritten((json, { random, payload }) => {
    const name = random.pick(["htm", "htu", "ath", "iat", "jti"]);
    return json.replace("{", `{"${name}":${JSON.stringify(payload[name])},`);
  }),
  "JSON: repeated claim, escaped": rewritten((json) => json.replace("{", `{"\\u0068tm":"EVIL",`)),
  "JSON: member __proto__": rewritten((json) =>
    json.replace("{", '{"__proto__":{"htm":"GET"},"toString":7,'),
  ),
  "JSON: white space": rewritten((json) => ` ${JSON.stringify(JSON.parse(json), undefined, 1)}\n`),
  "JSON: escapes": rewritten((json) => json.replace('"htm"', '"\\u0068tm"')),
  "JSON: number with an exponent": rewritten((json) => json.replace(/"iat":(\d+)/, '"iat":$1.0e0')),
  "JSON: not an object": rewritten((json, { random }) =>
    random.pick(["[]", "null", '"x"', "7", "", "{", "{}x", `[${json}]`]),
  ),
};

/** Changes of the text of a signed proof. */
const SIGNED_CHANGES: Changes = {
  "form: another number of parts": (draft) => {
    const [header, payload, signature] = partsOf(draft.proof);
    draft.proof = draft.random.pick([
      ...[`${header}.${payload}`, `${header}.${payload}.`, header, `${header}..${signature}`],
      ...[`${draft.proof}.`, `.${draft.proof}`, `${draft.proof}.x.y`],
    ]);
  },
  "form: padding": (draft) => {
    const padded = draft.random.below(3);
    draft.proof = partsOf(draft.proof)
      .map((part, index) => (index === padded ? `${part}=` : part))
      .join(".");
  },
  "form: alphabet of base64": (draft) => {
    draft.proof = draft.proof.replaceAll("-", "+").replaceAll("_", "/");
  },
  "form: other unused bits of the signature": (draft) => {
    draft.proof =
      draft.proof.slice(0, -1) + String.fromCharCode(draft.proof.charCodeAt(draft.proof.length - 1) + 1);
  },
  "form: white space": (draft) => {
    const where = draft.random.below(draft.proof.length);
    draft.proof = draft.proof.slice(0, where) + draft.random.pick([" ", "\t"]) + draft.proof.slice(where);
  },
  "form: other text": (draft) => {
    draft.proof = draft.random.pick([
      "",
      "x",
      "a.b.c",
      draft.token,
      `"${draft.proof}"`,
      `DPoP ${draft.proof}`,
    ]);
  },
  "signature: changed bytes": (draft) => {
    const [header, payload, signature] = partsOf(draft.proof);
    const bytes = Buffer.from(signature, "base64url");
    const flipped = Buffer.from(bytes);
    const index = draft.random.below(bytes.length || 1);
    flipped[index] = (bytes[index] ?? 0) ^ (1 << draft.random.below(8));
    const others = [flipped, bytes.subarray(1), Buffer.concat([bytes, bytes]), Buffer.alloc(bytes.length)];
    draft.proof = `${header}.${payload}.${encode(draft.random.pick(others))}`;
  },
  "signature: of another payload": (draft) => {
    const [header, , signature] = partsOf(draft.proof);
    draft.proof = `${header}.${encode(JSON.stringify({ ...draft.payload, extra: 1 }))}.${signature}`;
  },
};

const FIELD_CHANGES: Changes = {
  "field: other proofs": (draft) => {
    const { proof, token } = draft;
    draft.proofs = draft.random.pick([
      ...[[], [proof, proof], [`${proof}, ${proof}`], [`${proof},`]],
      ...["", "x", token].flatMap((other) => [
        [proof, other],
        [other, proof],
      ]),
    ]);
  },
  "field: replayed proof": (draft) => {
    if (!draft.earlier) return;
    const { method, origin, target, authorization, proofs } = draft.earlier;
    Object.assign(draft, { method, origin, target, authorization, proofs });
  },
  "field: proof of another request": (draft) => {
    draft.proofs = draft.earlier?.proofs ?? draft.proofs;
  },
  "authorization: another form": (draft) => {
    const { scheme, token } = draft;
    draft.authorization = draft.random.pick([
      ...[undefined, scheme, token, `${scheme}\t${token}`, `${scheme} ${token} x`, `${scheme} "${token}"`],
      ...[`${scheme} ${token}, ${scheme} ${token}`, `${scheme} ${token}x`, `${scheme}, ${token}`],
    ]);
  },
};

const STAGES = [REQUEST_CHANGES, PROOF_CHANGES, TEXT_CHANGES, SIGNED_CHANGES, FIELD_CHANGES] as const;
const ALL_CHANGES = STAGES.flatMap((changes, stage) =>
  Object.entries(changes).map(([name, apply]) => ({ name, apply, stage })),
);

/** The names of all changes. */
export const CHANGE_NAMES = ALL_CHANGES.map(({ name }) => name);

const COUNTS = [0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 3];

/** How many requests a later one can repeat. */
const MAX_RECENT = 50;

/** Creates the same requests for a seed, apart from keys and signatures. */
export class RandomRequests {
  readonly #random: Random;
  readonly #nowSeconds: number;
  readonly #recent: RandomRequest[] = [];

  constructor(seed: number, nowSeconds: number) {
    this.#random = randomOf(seed);
    this.#nowSeconds = nowSeconds;
  }

  next(): RandomRequest {
    const recent = this.#recent;
    const earlier = recent[this.#random.below(MAX_RECENT)];
    const request = createRequest(this.#random, this.#nowSeconds, earlier);
    recent[recent.length < MAX_RECENT ? recent.length : this.#random.below(MAX_RECENT)] = request;
    return request;
  }
}

function createRequest(
  random: Random,
  nowSeconds: number,
  earlier: RandomRequest | undefined,
): RandomRequest {
  const chosen = Array.from({ length: random.pick(COUNTS) }, () => random.pick(ALL_CHANGES));
  const applyStage = (stage: number): void => {
    for (const change of chosen) if (change.stage === stage) change.apply(draft);
  };
  const caller = random.pick(CALLERS);
  const draft: Draft = {
    random,
    nowSeconds,
    earlier,
    caller,
    signer: caller,
    cnf: { jkt: thumbprintOf(caller.jwk) },
    method: random.pick(["GET", "POST"]),
    origin: random.pick(ORIGINS),
    target: random.pick(PATHS) + random.pick(["", "", "?page=2"]),
    token: "",
    scheme: "DPoP",
    header: {},
    payload: {},
    payloadText: undefined,
    proof: "",
    proofs: ["a proof"],
    authorization: undefined,
  };
  applyStage(0);
  draft.token = tokenWith(draft.cnf, nowSeconds);
  draft.header = { typ: "dpop+jwt", alg: caller.alg, jwk: caller.jwk };
  const url = draft.target.startsWith("/") ? draft.origin + draft.target : draft.target;
  draft.payload = {
    jti: `${random.below(2 ** 32)}`,
    htm: draft.method,
    htu: url.split("?", 1)[0],
    iat: nowSeconds - random.below(10),
    ath: athOf(draft.token),
  };
  applyStage(1);
  applyStage(2);
  const payload = encode(draft.payloadText ?? JSON.stringify(draft.payload));
  draft.proof = seal(
    encode(JSON.stringify(draft.header)),
    payload,
    draft.signer.alg,
    draft.signer.privateKey,
  );
  applyStage(3);
  if (draft.proofs.length > 0) draft.proofs = [draft.proof];
  draft.authorization = `${draft.scheme} ${draft.token}`;
  applyStage(4);
  const { method, origin, target, authorization, proofs } = draft;
  return { method, origin, target, authorization, proofs, changes: chosen.map(({ name }) => name) };
}
