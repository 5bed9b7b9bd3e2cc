/** What every token must satisfy holds for introspected tokens and API keys too, or is a configuration error. */
import { describe, expect, it } from "vitest";
import { apiKeys, apiKeyStore, createApiKey } from "scopegate/api-keys";
import { memoryStore } from "scopegate/store";
import { introspection } from "scopegate/introspection";
import { revalidate } from "scopegate/connections";
import { opaqueTokens } from "../../../src/capabilities/opaque/index.ts";
import { json } from "../../support/behaviours.ts";
import { createServer, issuer, issuesOf, NOW, verdictOf } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";
import { active, CLIENT, startAsking, TOKEN } from "./support.ts";

type Options = Partial<ResourceServerOptions>;
type Changes = Readonly<Record<string, unknown>>;

const A = "https://a.example";
const B = "https://b.example";
const entry = (name: string, own: object = {}) => ({
  issuer: name,
  verificationKeys: [issuer.publicPem],
  algorithms: ["RS256"] as const,
  ...own,
});

describe("an introspected token", () => {
  it.each<readonly [Options, Changes, string]>([
    [{ requiredClaims: ["tenant"] }, {}, "401 claims"],
    [{ requiredClaims: ["tenant"] }, { tenant: "acme" }, "200"],
    [{ requiredClaims: ["exp"] }, { exp: undefined }, "401 claims"],
    [{ requiredClaims: { token_use: "access_token" } }, {}, "401 claims"],
    [{ requiredClaims: { token_use: "access_token" } }, { token_use: "access_token" }, "200"],
    [{ requiredClaims: { type: ["a", "b"] } }, { type: "c" }, "401 claims"],
    [{ maxTokenAgeSeconds: 60 }, { iat: NOW - 60 }, "200"],
    [{ maxTokenAgeSeconds: 60 }, { iat: NOW - 61 }, "401 expired"],
    [{ maxTokenAgeSeconds: 60, clockToleranceSeconds: 5 }, { iat: NOW - 65 }, "200"],
    [{ maxTokenAgeSeconds: 60, clockToleranceSeconds: 5 }, { iat: NOW - 66 }, "401 expired"],
    [{ maxTokenAgeSeconds: 60 }, { iat: undefined }, "401 claims"],
    [{ issuer: A }, { iss: A }, "200"],
    [{ issuer: A }, { iss: B }, "401 issuer"],
    [{ issuer: A }, {}, "200"],
    [{ userIdClaim: ["user", "id"] }, { user: { id: 7 } }, "200"],
    [{ userIdClaim: ["user", "id"] }, { user: { id: 7.5 } }, "401 claims"],
  ])("returns, with %j, for %j: %s", async (server, changes, verdict) => {
    const asking = await startAsking({}, { behaviour: json(active(changes)), server });
    expect(await asking.verdict()).toBe(verdict);
  });

  it("names the claim that is missing", async () => {
    const asking = await startAsking({}, { server: { requiredClaims: ["tenant"] } });
    expect(await asking.check()).toMatchObject({ rejection: "claims", claim: "tenant" });
  });

  it("reads a number as the user id", async () => {
    const { server } = await startAsking({}, { behaviour: json(active({ sub: 7 })) });
    expect((await server.authenticate(TOKEN)).userId).toBe("7");
  });

  it("becomes too old while its response is remembered, as revalidate reports", async () => {
    const { server, verdict, pass, endpoint } = await startAsking(
      { cache: { maxAgeSeconds: 3600 } },
      { behaviour: json(active({ exp: NOW + 3600 })), server: { maxTokenAgeSeconds: 60 } },
    );
    const principal = await server.authenticate(TOKEN);
    expect(await revalidate(server, principal)).toEqual({ valid: true, expiresInMs: 50_000 });
    pass(51);
    expect(await verdict()).toBe("401 expired");
    expect(await revalidate(server, principal)).toEqual({ valid: false, reason: "expired" });
    expect(endpoint.received).toHaveLength(1);
  });

  it("rejects an iat in the future if the age is limited, whatever kind of token it is", async () => {
    const kind = opaqueTokens({
      tokenKind: "introspected",
      scopesClaim: "scopes",
      matches: (token) => token.startsWith("key_"),
      verify: () => ({ kind: "verified", claims: { scopes: [], iat: NOW + 1, aud: "agents-prod" } }),
    });
    const server = createServer({ opaqueTokens: [kind], maxTokenAgeSeconds: 60 });
    expect(await verdictOf(server, "key_1")).toBe("not_yet_valid");
  });

  describe("with several issuers", () => {
    const issuers = [entry(A, { requiredClaims: { type: "access" }, maxTokenAgeSeconds: 5 }), entry(B)];

    it.each<readonly [string, Changes, string]>([
      [A, { iat: NOW - 5 }, "401 claims"],
      [A, { iat: NOW - 5, type: "access" }, "200"],
      [A, { iat: NOW - 6, type: "access" }, "401 expired"],
      [A, { iss: B }, "401 issuer"],
      [B, {}, "401 claims"],
      [B, { tenant: "acme" }, "200"],
      ["https://other.example", { tenant: "acme" }, "200"],
      ["https://other.example", {}, "401 claims"],
    ])("requires of a token of %s with %j what its issuer must have: %s", async (name, changes, verdict) => {
      const behaviour = json(active({ iss: name, ...changes }));
      const server = { issuers, requiredClaims: ["tenant"] };
      expect(await (await startAsking({ issuer: name }, { behaviour, server })).verdict()).toBe(verdict);
    });

    it("revalidates by the issuer of the token, not by the first issuer", async () => {
      const { server } = await startAsking(
        { issuer: B },
        { behaviour: json(active({ iss: B })), server: { issuers } },
      );
      const principal = await server.authenticate(TOKEN);
      expect(await revalidate(server, principal)).toEqual({ valid: true, expiresInMs: 300_000 });
    });

    it("rejects an issuer that the server does not name", async () => {
      const behaviour = json(active({ iss: "https://other.example" }));
      const server = { issuers: [entry(A), entry(B)] };
      expect(await (await startAsking({}, { behaviour, server })).verdict()).toBe("401 issuer");
    });

    it("requires its issuer if an issuer has requirements of its own", () => {
      const opaqueTokens = [introspection({ url: "http://localhost/i", client: CLIENT })];
      const options = { serviceId: "agents-prod", issuers, opaqueTokens };
      expect(issuesOf(options)).toMatchObject([
        { code: "option_missing", path: ["opaqueTokens", 0, "issuer"] },
      ]);
    });
  });
});

