import { describe, expect, it, onTestFinished } from "vitest";
import type { ResourceServer } from "scopegate";
import type { KeySource } from "scopegate/complete";
import type { Keys } from "scopegate/keys";
import { createTestIssuer, type TestIssuerOptions, type TestKeyServer } from "scopegate/testing";
import { thrownBy, verdictOf } from "../../support/resource-servers.ts";
import { createResourceServer } from "../../support/server.ts";

/** Opens the key server of an issuer until the end of the test, and creates resource servers with its keys. */
async function open(options: TestIssuerOptions = {}, how: { readonly asIssuer?: boolean } = {}) {
  const issuer = createTestIssuer(options);
  const served = await issuer.listen(how);
  onTestFinished(() => served.close());
  const serverWith = (keys: Keys | KeySource): ResourceServer => {
    const server = createResourceServer({
      ...issuer.resourceServerOptions,
      keys,
      onKeyEvent: () => undefined,
    });
    onTestFinished(() => server.close());
    return server;
  };
  return { issuer, served, serverWith };
}

const read = async (url: string): Promise<unknown> => (await fetch(url)).json();

describe("the key server of a test issuer", () => {
  it("publishes the JWK Set and the discovery document on loopback, and counts the requests", async () => {
    const { issuer, served } = await open();
    expect(served.url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect(await read(served.jwksUri)).toEqual(issuer.jwks);
    expect(await read(served.jwksUri)).toEqual(issuer.jwks);
    expect(await read(served.metadataUrl)).toEqual({ issuer: issuer.issuer, jwks_uri: served.jwksUri });
    expect((await fetch(`${served.url}/elsewhere`)).status).toBe(404);
    expect(served.requests).toEqual({ jwks: 2, metadata: 1 });
  });

  const sources: readonly (readonly [string, (served: TestKeyServer) => Keys | KeySource])[] = [
    ["its `keys`", ({ keys }) => keys],
    ["the URI of the set", ({ jwksUri }) => ({ jwksUri })],
    ["discovery at the URL of the metadata", ({ metadataUrl }) => ({ discovery: metadataUrl })],
    ["discovery at its URL", ({ url }) => ({ discovery: url })],
  ];

  it.each(sources)("provides the keys of a resource server by %s", async (_name, keysOf) => {
    const { issuer, served, serverWith } = await open();
    const server = serverWith(keysOf(served));
    expect(await verdictOf(server, await issuer.token())).toBe("accepted");
    expect(await verdictOf(server, await issuer.token())).toBe("accepted");
    expect(served.requests.jwks).toBe(1);
  });

  it("changes the issuer with asIssuer", async () => {
    const { issuer, served, serverWith } = await open({}, { asIssuer: true });
    expect(issuer.issuer).toBe(served.url);
    expect(await verdictOf(serverWith({ discovery: true }), await issuer.token())).toBe("accepted");
  });

  it("publishes new keys immediately", async () => {
    const { issuer, served, serverWith } = await open({ algorithm: "EdDSA" });
    const server = serverWith(served.keys);
    const old = await issuer.token();
    expect(await verdictOf(server, old)).toBe("accepted");
    issuer.rotate();
    expect(await verdictOf(server, await issuer.token())).toBe("accepted");
    expect(await verdictOf(server, old)).toBe("accepted");
    expect(served.requests.jwks).toBe(2);
  });

  it("stops publishing withdrawn keys", async () => {
    let now = Date.now();
    const { issuer, served, serverWith } = await open({ now: () => now });
    const server = serverWith({ jwksUri: served.jwksUri, maxAgeMs: 1_000 });
    const token = await issuer.token();
    expect(await verdictOf(server, token)).toBe("accepted");
    issuer.rotate({ oldKeys: "withdrawn" });
    now += 2_000;
    expect(await verdictOf(server, token)).toBe("key");
  });

  it("simulates an outage and its end", async () => {
    const { issuer, served, serverWith } = await open();
    const server = serverWith({ jwksUri: served.jwksUri, cooldownMs: 0 });
    served.goDown();
    expect((await fetch(served.metadataUrl)).status).toBe(503);
    expect(await verdictOf(server, await issuer.token())).toBe("unavailable");
    served.comeBack();
    expect(await verdictOf(server, await issuer.token())).toBe("accepted");
    expect(served.requests).toEqual({ jwks: 2, metadata: 1 });
  });

  it("closes more than once, and with `await using`", async () => {
    const { served } = await open();
    await served.close();
    await served.close();
    await expect(fetch(served.jwksUri)).rejects.toThrow();
    const another = await open();
    await another.served[Symbol.asyncDispose]();
    await expect(fetch(another.served.jwksUri)).rejects.toThrow();
  });

  it("closes connections, which would keep the process alive", async () => {
    const { served } = await open();
    expect((await fetch(served.jwksUri)).headers.get("connection")).toBe("close");
  });

  it("rejects an issuer with a secret", async () => {
    await expect(createTestIssuer({ algorithm: "HS256" }).listen()).rejects.toThrow("asymmetric algorithm");
  });

  it("rejects an unknown option", async () => {
    const listen = async () => createTestIssuer().listen({ port: 80 } as object);
    await expect(listen()).rejects.toThrow("received unknown option `port`");
    expect(thrownBy(() => createTestIssuer({ port: 80 } as object)).issues[0]?.code).toBe("option_unknown");
  });
});
