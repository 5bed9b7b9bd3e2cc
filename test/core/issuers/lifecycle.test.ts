/** `ready()` and `close()` apply to every issuer. */
import { describe, expect, it } from "vitest";
import { KeysUnavailableError } from "scopegate";
import { withCapabilities } from "../../../src/complete/create.ts";
import { resolveOptions } from "../../../src/core/options/resolve.ts";
import { createIssuers } from "../../../src/core/token/issuers.ts";
import { behave } from "../../support/fault-server.ts";
import { readyErrorOf } from "../../support/remote-keys.ts";
import { verdictOf } from "../../support/resource-servers.ts";
import { resolverOf } from "../../support/verifier.ts";
import { issuersWith, REMOTE, remoteJwks, signedBy } from "./signers.ts";
import { AUD, controls, remotes, useRemoteIssuers } from "./remote-issuers.ts";

const { serverOf, answer, asked, whenAsked, faults } = useRemoteIssuers();

describe("ready", () => {
  it("rejects with every failed issuer and the reasons, if all must work", async () => {
    answer("/bad", behave.status(500));
    answer("/text", behave.text("no"));
    answer("/none", behave.json({ keys: [] }));
    answer("/good", behave.json(remoteJwks));
    const [bad, text, none] = ["https://bad.example", "https://text.example", "https://none.example"];
    const server = serverOf({ [bad]: "/bad", [REMOTE.iss]: "/good", [text]: "/text", [none]: "/none" });
    const { code, message, cause } = await readyErrorOf(server, { all: true });
    expect(code).toBe("keys_unavailable");
    const reasons = [
      `${faults().url}/bad returned status 500.`,
      `${faults().url}/text didn't return JSON.`,
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
    const resolved = resolveOptions(
      withCapabilities({ serviceId: "agents-prod", issuers: issuersWith({ jwks: remoteJwks }) }),
    );
    const configurations = resolved.issuers.configurations.map((configuration) =>
      configuration.token.issuer === REMOTE.iss ? { ...configuration, keys } : configuration,
    );
    const error: unknown = await createIssuers(configurations, true, resolved)
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
    const waiting = readyErrorOf(server);
    await Promise.all(["/c1", "/c2"].map((path) => whenAsked(path)));
    await server.close();
    await faults().whenIdle();
    await waiting;
    for (const iss of [REMOTE.iss, "https://two.example"])
      expect(await verdictOf(server, signedBy(REMOTE, { claims: { ...AUD, iss } }))).toBe("unavailable");
    expect([asked("/c1"), asked("/c2")]).toEqual([1, 1]);
    expect(await verdictOf(server, controls)).toBe("accepted");
  });
});
