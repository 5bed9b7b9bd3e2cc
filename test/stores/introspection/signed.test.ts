/** Signed answers (RFC 9701). */
import { describe, expect, it, vi } from "vitest";
import type { IntrospectionOptions } from "scopegate/introspection";
import { jwks, remoteKeys } from "scopegate/keys";
import { json, status, text } from "../../support/behaviours.ts";
import { createIssuer } from "../../support/issuer.ts";
import { createServer, NOW } from "../../support/resource-servers.ts";
import { active, CLIENT, openEndpoint, startAsking, TOKEN } from "./support.ts";

const LOGIN = "https://login.example";
const login = createIssuer({ kid: "login-1" });
const other = createIssuer({ algorithm: "ES256", kid: "other" });
const keys = jwks({ keys: [login.publicJwk] });

const sign = (
  claims: Readonly<Record<string, unknown>> = {},
  header: Readonly<Record<string, unknown>> = {},
  signer = login,
) =>
  signer.token(
    { iss: LOGIN, aud: CLIENT.id, iat: NOW, scopes: undefined, token_introspection: active(), ...claims },
    { typ: "token-introspection+jwt", ...header },
  );

async function ask(body: string, options: Partial<IntrospectionOptions> = {}) {
  const behaviour = text(body, "application/token-introspection+jwt");
  const asking = await startAsking({ keys, issuer: LOGIN, ...options }, { behaviour });
  const decision = await asking.check();
  return { ...asking, verdict: await asking.verdict(), cause: String(!decision.allowed && decision.cause) };
}

describe("introspection with keys", () => {
  it("requests a signed response, and returns a principal of its `token_introspection`", async () => {
    const { verdict, endpoint, server } = await ask(await sign());
    expect(verdict).toBe("200");
    expect(endpoint.received[0]?.headers.accept).toBe("application/token-introspection+jwt");
    expect(await server.authenticate(TOKEN)).toMatchObject({ userId: "u1", issuer: LOGIN });
  });

  it.each<readonly [string, object, object]>([
    ["for the audience of the server", { aud: ["agents-prod"] }, {}],
    ["of a minute ago", { iat: NOW - 60 }, {}],
    ["from a clock that is a minute ahead", { iat: NOW + 60 }, {}],
    ["with the media type as typ", {}, { typ: "application/token-introspection+jwt" }],
  ])("accepts a signed response %s", async (_, claims, header) => {
    expect((await ask(await sign({ ...claims }, { ...header }))).verdict).toBe("200");
  });

  it.each<readonly [string, object, object, string]>([
    ["of another issuer", { iss: "https://other.example" }, {}, "issuer"],
    ["without issuer", { iss: undefined }, {}, "issuer"],
    ["for another client", { aud: "other" }, {}, "audience"],
    ["for no one", { aud: undefined }, {}, "audience"],
    ["of three minutes ago", { iat: NOW - 180 }, {}, "expired"],
    ["without a time", { iat: undefined }, {}, "claims"],
    ["that is an access token", {}, { typ: "at+jwt" }, "type"],
    ["without typ", {}, { typ: undefined }, "type"],
    ["with another algorithm", {}, { alg: "PS256" }, "algorithm"],
  ])("returns 503 for a signed response %s", async (_, claims, header, reason) => {
    const { verdict, cause } = await ask(await sign({ ...claims }, { ...header }));
    expect(verdict).toBe("503");
    expect(cause).toContain(`didn't return an acceptable signed response: ${reason}.`);
  });

  it.each([undefined, "active", [active()], null])(
    "returns 503 for a signed response whose `token_introspection` is %j",
    async (token_introspection) => {
      const { verdict, cause } = await ask(await sign({ token_introspection }));
      expect(verdict).toBe("503");
      expect(cause).toContain("returned a JWT without `token_introspection`.");
    },
  );

  it("returns 503 for a response that another key signed, or that was changed", async () => {
    const [header, , signature] = (await sign()).split(".");
    const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url");
    const payload = encode({ iss: LOGIN, token_introspection: active() });
    const unsigned = encode({ alg: "none", typ: "token-introspection+jwt" });
    const changed = [`${header}.${payload}.${signature}`, `${unsigned}.${payload}.`];
    for (const body of [await sign({}, { kid: "login-1" }, other), ...changed])
      expect((await ask(body, { algorithms: ["RS256", "ES256"] })).verdict).toBe("503");
  });

  it.each(["", JSON.stringify(active()), "a.b", "a.b.c", "not a token"])(
    "returns 503 for the body %j, which is not a signed response",
    async (body) => {
      expect((await ask(body)).verdict).toBe("503");
    },
  );

  it.each<readonly [string, object, string]>([
    ["is not active", { active: false }, "401 revoked"],
    ["is for another service", active({ aud: "other" }), "401 audience"],
    ["is of another issuer", active({ iss: "https://other.example" }), "401 issuer"],
    ["has expired", active({ exp: NOW }), "401 expired"],
  ])("rejects a token by the signed response that it %s", async (_, token_introspection, verdict) => {
    expect((await ask(await sign({ token_introspection }))).verdict).toBe(verdict);
  });

  it("rejects a signed response that a client sends as an access token", async () => {
    const server = createServer({ keys, scopesClaim: "scope" });
    const body = await sign({ aud: "agents-prod", scope: "agents:read" });
    await expect(server.authenticate(body)).rejects.toMatchObject({ rejection: "type" });
  });
});

describe("introspection with remote keys", () => {
  it("fetches the keys once, and stops with the server", async () => {
    const published = await openEndpoint(json({ keys: [login.publicJwk] }));
    const remote = remoteKeys({ jwksUri: published.url });
    const { verdict, server } = await startAsking(
      { keys: remote, issuer: LOGIN },
      { behaviour: text(await sign()) },
    );
    expect([await verdict("one"), await verdict("two")]).toEqual(["200", "200"]);
    expect(published.received).toHaveLength(1);
    await server.close();
  });

  it("returns 503 with Retry-After while the keys cannot be fetched", async () => {
    const warn = vi.spyOn(process, "emitWarning").mockReturnValue();
    const published = await openEndpoint(status(500));
    const remote = { keys: remoteKeys({ jwksUri: published.url }), issuer: LOGIN };
    const { refusal } = await startAsking(remote, { behaviour: text(await sign()) });
    const { cause, ...answer } = await refusal();
    expect(answer).toMatchObject({ status: 503, headers: { "Retry-After": "1" } });
    expect(String(cause)).toContain("returned a signed response whose keys are unavailable.");
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("Keys of http"), "ScopegateWarning");
    warn.mockRestore();
  });
});
