import { type Report } from "../errors.ts";
import { type Algorithm } from "./algorithm.ts";
import { importKey } from "./import-key.ts";
import { createJwksFileResolver } from "./jwks-file.ts";
import { requireJwks } from "./jwks.ts";
import { type KeyUse } from "./key-use.ts";
import { createRemoteResolver, type DiscoverySource, type JwksUriSource } from "./remote-source.ts";
import {
  importMaterial,
  isVerificationKey,
  type JsonWebKeySet,
  type KeyResolver,
  selectKeys,
  type VerificationKey,
  type VerificationKeyInput,
} from "./verification-key.ts";

/** Where the keys come from: exactly one of these. */
export type KeySource =
  | { readonly verificationKeys: readonly VerificationKeyInput[] }
  /** A JWK Set in memory (RFC 7517 section 5). Keys that do not suit the algorithms are left out. */
  | { readonly jwks: JsonWebKeySet }
  /** The path of a file that holds a JWK Set; read again when it changes. */
  | { readonly jwksFile: string }
  | JwksUriSource
  | DiscoverySource;

/** Makes the resolver of a key source, or reports why its keys cannot be used. */
export function createKeyResolver(source: KeySource, use: KeyUse, report: Report): KeyResolver | undefined {
  const { algorithms, path } = use;
  if ("jwksUri" in source || "discovery" in source) return createRemoteResolver(source, use, report);
  if ("jwksFile" in source) return createJwksFileResolver(source.jwksFile, use, report);
  const keys =
    "jwks" in source
      ? requireJwks(source.jwks, algorithms, [...path, "jwks"], report)
      : importKeys(source.verificationKeys, algorithms, [...path, "verificationKeys"], report);
  return keys && createStaticResolver(keys);
}

function importKeys(
  inputs: readonly VerificationKeyInput[],
  algorithms: readonly Algorithm[],
  path: readonly (string | number)[],
  report: Report,
): readonly VerificationKey[] | undefined {
  if (inputs.length === 0) {
    report({ code: "option_invalid", path, message: "is empty.", hint: "Give at least one key." });
    return undefined;
  }
  const imported = inputs.map((input) => importKey(input, algorithms));
  for (const [index, key] of imported.entries())
    if (!isVerificationKey(key)) report({ ...key, path: [...path, index] });
  const keys = imported.filter(isVerificationKey);
  return keys.length < imported.length ? undefined : keys;
}

function createStaticResolver(keys: readonly VerificationKey[]): KeyResolver {
  return {
    find: (query) => selectKeys(keys, query),
    holds: (key) => keys.includes(key),
    ready: () => importMaterial(keys),
    close: () => undefined,
  };
}
