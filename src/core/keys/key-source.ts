import type { Capability } from "../capability.ts";
import type { Report } from "../errors.ts";
import { importKey } from "./import-key.ts";
import type { KeySourceContext } from "./key-event.ts";
import {
  findRepeatedSecret,
  importMaterial,
  keyIdsOf,
  type KeyResolver,
  selectKeys,
  type VerificationKey,
  type VerificationKeyInput,
} from "./verification-key.ts";

/** A value of the option `keys`: `remoteKeys(...)`, `jwks(set)` or `jwksFile(path)` of `scopegate/keys`. */
export interface Keys extends Capability {
  readonly option: "keys";
  /** Creates the resolver of one issuer of one server, or reports why the keys can't be used. */
  readonly create: (context: KeySourceContext, report: Report) => KeyResolver | undefined;
}

/** What the compiler says about plain data in place of a value. */
export interface PlainKeys {
  readonly jwksUri?: "write keys: remoteKeys({ jwksUri }), from scopegate/keys";
  readonly discovery?: "write keys: remoteKeys({ discovery: true }), from scopegate/keys";
  readonly jwks?: "write keys: jwks(set), from scopegate/keys";
  readonly jwksFile?: "write keys: jwksFile(path), from scopegate/keys";
  readonly verificationKeys?: "write verificationKeys without keys";
}

/** Imports the keys in the options; `undefined` if they have mistakes, which are reported. */
export function resolveVerificationKeys(
  inputs: readonly VerificationKeyInput[],
  { algorithms, path: sourcePath }: Pick<KeySourceContext, "algorithms" | "path">,
  report: Report,
): KeyResolver | undefined {
  const path = [...sourcePath, "verificationKeys"];
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
  if (keys.length < inputs.length || repeated) return undefined;
  return createFixedResolver("verificationKeys", keys);
}

/** Creates the resolver of keys that never change. */
export const createFixedResolver = (
  source: "jwks" | "verificationKeys",
  keys: readonly VerificationKey[],
): KeyResolver => ({
  find: (query) => selectKeys(keys, query),
  holds: (key) => keys.includes(key),
  ready: () => importMaterial(keys),
  refresh: () => importMaterial(keys),
  status: () => ({ source, state: "fresh", keyIds: keyIdsOf(keys) }),
  close: () => undefined,
});
