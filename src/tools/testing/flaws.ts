import type { Rejection } from "../../core/errors.ts";
import type { ConditionName } from "../../core/policy/conditions.ts";

/** A rejection that a token can cause: not `revoked`, which depends on the server's `isRevoked`. */
export type TestRejection = Exclude<Rejection, "revoked">;

/** A change that makes a valid token or proof invalid. */
export interface Flaw {
  readonly header?: Readonly<Record<string, unknown>>;
  readonly claims?: (nowSeconds: number) => Readonly<Record<string, unknown>>;
  readonly signature?: "of another key" | "none";
  readonly isTruncated?: boolean;
}

export const HOUR = 3600;
const YEAR = 31_536_000;

/** The claims of a token that doesn't meet a condition, unless the condition names these values. */
const UNMET: Readonly<Record<ConditionName, (nowSeconds: number, claims: Claims) => Claims>> = {
  where: (_, claims) => Object.fromEntries(Object.keys(claims).map((name) => [name, "another-value"])),
  // No condition on actors accepts an actor without a name.
  actors: () => ({ act: {} }),
  clients: () => ({ client_id: "another-client" }),
  senderConstrained: () => ({ cnf: undefined }),
  acr: () => ({ acr: "urn:scopegate:another-acr" }),
  maxAuthAgeSeconds: (now) => ({ auth_time: now - 10 * YEAR }),
};

type Claims = Readonly<Record<string, unknown>>;

/** Returns the claims with which a token doesn't meet one kind of condition; none without a condition. */
export const unmetClaims = (
  condition: ConditionName | undefined,
  nowSeconds: number,
  claims: Claims,
): Claims => (condition ? UNMET[condition](nowSeconds, claims) : {});

/** The kinds of conditions of the table: the values of `unmet`. */
export const testConditions: readonly ConditionName[] = Object.freeze(Object.keys(UNMET) as ConditionName[]);

export const FLAWS: Readonly<Record<TestRejection, Flaw>> = {
  malformed: { isTruncated: true },
  // Larger than the default of `maxTokenBytes`.
  too_large: { claims: () => ({ padding: "x".repeat(16_384) }) },
  algorithm: { header: { alg: "none" }, signature: "none" },
  // Also has a wrong signature, because a server whose keys have no `kid` tries all of them.
  key: { header: { kid: "unknown-key" }, signature: "of another key" },
  signature: { signature: "of another key" },
  expired: { claims: (now) => ({ iat: now - 2 * HOUR, exp: now - HOUR }) },
  not_yet_valid: { claims: (now) => ({ nbf: now + HOUR, exp: now + 2 * HOUR }) },
  issuer: { claims: () => ({ iss: "https://another-issuer.test" }) },
  audience: { claims: () => ({ aud: "another-service" }) },
  type: { header: { typ: "logout+jwt" } },
  // An invalid `nbf` rather than a missing scopes claim, because a server may read other claims, or none.
  claims: { claims: () => ({ nbf: "tomorrow" }) },
};

/** The rejections that a token can cause: the values of `rejectedAs`. */
export const testRejections: readonly TestRejection[] = Object.freeze(Object.keys(FLAWS) as TestRejection[]);
