/** Principals, scopes and hooks work the same for every issuer and name the issuer. */
import { describe, expect, it } from "vitest";
import type { Decision, DecisionEvent, ObservedRequest, Principal } from "scopegate";
import { createServer, verdictOf } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";
import { BACKEND, CONTROL, ENTRIES, PARTNER, type Signer, signedBy } from "./signers.ts";

const SIGNERS = [CONTROL, BACKEND, PARTNER];

const serverOf = (options: Partial<ResourceServerOptions> = {}) =>
  createServer({
    issuers: [ENTRIES.control, { ...ENTRIES.backend, scopesClaim: "permissions" }, ENTRIES.partner],
    ...options,
  });

/** A token with its scopes in the claim that its issuer uses. */
function tokenOf(
  signer: Signer,
  scopes: readonly string[],
  claims: Readonly<Record<string, unknown>> = {},
): string {
  const where = signer === BACKEND ? { permissions: scopes, scopes: undefined } : { scopes };
  return signedBy(signer, { claims: { aud: "agents-prod", ...where, ...claims } });
}

const ask = (token: string, target = "/agents", method = "GET") => ({
  ...{ method, target },
  authorization: `Bearer ${token}`,
});

describe("a principal", () => {
  it("names its issuer, so that equal user ids of two issuers differ", async () => {
    const server = serverOf();
    const same = { userId: "user-1", tokenId: "1", scopes: ["a:b"] };
    for (const signer of SIGNERS) {
      const principal = await server.authenticate(tokenOf(signer, ["a:b"], { sub: "user-1", jti: "1" }));
      expect(principal).toMatchObject({ ...same, issuer: signer.iss });
    }
  });
});

describe("the scope rules", () => {
  const server = serverOf({ adminScope: "root:all", impliedScopes: { "agents:write": ["agents:read"] } });

  it.each(SIGNERS)("apply to $iss", async (signer) => {
    const decide = (scopes: readonly string[]) => server.check(ask(tokenOf(signer, scopes)));
    expect(await decide(["agents:read"])).toMatchObject({ allowed: true });
    expect(await decide(["root:all"])).toMatchObject({ allowed: true });
    expect(await decide(["agents:write"])).toMatchObject({ allowed: true });
    expect(await decide([])).toMatchObject({ reason: "scope_insufficient", missing: ["agents:read"] });
  });

  it("ignore scopes in the claim of another issuer", async () => {
    const claims = { permissions: ["root:all"] };
    const decision = await server.check(ask(tokenOf(CONTROL, [], claims)));
    expect(decision).toMatchObject({ reason: "scope_insufficient", principal: { scopes: [] } });
    expect(
      await verdictOf(server, tokenOf(BACKEND, [], { permissions: undefined, scopes: ["root:all"] })),
    ).toBe("claims");
  });
});

describe("isRevoked", () => {
  it("receives the issuer, so that it can revoke tokens of one issuer only", async () => {
    const asked: (string | undefined)[] = [];
    const isRevoked = ({ issuer, tokenId }: Principal) => {
      asked.push(issuer);
      return issuer === CONTROL.iss && tokenId === "1";
    };
    const server = serverOf({ isRevoked });
    const judge = (signer: Signer, jti: string) => verdictOf(server, tokenOf(signer, [], { jti }));
    expect(await Promise.all(SIGNERS.map((signer) => judge(signer, "1")))).toEqual([
      "revoked",
      "accepted",
      "accepted",
    ]);
    expect(await judge(CONTROL, "2")).toBe("accepted");
    expect(asked.toSorted()).toEqual([...SIGNERS, CONTROL].map(({ iss }) => iss).toSorted());
  });
});

describe("onDecision", () => {
  it("receives the issuer of the principal, and no principal for a token that no issuer signed", async () => {
    const observed: (readonly [Decision, ObservedRequest, DecisionEvent])[] = [];
    const server = serverOf({ onDecision: (...values) => observed.push(values) });
    const good = SIGNERS.map((signer) => tokenOf(signer, ["agents:read"]));
    const bad = [
      tokenOf(CONTROL, ["agents:read"], { iss: "https://stranger.example" }),
      tokenOf(PARTNER, ["agents:read"], { iss: BACKEND.iss }),
    ];
    for (const token of [...good, ...bad]) await server.check(ask(token));
    expect(observed.map(([decision]) => [decision.allowed, decision.principal?.issuer])).toEqual([
      ...SIGNERS.map(({ iss }) => [true, iss]),
      [false, undefined],
      [false, undefined],
    ]);
    expect(observed.slice(3).map(([decision]) => decision)).toMatchObject([
      { reason: "token_rejected", rejection: "issuer" },
      { reason: "token_rejected", rejection: "algorithm" },
    ]);
    for (const [, request] of observed) expect(request).toEqual({ method: "GET", target: "/agents" });
  });

  it("receives the details, while the response does not name the configured issuers", async () => {
    const server = serverOf({ realm: "agents" });
    for (const claims of [{ iss: "https://stranger.example" }, { iss: BACKEND.iss }, { aud: "other" }]) {
      const decision = await server.check(ask(tokenOf(CONTROL, [], claims)));
      if (decision.allowed) throw new Error("A hostile token was let in.");
      const response = JSON.stringify(server.refuse(decision));
      expect(server.refuse(decision).status).toBe(401);
      expect(response).not.toMatch(/example|partner/);
    }
  });
});
