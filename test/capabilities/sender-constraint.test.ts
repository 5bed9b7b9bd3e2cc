/** The value of the option `senderConstraint`, and a server without it. */
import { describe, expect, it } from "vitest";
import { ConfigurationError, createResourceServer, type ResourceServer } from "scopegate";
import { callerConditions } from "scopegate/conditions";
import { senderConstraint } from "scopegate/sender-constraint";
import { createTestIssuer } from "scopegate/testing";

const ORIGIN = "https://api.example";
const issuer = createTestIssuer();

const serverWith = (options: object = {}): ResourceServer =>
  createResourceServer({ ...issuer.resourceServerOptions, scopeMappings: { "GET /a": [] }, ...options });

function issuesOf(options: object): readonly object[] {
  try {
    serverWith(options);
    return [];
  } catch (error) {
    if (error instanceof ConfigurationError) return error.issues;
    throw error;
  }
}

/** Creates a request with a bound token and a proof. */
async function createProven() {
  const token = await issuer.token({ bound: "dpop" });
  const proof = await issuer.proofFor({ method: "GET", url: `${ORIGIN}/a`, token });
  return { method: "GET", target: "/a", authorization: `DPoP ${token}`, headers: { dpop: proof } };
}

describe("a server without senderConstraint", () => {
  it("refuses a bound token, and reads no scheme but Bearer", async () => {
    const server = serverWith();
    const request = await createProven();
    const authorization = request.authorization.replace("DPoP", "Bearer");
    expect(await server.check({ ...request, authorization })).toMatchObject({
      reason: "token_rejected",
      rejection: "claims",
      claim: "cnf",
    });
    const refused = await server.check(request);
    expect(refused).toMatchObject({ allowed: false, reason: "credential_missing" });
    if (!refused.allowed) expect(server.refuse(refused).headers["WWW-Authenticate"]).toBe("Bearer");
  });

  it("refuses to start with a rule that needs it, and with plain data, and names the import", () => {
    const scopeMappings = { "POST /a": { scopes: [], senderConstrained: true } };
    expect(issuesOf({ scopeMappings, conditions: callerConditions() })).toMatchObject([
      {
        code: "option_conflict",
        path: ["scopeMappings", "POST /a", "senderConstrained"],
        hint: expect.stringContaining("imported from scopegate/sender-constraint") as string,
      },
    ]);
    expect(issuesOf({ senderConstraint: { dpop: { origins: [ORIGIN] } } })).toMatchObject([
      {
        code: "option_invalid",
        path: ["senderConstraint"],
        hint: "Write senderConstraint({ dpop, mtls }), imported from scopegate/sender-constraint.",
      },
    ]);
  });
});

describe("senderConstraint", () => {
  it("creates a value for several servers, each of which remembers its own proofs", async () => {
    const value = senderConstraint({ dpop: { origins: [ORIGIN] }, required: true });
    const request = await createProven();
    for (const server of [serverWith({ senderConstraint: value }), serverWith({ senderConstraint: value })]) {
      expect(await server.check(request)).toMatchObject({ allowed: true });
      expect(await server.check(request)).toMatchObject({ proofRejection: "replayed" });
    }
  });

  it("refuses a changed copy of the value, in which `required` would have no effect", () => {
    const value = senderConstraint({ dpop: { origins: [ORIGIN] } });
    expect(issuesOf({ senderConstraint: { ...value, required: true } })).toMatchObject([
      { path: ["senderConstraint"], hint: expect.stringContaining("imported from") as string },
    ]);
  });

  it("reports mistakes with those in other options, each with its path", () => {
    const written = { dpop: { origins: [], windowSecond: 1 } };
    const value = senderConstraint(written);
    expect(issuesOf({ senderConstraint: value, realm: "\n" })).toMatchObject([
      { path: ["senderConstraint", "dpop", "origins"] },
      {
        path: ["senderConstraint", "dpop", "windowSecond"],
        hint: expect.stringContaining("windowSeconds") as string,
      },
      { path: ["realm"] },
    ]);
  });

  it("reads no option from a polluted prototype", () => {
    const polluted = Object.prototype as { required?: boolean; nonce?: boolean };
    const value = senderConstraint({ dpop: { origins: [ORIGIN] } });
    for (const name of ["required", "nonce"])
      Object.defineProperty(polluted, name, { value: true, configurable: true, writable: true });
    const created = value.create({ now: Date.now });
    delete polluted.required;
    delete polluted.nonce;
    expect(created).toMatchObject({ isRequired: false, refusalHeaders: undefined });
  });
});
