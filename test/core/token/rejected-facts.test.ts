/** What a decision says for logs about a credential that was refused. */
import { describe, expect, it, vi } from "vitest";
import type { AccessRequest, Decision, Refused } from "scopegate";
import { createServer, issuer } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";

const tokenSources = [{ header: "authorization" }, { cookie: "token" }] as const;

const decide = (
  request: Partial<AccessRequest>,
  options: Partial<ResourceServerOptions> = { tokenSources },
) => createServer(options).check({ method: "GET", target: "/agents", ...request });

const decideToken = (token: string, options?: Partial<ResourceServerOptions>) =>
  decide({ authorization: `Bearer ${token}` }, options);

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

describe("the cause of credential_malformed", () => {
  it.each<readonly [string, Partial<AccessRequest>]>([
    [
      "The request carries a token in several places.",
      { authorization: "Bearer a.b.c", cookie: "token=a.b.c" },
    ],
    ["The request has several Authorization headers.", { authorization: ["Bearer a.b.c", "Basic abc"] }],
    ["The request has several cookies with the name of the token.", { cookie: "token=a; token=b" }],
    ["The Authorization header has no scheme before the credential.", { authorization: "a.b.c" }],
    ["The Authorization header has no scheme before the credential.", { authorization: "" }],
    ["The Authorization header has the scheme Bearer without a token.", { authorization: "Bearer" }],
    ["The Authorization header has the scheme Bearer without a token.", { authorization: "bearer  " }],
    ["The token has a character that RFC 6750 doesn't allow.", { authorization: 'Bearer "a.b.c"' }],
  ])("appears in the decision, not in the response: %s", async (cause, request) => {
    const decision = await decide(request);
    expect(decision).toMatchObject({ reason: "credential_malformed", cause });
    expect(JSON.stringify(createServer().refuse(decision as Refused))).not.toContain(cause.slice(0, 20));
  });

  it.each<readonly [string, AccessRequest["authorization"]]>([
    ["The Authorization header has the scheme Bearer without a token.", "Bearer"],
    ["The Authorization header has the scheme Bearer without a token.", "bearer "],
    ["The Authorization header has the scheme Token without a token.", "Token"],
    ["The Authorization header has no scheme before the credential.", "a.b.c"],
    ["The request has several Authorization headers.", ["Bearer", "Token"]],
  ])("isn't several places for one header with two schemes: %s", async (cause, authorization) => {
    const bearer = { header: "authorization" } as const;
    const token = { header: "authorization", scheme: "Token" } as const;
    for (const multipleCredentials of ["refuse", "first"] as const)
      for (const tokenSources of [
        [bearer, token],
        [token, bearer],
      ]) {
        const options = { tokenSources, multipleCredentials };
        expect(await decide({ authorization }, options)).toMatchObject({
          reason: "credential_malformed",
          cause,
        });
      }
  });
});

