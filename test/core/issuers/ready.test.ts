/** `ready()` with many issuers: one that works is enough, and few are fetched at the same time. */
import { describe, expect, it, onTestFinished } from "vitest";
import { createResourceServer, KeysUnavailableError, type TrustedIssuer } from "scopegate";
import { type KeyFetch, remoteKeys } from "scopegate/keys";
import { inMemoryRevocation } from "scopegate/revocation";
import { createTestIssuer } from "scopegate/testing";

const signer = createTestIssuer({ audience: "a" });

/** Publishes the keys, unless the name of the host contains `down`. Counts concurrent requests. */
function createFetch() {
  const state = { current: 0, most: 0, total: 0 };
  const fetch: KeyFetch = async (url) => {
    state.total += 1;
    state.current += 1;
    state.most = Math.max(state.most, state.current);
    await new Promise((resolve) => setImmediate(resolve));
    state.current -= 1;
    return url.includes("down") ? new Response(null, { status: 500 }) : Response.json(signer.jwks);
  };
  return { fetch, state };
}

function serverOf(hosts: readonly string[], local: readonly string[] = [], options: object = {}) {
  const { fetch, state } = createFetch();
  const entryOf = (host: string): TrustedIssuer => ({
    issuer: `https://${host}`,
    algorithms: ["ES256"],
    keys: remoteKeys({ jwksUri: `https://${host}/keys`, fetch }),
  });
  const locals = local.map((name) => ({ ...signer.trustedIssuer, audience: "a", issuer: name }));
  const issuers = [...hosts.map(entryOf), ...locals];
  const server = createResourceServer({ serviceId: "a", issuers, onKeyEvent: () => undefined, ...options });
  onTestFinished(() => server.close());
  return { server, state };
}

const errorOf = async (ready: Promise<void>) => {
  const error: unknown = await ready.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(KeysUnavailableError);
  return (error as Error).message;
};

describe("ready with several issuers", () => {
  it("resolves if one of them works, and health names the others", async () => {
    const { server } = serverOf(["down-1.example", "up.example", "down-2.example"]);
    await expect(server.ready()).resolves.toBeUndefined();
    const { status, keys } = server.health();
    expect(status).toBe("degraded");
    expect(keys.map(({ issuer, state }) => [issuer, state])).toEqual([
      ["https://down-1.example", "unavailable"],
      ["https://up.example", "fresh"],
      ["https://down-2.example", "unavailable"],
    ]);
  });

  it("rejects if none works, in the order of the options", async () => {
    const { server } = serverOf(["down-1.example", "down-2.example"]);
    expect(await errorOf(server.ready())).toMatch(/down-1\.example.*down-2\.example/);
  });

  it("rejects if only an issuer with local keys works", async () => {
    const { server } = serverOf(["down.example"], ["https://local.example"]);
    expect(await errorOf(server.ready())).toContain("down.example");
  });

  it("resolves if all keys are local", async () => {
    await expect(serverOf([], ["a", "b"]).server.ready({ all: true })).resolves.toBeUndefined();
  });

  it("rejects if a store fails, even if all issuers work", async () => {
    const revocation = { ...inMemoryRevocation(), ready: () => Promise.reject(new Error("store")) };
    const { server } = serverOf(["up.example"], [], { revocation });
    await expect(server.ready()).rejects.toThrow("store");
  });

  it("fetches at most 16 at the same time, and all of them", async () => {
    const hosts = Array.from({ length: 100 }, (_, index) => `${index % 2 ? "up" : "down"}-${index}.example`);
    const { server, state } = serverOf(hosts);
    await server.ready();
    expect(state).toMatchObject({ total: 100, most: 16 });
    await errorOf(server.refreshKeys());
    expect(state).toMatchObject({ total: 200, most: 16 });
  });
});
