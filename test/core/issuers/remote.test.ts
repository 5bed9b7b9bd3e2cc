/** Issuers with remote keys: what causes a fetch, and how a failure of one affects the others. */
import { describe, expect, it } from "vitest";
import { behave } from "../../support/fault-server.ts";
import { verdictOf } from "../../support/resource-servers.ts";
import { CONTROL, PARTNER, REMOTE, remoteJwks, SHARED_KID, signedBy } from "./signers.ts";
import { AUD, controls, remotes, useRemoteIssuers } from "./remote-issuers.ts";
import { withPollution } from "../../support/polluted-prototype.ts";

const { serverOf, answer, asked, whenAsked, fetched, events, faults } = useRemoteIssuers();

describe("an issuer with remote keys", () => {
  it.each([
    [
      "an unknown issuer",
      signedBy(REMOTE, { claims: { ...AUD, iss: "https://stranger.example" } }),
      "issuer",
    ],
    ["an issuer with an extra slash", signedBy(REMOTE, { claims: { iss: `${REMOTE.iss}/` } }), "issuer"],
    ["no issuer", signedBy(REMOTE, { claims: { iss: undefined } }), "issuer"],
    [
      "two issuers",
      signedBy(REMOTE, { payload: `{"iss":"${REMOTE.iss}","iss":"${CONTROL.iss}"}` }),
      "malformed",
    ],
    ["a payload that is not JSON", signedBy(REMOTE, { payload: REMOTE.iss }), "malformed"],
    ["a critical extension", signedBy(REMOTE, { header: { crit: ["x"] } }), "malformed"],
    ["too many bytes", signedBy(REMOTE, { claims: { x: "x".repeat(16_384) } }), "too_large"],
    ["an algorithm that the issuer does not use", signedBy(REMOTE, { alg: "PS256" }), "algorithm"],
    ["no signature", signedBy(REMOTE, { header: { alg: "none" } }).slice(0, -342), "algorithm"],
    ["another type", signedBy(REMOTE, { header: { typ: "id+jwt" } }), "type"],
    ["the keys of another issuer", signedBy(REMOTE, { claims: { ...AUD, iss: CONTROL.iss } }), "signature"],
    ["an issuer with local keys", controls, "accepted"],
    ["an unknown kid of an issuer with local keys", signedBy(CONTROL, { header: { kid: "x" } }), "key"],
    [
      "a jku header",
      signedBy(CONTROL, { header: { jku: "https://remote.example/jwks" }, claims: AUD }),
      "accepted",
    ],
  ])("receives no request for a token with %s", async (_, token, verdict) => {
    answer("/idle", behave.json(remoteJwks));
    const server = serverOf({ [REMOTE.iss]: "/idle" });
    expect(await verdictOf(server, token)).toBe(verdict);
    expect([asked("/idle"), fetched()]).toEqual([0, []]);
  });

  it("receives no request because of a polluted prototype", async () => {
    const server = serverOf({ [REMOTE.iss]: "/idle" });
    const token = signedBy(REMOTE, { claims: { ...AUD, iss: undefined } });
    expect(await withPollution({ iss: REMOTE.iss }, () => verdictOf(server, token))).toBe("issuer");
    expect(fetched()).toEqual([]);
  });

  it("receives requests for its own tokens only", async () => {
    answer("/one", behave.json(remoteJwks));
    answer("/two", behave.json(remoteJwks));
    const server = serverOf({ [REMOTE.iss]: "/one", "https://two.example": "/two" });
    expect(await verdictOf(server, remotes)).toBe("accepted");
    expect(fetched()).toEqual(["/one"]);
    expect([asked("/one"), asked("/two")]).toEqual([1, 0]);
    const claims = { ...AUD, iss: "https://two.example" };
    expect(await verdictOf(server, signedBy(REMOTE, { claims }))).toBe("accepted");
    expect(fetched()).toEqual(["/one", "/two"]);
  });

  it("receives requests for unknown kids of its own tokens only", async () => {
    answer("/a", behave.json({ keys: [] }));
    answer("/b", behave.json(remoteJwks));
    const server = serverOf({ [REMOTE.iss]: "/a", "https://b.example": "/b" });
    const unknown = signedBy(REMOTE, { header: { kid: SHARED_KID }, claims: AUD });
    expect(await verdictOf(server, unknown)).toBe("unavailable");
    expect(fetched()).toEqual(["/a"]);
  });
});

describe("an issuer that is down", () => {
  it.each([
    ["returns status 500", "unavailable", behave.status(500)],
    ["cuts the connection", "unavailable", behave.reset()],
    ["returns no JWK Set", "unavailable", behave.json({ keys: null })],
    ["publishes a secret instead of keys", "unavailable", behave.json({ keys: [{ kty: "oct", k: "AAAA" }] })],
  ])("affects its own tokens only if it %s: %s", async (_, verdict, behaviour) => {
    answer("/down", behaviour);
    const server = serverOf({ [REMOTE.iss]: "/down" });
    expect(await verdictOf(server, remotes)).toBe(verdict);
    expect(await verdictOf(server, controls)).toBe("accepted");
    expect(await verdictOf(server, signedBy(PARTNER, { claims: AUD }))).toBe("accepted");
    const stranger = signedBy(REMOTE, { claims: { iss: "https://stranger.example" } });
    expect(await verdictOf(server, stranger)).toBe("issuer");
    const failed = events().filter(({ type }) => type === "failed");
    expect(failed).toMatchObject([{ issuer: REMOTE.iss, source: `${faults().url}/down` }]);
  });

  it("delays its own tokens only if it never responds", async () => {
    const held = behave.held(behave.json(remoteJwks));
    answer("/held", held);
    const server = serverOf({ [REMOTE.iss]: "/held" });
    const waiting = verdictOf(server, remotes);
    await whenAsked("/held");
    expect(await verdictOf(server, controls)).toBe("accepted");
    held.release();
    expect(await waiting).toBe("accepted");
  });
});
