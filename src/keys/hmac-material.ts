import { type KeyObject, webcrypto } from "node:crypto";
import { type Algorithm } from "./algorithm.ts";

type Material = webcrypto.CryptoKey | Promise<webcrypto.CryptoKey>;

/** Imports a secret on first use, once for each algorithm. Once it is there nobody has to wait for it, nor to time a wait. */
export function createHmacMaterial(key: KeyObject): (algorithm: Algorithm) => Material {
  const imported = new Map<Algorithm, Material>();
  const importOnce = async (algorithm: Algorithm) => {
    const hmac = { name: "HMAC", hash: `SHA-${algorithm.slice(2)}` };
    const ready = await webcrypto.subtle.importKey("raw", key.export(), hmac, false, ["verify"]);
    imported.set(algorithm, ready);
    return ready;
  };
  return (algorithm) => {
    const known = imported.get(algorithm) ?? importOnce(algorithm);
    imported.set(algorithm, known);
    return known;
  };
}
