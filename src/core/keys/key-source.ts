import type { Report } from "../errors.ts";
import type { Algorithm } from "./algorithm.ts";
import { importJwk, importKey } from "./import-key.ts";
import { createJwksFileResolver, type JwksFileSource } from "./jwks-file.ts";
import { importerFor, type KeyUse, requireJwks } from "./jwks.ts";
import type { KeySourceContext } from "./key-event.ts";
import { createRemoteResolver, type DiscoverySource, type JwksUriSource } from "./remote-source.ts";
import {
  findRepeatedSecret,
  importMaterial,
  type JsonWebKeySet,
  keyIdsOf,
  type KeyResolver,
  selectKeys,
  type VerificationKey,
  type VerificationKeyInput,
} from "./verification-key.ts";

/** Where the keys come from: exactly one of these. */
export type KeySource =
  | { readonly verificationKeys: readonly VerificationKeyInput[] }
  /** A JWK Set in memory (RFC 7517 section 5). Keys that don't support the algorithms are ignored. */
  | ({ readonly jwks: JsonWebKeySet } & KeyUse)
  | JwksFileSource
  | JwksUriSource
  | DiscoverySource;

/** Creates the resolver of a key source, or reports why its keys can't be used. */
export function createKeyResolver(
  source: KeySource,
  context: KeySourceContext,
  report: Report,
): KeyResolver | undefined {
  const { algorithms, path } = context;
  if ("jwksUri" in source || "discovery" in source) return createRemoteResolver(source, context, report);
  if ("jwksFile" in source) return createJwksFileResolver(source, context, report);
  if ("jwks" in source) {
    const importEntry = importerFor(source.use, importJwk);
    const keys = requireJwks(source.jwks, algorithms, [...path, "jwks"], report, importEntry);
    return createFixedResolver("jwks", keys);
  }
  const { verificationKeys } = source;
  const keys = importKeys(verificationKeys, algorithms, [...path, "verificationKeys"], report);
  return createFixedResolver("verificationKeys", keys);
}

/** Creates the resolver of keys that never change; `undefined` if they have mistakes, which are reported. */
function createFixedResolver(
  source: "jwks" | "verificationKeys",
  keys: readonly VerificationKey[] | undefined,
): KeyResolver | undefined {
  if (!keys) return undefined;
  return {
    find: (query) => selectKeys(keys, query),
    holds: (key) => keys.includes(key),
    ready: () => importMaterial(keys),
    refresh: () => importMaterial(keys),
    status: () => ({ source, state: "fresh", keyIds: keyIdsOf(keys) }),
    close: () => undefined,
  };
}

function importKeys(
  inputs: readonly VerificationKeyInput[],
  algorithms: readonly Algorithm[],
  path: readonly (string | number)[],
  report: Report,
): readonly VerificationKey[] | undefined {
  if (inputs.length === 0) {
    report({ code: "option_invalid", path, message: "is empty.", hint: "Pass at least one key." });
    return undefined;
  }
  const keys = inputs.flatMap((input, index) => {
    const imported = importKey(input, algorithms);
    if (imported.kind === "key") return [imported.key];
    report({ ...imported.mistake, path: [...path, index] });
    return [];
  });
  const repeated = findRepeatedSecret(keys);
  if (repeated) report({ ...repeated, path });
  return keys.length < inputs.length || repeated ? undefined : keys;
}
