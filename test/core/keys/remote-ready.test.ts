import { describe, expect, it } from "vitest";
import { asked, first, issuer, jwksUri, publish, second, useKeyIssuer } from "../../support/key-issuer.ts";
import { COOLDOWN, createRemote, MAX_AGE, readyErrorOf } from "../../support/remote-keys.ts";

useKeyIssuer();

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
    const error = await readyErrorOf(server);
    expect(error.message).toBe(`Keys are unavailable. ${issuer.url}/down returned status 404.`);
    expect(error.cause).toMatchObject({ errors: [{ name: "FetchError", status: 404 }] });
  });

  it("fetches again after a failure, whatever the cooldown is, and reports the current state", async () => {
    const { server, verdict, pass } = createRemote({ jwksUri });
    await server.ready();
    await issuer.stop();
    pass(COOLDOWN);
    expect(await verdict(await second.token())).toBe("unavailable");
    expect((await readyErrorOf(server)).message).toContain("ECONNREFUSED");
    await issuer.start();
    await server.ready();
    expect(await verdict(await second.token())).toBe("key");
  });
});
