/** What the answer of an introspection endpoint means (RFC 7662 section 2.2). */
import { describe, expect, it } from "vitest";
import { json, text } from "../../support/behaviours.ts";
import { NOW } from "../../support/resource-servers.ts";
import { active, startAsking, TOKEN } from "./support.ts";
import { withPollution } from "../../support/polluted-prototype.ts";

const verdictOn = async (
  answer: unknown,
  options: Parameters<typeof startAsking>[0] = {},
  server: NonNullable<Parameters<typeof startAsking>[1]>["server"] = {},
) => {
  const behaviour = typeof answer === "string" ? text(answer) : json(answer);
  return (await startAsking(options, { behaviour, server })).verdict();
};

describe("introspection, for an active token", () => {
  it("returns a principal with the scopes, the user and all properties of the response", async () => {
    const behaviour = json(active({ client_id: "web", iss: "https://login.example", jti: "t1", nbf: NOW }));
    const { server, verdict } = await startAsking({}, { behaviour });
    expect(await verdict()).toBe("200");
    expect(await server.authenticate(TOKEN)).toMatchObject({
      userId: "u1",
      scopes: ["agents:read", "teams:read"],
      audience: ["agents-prod"],
      issuer: "https://login.example",
      tokenId: "t1",
      expiresAt: NOW + 300,
      tokenKind: "introspected",
      claims: { client_id: "web" },
    });
  });

  it.each<readonly [string, Readonly<Record<string, unknown>>, string]>([
    ["without the required scope", { scope: "teams:read" }, "403"],
    ["with scopes as an array", { scope: ["agents:read"] }, "200"],
    ["without scope", { scope: undefined }, "401 claims"],
    ["with several audiences", { aud: ["other", "agents-prod"] }, "200"],
    ["of another audience", { aud: "other" }, "401 audience"],
    ["without audience", { aud: undefined }, "401 audience"],
    ["that expires now", { exp: NOW }, "401 expired"],
    ["that expires in a second", { exp: NOW + 1 }, "200"],
    ["without exp", { exp: undefined }, "200"],
    ["with exp as a string", { exp: `${NOW + 300}` }, "401 claims"],
    ["with exp null", { exp: null }, "401 claims"],
    ["with nbf in the future", { nbf: NOW + 1 }, "401 not_yet_valid"],
    ["with nbf as a string", { nbf: "1" }, "401 claims"],
    ["with iat five seconds in the future, as for a JWT", { iat: NOW + 5 }, "200"],
    ["with iat six seconds in the future", { iat: NOW + 6 }, "401 not_yet_valid"],
    ["with iat as an object", { iat: {} }, "401 claims"],
    ["with the type bearer in any case", { token_type: "bEARER" }, "200"],
    ["without a type", { token_type: undefined }, "200"],
    ["with the type DPoP", { token_type: "DPoP" }, "401 claims"],
    ["with a type that is not a string", { token_type: ["Bearer"] }, "401 type"],
    ["that is a refresh token of Ory Hydra", { token_use: "refresh_token" }, "401 type"],
    ["that is an access token of Ory Hydra", { token_use: "access_token" }, "200"],
    ["that is bound to a certificate", { cnf: { "x5t#S256": "x" } }, "401 claims"],
    ["with a jti that is not a string", { jti: 7 }, "401 claims"],
  ])("returns the status and the rejection for a token %s", async (_, changes, verdict) => {
    expect(await verdictOn(active(changes))).toBe(verdict);
  });

  it("rejects an exp that is not finite", async () => {
    const answer = JSON.stringify(active()).replace(`"exp":${NOW + 300}`, '"exp":1e400');
    expect(answer).toContain("1e400");
    expect(await verdictOn(answer)).toBe("401 claims");
  });

  it.each<readonly [string, object]>([
    ["exp", { exp: NOW - 4 }],
    ["nbf", { nbf: NOW + 5 }],
    ["iat", { iat: NOW + 9 }],
  ])("tolerates a clock difference in %s with `clockToleranceSeconds`", async (_, changes) => {
    expect(await verdictOn(active({ ...changes }))).toMatch(/^401/);
    expect(await verdictOn(active({ ...changes }), {}, { clockToleranceSeconds: 9 })).toBe("200");
  });

  it("requires the configured issuer", async () => {
    const options = { issuer: "https://login.example" };
    expect(await verdictOn(active({ iss: "https://login.example" }), options)).toBe("200");
    expect(await verdictOn(active({ iss: "https://login.example/" }), options)).toBe("401 issuer");
    expect(await verdictOn(active(), options)).toBe("401 issuer");
  });

  it("requires its own `audience` instead of the audience of the server", async () => {
    const options = { audience: ["https://agents.example", "agents-2"] };
    expect(await verdictOn(active({ aud: "agents-2" }), options)).toBe("200");
    expect(await verdictOn(active(), options)).toBe("401 audience");
  });

  it.each([
    ["of introspection", { verifyAudience: false }, {}],
    ["of the server", {}, { verifyAudience: false }],
  ])(
    "accepts any audience, but requires `token_type`, with `verifyAudience: false` %s",
    async (_, own, server) => {
      expect(await verdictOn(active({ aud: "other" }), own, server)).toBe("200");
      // Endpoints that report refresh tokens as active leave out their type.
      expect(await verdictOn(active({ aud: "other", token_type: undefined }), own, server)).toBe("401 type");
    },
  );

  it("reads the scopes from `scopesClaim`", async () => {
    const scopesClaim = ["resource_access", "roles"];
    const answer = active({ scope: "teams:read", resource_access: { roles: ["agents:read"] } });
    expect(await verdictOn(answer, { scopesClaim })).toBe("200");
    expect(await verdictOn(answer)).toBe("403");
  });
});

