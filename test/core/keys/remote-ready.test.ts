import { describe, expect, it } from "vitest";
import { KeysUnavailableError, type ResourceServer } from "scopegate";
import { asked, first, issuer, jwksUri, publish, second, useKeyIssuer } from "../../support/key-issuer.ts";
import { COOLDOWN, createRemote, MAX_AGE } from "../../support/remote-keys.ts";

useKeyIssuer();

const failureOf = async (server: ResourceServer): Promise<KeysUnavailableError> => {
  const error: unknown = await server.ready().catch((thrown: unknown) => thrown);
  if (error instanceof KeysUnavailableError) return error;
  throw new Error("It was ready.");
};

describe("ready()", () => {
  it("fetches the keys, so that no request waits for them", async () => {
    const { server, verdict } = createRemote({ jwksUri });
    await server.ready();
    expect(asked()).toBe(1);
    expect(await verdict(await first.token())).toBe("accepted");
    await server.ready();
    expect(asked()).toBe(1);
  });

  it("fetches expired keys again", async () => {
    const { server, verdict, pass } = createRemote({ jwksUri });
    await server.ready();
    publish(second);
    pass(MAX_AGE);
    await server.ready();
    expect(asked()).toBe(2);
    expect(await verdict(await first.token())).toBe("key");
  });

  it("rejects with the source without its query, and the reason", async () => {
    const { server } = createRemote({ jwksUri: `${issuer.url}/down?key=canary` });
    const error = await failureOf(server);
    expect(error.message).toBe(`Keys are unavailable. ${issuer.url}/down returned status 404.`);
    expect(error.cause).toMatchObject({ errors: [{ name: "FetchError", status: 404 }] });
  });

  it("ignores the cooldown, so that it can be called until it succeeds", async () => {
    const { server, verdict } = createRemote({ jwksUri });
    await issuer.stop();
    await failureOf(server);
    await failureOf(server);
    await issuer.start();
    await server.ready();
    expect(await verdict(await first.token())).toBe("accepted");
  });

  it("fetches again after a failure and reports the current state", async () => {
    const { server, verdict, pass } = createRemote({ jwksUri });
    await server.ready();
    await issuer.stop();
    pass(COOLDOWN);
    expect(await verdict(await second.token())).toBe("unavailable");
    expect((await failureOf(server)).message).toContain("ECONNREFUSED");
    await issuer.start();
    await server.ready();
    expect(await verdict(await second.token())).toBe("key");
  });
});
