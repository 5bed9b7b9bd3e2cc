/** Random requests with tokens and proofs: valid ones with up to three changes. */
import {
  constants,
  createHash,
  createPublicKey,
  type KeyObject,
  sign,
  type SignKeyObjectInput,
} from "node:crypto";
import { generateKey } from "../../../src/tools/testing/test-key.ts";
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

type Json = Record<string, unknown>;

/** Mulberry32: the same numbers for a seed on every machine. */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** At least 0, and less than 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  pick<Item>(items: readonly Item[]): Item {
    return items[this.below(items.length)] as Item;
  }

  /** True in `percent` of 100 cases. */
  chance(percent: number): boolean {
    return this.next() * 100 < percent;
  }
}

const base64url = (data: string | Uint8Array): string => Buffer.from(data).toString("base64url");
const sha256 = (text: string): string => createHash("sha256").update(text).digest("base64url");

/** A key of a client, and the JWK of its proofs. */
interface ClientKey {
  readonly algorithm: string;
  readonly privateKey: KeyObject;
  readonly jwk: Json;
  readonly thumbprint: string;
}

const REQUIRED_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  EC: ["crv", "kty", "x", "y"],
  OKP: ["crv", "kty", "x"],
  RSA: ["e", "kty", "n"],
};

function createClientKey(algorithm: string, privateKey: KeyObject): ClientKey {
  const jwk = createPublicKey(privateKey).export({ format: "jwk" }) as Json;
  const members = REQUIRED_MEMBERS[String(jwk["kty"])] ?? [];
  const required = Object.fromEntries(members.map((name) => [name, jwk[name]]));
  return { algorithm, privateKey, jwk, thumbprint: sha256(JSON.stringify(required)) };
}

const elliptic = (namedCurve: string): KeyObject => generateKey("ec", { namedCurve });
const rsa = (modulusLength: number): KeyObject => generateKey("rsa", { modulusLength });
const ed25519 = (): KeyObject => generateKey("ed25519");

const rsaKey = rsa(2048);
const CLIENT_KEYS: readonly ClientKey[] = [
  createClientKey("ES256", elliptic("P-256")),
  createClientKey("ES256", elliptic("P-256")),
  createClientKey("Ed25519", ed25519()),
  createClientKey("EdDSA", ed25519()),
  createClientKey("PS256", rsaKey),
  createClientKey("RS256", rsaKey),
];
const ATTACKER_KEY = createClientKey("ES256", elliptic("P-256"));
const WEAK_KEY = createClientKey("RS256", rsa(1024));
const P384_KEY = createClientKey("ES384", elliptic("P-384"));

const issuerKey = elliptic("P-256");
/** The key set of the authorization server. */
export const ISSUER_JWK = { ...createPublicKey(issuerKey).export({ format: "jwk" }), alg: "ES256" };
export const ISSUER_PEM = createPublicKey(issuerKey).export({ format: "pem", type: "spki" }) as string;

function signText(text: string, algorithm: string, key: KeyObject): string {
  const data = Buffer.from(text);
  const options: SignKeyObjectInput = { key };
  if (key.asymmetricKeyType === "ec") options.dsaEncoding = "ieee-p1363";
  if (algorithm.startsWith("PS") && key.asymmetricKeyType === "rsa") {
    options.padding = constants.RSA_PKCS1_PSS_PADDING;
    options.saltLength = 32;
  }
  const digest = key.asymmetricKeyType === "ed25519" ? null : `sha${algorithm === "ES384" ? 384 : 256}`;
  return sign(digest, data, options).toString("base64url");
}

const tokens = new Map<string, string>();

/** An access token of RFC 9068. Equal claims have one token. */
function tokenWith(cnf: unknown, nowSeconds: number): string {
  const claims = {
    iss: ISSUER,
    aud: AUDIENCE,
    sub: "user-7",
    client_id: "client-7",
    jti: "token-7",
    iat: nowSeconds - 60,
    exp: nowSeconds + 3600,
    scopes: [],
    cnf,
  };
  const payload = JSON.stringify(claims);
  let token = tokens.get(payload);
  if (token === undefined) {
    const text = `${base64url(JSON.stringify({ alg: "ES256", typ: "at+jwt" }))}.${base64url(payload)}`;
    token = `${text}.${signText(text, "ES256", issuerKey)}`;
    tokens.set(payload, token);
  }
  return token;
}

