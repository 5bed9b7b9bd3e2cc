import { describe, expect, it } from "vitest";
import type { Rejection } from "../../../src/core/errors.ts";
import { refuse, type RefusalReason } from "../../../src/core/policy/decision.ts";
import { createProblem, describeRefusal } from "../../../src/core/response/problem.ts";

const statuses: readonly (readonly [RefusalReason, number, string])[] = [
  ["request_ambiguous", 400, "Bad Request"],
  ["credential_missing", 401, "Unauthorized"],
  ["credential_malformed", 400, "Bad Request"],
  ["token_rejected", 401, "Unauthorized"],
  ["scope_insufficient", 403, "Forbidden"],
  ["caller_not_allowed", 403, "Forbidden"],
  ["proof_missing", 401, "Unauthorized"],
  ["proof_rejected", 401, "Unauthorized"],
  ["authentication_insufficient", 401, "Unauthorized"],
  ["route_unmapped", 403, "Forbidden"],
  ["keys_unavailable", 503, "Service Unavailable"],
];

describe("createProblem", () => {
  it.each(statuses)("returns for %s: %i %s (RFC 9457)", (reason, status, title) => {
    const problem = createProblem(refuse(reason));
    expect(problem).toMatchObject({
      type: "about:blank",
      title,
      status,
      code: reason,
      detail: expect.stringMatching(/^[A-Z][^"\\]+\.$/) as string,
    });
    // Only an insufficient token is told the required and the missing scopes.
    expect(Object.keys(problem)).toHaveLength(reason === "scope_insufficient" ? 7 : 5);
  });

  it("lists the required and missing scopes for an insufficient token", () => {
    const refused = {
      ...refuse("scope_insufficient"),
      required: ["agents:web:read", "custom:write"],
      granted: ["canary:granted"],
      missing: ["custom:write"],
    };
    const problem = createProblem(refused);
    expect(problem).toMatchObject({
      required_scopes: ["agents:web:read", "custom:write"],
      missing_scopes: ["custom:write"],
    });
    expect(JSON.stringify(problem)).not.toContain("canary");
  });

  it("hides a route without a rule as 404 only if the server does, and never an operation", () => {
    const hidden = { title: "Not Found", status: 404, detail: "There is no such operation." };
    const shown = { title: "Forbidden", status: 403, detail: "No rule allows access to this operation." };
    expect(createProblem(refuse("route_unmapped"), 404)).toMatchObject(hidden);
    expect(createProblem(refuse("route_unmapped"), 403)).toMatchObject(shown);
    expect(createProblem(refuse("route_unmapped", [], { isOperation: true }), 404)).toMatchObject(shown);
    expect(createProblem(refuse("caller_not_allowed"), 404)).toMatchObject({ status: 403 });
  });

  it("does not reveal whether the key, the signature or the issuer was wrong", () => {
    const secretive: readonly Rejection[] = ["algorithm", "key", "signature", "issuer", "type", "revoked"];
    const details = secretive.map((rejection) =>
      describeRefusal(refuse("token_rejected", [], { rejection })),
    );
    expect(new Set(details).size).toBe(1);
  });

  it.each<readonly [Rejection, string]>([
    ["too_large", "The access token is too large."],
    ["expired", "The access token has expired."],
    ["not_yet_valid", "The access token is not valid yet."],
    ["audience", "The access token is meant for another service."],
  ])("reports what the client can fix: %s", (rejection, detail) => {
    expect(describeRefusal(refuse("token_rejected", [], { rejection }))).toBe(detail);
  });
});