describe("introspection, for a token that is not active", () => {
  it.each<readonly [string, unknown]>([
    ["active: false", { active: false }],
    ["active: false with claims", active({ active: false })],
  ])("rejects a token with %s as revoked, and shows the cause in the decision only", async (_, answer) => {
    const { verdict, refusal } = await startAsking({}, { behaviour: json(answer) });
    expect(await verdict()).toBe("401 revoked");
    const { cause, ...shown } = await refusal();
    expect(cause).toMatch(/^The issuer reports that the token isn't active/);
    expect(JSON.stringify(shown)).not.toContain("issuer");
  });

  it.each<readonly [string, unknown]>([
    ['active: "true"', active({ active: "true" })],
    ["active: null", active({ active: null })],
    ["active: 1", active({ active: 1 })],
    ["no active", { error: "server_error" }],
    ["active in its prototype", `{"__proto__":${JSON.stringify(active())}}`],
  ])("counts %s as a failure of the endpoint, which says nothing about the token", async (_, answer) => {
    const behaviour = typeof answer === "string" ? text(answer) : json(answer);
    const { verdict, server } = await startAsking({}, { behaviour });
    expect(await verdict()).toBe("503");
    expect(server.health()).toMatchObject({
      status: "degraded",
      opaqueTokens: [{ cause: { message: expect.stringContaining("didn't return `active`") as string } }],
    });
  });

  it("ignores `active` of a polluted prototype", async () => {
    const ask = () => verdictOn(active({ active: undefined }));
    expect(await withPollution({ active: true }, ask, { isEnumerable: false })).toBe("503");
  });
});

describe("server.revoke, for an introspected token", () => {
  it.each([{}, { jti: "" }, { jti: "t1" }])("revokes a token with %j in its response", async (changes) => {
    const { inMemoryRevocation } = await import("scopegate/revocation");
    const server = { revocation: inMemoryRevocation({ now: () => NOW * 1000 }) };
    const asking = await startAsking({}, { behaviour: json(active(changes)), server });
    const [one, other] = [await asking.server.authenticate(TOKEN), "another-token"];
    expect(one.tokenId).toMatch(changes.jti ? /^t1$/ : /^[\w-]{43}$/);
    await asking.server.revoke({ token: TOKEN });
    expect(await asking.verdict()).toBe("401 revoked");
    expect(await asking.verdict(other)).toBe(changes.jti ? "401 revoked" : "200");
  });
});