/** What changes work on. */
interface Draft {
  readonly random: Random;
  readonly nowSeconds: number;
  /** One of the requests before it. */
  readonly earlier: RandomRequest | undefined;
  clientKey: ClientKey;
  /** Signs the proof. */
  signer: { readonly algorithm: string; readonly privateKey: KeyObject };
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
  headerText: string | undefined;
  proof: string;
  proofs: readonly string[];
  authorization: string | undefined;
}

type Apply = (draft: Draft) => void;
type Changes = Readonly<Record<string, Apply>>;

/** Values that no claim or parameter should have. */
const WRONG_VALUES: readonly unknown[] = [null, 0, 7, -1, 1.5, true, "", " ", [], ["GET"], {}, "\u0000", "é"];

const setMember =
  (part: "header" | "payload", name: string): Apply =>
  (draft) => {
    const value = draft.random.pick([undefined, ...WRONG_VALUES]);
    // A member that is undefined is left out.
    draft[part] = { ...draft[part], [name]: value };
  };

const setHeader =
  (name: string, values: (draft: Draft) => readonly unknown[]): Apply =>
  (draft) => {
    draft.header = { ...draft.header, [name]: draft.random.pick(values(draft)) };
  };

const setClaim =
  (name: string, values: (draft: Draft) => readonly unknown[]): Apply =>
  (draft) => {
    draft.payload = { ...draft.payload, [name]: draft.random.pick(values(draft)) };
  };

const changeJwk =
  (change: (jwk: Json, draft: Draft) => unknown): Apply =>
  (draft) => {
    draft.header = { ...draft.header, jwk: change({ ...draft.clientKey.jwk }, draft) };
  };

const PATHS = [
  "/",
  "/agents",
  "/agents/",
  "/agents/7",
  "/agents/a~b_c-d.e",
  "/files/a%20b",
  "/files/caf%C3%A9",
  "/files/50%25",
  "/a:b/c@d/e,f/(g)/h!$&'*+=",
  "/x/%41%7E%2d",
  "/Agents/SEVEN",
];
/** What clients and proxies write differently, and what routers would read differently. */
const UNUSUAL_PATHS = [
  "/a/./b",
  "/a/../b",
  "/a/%2e%2e/b",
  "/a//b",
  "//agents",
  "/a;v=1/b",
  "/a%2Fb",
  "/a%5Cb",
  "/a\\b",
  "/caf\u00E9",
  "/%",
  "/%zz",
  "/a|b",
  "/a[b]^c",
  '/a"b',
  "/a{b}`c",
  "/a%00b",
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
    const { thumbprint } = draft.clientKey;
    draft.cnf = draft.random.pick<unknown>([
      undefined,
      null,
      "jkt",
      7,
      [],
      [thumbprint],
      {},
      { jkt: null },
      { jkt: 7 },
      { jkt: "" },
      { jkt: ATTACKER_KEY.thumbprint },
      { jkt: `${thumbprint}=` },
      { jkt: thumbprint.toLowerCase() },
      { jkt: [thumbprint] },
      { JKT: thumbprint },
      { jkt: thumbprint, kid: "key-1" },
      { jkt: thumbprint, "x5t#S256": ATTACKER_KEY.thumbprint },
      { "x5t#S256": ATTACKER_KEY.thumbprint },
      { jwk: draft.clientKey.jwk },
      { kid: "key-1" },
    ]);
  },
  "token: not bound": (draft) => {
    draft.cnf = undefined;
  },
  "token: bearer token without a proof": (draft) => {
    draft.cnf = undefined;
    draft.scheme = "Bearer";
    draft.proofs = [];
  },
  "scheme: another one": (draft) => {
    draft.scheme = draft.random.pick([
      "dpop",
      "DPOP",
      "dPoP",
      "Bearer",
      "bearer",
      "Basic",
      "DPoP ",
      "DPo",
      "Token",
    ]);
  },
};

const otherCase = (text: string): string =>
  text.replace(/[a-z]/i, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  );

