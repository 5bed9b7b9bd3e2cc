/** What is sent to the endpoint, and for which tokens. */
import { createPublicKey } from "node:crypto";
import { jwtVerify } from "jose";
import { describe, expect, it } from "vitest";
import type { IntrospectionClient } from "scopegate/introspection";
import { generateKey } from "../../../src/tools/testing/test-key.ts";
import { json } from "../../support/behaviours.ts";
import { issuer, NOW } from "../../support/resource-servers.ts";
import { active, CLIENT, startAsking, TOKEN } from "./support.ts";

const privateKey = generateKey("ec", { namedCurve: "P-256" });

async function requestOf(client: IntrospectionClient) {
  const { endpoint, verdict } = await startAsking({ client });
  expect(await verdict()).toBe("200");
  const [request] = endpoint.received;
  if (!request) throw new Error("Nothing was sent.");
  return { ...request, url: endpoint.url };
}

describe("introspection, in its requests", () => {
  it("sends a form with the token, and accepts JSON", async () => {
    const { method, headers, fields } = await requestOf(CLIENT);
    expect(method).toBe("POST");
    expect(headers).toMatchObject({
      "content-type": "application/x-www-form-urlencoded",
      accept: "application/json",
    });
    expect(Object.fromEntries(fields)).toEqual({ token: TOKEN, token_type_hint: "access_token" });
  });

  it.each([undefined, "client_secret_basic"] as const)(
    "sends the id and the secret with form encoding in the Authorization header, with method %s",
    async (method) => {
      const { headers } = await requestOf({ ...CLIENT, ...(method && { method }) });
      const [scheme, credentials = ""] = headers.authorization?.split(" ") ?? [];
      expect(scheme).toBe("Basic");
      // RFC 6749 section 2.3.1: a colon in the id or in the secret is encoded.
      expect(Buffer.from(credentials, "base64").toString()).toBe("agents+client:s%3Acanary+%C3%A9%2B%25");
    },
  );

  it("sends the secret in the body with `client_secret_post`", async () => {
    const { headers, fields } = await requestOf({ ...CLIENT, method: "client_secret_post" });
    expect(headers.authorization).toBeUndefined();
    expect([fields.get("client_id"), fields.get("client_secret")]).toEqual([CLIENT.id, CLIENT.secret]);
  });

  it.each<readonly [string, string | object]>([
    ["a PEM", privateKey.export({ type: "pkcs8", format: "pem" })],
    ["a JWK", privateKey.export({ format: "jwk" })],
    ["a KeyObject", privateKey],
  ])("sends an assertion that %s signs", async (_, key) => {
    const client = { id: "agents", privateKey: key, algorithm: "ES256", keyId: "k1" } as IntrospectionClient;
    const { headers, fields, url } = await requestOf(client);
    expect(headers.authorization).toBeUndefined();
    expect(fields.get("client_assertion_type")).toBe(
      "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
    );
    const assertion = fields.get("client_assertion") ?? "";
    const currentDate = new Date(NOW * 1000);
    const { payload, protectedHeader } = await jwtVerify(assertion, createPublicKey(privateKey), {
      currentDate,
    });
    expect(protectedHeader).toEqual({ alg: "ES256", kid: "k1" });
    expect(payload).toEqual({
      iss: "agents",
      sub: "agents",
      aud: url,
      jti: expect.stringMatching(/^[\w-]{36}$/) as string,
      iat: NOW,
      exp: NOW + 60,
    });
  });

  it("sends a new assertion each time, for the configured audience, and without `kid` by default", async () => {
    const audience = "https://login.example";
    const client = { id: "agents", privateKey, algorithm: "ES256", audience } as const;
    const { endpoint, verdict } = await startAsking({ client });
    expect([await verdict("one"), await verdict("two")]).toEqual(["200", "200"]);
    const parts = endpoint.received.map(({ fields }) => fields.get("client_assertion")?.split(".") ?? []);
    const [first, second] = parts.map((part) =>
      part.slice(0, 2).map((text) => JSON.parse(Buffer.from(text, "base64url").toString()) as object),
    );
    expect(first).toMatchObject([{ alg: "ES256" }, { aud: "https://login.example" }]);
    expect(first?.[0]).not.toHaveProperty("kid");
    expect(first?.[1]).not.toEqual(second?.[1]);
  });
});

describe("introspection, for a token", () => {
  const asked = async (token: string, options: Parameters<typeof startAsking>[0] = {}) => {
    const { endpoint, check } = await startAsking(options);
    await check(token);
    return endpoint.received.length === 1;
  };

  it("sends every token that does not begin as a JWT", async () => {
    for (const token of ["abc", "a.b", "a+.b.c", "sk_live_1=="]) expect(await asked(token), token).toBe(true);
    // Also no JWT with something behind it, which must not be read in another way.
    const jwt = await issuer.token({});
    for (const token of ["a.b.c", "a.b.", jwt, `${jwt}=`, `${jwt}.`])
      expect(await asked(token), token).toBe(false);
  });

  it("does not ask about a JWT, which the keys of the server verify", async () => {
    const { endpoint, verdict } = await startAsking();
    expect(await verdict(await issuer.token({ scopes: ["agents:read"] }))).toBe("200");
    expect(await verdict(await issuer.token({ scopes: ["agents:read"], exp: 1 }))).toBe("401 expired");
    expect(endpoint.received).toEqual([]);
  });

  it("sends only tokens with one of the prefixes, also in the shape of a JWT", async () => {
    const prefix = ["tok_", "at_"];
    for (const token of ["tok_1", "at_1", "tok_.b.c"])
      expect(await asked(token, { prefix }), token).toBe(true);
    for (const token of ["other", "xtok_1", "TOK_1"])
      expect(await asked(token, { prefix }), token).toBe(false);
    expect(await asked("tok_1", { prefix: "tok_" })).toBe(true);
    expect(await asked("at_1", { prefix: "tok_" })).toBe(false);
  });

  it("sends a token if `matches` returns exactly true", async () => {
    expect(await asked("a.b.c", { matches: (token) => token.length === 5 })).toBe(true);
    expect(await asked("abc", { matches: (token) => token.length === 5 })).toBe(false);
    expect(await asked("abc", { matches: (() => Promise.resolve(true)) as never })).toBe(false);
  });

  it.each(["a b", "a&token=b", "a%20b", "é", "="])(
    "rejects a token with a character that bearer tokens cannot have, without asking: %s",
    async (token) => {
      const { endpoint, server } = await startAsking({}, { behaviour: json(active()) });
      await expect(server.authenticate(token)).rejects.toMatchObject({ rejection: "malformed" });
      expect(endpoint.received).toEqual([]);
    },
  );

  it("rejects a token larger than `maxTokenBytes` without asking", async () => {
    const { endpoint, verdict } = await startAsking({}, { server: { maxTokenBytes: 10 } });
    expect(await verdict("a".repeat(11))).toBe("401 too_large");
    expect(endpoint.received).toEqual([]);
  });
});
