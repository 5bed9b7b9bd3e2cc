import { describe, expect, it, onTestFinished } from "vitest";
import type { ResourceServer } from "scopegate";
import type { KeySource } from "scopegate/complete";
import type { Keys } from "scopegate/keys";
import { createTestIssuer, type TestIssuerOptions, type TestKeyServer } from "scopegate/testing";
import { verdictOf } from "../../support/resource-servers.ts";
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

  it("publishes new keys immediately, and withdrawn ones no more", async () => {
    let now = Date.now();
    const { issuer, served, serverWith } = await open({ algorithm: "EdDSA", now: () => now });
    const server = serverWith({ jwksUri: served.jwksUri, maxAgeMs: 1_000, cooldownMs: 0 });
    const old = await issuer.token();
    expect(await verdictOf(server, old)).toBe("accepted");
    issuer.rotate();
    for (const token of [await issuer.token(), old]) expect(await verdictOf(server, token)).toBe("accepted");
    expect(served.requests.jwks).toBe(2);
    issuer.rotate({ oldKeys: "withdrawn" });
    now += 2_000;
    expect(await verdictOf(server, old)).toBe("key");
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

  it("closes itself and its connections, more than once, and with `await using`", async () => {
    const { served } = await open();
    // A connection that is kept would keep the process alive.
    expect((await fetch(served.jwksUri)).headers.get("connection")).toBe("close");
    await served.close();
    await served.close();
    await expect(fetch(served.jwksUri)).rejects.toThrow();
    const another = await open();
    await another.served[Symbol.asyncDispose]();
    await expect(fetch(another.served.jwksUri)).rejects.toThrow();
  });

  it("rejects an issuer with a secret, and an unknown option", async () => {
    await expect(createTestIssuer({ algorithm: "HS256" }).listen()).rejects.toThrow("asymmetric algorithm");
    const listen = async () => createTestIssuer().listen({ port: 80 } as object);
    await expect(listen()).rejects.toThrow("received unknown option `port`");
  });
});