/** Respellings of an `htu`. Some mean the same URI, others don't, and parsers disagree about the rest. */
const RESPELLINGS: Readonly<Record<string, (htu: string, draft: Draft) => unknown>> = {
  "scheme in upper case": (htu) => htu.replace(/^https?/, (scheme) => scheme.toUpperCase()),
  "host in upper case": (htu) => htu.replace("api.example", "API.Example"),
  "default port": (htu) => htu.replace(/^(https:\/\/[^:/]+)(?=\/|$)/, "$1:443"),
  "empty port": (htu) => htu.replace(/^(https:\/\/[^:/]+)(?=\/|$)/, "$1:"),
  "port with a zero": (htu) => htu.replace(/^(https:\/\/[^:/]+)(?=\/|$)/, "$1:0443"),
  "other port": (htu) => htu.replace(/^(https:\/\/[^:/]+)(?::\d+)?/, "$1:444"),
  "other scheme": (htu) => htu.replace(/^https/, "http"),
  "other host": (htu) => htu.replace("api.example", "evil.example"),
  "host with a dot": (htu) => htu.replace("api.example", "api.example."),
  "percent-encoded host": (htu) => htu.replace("api.", "%61pi."),
  "host of wide letters": (htu) => htu.replace("api.", "\uFF41pi."),
  "user information": (htu) => htu.replace("https://", "https://user@"),
  "empty user information": (htu) => htu.replace("https://", "https://@"),
  "no slashes": (htu) => htu.replace("https://", "https:"),
  "three slashes": (htu) => htu.replace("https://", "https:///"),
  backslashes: (htu) => htu.replace("https://", "https:\\\\"),
  "backslash in the path": (htu) => htu.replace(/\/([^/]*)$/, "\\$1"),
  "leading space": (htu) => ` ${htu}`,
  "trailing space": (htu) => `${htu} `,
  "line break": (htu) => `${htu.slice(0, 12)}\n${htu.slice(12)}`,
  "tab at the end": (htu) => `${htu}\t`,
  "trailing slash": (htu) => (htu.endsWith("/") ? htu.slice(0, -1) : `${htu}/`),
  "double slash": (htu) => htu.replace(/\/([^/]*)$/, "//$1"),
  "dot segment": (htu) => htu.replace(/\/([^/]*)$/, "/./$1"),
  "dot segments": (htu) => htu.replace(/\/([^/]*)$/, "/x/../$1"),
  "percent-encoded dot segment": (htu) => htu.replace(/\/([^/]*)$/, "/%2E/$1"),
  "dot segment at the end": (htu) => `${htu.replace(/\/$/, "")}/x/..`,
  "percent-encoded letter": (htu) => htu.replace(/e(?=[^e/]*$)/, "%65"),
  "percent-encoded tilde": (htu) => htu.replace("~", "%7E"),
  "decoded characters": (htu) => htu.replaceAll(/%(?:41|7E|2d)/g, decodeURIComponent),
  "hex digits in the other case": (htu) =>
    htu.replaceAll(/%[\dA-Fa-f]{2}/g, (encoded) =>
      encoded === encoded.toUpperCase() ? encoded.toLowerCase() : encoded.toUpperCase(),
    ),
  "percent-encoded slash": (htu) => htu.replace(/\/([^/]*)$/, "%2F$1"),
  "percent-encoded reserved character": (htu) => htu.replace(":b", "%3Ab").replace("@d", "%40d"),
  "decoded path": (htu) => htu.replaceAll(/(?:%[89A-F][\dA-F])+/g, decodeURIComponent),
  "letters of the path in the other case": (htu) => htu.slice(0, 24) + otherCase(htu.slice(24)),
  query: (htu) => `${htu}?a=b`,
  "other query": (htu) => `${htu}?evil`,
  "empty query": (htu) => `${htu}?`,
  fragment: (htu) => `${htu}#top`,
  "query and fragment": (htu) => `${htu}?a=b#top?c`,
  "path of another resource": (htu) => `${htu}x`,
  parent: (htu) => htu.slice(0, htu.lastIndexOf("/") + 1),
  "path only": (htu) => htu.replace(/^https?:\/\/[^/]*/, ""),
  "no scheme": (htu) => htu.replace(/^https?:/, ""),
  "other protocol": (htu) => htu.replace(/^https/, "wss"),
  array: (htu) => [htu],
  object: (htu) => ({ href: htu }),
};

