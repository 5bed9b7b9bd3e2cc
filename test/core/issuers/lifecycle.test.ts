/** `ready()` and `close()` apply to every issuer. */
import { describe, expect, it } from "vitest";
import { KeysUnavailableError, type ResourceServer } from "scopegate";
import type { KeyResolver } from "../../../src/core/keys/verification-key.ts";
import { resolveOptions } from "../../../src/core/options/resolve.ts";
import { createIssuers } from "../../../src/core/token/issuers.ts";
import { behave } from "../../support/fault-server.ts";
import { verdictOf } from "../../support/resource-servers.ts";
import { resolverOf } from "../../support/verifier.ts";
import { issuersWith, REMOTE, remoteJwks, signedBy } from "./signers.ts";
import { AUD, controls, remotes, useRemoteIssuers } from "./remote-issuers.ts";

const { serverOf, answer, asked, whenAsked, fetched, faults } = useRemoteIssuers();

describe("ready", () => {
  const reasonOf = async (server: ResourceServer): Promise<KeysUnavailableError> => {
    const reason: unknown = await server.ready().then(
      () => undefined,
      (error: unknown) => error,
    );
    if (reason instanceof KeysUnavailableError) return reason;
    throw new Error("The server was ready.");
  };

  it("fetches the keys of every issuer", async () => {
    for (const path of ["/r1", "/r2"]) answer(path, behave.json(remoteJwks));
    const server = serverOf({ [REMOTE.iss]: "/r1", "https://two.example": "/r2" });
    await expect(server.ready()).resolves.toBeUndefined();
    expect(fetched().toSorted()).toEqual(["/r1", "/r2"]);
    expect(await verdictOf(server, remotes)).toBe("accepted");
    expect([asked("/r1"), asked("/r2")]).toEqual([1, 1]);
  });

  it("rejects with every failed issuer and the reasons", async () => {
    answer("/bad", behave.status(500));
    answer("/text", behave.text("no"));
    answer("/none", behave.json({ keys: [] }));
    answer("/good", behave.json(remoteJwks));
    const [bad, text, none] = ["https://bad.example", "https://text.example", "https://none.example"];
    const server = serverOf({ [bad]: "/bad", [REMOTE.iss]: "/good", [text]: "/text", [none]: "/none" });
    const { code, message, cause } = await reasonOf(server);
    expect(code).toBe("keys_unavailable");
    const reasons = [
      `${faults().url}/bad returned status 500.`,
      `${faults().url}/text did not return JSON.`,
      `${faults().url}/none has no usable keys. There is no key for RS256.`,
    ];
    expect(message).toBe(
      `Keys are unavailable. ${bad}: ${reasons[0]} ${text}: ${reasons[1]} ${none}: ${reasons[2]}`,
    );
    expect(cause).toBeInstanceOf(AggregateError);
    expect((cause as AggregateError).errors.map((error: Error) => error.message)).toEqual(reasons);
    expect(await verdictOf(server, remotes)).toBe("accepted");
    expect(await verdictOf(server, controls)).toBe("accepted");
  });

  it("rejects with a fixed message if a source rejects with a value that is not an error", async () => {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- A source may reject with anything.
    const keys = { ...resolverOf(() => []), ready: () => Promise.reject("canary") };
    const { issuers, scopeRules } = resolveOptions({
      serviceId: "agents-prod",
      issuers: issuersWith({ jwks: remoteJwks }),
    });
    const configurations = issuers.configurations.map((configuration) =>
      configuration.token.issuer === REMOTE.iss ? { ...configuration, keys } : configuration,
    );
    const error: unknown = await createIssuers(configurations, true, scopeRules)
      .ready()
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(KeysUnavailableError);
    expect((error as Error).message).toBe(`Keys are unavailable. ${REMOTE.iss}: failed.`);
  });
});

describe("close", () => {
  it("aborts the fetches of every issuer and sends no further request", async () => {
    for (const path of ["/c1", "/c2"]) answer(path, behave.never());
    const server = serverOf({ [REMOTE.iss]: "/c1", "https://two.example": "/c2" });
    const waiting = server.ready().catch((error: unknown) => error);
    await Promise.all(["/c1", "/c2"].map((path) => whenAsked(path)));
    await server.close();
    await faults().whenIdle();
    const reason = await waiting;
    expect(reason).toBeInstanceOf(KeysUnavailableError);
    for (const iss of [REMOTE.iss, "https://two.example"])
      expect(await verdictOf(server, signedBy(REMOTE, { claims: { ...AUD, iss } }))).toBe("unavailable");
    expect([asked("/c1"), asked("/c2")]).toEqual([1, 1]);
    expect(await verdictOf(server, controls)).toBe("accepted");
  });
});

describe("refresh and status", () => {
  it("apply to the keys of every issuer, and name the issuer if it has a name", async () => {
    const refreshed: string[] = [];
    const keysOf = (source: string): KeyResolver => ({
      ...resolverOf(() => []),
      refresh: () => Promise.resolve(void refreshed.push(source)),
      status: () => ({ source, state: "fresh", keyIds: [] }),
    });
    const { issuers, scopeRules } = resolveOptions({
      serviceId: "agents-prod",
      issuers: issuersWith({ jwks: remoteJwks }),
    });
    const named = issuers.configurations.map((one, index) => ({ ...one, keys: keysOf(`${index}`) }));
    const all = createIssuers(named, true, scopeRules);
    await all.refresh();
    expect(refreshed).toEqual(named.map((_, index) => `${index}`));
    expect(all.status()).toEqual(
      named.map(({ token: { issuer } }, index) => ({
        issuer,
        source: `${index}`,
        state: "fresh",
        keyIds: [],
      })),
    );
    const unnamed = named.map((one) => ({ ...one, token: { ...one.token, issuer: undefined } })).slice(0, 1);
    expect(createIssuers(unnamed, false, scopeRules).status()).toStrictEqual([
      { source: "0", state: "fresh", keyIds: [] },
    ]);
  });
});
