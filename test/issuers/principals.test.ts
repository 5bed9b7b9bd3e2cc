/** What comes after a token is verified is the same for every issuer, and tells whose the principal is. */
import { describe, expect, it } from "vitest";
import { type Decision, type ObservedRequest, type Principal, type ResourceServerOptions } from "scopegate";
import { createServer, verdictOf } from "../support/resource-servers.ts";
import { BACKEND, CONTROL, ENTRIES, PARTNER, type Party, signedBy } from "./parties.ts";

const PARTIES = [CONTROL, BACKEND, PARTNER];

const serverOf = (options: Partial<ResourceServerOptions> = {}) =>
  createServer({
    issuers: [ENTRIES.control, { ...ENTRIES.backend, scopesClaim: "permissions" }, ENTRIES.partner],
    ...options,
  });

/** Every token carries its scopes where its issuer writes them. */
function tokenOf(
  party: Party,
  scopes: readonly string[],
  claims: Readonly<Record<string, unknown>> = {},
): string {
  const where = party === BACKEND ? { permissions: scopes, scopes: undefined } : { scopes };
  return signedBy(party, { claims: { aud: "agents-prod", ...where, ...claims } });
}

const ask = (token: string, target = "/agents", method = "GET") => ({
  ...{ method, target },
  authorization: `Bearer ${token}`,
});

describe("a principal", () => {
  it.each(PARTIES)("of $iss says so, and is not the one of the same name elsewhere", async (party) => {
    const server = serverOf();
    const principal = await server.authenticate(tokenOf(party, ["a:b"], { sub: "user-1", jti: "1" }));
    expect(principal).toMatchObject({ issuer: party.iss, userId: "user-1", tokenId: "1", scopes: ["a:b"] });
    for (const other of PARTIES.filter((one) => one !== party)) {
      const namesake = await server.authenticate(tokenOf(other, ["a:b"], { sub: "user-1", jti: "1" }));
      expect([namesake.userId, namesake.issuer]).toEqual(["user-1", other.iss]);
    }
  });

  it("is never taken for another when many tokens are verified at once", async () => {
    const server = serverOf();
    const many = Array.from({ length: 60 }, (_, index) => PARTIES[index % 3] ?? CONTROL);
    const found = await Promise.all(
      many.map((party, index) => server.authenticate(tokenOf(party, [`n:${index}`]))),
    );
    expect(found.map(({ issuer, scopes }) => [issuer, scopes])).toEqual(
      many.map(({ iss }, index) => [iss, [`n:${index}`]]),
    );
  });
});

describe("the rules of scopes", () => {
  const server = serverOf({ adminScope: "root:all", impliedScopes: { "agents:write": ["agents:read"] } });

  it.each(PARTIES)("hold for $iss as for all", async (party) => {
    const decide = (scopes: readonly string[]) => server.check(ask(tokenOf(party, scopes)));
    expect(await decide(["agents:read"])).toMatchObject({ allowed: true });
    expect(await decide(["root:all"])).toMatchObject({ allowed: true });
    expect(await decide(["agents:write"])).toMatchObject({ allowed: true });
    expect(await decide(["platform:admin"])).toMatchObject({ reason: "scope_insufficient" });
    expect(await decide([])).toMatchObject({ reason: "scope_insufficient", missing: ["agents:read"] });
  });

  it("are not met by scopes that stand where another issuer writes them", async () => {
    const claims = { permissions: ["root:all"] };
    const decision = await server.check(ask(tokenOf(CONTROL, [], claims)));
    expect(decision).toMatchObject({ reason: "scope_insufficient", principal: { scopes: [] } });
    expect(
      await verdictOf(server, tokenOf(BACKEND, [], { permissions: undefined, scopes: ["root:all"] })),
    ).toBe("claims");
  });

  it.each(PARTIES)("hold in authorize, checkScopes and explain as in check, for $iss", async (party) => {
    const request = ask(tokenOf(party, ["agents:write"]));
    const decision = await server.check(request);
    expect(server.checkScopes(decision, ["agents:read"], request).allowed).toBe(true);
    expect(server.checkScopes(decision, ["teams:read"], request)).toMatchObject({
      ...{ allowed: false, reason: "scope_insufficient", missing: ["teams:read"] },
      principal: { issuer: party.iss },
    });
    const principal = await server.authenticate(tokenOf(party, ["agents:write"]));
    expect(server.authorize(principal, "GET", "/agents")).toMatchObject({ allowed: true, principal });
    expect(server.authorize(principal, "GET", "/teams")).toMatchObject({ reason: "scope_insufficient" });
    const explained = (path: string) =>
      server.explain({ method: "GET", path, scopes: principal.scopes }).decision.allowed;
    expect([explained("/agents"), explained("/teams")]).toEqual([true, false]);
  });
});

describe("isRevoked", () => {
  it("is asked with the issuer, so that one may revoke what the other did not", async () => {
    const asked: (string | undefined)[] = [];
    const isRevoked = ({ issuer, tokenId }: Principal) => {
      asked.push(issuer);
      return issuer === CONTROL.iss && tokenId === "1";
    };
    const server = serverOf({ isRevoked });
    const judge = (party: Party, jti: string) => verdictOf(server, tokenOf(party, [], { jti }));
    expect(await Promise.all(PARTIES.map((party) => judge(party, "1")))).toEqual([
      "revoked",
      "accepted",
      "accepted",
    ]);
    expect(await judge(CONTROL, "2")).toBe("accepted");
    expect(asked.toSorted()).toEqual([...PARTIES, CONTROL].map(({ iss }) => iss).toSorted());
  });

  it("is not asked about a token that nobody vouches for", async () => {
    const server = serverOf({
      isRevoked: () => {
        throw new Error("It was asked.");
      },
    });
    expect(await verdictOf(server, tokenOf(CONTROL, [], { iss: "https://stranger.example" }))).toBe("issuer");
    expect(await verdictOf(server, tokenOf(CONTROL, [], { iss: BACKEND.iss }))).toBe("algorithm");
    expect(await verdictOf(server, tokenOf(CONTROL, [], { aud: "other" }))).toBe("audience");
  });
});

describe("onDecision", () => {
  it("is told whose principal it was, and names nobody for a token that nobody vouches for", async () => {
    const told: (readonly [Decision, ObservedRequest])[] = [];
    const server = serverOf({ onDecision: (...decided) => told.push(decided) });
    const good = PARTIES.map((party) => tokenOf(party, ["agents:read"]));
    const bad = [
      tokenOf(CONTROL, ["agents:read"], { iss: "https://stranger.example" }),
      tokenOf(PARTNER, ["agents:read"], { iss: BACKEND.iss }),
    ];
    for (const token of [...good, ...bad]) await server.check(ask(token));
    expect(told.map(([decision]) => [decision.allowed, decision.principal?.issuer])).toEqual([
      ...PARTIES.map(({ iss }) => [true, iss]),
      [false, undefined],
      [false, undefined],
    ]);
    expect(told.slice(3).map(([decision]) => decision)).toMatchObject([
      { reason: "token_rejected", rejection: "issuer" },
      { reason: "token_rejected", rejection: "algorithm" },
    ]);
    for (const [, request] of told) expect(request).toEqual({ method: "GET", target: "/agents" });
  });

  it("and the response tell a client nothing of the issuers that are trusted", async () => {
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
