/** What every refusal must look like, whatever was wrong. */
import { expect } from "vitest";
import { parseChallenges } from "../../support/challenge-parser.ts";
import type { Sent } from "./forge.ts";
import type { Received } from "./service.ts";

/** The bodies that each outcome had: a body must not depend on the request. */
const bodies = new Map<string, string>();

/** Words of the library and its dependencies, and of stack traces. */
const INTERNAL = /jose|jws|jwk|thumbprint|base64|stack|node_modules|\.ts:|Error:|undefined|\[object/i;

/** Every part of a credential that is long enough to be a secret. */
const secretsIn = ({ fields }: Sent): readonly string[] =>
  fields
    .filter(([name]) => /^(?:authorization|dpop|cookie|cf-access-jwt-assertion|x-token)$/i.test(name))
    .flatMap(([, value]) => value.split(/[\s.,;="]+/))
    .filter((part) => part.length >= 16)
    .map((part) => part.slice(0, 40));

/** Expects a refusal whose response contains only the fixed texts. */
export function expectRefusal(expected: string, request: Sent, received: Received): void {
  const { status, fields, body, text } = received;
  expect([400, 401], text.slice(0, 300)).toContain(status);
  const values = fields.get("www-authenticate") ?? [];
  const challenges = values.flatMap((value) => parseChallenges(value));
  expect(challenges.length, text.slice(0, 300)).toBeGreaterThan(0);
  const error = challenges.find(({ scheme }) => scheme === "DPoP")?.params["error"];
  if (isProofRejection(expected)) {
    expect(status).toBe(401);
    expect(error).toBe(expected === "nonce" ? "use_dpop_nonce" : "invalid_dpop_proof");
  }
  for (const secret of secretsIn(request))
    expect(text, "the response has a credential").not.toContain(secret);
  if (request.method === "HEAD") return;
  expect(fields.get("content-type")?.[0]).toContain("application/problem+json");
  expect(body).not.toMatch(INTERNAL);
  const { type, code, title, detail, ...others } = JSON.parse(body) as Record<string, unknown>;
  expect(type).toBe("about:blank");
  expect([typeof code, typeof title, typeof detail]).toEqual(["string", "string", "string"]);
  expect(others).toEqual({ status });
  // Rejected tokens have four texts, which are tested elsewhere.
  if (expected === "token_rejected") return;
  const name = expected === "nonce" ? "nonce" : String(code);
  expect(body).toBe(bodies.get(name) ?? body);
  bodies.set(name, body);
}

const REASONS = new Set(["proof_missing", "token_rejected", "credential_malformed", "credential_missing"]);
export const isProofRejection = (outcome: string): boolean => !REASONS.has(outcome);