const respellingChanges = Object.fromEntries(
  Object.entries(RESPELLINGS).map(([name, respell]): [string, Apply] => [
    `htu: ${name}`,
    (draft) => {
      const { htu } = draft.payload;
      if (typeof htu === "string") draft.payload = { ...draft.payload, htu: respell(htu, draft) };
    },
  ]),
);

const PROOF_CHANGES: Changes = {
  "typ: wrong value": setMember("header", "typ"),
  "typ: another type": setHeader("typ", () => [
    ...["JWT", "DPoP+JWT", "dpop", "dpop+jwt ", "application/dpop+jwt", "Application/DPOP+JWT"],
    ...["text/dpop+jwt", "application/application/dpop+jwt", "dpop+jwt;v=1", "at+jwt"],
  ]),
  "alg: wrong value": setMember("header", "alg"),
  "alg: another one": setHeader("alg", () => [
    ...["none", "HS256", "ES256", "ES384", "RS256", "PS256", "RS512", "EdDSA", "Ed25519", "es256", "Ed448"],
    ...["ML-DSA-44", "ES256K", "RSA1_5", "constructor", "__proto__"],
  ]),
  "alg: EdDSA and Ed25519 exchanged": (draft) => {
    const { alg } = draft.header;
    draft.header = { ...draft.header, alg: alg === "EdDSA" ? "Ed25519" : alg === "Ed25519" ? "EdDSA" : alg };
  },
  "jwk: wrong value": setMember("header", "jwk"),
  "jwk: private": changeJwk((_jwk, { clientKey }) => clientKey.privateKey.export({ format: "jwk" })),
  "jwk: member d": changeJwk((jwk, { random }) => ({ ...jwk, d: random.pick<unknown>(["AQAB", "", null]) })),
  "jwk: symmetric": changeJwk(() => ({ kty: "oct", k: base64url("0123456789abcdef0123456789abcdef") })),
  "jwk: key of another client": changeJwk(() => ATTACKER_KEY.jwk),
  "jwk: another key signs": (draft) => {
    draft.signer = ATTACKER_KEY;
  },
  "jwk: key of another client, which signs": (draft) => {
    draft.header = { ...draft.header, alg: ATTACKER_KEY.algorithm, jwk: ATTACKER_KEY.jwk };
    draft.signer = ATTACKER_KEY;
  },
  "jwk: use": changeJwk((jwk, { random }) => ({ ...jwk, use: random.pick<unknown>(["sig", "enc", "x", 7]) })),
  "jwk: key_ops": changeJwk((jwk, { random }) => ({
    ...jwk,
    key_ops: random.pick<unknown>([["verify"], ["sign"], ["verify", "sign"], [], "verify", ["encrypt"]]),
  })),
  "jwk: alg": changeJwk((jwk, { random, clientKey }) => ({
    ...jwk,
    alg: random.pick<unknown>([clientKey.algorithm, "ES256", "RS256", "ES384", "HS256", "none", 7]),
  })),
  "jwk: kid, x5c and others": changeJwk((jwk, { random }) => ({
    ...jwk,
    ...random.pick<object>([
      { kid: "key-1" },
      { kid: 7 },
      { x5c: [] },
      { x5c: ["AAAA"] },
      { x5u: "https://evil.example" },
      { "x5t#S256": "AAAA" },
      { ext: true },
      { ext: false },
      { oth: [] },
      { extra: { deep: [1] } },
    ]),
  })),
  "jwk: kty": changeJwk((jwk, { random }) => ({
    ...jwk,
    kty: random.pick<unknown>(["EC", "RSA", "OKP", "oct", "ec", "AKP", null, undefined, "toString"]),
  })),
  "jwk: crv": changeJwk((jwk, { random }) => ({
    ...jwk,
    crv: random.pick<unknown>(["P-256", "P-384", "p-256", "Ed25519", "X25519", "Ed448", null, undefined]),
  })),
  "jwk: missing member": changeJwk((jwk, { random }) => ({
    ...jwk,
    [random.pick(["x", "y", "n", "e"])]: undefined,
  })),
  "jwk: changed member": changeJwk((jwk, { random }) => {
    const name = random.pick(["x", "y", "n", "e"].filter((member) => member in jwk));
    const text = String(jwk[name]);
    const last = text.slice(-1);
    return {
      ...jwk,
      [name]: random.pick([
        `${text}=`,
        `${text}A`,
        `AA${text}`,
        ` ${text}`,
        text.slice(1),
        // Different unused bits of the last character, or another last character.
        text.slice(0, -1) + String.fromCharCode(last.charCodeAt(0) + 1),
        text.replaceAll("-", "+").replaceAll("_", "/"),
        "",
      ]),
    };
  }),
  "jwk: weak RSA key": (draft) => useKey(draft, WEAK_KEY),
  "jwk: key of P-384": (draft) => useKey(draft, P384_KEY),
  "crit: present": setHeader("crit", () => [["exp"], [], "exp", null, ["b64"], ["htm"], {}]),
  "b64: present": setHeader("b64", () => [true, false, null]),
  "header: other parameters": (draft) => {
    draft.header = {
      ...draft.header,
      ...draft.random.pick<object>([
        { kid: "key-1" },
        { jku: "https://evil.example/jwks" },
        { x5u: "https://evil.example" },
        { x5c: ["AAAA"] },
        { cty: "JWT" },
        { zip: "DEF" },
        { nonce: "n" },
        { jwk2: {} },
        { url: "https://api.example" },
      ]),
    };
  },
  "htm: wrong value": setMember("payload", "htm"),
  "htm: another one": setClaim("htm", ({ method, random }) => [
    ...[method.toLowerCase(), ` ${method}`, `${method} `, otherCase(method), `${method}\n`],
    random.pick(["GET", "POST", "get", "*"]),
  ]),
  "htu: wrong value": setMember("payload", "htu"),
  ...respellingChanges,
  "ath: wrong value": setMember("payload", "ath"),
  "ath: another one": setClaim("ath", ({ token }) => [
    sha256(`${token}x`),
    sha256(""),
    `${sha256(token)}=`,
    createHash("sha256").update(token).digest("hex"),
    createHash("sha256").update(token).digest("base64"),
    createHash("sha512").update(token).digest("base64url"),
    createHash("sha256").update(token).digest().subarray(0, 16).toString("base64url"),
    token,
  ]),
  "iat: wrong value": setMember("payload", "iat"),
  "iat: around the window": setClaim("iat", ({ nowSeconds, random }) => [
    ...[-302, -301, -300, -299, -1, 0, 1, 4, 5, 6, 7, 60, 299, 300, 301, 302].map(
      (offset) => nowSeconds + offset,
    ),
    ...[nowSeconds - 300.5, nowSeconds - 299.5, nowSeconds + 5.5, nowSeconds + 300.5],
    ...[nowSeconds * 1000, 1e308, Number.MAX_SAFE_INTEGER, String(nowSeconds), new Date(0).toISOString()],
    nowSeconds - 310 + random.below(20),
    nowSeconds - 10 + random.below(20),
  ]),
  "jti: wrong value": setMember("payload", "jti"),
  "jti: length": setClaim("jti", ({ random }) =>
    [1, 255, 256, 257, 1000].map((length) => `${random.next()}`.padEnd(length, "j").slice(0, length)),
  ),
  "jti: Unicode": setClaim("jti", ({ random }) => [`\u{1F511}${random.next()}`, `\uD800${random.next()}`]),
  "exp: present": setClaim("exp", ({ nowSeconds }) => [
    ...[-3600, -31, -30, -29, -1, 0, 1, 30, 3600].map((offset) => nowSeconds + offset),
    ...[null, "", String(nowSeconds + 60), 1e300, 0.5],
  ]),
  "nbf: present": setClaim("nbf", ({ nowSeconds }) => [
    ...[-3600, -1, 0, 1, 29, 30, 31, 3600].map((offset) => nowSeconds + offset),
    ...[null, "", String(nowSeconds), -1],
  ]),
  "payload: registered claims": (draft) => {
    const name = draft.random.pick(["iss", "aud", "sub"]);
    const value = draft.random.pick<unknown>(["x", AUDIENCE, 7, null, [], ["x"], {}]);
    draft.payload = { ...draft.payload, [name]: value };
  },
  "payload: nonce": setClaim("nonce", () => ["nonce", "", null, 7, {}, []]),
  "payload: other claims": setClaim("extra", () => ["x", 7, null, { deep: [{}] }, "\u2028", "\u{1F511}"]),
};

