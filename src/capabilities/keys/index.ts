import type { Keys } from "../../core/keys/key-source.ts";
import type { JsonWebKeySet } from "../../core/keys/verification-key.ts";
import type { JwksFileSource } from "./jwks-file.ts";
import type { KeyUse } from "./jwks.ts";
import { keysFrom } from "./key-source.ts";
import type { DiscoverySource, JwksUriSource } from "./remote-source.ts";

export type { KeyFetch } from "../../core/keys/fetch-json.ts";
export type { Keys } from "../../core/keys/key-source.ts";
export type { JsonWebKeySet } from "../../core/keys/verification-key.ts";
export type { JwksFileSource } from "./jwks-file.ts";
export type { KeyUse } from "./jwks.ts";
export type { DiscoverySource, JwksUriSource } from "./remote-source.ts";

/**
 * Creates the value of the option `keys` for a JWK Set that is fetched: `{ jwksUri }` or `{ discovery }`.
 * Nothing is fetched before the first token, or `server.ready()`. Each server fetches for itself.
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { remoteKeys } from "scopegate/keys";
 *
 * const server = createResourceServer({
 *   serviceId: "agents-prod",
 *   issuer: "https://login.example/",
 *   keys: remoteKeys({ discovery: true }),
 *   scopeMappings: { "GET /agents": ["agents:read"] },
 * });
 * ```
 */
export const remoteKeys = (source: JwksUriSource | DiscoverySource): Keys => keysFrom(source);

/**
 * Creates the value of the option `keys` for a JWK Set in memory (RFC 7517 section 5). Keys that don't
 * support the algorithms are ignored.
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { jwks } from "scopegate/keys";
 *
 * const set = JSON.parse(process.env.JWKS ?? '{ "keys": [] }');
 * const server = createResourceServer({ serviceId: "agents-prod", keys: jwks(set) });
 * ```
 */
export const jwks = (set: JsonWebKeySet, options: KeyUse = {}): Keys => keysFrom({ ...options, jwks: set });

/**
 * Creates the value of the option `keys` for a file with a JWK Set of at most 512 KiB, which is read when the
 * server is created, and again when it changes.
 */
export const jwksFile = (path: string, options: Omit<JwksFileSource, "jwksFile"> = {}): Keys =>
  keysFrom({ ...options, jwksFile: path });