describe("an API key", () => {
  const store = apiKeyStore(memoryStore());
  const opaqueTokens = [apiKeys({ prefix: "acme_pat_", find: store.find })];

  it("rejects it without a required claim that it could have", async () => {
    const make = { prefix: "acme_pat_", name: "ci", scopes: ["agents:read"], ownerId: "u1" };
    const [endless, ending] = [
      createApiKey(make),
      createApiKey({ ...make, expiresAt: new Date(Date.now() + 60_000) }),
    ];
    for (const { record } of [endless, ending]) await store.add(record);
    const server = createServer({ opaqueTokens, requiredClaims: ["exp"], now: Date.now });
    expect(await verdictOf(server, endless.key)).toBe("claims");
    expect(await verdictOf(server, ending.key)).toBe("accepted");
  });

  it.each<readonly [Options, string, string]>([
    [{ requiredClaims: ["exp", "tenant"] }, "requiredClaims", "contains `tenant`, which API keys never have"],
    [{ requiredClaims: { type: "access" } }, "requiredClaims", "contains `type`, which API keys never have"],
    [{ maxTokenAgeSeconds: 3600 }, "maxTokenAgeSeconds", "can't be combined with API keys"],
  ])("rejects a combination with %j", (options, name, message) => {
    const [issue, ...others] = issuesOf({
      serviceId: "agents-prod",
      verificationKeys: [issuer.publicPem],
      opaqueTokens,
      ...options,
    });
    expect(others).toEqual([]);
    expect(issue).toMatchObject({ code: "option_conflict", path: [name] });
    expect(issue?.message).toContain(message);
    expect(issue?.hint).toContain("entries of `issuers`");
  });

  it("allows a combination with requirements of an issuer", () => {
    const issuers = [entry(A, { requiredClaims: ["tenant"], maxTokenAgeSeconds: 60 })];
    expect(() => createServer({ opaqueTokens, issuers })).not.toThrow();
  });
});