/** The token is bound to the key, which signs. */
function useKey(draft: Draft, key: ClientKey): void {
  draft.clientKey = key;
  draft.signer = key;
  draft.cnf = { jkt: key.thumbprint };
  draft.token = tokenWith(draft.cnf, draft.nowSeconds);
  draft.header = { ...draft.header, alg: key.algorithm, jwk: key.jwk };
  draft.payload = { ...draft.payload, ath: sha256(draft.token) };
}

/** Changes of the JSON texts, before they are signed. */
const TEXT_CHANGES: Changes = {
  "JSON: repeated claim": (draft) => {
    const name = draft.random.pick(["htm", "htu", "ath", "iat", "jti"]);
    const first = JSON.stringify(draft.random.pick<unknown>([draft.payload[name], "x", 7]));
    draft.payloadText = JSON.stringify(draft.payload).replace("{", `{"${name}":${first},`);
  },
  "JSON: repeated claim, escaped": (draft) => {
    draft.payloadText = JSON.stringify(draft.payload).replace("{", `{"\\u0068tm":"EVIL",`);
  },
  "JSON: repeated parameter": (draft) => {
    const name = draft.random.pick(["alg", "typ", "jwk"]);
    const first = JSON.stringify(draft.random.pick<unknown>([draft.header[name], "none", {}]));
    draft.headerText = JSON.stringify(draft.header).replace("{", `{"${name}":${first},`);
  },
  "JSON: repeated member of the key": (draft) => {
    draft.headerText = JSON.stringify(draft.header).replace('"jwk":{', '"jwk":{"kty":"oct",');
  },
  "JSON: member __proto__": (draft) => {
    const added = draft.random.pick(['{"__proto__":{"htm":"GET"},', '{"constructor":{},', '{"toString":7,']);
    draft.payloadText = JSON.stringify(draft.payload).replace("{", added);
  },
  "JSON: white space": (draft) => {
    draft.payloadText = JSON.stringify(draft.payload, undefined, draft.random.pick([1, "\t"]));
    draft.headerText = ` ${JSON.stringify(draft.header)}\n`;
  },
  "JSON: escapes": (draft) => {
    draft.payloadText = JSON.stringify(draft.payload).replace('"htm"', '"\\u0068tm"');
  },
  "JSON: byte order mark": (draft) => {
    draft.payloadText = `\uFEFF${JSON.stringify(draft.payload)}`;
  },
  "JSON: number with an exponent": (draft) => {
    draft.payloadText = JSON.stringify(draft.payload).replace(/"iat":(\d+)/, '"iat":$1.0e0');
  },
  "JSON: not an object": (draft) => {
    const text = draft.random.pick([
      "[]",
      "null",
      '"x"',
      "7",
      "",
      "{",
      "{}x",
      `[${JSON.stringify(draft.payload)}]`,
    ]);
    if (draft.random.chance(50)) draft.payloadText = text;
    else draft.headerText = text;
  },
  "JSON: large": (draft) => {
    draft.payload = { ...draft.payload, extra: "x".repeat(draft.random.pick([1000, 5000, 7000, 20_000])) };
  },
};

