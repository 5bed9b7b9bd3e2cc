/** What makes a token bad on purpose, named by the rejection that it is to meet. */

/**
 * The rejections that a token can be made for; `revoked` is no matter of the token, but of the server's `isRevoked`.
 *
 * @example
 * ```ts
 * import { createResourceServer } from "scopegate";
 * import { check, createTestIssuer, testRejections } from "scopegate/testing";
 *
 * const issuer = createTestIssuer();
 * const server = createResourceServer({ ...issuer.resourceServerOptions });
 * for (const rejectedAs of testRejections) {
 *   const decision = await check(server, "GET /agents", issuer.caller({ scopes: ["agents:read"], rejectedAs }));
 *   console.log(rejectedAs, decision.allowed); // false, each of them
 * }
 * ```
 */
export const testRejections = Object.freeze([
  "malformed",
  "too_large",
  "algorithm",
  "key",
  "signature",
  "expired",
  "not_yet_valid",
  "issuer",
  "audience",
  "type",
  "claims",
] as const);

/** A rejection that a token can be made for. */
export type TestRejection = (typeof testRejections)[number];

/** What is done to a good token; claims that are `undefined` are left out. */
export interface Flaw {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly claims?: (nowSeconds: number, scopesClaim: string) => Readonly<Record<string, unknown>>;
  readonly signature?: "of another key" | "none";
  readonly isCutOff?: boolean;
}

const HOUR = 3600;

export const FLAWS: Readonly<Record<TestRejection, Flaw>> = {
  // The signature and the dot before it are missing.
  malformed: { isCutOff: true },
  // More than the default of `maxTokenBytes`.
  too_large: { claims: () => ({ padding: "x".repeat(16_384) }) },
  algorithm: { header: { alg: "none" }, signature: "none" },
  // Signed by another key as well: where the keys of the server have no names, any of them would do.
  key: { header: { kid: "unknown-key" }, signature: "of another key" },
  signature: { signature: "of another key" },
  expired: { claims: (now) => ({ iat: now - 2 * HOUR, exp: now - HOUR }) },
  not_yet_valid: { claims: (now) => ({ nbf: now + HOUR, exp: now + 2 * HOUR }) },
  issuer: { claims: () => ({ iss: "https://another-issuer.test" }) },
  audience: { claims: () => ({ aud: "another-service" }) },
  type: { header: { typ: "logout+jwt" } },
  claims: { claims: (_now, scopesClaim) => ({ [scopesClaim]: undefined }) },
};
