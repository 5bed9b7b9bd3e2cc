/** Hooks receive the issuer of a token, and responses do not name the configured issuers. */
import { describe, expect, it } from "vitest";
import type { Decision, Principal } from "scopegate";
import { createServer, verdictOf } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";
import { BACKEND, CONTROL, ENTRIES, PARTNER, type Signer, signedBy } from "./signers.ts";

const SIGNERS = [CONTROL, BACKEND, PARTNER];

const serverOf = (options: Partial<ResourceServerOptions>) =>
  createServer({ issuers: [ENTRIES.control, ENTRIES.backend, ENTRIES.partner], ...options });

const tokenOf = (signer: Signer, claims: Readonly<Record<string, unknown>> = {}): string =>
  signedBy(signer, { claims: { aud: "agents-prod", scopes: ["agents:read"], ...claims } });

const ask = (token: string) => ({ method: "GET", target: "/agents", authorization: `Bearer ${token}` });

describe("isRevoked", () => {
  it("receives the issuer, so that it can revoke tokens of one issuer only", async () => {
    const isRevoked = ({ issuer, tokenId }: Principal) => issuer === CONTROL.iss && tokenId === "1";
    const server = serverOf({ isRevoked });
    const judge = (signer: Signer, jti: string) => verdictOf(server, tokenOf(signer, { jti }));
    expect(await Promise.all(SIGNERS.map((signer) => judge(signer, "1")))).toEqual([
      "revoked",
      "accepted",
      "accepted",
    ]);
    expect(await judge(CONTROL, "2")).toBe("accepted");
  });
});

describe("onDecision", () => {
  it("receives the issuer of the principal, and no principal for a token that no issuer signed", async () => {
    const decisions: Decision[] = [];
    const server = serverOf({ onDecision: (decision) => void decisions.push(decision) });
    const stranger = tokenOf(CONTROL, { iss: "https://stranger.example" });
    const forged = tokenOf(PARTNER, { iss: BACKEND.iss });
    for (const token of [...SIGNERS.map((signer) => tokenOf(signer)), stranger, forged])
      await server.check(ask(token));
    expect(decisions.map(({ allowed, principal }) => [allowed, principal?.issuer])).toEqual([
      ...SIGNERS.map(({ iss }) => [true, iss]),
      [false, undefined],
      [false, undefined],
    ]);
    expect(decisions.slice(3)).toMatchObject([{ rejection: "issuer" }, { rejection: "algorithm" }]);
  });
});

it("does not name the configured issuers in a response", async () => {
  const server = serverOf({ realm: "agents" });
  for (const claims of [{ iss: "https://stranger.example" }, { iss: BACKEND.iss }, { aud: "other" }]) {
    const decision = await server.check(ask(tokenOf(CONTROL, claims)));
    if (decision.allowed) throw new Error("A hostile token was let in.");
    const response = server.refuse(decision);
    expect(response.status).toBe(401);
    expect(JSON.stringify(response)).not.toMatch(/example|partner/);
  }
});
