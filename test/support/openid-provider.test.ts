/** What no test that uses the provider would notice: its forged tokens must be rejected for their claims only. */
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import { expect, it, onTestFinished } from "vitest";
import { openOpenIdProvider, RESOURCE } from "./openid-provider.ts";

it("forges a token with other claims and a valid signature", async () => {
  const { issuer, token, forge, close } = await openOpenIdProvider();
  onTestFinished(close);
  const forged = await forge(await token({ scope: "agents:read" }), { exp: 1 });
  expect(decodeProtectedHeader(forged)).toEqual({ typ: "at+jwt", alg: "RS256", kid: "key-1" });
  const keys = createRemoteJWKSet(new URL("/jwks", issuer));
  await expect(jwtVerify(forged, keys, { issuer, audience: RESOURCE })).rejects.toMatchObject({
    code: "ERR_JWT_EXPIRED",
    payload: { exp: 1, scope: "agents:read", iss: issuer },
  });
});
