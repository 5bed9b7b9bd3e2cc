/** Keys, tokens and proofs of RFC 9449, which are built byte by byte. */
import { createHash, createPublicKey, type KeyObject } from "node:crypto";
import { generateKey } from "../../../src/tools/testing/test-key.ts";
import { CLAIMS, encode, forge, NOW, partsOf, privateKeyOf } from "../tokens/forge.ts";

export { encode, NOW, partsOf };

/** The public origin of the service. It isn't the address that the tests connect to. */
export const ORIGIN = "https://api.example";
export const TARGET = "/agents/7";
export const HTU = ORIGIN + TARGET;
/** The secret of the servers that require a nonce. */
export const NONCE_SECRET = "a-secret-for-nonces-that-is-long-enough-for-the-tests-0123456789";

/** A caller has a key pair and signs proofs with it. */
export interface Caller {
  readonly alg: string;
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  readonly jwk: Readonly<Record<string, unknown>>;
}

export const callerOf = (alg: string, privateKey: KeyObject): Caller => {
  const publicKey = createPublicKey(privateKey);
  return { alg, privateKey, publicKey, jwk: publicKey.export({ format: "jwk" }) };
};

export const ALICE = callerOf("ES256", privateKeyOf("p256"));
export const BOB = callerOf("ES256", generateKey("ec", { namedCurve: "P-256" }));
export const RSA_CALLER = callerOf("RS256", privateKeyOf("stranger"));
export const EDWARDS_CALLER = callerOf("EdDSA", privateKeyOf("ed25519"));

const REQUIRED_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  EC: ["crv", "kty", "x", "y"],
  RSA: ["e", "kty", "n"],
  OKP: ["crv", "kty", "x"],
  oct: ["k", "kty"],
};

/** The members of the thumbprint of a key, in their order (RFC 7638 section 3.2). */
export const thumbprintInput = (jwk: Caller["jwk"]): string => {
  const kty = String(jwk["kty"]);
  const names = (Object.hasOwn(REQUIRED_MEMBERS, kty) ? REQUIRED_MEMBERS[kty] : undefined) ?? ["kty"];
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, jwk[name]])));
};

export const thumbprintOf = (jwk: Caller["jwk"]): string =>
  createHash("sha256").update(thumbprintInput(jwk)).digest("base64url");

/** What RFC 9068 requires, so that another implementation can read the tokens. */
export const ISSUER = "https://login.example";
const PROFILE = { iss: ISSUER, client_id: "client-1", jti: "token-1", iat: NOW, exp: 4_000_000_000 };

const tokens = new Map<string, string>();

/** A token with more claims. Tokens with the same claims are the same. */
export function tokenWith(more: Readonly<Record<string, unknown>> = {}): string {
  const name = JSON.stringify(more);
  const payload = { ...CLAIMS, ...PROFILE, ...more };
  const token = tokens.get(name) ?? forge({ header: { alg: "RS256", typ: "at+jwt" }, payload });
  tokens.set(name, token);
  return token;
}

export const boundTo = (jwk: Caller["jwk"], more: Readonly<Record<string, unknown>> = {}): string =>
  tokenWith({ cnf: { jkt: thumbprintOf(jwk) }, ...more });

export const athOf = (token: string): string => createHash("sha256").update(token).digest("base64url");

let proofs = 0;
export const nextId = (): string => `proof-${(proofs += 1)}`;

export interface ProofOptions {
  readonly caller?: Caller;
  readonly token?: string;
  /** Replaces claims. A claim that is `undefined` is left out. */
  readonly claims?: Readonly<Record<string, unknown>>;
  /** Replaces header parameters. A parameter that is `undefined` is left out. */
  readonly header?: Readonly<Record<string, unknown>>;
  /** The algorithm of the signature. The header may name another. */
  readonly signedAs?: string;
  /** The key of the signature. The header may have another. */
  readonly signedWith?: KeyObject | string;
}

export const ALICE_TOKEN = boundTo(ALICE.jwk);
export const BOB_TOKEN = boundTo(BOB.jwk, { sub: "user-2" });

export const proofClaims = (token: string): Readonly<Record<string, unknown>> => ({
  jti: nextId(),
  htm: "GET",
  htu: HTU,
  iat: NOW,
  ath: athOf(token),
});