/** Changes of the text of a signed proof. */
const SIGNED_CHANGES: Changes = {
  "form: another number of parts": (draft) => {
    const [header = "", payload = "", signature = ""] = draft.proof.split(".");
    draft.proof = draft.random.pick([
      `${header}.${payload}`,
      `${header}.${payload}.`,
      `${draft.proof}.`,
      `.${draft.proof}`,
      `${draft.proof}.${signature}`,
      `${draft.proof}.x.y`,
      header,
      `${header}..${signature}`,
    ]);
  },
  "form: padding": (draft) => {
    const parts = draft.proof.split(".");
    const padded = draft.random.below(3);
    draft.proof = parts.map((part, index) => (index === padded ? `${part}=` : part)).join(".");
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
      "null",
      `"${draft.proof}"`,
      `DPoP ${draft.proof}`,
    ]);
  },
  "signature: changed bit": (draft) => {
    const [header = "", payload = "", signature = ""] = draft.proof.split(".");
    const bytes = Buffer.from(signature, "base64url");
    const index = draft.random.below(bytes.length || 1);
    bytes[index] = (bytes[index] ?? 0) ^ (1 << draft.random.below(8));
    draft.proof = `${header}.${payload}.${bytes.toString("base64url")}`;
  },
  "signature: another length": (draft) => {
    const [header = "", payload = "", signature = ""] = draft.proof.split(".");
    const bytes = Buffer.from(signature, "base64url");
    const other = draft.random.pick([
      bytes.subarray(1),
      Buffer.concat([bytes, bytes]),
      Buffer.alloc(bytes.length),
    ]);
    draft.proof = `${header}.${payload}.${other.toString("base64url")}`;
  },
  "signature: of another payload": (draft) => {
    const [header = "", , signature = ""] = draft.proof.split(".");
    draft.proof = `${header}.${base64url(JSON.stringify({ ...draft.payload, htm: "GET", extra: 1 }))}.${signature}`;
  },
};

