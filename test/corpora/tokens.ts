/** The tokens of test/security/tokens as a corpus: those that another implementation can verify. */
import { createPublicKey } from "node:crypto";
import { jwkOf, partsOf, SECRET, type TokenCase } from "../security/tokens/forge.ts";
import { TOKEN_CASES } from "../security/tokens.ts";
import type { ResourceServerOptions } from "../support/server.ts";
import type { CorpusToken } from "./format.ts";

/** What every configuration contains. */
export const TOKEN_CONFIGURATION = { service_id: "agents-prod", default_scope_mappings: {} };

const secretKey = (secret: string) => ({ kty: "oct", k: Buffer.from(secret).toString("base64url") });

/** The keys by the names that the corpus has for them. */
export const TEST_KEYS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  rsa: jwkOf("rsa"),
  p256: jwkOf("p256"),
  p384: jwkOf("p384"),
  p521: jwkOf("p521"),
  ed25519: jwkOf("ed25519"),
  secret: secretKey(SECRET),
};

/** Longer tokens test limits that an implementation chooses. */
const MAX_LENGTH = 4_096;

/** Verdicts that are no rejections are about the configuration. */
const VERDICTS: ReadonlySet<string> = new Set([
  ...["accepted", "malformed", "too_large", "algorithm", "key", "signature", "expired"],
  ...["not_yet_valid", "issuer", "audience", "type", "claims"],
]);

/** The forms of configured keys, which the corpus does not have, because each key is a JWK. */
const KEY_FORM = "a configured key: ";

type Keys = NonNullable<ResourceServerOptions["verificationKeys"]>;

const toJwk = (key: Keys[number]): object => {
  if (typeof key !== "string") return key;
  return /-----BEGIN|^\{/.test(key) ? createPublicKey(key).export({ format: "jwk" }) : secretKey(key);
};

const nameOf = (jwk: object): string | undefined =>
  Object.keys(TEST_KEYS).find((name) => JSON.stringify(TEST_KEYS[name]) === JSON.stringify(jwk));

const toSnakeCase = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Returns the configuration as in a configuration file, with the names of keys instead of `verification_keys`. */
function configurationOf({ options = {} }: TokenCase): Pick<CorpusToken, "configuration" | "keys"> {
  const { verificationKeys, ...others } = options;
  const configuration = Object.fromEntries(
    Object.entries(others).map(([name, value]) => [toSnakeCase(name), value] as const),
  );
  if (options.keys) return { configuration };
  const jwks = verificationKeys?.map(toJwk) ?? [jwkOf("rsa")];
  const names = jwks.map(nameOf).filter((name) => name !== undefined);
  if (names.length === jwks.length) return { configuration, keys: names };
  return { configuration: { ...configuration, verification_keys: jwks } };
}

/** The caller that a payload names, without a check. */
function principalOf({ token, options = {} }: TokenCase): Extract<CorpusToken, { result: "accepted" }>["principal"] {
  const claims = JSON.parse(Buffer.from(partsOf(token)[1], "base64url").toString()) as Record<string, unknown>;
  const path = [options.scopesClaim ?? "scopes"].flat();
  let scopes: unknown = claims;
  for (const name of path) scopes = (scopes as Record<string, unknown>)[name];
  return {
    ...(claims["sub"] !== undefined && { user_id: `${claims["sub"] as string | number}` }),
    scopes: typeof scopes === "string" ? scopes.split(" ") : (scopes as string[]),
    audience: [(claims["aud"] as string | string[] | undefined) ?? []].flat(),
  };
}

function toCorpusToken(row: TokenCase): CorpusToken {
  const { name, token, expected } = row;
  const verified = { name, ...configurationOf(row), token };
  return expected === "accepted"
    ? { ...verified, result: "accepted", principal: principalOf(row) }
    : { ...verified, result: "rejected", rejection: expected as never };
}

export const CORPUS_TOKENS: readonly CorpusToken[] = Object.entries(TOKEN_CASES).flatMap(([table, rows]) =>
  rows
    .filter(({ token, pollution }) => token.length <= MAX_LENGTH && !pollution)
    .filter(({ name, expected }) => VERDICTS.has(expected) && !name.startsWith(KEY_FORM))
    .map((row) => toCorpusToken({ ...row, name: `${table}: ${row.name}` })),
);

/** ECDSA and PSS sign with random numbers, so only these parts of a token can be written again. */
export const signedParts = (token: string): string => token.split(".").slice(0, 2).join(".");