describe("what a rejected token claims", () => {
  const claimedBy = async (token: string, options?: Partial<ResourceServerOptions>) => {
    const decision: Decision = await decideToken(token, options);
    expect(decision).toMatchObject({ reason: "token_rejected" });
    return decision.allowed ? undefined : decision.claimed;
  };

  it("contains its alg, kid and iss", async () => {
    const header = { kid: "key-9" };
    const iss = "https://other.example";
    const expected = { alg: "RS256", kid: "key-9", iss };
    expect(
      await claimedBy(await issuer.token({ iss }, header), { issuer: "https://issuer.example" }),
    ).toEqual(expected);
    expect(await claimedBy(await issuer.token({ iss, exp: 1 }, header))).toEqual(expected);
    expect(await claimedBy(await issuer.token({ iss }, header), { isRevoked: () => true })).toEqual(expected);
    expect(await claimedBy(await issuer.token({}), { requiredClaims: ["tenant"] })).toEqual({ alg: "RS256" });
  });

  it("includes the alg none, and what can be read of a malformed token", async () => {
    expect(await claimedBy(`${encode({ alg: "none" })}.${encode({ iss: "a" })}.AAAA`)).toEqual({
      alg: "none",
      iss: "a",
    });
    expect(await claimedBy(`${encode({ alg: "RS256", crit: ["b64"] })}.${encode([])}.AAAA`)).toEqual({
      alg: "RS256",
    });
    expect(await claimedBy(`${encode({ kid: "a" })}.e30.AAAA`)).toEqual({ kid: "a" });
  });

  it("does not appear if nothing can be read, or if the token is accepted or too large", async () => {
    for (const token of [
      "opaque",
      "a.b.c",
      `${encode({ kid: "a" })}.e30`,
      `${encode({ alg: 5, kid: {} })}.${encode({ iss: [] })}.AAAA`,
    ])
      expect(await claimedBy(token)).toBeUndefined();
    expect(await decideToken(await issuer.token({}, { kid: "a" }))).not.toHaveProperty("claimed");
    const token = await issuer.token({}, { kid: "a" });
    expect(await decideToken(token, { maxTokenBytes: 10 })).not.toHaveProperty("claimed");
  });

  it("is read only when it is needed, and once", async () => {
    const token = `${encode({ alg: "none", kid: "a" })}.${encode({ iss: "b" })}.AAAA`;
    await decideToken(token);
    const parse = vi.spyOn(JSON, "parse");
    const decision = await decideToken(token);
    expect(Object.isFrozen(decision)).toBe(true);
    expect(parse).not.toHaveBeenCalled();
    const claimed = decision.allowed ? undefined : decision.claimed;
    expect(claimed).toEqual({ alg: "none", kid: "a", iss: "b" });
    expect(parse).toHaveBeenCalledTimes(2);
    expect(decision).toHaveProperty("claimed", claimed);
    expect(parse).toHaveBeenCalledTimes(2);
    parse.mockRestore();
  });

  it("is a property like others for logs, copies and comparisons", async () => {
    const decision = await decideToken(`${encode({ alg: "none" })}.${encode({ iss: "b" })}.AAAA`);
    const claimed = { alg: "none", iss: "b" };
    expect(JSON.parse(JSON.stringify(decision))).toMatchObject({ claimed });
    expect({ ...decision }).toMatchObject({ claimed });
    expect(structuredClone(decision)).toMatchObject({ claimed });
    expect(decision).toEqual({ ...decision });
    expect(Object.keys(await decideToken("opaque"))).not.toContain("claimed");
  });

  it("does not parse a header that is too long", async () => {
    const decision = await decideToken(`${encode({ kid: "a", x: "x".repeat(8_192) })}.e30.AAAA`);
    expect(decision).toMatchObject({ rejection: "too_large" });
    expect(decision).not.toHaveProperty("claimed");
  });

  it("contains a limited number of characters and no control characters, so that it cannot forge a log entry", async () => {
    const kid = "a\r\nforged\u001b[2J\u2028\u202e\u0085";
    expect(
      await claimedBy(await issuer.token({ iss: "i".repeat(5_000) }, { alg: "RS256", kid }), { issuer: "x" }),
    ).toEqual({
      alg: "RS256",
      kid: "a??forged?[2J???",
      iss: "i".repeat(200),
    });
    const cut = await claimedBy(
      `${encode({ alg: "none" })}.${encode({ iss: `${"i".repeat(199)}\u{1f600}` })}.AAAA`,
    );
    expect(cut?.iss).toBe(`${"i".repeat(199)}?`);
  });

  it("stays frozen, and does not appear in the response", async () => {
    const token = await issuer.token({ iss: "canary-iss", exp: 1 }, { kid: "canary-kid" });
    const decision = await decideToken(token);
    expect(Object.isFrozen(decision.allowed ? undefined : decision.claimed)).toBe(true);
    expect(JSON.stringify(createServer().refuse(decision as Refused))).not.toContain("canary");
  });
});