const FIELD_CHANGES: Changes = {
  "field: no proof": (draft) => {
    draft.proofs = [];
  },
  "field: the proof twice": (draft) => {
    draft.proofs = [draft.proof, draft.proof];
  },
  "field: two proofs in one field": (draft) => {
    draft.proofs = [`${draft.proof}${draft.random.pick([",", ", "])}${draft.random.pick([draft.proof, ""])}`];
  },
  "field: another field": (draft) => {
    const other = draft.random.pick(["", "x", draft.token]);
    draft.proofs = draft.random.chance(50) ? [draft.proof, other] : [other, draft.proof];
  },
  "field: replayed proof": (draft) => {
    const { earlier } = draft;
    if (!earlier) return;
    draft.method = earlier.method;
    draft.origin = earlier.origin;
    draft.target = earlier.target;
    draft.authorization = earlier.authorization;
    draft.proofs = earlier.proofs;
  },
  "field: proof of another request": (draft) => {
    draft.proofs = draft.earlier?.proofs ?? draft.proofs;
  },
  "authorization: another form": (draft) => {
    const { scheme, token } = draft;
    draft.authorization = draft.random.pick([
      undefined,
      `${scheme}  ${token}`,
      `${scheme}\t${token}`,
      scheme,
      token,
      `${scheme} ${token} x`,
      `${scheme} ${token}, ${scheme} ${token}`,
      `${scheme} "${token}"`,
      `${scheme} ${token}=`,
      `${scheme} ${token}x`,
      `${scheme} x`,
      `${scheme}, ${token}`,
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
    this.#random = new Random(seed);
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
  const clientKey = random.pick(CLIENT_KEYS);
  const draft: Draft = {
    random,
    nowSeconds,
    earlier,
    clientKey,
    signer: clientKey,
    cnf: { jkt: clientKey.thumbprint },
    method: random.pick(["GET", "POST"]),
    origin: random.pick(ORIGINS),
    target: random.pick(PATHS) + random.pick(["", "", "?page=2"]),
    token: "",
    scheme: "DPoP",
    header: {},
    payload: {},
    payloadText: undefined,
    headerText: undefined,
    proof: "",
    proofs: ["a proof"],
    authorization: undefined,
  };
  applyStage(0);
  draft.token = tokenWith(draft.cnf, nowSeconds);
  draft.header = { typ: "dpop+jwt", alg: clientKey.algorithm, jwk: clientKey.jwk };
  const url = draft.target.startsWith("/") ? draft.origin + draft.target : draft.target;
  draft.payload = {
    jti: `${random.next()}`,
    htm: draft.method,
    htu: url.split("?", 1)[0],
    iat: nowSeconds - random.below(10),
    ath: sha256(draft.token),
  };
  applyStage(1);
  applyStage(2);
  const encodedHeader = base64url(draft.headerText ?? JSON.stringify(draft.header));
  const text = `${encodedHeader}.${base64url(draft.payloadText ?? JSON.stringify(draft.payload))}`;
  const { algorithm, privateKey } = draft.signer;
  draft.proof = `${text}.${signText(text, algorithm, privateKey)}`;
  applyStage(3);
  if (draft.proofs.length > 0) draft.proofs = [draft.proof];
  draft.authorization = `${draft.scheme} ${draft.token}`;
  applyStage(4);
  const { method, origin, target, authorization, proofs } = draft;
  return { method, origin, target, authorization, proofs, changes: chosen.map(({ name }) => name) };
}
