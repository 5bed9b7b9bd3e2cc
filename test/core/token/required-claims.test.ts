/** The option `requiredClaims`, with names and values, for JWTs. */
import { createSecretKey } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { parseConfiguration } from "scopegate/complete";
import type { RequiredClaims } from "../../../src/core/token/required-claims.ts";
import { compileRequiredClaims, findUnmetClaim } from "../../../src/core/token/required-claims.ts";
import { signRaw } from "../../support/raw-token.ts";
import { createServer, issuer, verdictOf } from "../../support/resource-servers.ts";
import { createResourceServer } from "../../support/server.ts";

const verdictOn = async (claims: Readonly<Record<string, unknown>>, requiredClaims: RequiredClaims) =>
  verdictOf(createServer({ requiredClaims }), await issuer.token({ scopes: [], ...claims }));

describe("requiredClaims", () => {
  it.each<readonly [RequiredClaims, Readonly<Record<string, unknown>>, string]>([
    [{ type: "access" }, { type: "access" }, "accepted"],
    [{ type: "access" }, { type: "refresh" }, "claims"],
    [{ type: "access" }, { type: "Access" }, "claims"],
    [{ type: "access" }, { type: ["access"] }, "claims"],
    [{ type: "access" }, {}, "claims"],
    [{ type: ["access", "service"] }, { type: "service" }, "accepted"],
    [{ type: ["access", "service"] }, { type: "refresh" }, "claims"],
    [{ version: 2 }, { version: 2 }, "accepted"],
    [{ version: 2 }, { version: "2" }, "claims"],
    [{ verified: false }, { verified: false }, "accepted"],
    [{ verified: true }, { verified: 1 }, "claims"],
    [{ type: "access", tenant: "acme" }, { type: "access", tenant: "other" }, "claims"],
    [["tenant", { type: "access" }], { type: "access", tenant: 0 }, "accepted"],
    [["tenant", { type: "access" }], { type: "access" }, "claims"],
    [["tenant", { type: "access" }], { tenant: "acme" }, "claims"],
    [{}, {}, "accepted"],
  ])("with %j, judges %j as %s", async (requiredClaims, claims, verdict) => {
    expect(await verdictOn(claims, requiredClaims)).toBe(verdict);
  });

  it("names the claim in the decision, and shows nothing of it in the response", async () => {
    const server = createServer({ requiredClaims: { type: "access" } });
    const authorization = `Bearer ${await issuer.token({ scopes: ["agents:read"], type: "refresh" })}`;
    const decision = await server.check({ method: "GET", target: "/agents", authorization });
    expect(decision).toMatchObject({ allowed: false, rejection: "claims", claim: "type" });
    if (!decision.allowed) expect(JSON.stringify(server.refuse(decision))).not.toMatch(/refresh|"type"\)/);
  });

  it("rejects a refresh token that is signed with the same secret, before it asks whether it is revoked", async () => {
    const secret = "s".repeat(32);
    const isRevoked = vi.fn(() => true);
    const server = createResourceServer({
      serviceId: "agents-prod",
      algorithm: "HS256",
      verificationKeys: [secret],
      scopesClaim: "scopes",
      requiredClaims: { type: "access" },
      isRevoked,
    });
    const sign = (type: string) =>
      signRaw(
        '{"alg":"HS256"}',
        JSON.stringify({ aud: "agents-prod", scopes: [], sub: 7, type }),
        createSecretKey(secret, "utf8"),
      );
    expect(await verdictOf(server, sign("refresh"))).toBe("claims");
    expect(isRevoked).not.toHaveBeenCalled();
    expect(await verdictOf(server, sign("access"))).toBe("revoked");
  });

  it("means the same in a JSON configuration, and in an entry of issuers", async () => {
    const json = { required_claims: { token_use: ["access"] }, service_id: "agents-prod" };
    const server = createServer(parseConfiguration(json));
    expect(await verdictOf(server, await issuer.token({ scopes: [], token_use: "access" }))).toBe("accepted");
    expect(await verdictOf(server, await issuer.token({ scopes: [], token_use: "id" }))).toBe("claims");
    const entry = {
      issuer: "https://a.example",
      verificationKeys: [issuer.publicPem],
      algorithms: ["RS256"] as const,
      requiredClaims: { token_use: "access" },
    };
    const several = createServer({ issuers: [entry], requiredClaims: ["other"] });
    const tokenOf = (token_use: string) => issuer.token({ iss: entry.issuer, scopes: [], token_use });
    expect(await verdictOf(several, await tokenOf("access"))).toBe("accepted");
    expect(await verdictOf(several, await tokenOf("id"))).toBe("claims");
  });

  it("does not change when the caller changes the options later", async () => {
    const values = ["access"];
    const server = createServer({ requiredClaims: { type: values } });
    values.push("refresh");
    expect(await verdictOf(server, await issuer.token({ scopes: [], type: "refresh" }))).toBe("claims");
  });

  it("reads own properties only", () => {
    const claims = Object.create({ type: "access" }) as Record<string, unknown>;
    expect(findUnmetClaim(claims, compileRequiredClaims({ type: "access" }))).toBe("type");
    expect(findUnmetClaim({}, compileRequiredClaims(["toString"]))).toBe("toString");
  });
});
