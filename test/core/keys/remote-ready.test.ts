import { describe, expect, it } from "vitest";
import { createResourceServer, KeysUnavailableError, type ResourceServer } from "scopegate";
import { behave } from "../../support/fault-server.ts";
import { createIssuer } from "../../support/issuer.ts";
import { asked, first, issuer, jwksUri, publish, second, useKeyIssuer } from "../../support/key-issuer.ts";
import { COOLDOWN, createRemote, MAX_AGE, setOf } from "../../support/remote-keys.ts";

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

  it.each<readonly [string, object]>([
    ["without keys", { keys: [] }],
    ["without a key for the algorithm", setOf(createIssuer({ algorithm: "ES256" }))],
    ["with only encryption keys", { keys: [{ ...first.publicJwk, use: "enc" }] }],
    ["with only weak keys", { keys: [{ ...first.publicJwk, e: "AQ" }] }],
  ])("rejects for a set %s", async (_, set) => {
    issuer.answer("/jwks", behave.json(set));
    const { message } = await failureOf(createRemote({ jwksUri }).server);
    expect(message).toMatch(`Keys are unavailable. ${jwksUri} has no usable keys. `);
    expect(message).toMatch(/There is no key for RS256\.$/);
  });

  it("rejects with every failed issuer and the reasons", async () => {
    issuer.answer("/empty", behave.json({ keys: [] }));
    issuer.answer("/text", behave.text("canary"));
    const issuerOf = (name: string, path: string) => ({
      issuer: `https://${name}.example`,
      keys: { jwksUri: issuer.url + path },
      algorithms: ["RS256" as const],
    });
    const paths = { up: "/jwks", down: "/down", none: "/empty", odd: "/text" };
    const server = createResourceServer({
      serviceId: "agents-prod",
      issuers: Object.entries(paths).map(([name, path]) => issuerOf(name, path)),
      onKeyEvent: () => undefined,
    });
    const { message } = await failureOf(server);
    expect(message).toBe(
      [
        "Keys are unavailable.",
        `https://down.example: ${issuer.url}/down returned status 404.`,
        `https://none.example: ${issuer.url}/empty has no usable keys. There is no key for RS256.`,
        `https://odd.example: ${issuer.url}/text did not return JSON.`,
      ].join(" "),
    );
    expect(Object.values(paths).map((path) => issuer.asked(path))).toEqual([1, 1, 1, 1]);
    await server.close();
  });
});