export const proofHeader = ({ alg, jwk }: Caller): Readonly<Record<string, unknown>> => ({
  typ: "dpop+jwt",
  alg,
  jwk,
});

/** Creates the proof of an honest caller, with the changes of the options. */
export function proofOf({
  caller = ALICE,
  token = boundTo(caller.jwk),
  claims: changedClaims = {},
  header = {},
  signedAs = caller.alg,
  signedWith = caller.privateKey,
}: ProofOptions = {}): string {
  return forge({
    alg: signedAs,
    key: signedWith,
    header: { ...proofHeader(caller), ...header },
    payload: { ...proofClaims(token), ...changedClaims },
  });
}

/** Creates a proof whose header or payload is raw JSON, text or bytes, with a matching signature. */
export const rawProof = ({
  header = JSON.stringify(proofHeader(ALICE)),
  payload = JSON.stringify(proofClaims(ALICE_TOKEN)),
}: {
  readonly header?: string | Uint8Array;
  readonly payload?: string | Uint8Array;
}): string => forge({ alg: ALICE.alg, key: ALICE.privateKey, header, payload });

/** The longest proof of at most 8,192 characters, and the next longer one. */
export function proofsAroundLimit(): { readonly longest: string; readonly tooLong: string } {
  const padded = (fill: number): string => proofOf({ claims: { pad: "x".repeat(fill) } });
  let fill = Math.floor(((8_192 - padded(0).length) * 3) / 4) - 3;
  let longest = padded(fill);
  for (;;) {
    fill += 1;
    const next = padded(fill);
    if (next.length > 8_192) return { longest, tooLong: next };
    longest = next;
  }
}

/** The JSON of an object, with raw members before the other ones. */
export const jsonWith = (object: object, members: string): string =>
  `{${members},${JSON.stringify(object).slice(1)}`;

/** One request as a client sends it. */
export interface Sent {
  /** Default: `GET`. */
  readonly method?: string;
  /** Default: `TARGET`. */
  readonly target?: string;
  readonly fields: readonly (readonly [name: string, value: string])[];
}

/** The request of an honest caller, or with another token and another proof. */
export const sent = (token: string, proof?: string, more: Partial<Sent> = {}): Sent => ({
  ...more,
  fields: [
    ["Authorization", `DPoP ${token}`],
    ...(proof === undefined ? [] : [["DPoP", proof] as const]),
    ...(more.fields ?? []),
  ],
});

/** Alice's token with a proof that has these changes. */
export const sentBy = (options: ProofOptions = {}, more: Partial<Sent> = {}): Sent => {
  const { caller = ALICE } = options;
  const { token = boundTo(caller.jwk) } = options;
  return sent(token, proofOf({ ...options, token }), more);
};

export type ServerName = "plain" | "nonce" | "required" | "cookie" | "ES256 only";

/** A request that must be refused. */
export interface Attack {
  readonly name: string;
  /** The rejection of the proof, or the reason of the decision. */
  readonly expected: string;
  /** Default: `plain`. */
  readonly server?: ServerName | undefined;
  /** Honest requests that are accepted before. */
  readonly earlier?: () => readonly Sent[];
  /** Properties of `Object.prototype` during the decision, as after a prototype pollution attack. */
  readonly pollution?: Readonly<Record<string, unknown>>;
  /** Called once per host, with the requests of `earlier`. */
  readonly send: (earlier: readonly Sent[]) => Sent;
}

export const attack = (
  expected: string,
  name: string,
  send: Attack["send"],
  more: Partial<Attack> = {},
): Attack => ({ name, expected, send, ...more });

/** A request that must be refused after an honest one, which it repeats or changes. */
export const replay = (
  expected: string,
  name: string,
  change: (first: Sent) => Sent,
  first: () => Sent = sentBy,
): Attack =>
  attack(expected, name, ([honest = { fields: [] }]) => change(honest), { earlier: () => [first()] });

/** The claims of the proof of a request. */
export function claimsOf({ fields }: Sent): Readonly<Record<string, unknown>> {
  const [, proof = ""] = fields.find(([name]) => name === "DPoP") ?? [];
  return JSON.parse(Buffer.from(partsOf(proof)[1], "base64url").toString()) as Caller["jwk"];
}

export const shown = (value: unknown): string =>
  value === undefined ? "(absent)" : JSON.stringify(value).slice(0, 60);
