import { decodeProtectedHeader } from "jose";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type KeyEvent, KeysUnavailableError } from "scopegate";
import { behave, createFaultServer, type FaultServer } from "../support/fault-server.ts";
import { type OpenIdProvider, openOpenIdProvider } from "../support/openid-provider.ts";
import { applications } from "./applications.ts";
import { forge, partner, readingsOf, SCOPE, startRemote, TIMES, trust } from "./remote-service.ts";

const PARTNER = "https://partner.example";

// Shared, as keys take long to make. Every test leaves them as they are here.
let first: OpenIdProvider;
let second: OpenIdProvider;
let partnerKeys: FaultServer;
beforeAll(async () => {
  [first, second, partnerKeys] = await Promise.all([
    openOpenIdProvider(),
    openOpenIdProvider(),
    createFaultServer(),
  ]);
});
const publishPartner = () => partnerKeys.answer("/keys", behave.json({ keys: [partner.publicJwk] }));
beforeEach(() => publishPartner());
afterEach(() => first.start());
afterAll(() => Promise.all([first.close(), second.close(), partnerKeys.stop()]));

describe.each(applications)("$name with several issuers", (application) => {
  const start = () =>
    startRemote(application, {
      issuers: [
        trust(first.issuer),
        trust(second.issuer),
        { ...trust(PARTNER), keys: { jwksUri: `${partnerKeys.url}/keys`, ...TIMES } },
      ],
    });
  const asked = () => [readingsOf(first), readingsOf(second), partnerKeys.asked("/keys")];

  it("accepts the tokens of each issuer with its own keys", async () => {
    const { ask, verdict, events } = await start();
    const tokens = [
      await first.token({ scope: SCOPE }),
      await second.token({ scope: SCOPE }),
      await forge({ iss: PARTNER }),
    ];
    for (const token of tokens) {
      expect(await ask({ path: "/agents/web", token })).toMatchObject({
        status: 200,
        body: { agent_id: "web" },
      });
      expect(await verdict(token, "/agents/api")).toBe(403);
    }
    const issuersOf = (told: readonly KeyEvent[]) => told.map(({ type, issuer }) => [type, issuer]);
    expect(issuersOf(events())).toEqual([
      ["fetched", first.issuer],
      ["fetched", second.issuer],
      ["fetched", PARTNER],
    ]);
  });

  it("rejects a token that one issuer signed in the name of another", async () => {
    const { server, verdict, ran } = await start();
    await server.ready();
    const kid = decodeProtectedHeader(await second.token()).kid;
    expect(await verdict(await forge({ iss: second.issuer }))).toBe("key");
    expect(await verdict(await forge({ iss: second.issuer }, { kid }))).toBe("signature");
    expect(await verdict(await forge({ iss: second.issuer }, { kid: undefined }))).toBe("signature");

    const [header, payload] = (await second.token({ scope: SCOPE })).split(".");
    const [, , signature] = (await first.token({ scope: SCOPE })).split(".");
    expect(await verdict([header, payload, signature].join("."))).toBe("signature");
    expect(ran).toEqual([]);
  });

  it("rejects the tokens of unknown issuers without a request to a known one", async () => {
    const { verdict, events, ran } = await start();
    const before = asked();
    const others = ["https://other.example", `${first.issuer}/`, first.issuer.toUpperCase(), [first.issuer]];
    for (const iss of [...others, undefined])
      expect(await verdict(await forge({ iss })), String(iss)).toBe("issuer");
    expect(asked()).toEqual(before);
    expect(events()).toEqual([]);
    expect(ran).toEqual([]);
  });

  it("accepts the tokens of one issuer while others are down, and is ready when all are up", async () => {
    const tokens = [await first.token({ scope: SCOPE }), await forge({ iss: PARTNER })];
    await first.stop();
    partnerKeys.answer("/keys", behave.status(500));
    const { server, verdict, advance } = await start();
    const failure: unknown = await server.ready().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(KeysUnavailableError);
    const { message } = failure as Error;
    expect(message).toContain(`${first.issuer}: ${first.issuer}/.well-known/`);
    expect(message).toContain(`${PARTNER}: ${partnerKeys.url}/keys returned status 500.`);
    expect(message).not.toContain(second.issuer);

    expect(await verdict(await second.token({ scope: SCOPE }))).toBe(200);
    for (const token of tokens) expect(await verdict(token)).toBe(503);

    await first.start();
    publishPartner();
    advance(TIMES.cooldownMs);
    await expect(server.ready()).resolves.toBeUndefined();
    for (const token of tokens) expect(await verdict(token)).toBe(200);
  });

  it("rejects a token with another `iss` when only one issuer is configured", async () => {
    const { verdict } = await startRemote(application, {
      ...trust(PARTNER),
      keys: { jwksUri: `${partnerKeys.url}/keys`, ...TIMES },
    });
    expect(await verdict(await forge({ iss: PARTNER }))).toBe(200);
    for (const iss of [first.issuer, `${PARTNER}/`, undefined])
      expect(await verdict(await forge({ iss })), iss).toBe("issuer");
  });
});
