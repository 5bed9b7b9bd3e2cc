import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from "jose";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type OpenIdProvider, openOpenIdProvider, RESOURCE } from "./openid-provider.ts";

const DISCOVERY = "/.well-known/openid-configuration";

const fetchJson = async ({ issuer }: OpenIdProvider, path: string): Promise<unknown> =>
  (await fetch(issuer + path)).json();

async function publishedKids(provider: OpenIdProvider): Promise<readonly string[]> {
  const { keys } = (await fetchJson(provider, "/jwks")) as { readonly keys: readonly { kid: string }[] };
  return keys.map(({ kid }) => kid);
}

const verify = ({ issuer }: OpenIdProvider, token: string, audience = RESOURCE) =>
  jwtVerify(token, createRemoteJWKSet(new URL("/jwks", issuer)), {
    issuer,
    audience,
    typ: "at+jwt",
    algorithms: ["RS256"],
  });

describe("an OpenID Provider with one key", () => {
  let provider: OpenIdProvider;
  beforeAll(async () => {
    provider = await openOpenIdProvider();
  });
  afterAll(() => provider.close());

  it("serves its metadata under its issuer", async () => {
    expect(await fetchJson(provider, DISCOVERY)).toMatchObject({
      issuer: provider.issuer,
      jwks_uri: `${provider.issuer}/jwks`,
      token_endpoint: `${provider.issuer}/token`,
    });
  });

  it("publishes only the public parts of its key", async () => {
    const text = expect.any(String) as string;
    expect(await fetchJson(provider, "/jwks")).toEqual({
      keys: [{ kty: "RSA", use: "sig", alg: "RS256", kid: "key-1", e: text, n: text }],
    });
  });

  it("issues access tokens as JWTs with the requested scopes", async () => {
    const token = await provider.token({ scope: "agents:read tools:use" });
    const { payload, protectedHeader } = await verify(provider, token);
    expect(protectedHeader).toEqual({ typ: "at+jwt", alg: "RS256", kid: "key-1" });
    expect(payload).toMatchObject({ scope: "agents:read tools:use", sub: payload["client_id"] });
  });

  it("issues tokens without a scope claim if no scope is requested", async () => {
    const { payload } = await verify(provider, await provider.token());
    expect(payload).not.toHaveProperty("scope");
  });

  it("issues tokens for the requested resource", async () => {
    const token = await provider.token({ resource: "https://tools.example/api" });
    await expect(verify(provider, token)).rejects.toMatchObject({ claim: "aud" });
    await expect(verify(provider, token, "https://tools.example/api")).resolves.toBeDefined();
  });

  it("throws the error of the token endpoint", async () => {
    await expect(provider.token({ resource: "agents" })).rejects.toThrow(/400: .*invalid_target/);
  });

  it("forges a token with other claims and a valid signature", async () => {
    const forged = await provider.forge(await provider.token({ scope: "agents:read" }), { exp: 1 });
    expect(decodeProtectedHeader(forged)).toEqual({ typ: "at+jwt", alg: "RS256", kid: "key-1" });
    await expect(verify(provider, forged)).rejects.toMatchObject({
      code: "ERR_JWT_EXPIRED",
      payload: { exp: 1, scope: "agents:read", iss: provider.issuer },
    });
  });

  it("shares no key with another provider", async () => {
    const other = await openOpenIdProvider();
    try {
      const signature = { code: "ERR_JWS_SIGNATURE_VERIFICATION_FAILED" };
      const keys = createRemoteJWKSet(new URL("/jwks", other.issuer));
      await expect(jwtVerify(await provider.token(), keys)).rejects.toMatchObject(signature);
    } finally {
      await other.close();
    }
  });

  it("counts the requests for each path", async () => {
    const before = provider.asked(DISCOVERY);
    await fetchJson(provider, DISCOVERY);
    await fetchJson(provider, `${DISCOVERY}?again`);
    await fetchJson(provider, "/jwks");
    expect(provider.asked(DISCOVERY)).toBe(before + 2);
    expect(provider.asked("/nothing")).toBe(0);
  });
});

describe("an OpenID Provider with changing keys", () => {
  let provider: OpenIdProvider;
  beforeEach(async () => {
    provider = await openOpenIdProvider({ kid: "first" });
  });
  afterEach(() => provider.close());

  it("publishes a key before signing with it, and the older key until it is withdrawn", async () => {
    const older = await provider.token();
    provider.publish("second");
    expect(await publishedKids(provider)).toEqual(["first", "second"]);
    expect(decodeProtectedHeader(await provider.token()).kid).toBe("first");

    provider.signWith("second");
    const newer = await provider.token();
    expect(decodeProtectedHeader(newer).kid).toBe("second");
    await expect(verify(provider, newer)).resolves.toBeDefined();
    await expect(verify(provider, older)).resolves.toBeDefined();

    provider.withdraw("first");
    expect(await publishedKids(provider)).toEqual(["second"]);
    await expect(verify(provider, newer)).resolves.toBeDefined();
    await expect(verify(provider, older)).rejects.toMatchObject({ code: "ERR_JWKS_NO_MATCHING_KEY" });

    provider.publish("first");
    await expect(verify(provider, older)).resolves.toBeDefined();
  });

  it("refuses to sign with an unpublished key, and to withdraw the signing key", async () => {
    expect(() => provider.signWith("second")).toThrow("second is not published.");
    expect(() => provider.withdraw("second")).toThrow("second is not published.");
    expect(() => provider.withdraw("first")).toThrow(
      "first is the signing key. Sign with another key first.",
    );
    expect(await publishedKids(provider)).toEqual(["first"]);
  });

  it("refuses connections while stopped, and responds on the same port after a restart", async () => {
    const older = await provider.token();
    await provider.stop();
    await expect(provider.token()).rejects.toMatchObject({ cause: { code: "ECONNREFUSED" } });
    provider.publish("second");
    await provider.start();
    await provider.start();
    expect(await publishedKids(provider)).toEqual(["first", "second"]);
    await expect(verify(provider, older)).resolves.toBeDefined();
  });

  it("keeps no connection alive that a stop would break", async () => {
    const { headers } = await fetch(`${provider.issuer}/jwks`);
    expect(headers.get("connection")).toBe("close");
  });

  it("allows close while stopped", async () => {
    await provider.stop();
    await expect(provider.close()).resolves.toBeUndefined();
  });
});
