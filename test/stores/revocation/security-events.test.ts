/** The function that receives pushed security events (RFC 8935), and revokes tokens. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ResourceServer } from "scopegate";
import { jwks, remoteKeys } from "scopegate/keys";
import { inMemoryRevocation, securityEvents, type SecurityEventsOptions } from "scopegate/revocation";
import { createIssuer } from "../../support/issuer.ts";
import { createServer, issuer, NOW, verdictOf } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";

const ISS = "https://login.example/";
const CLAIMS = { iss: ISS, exp: NOW + 600, iat: NOW - 10, aud: "agents-prod", scopes: [] };
const tokenOf = (claims: object) => issuer.token({ ...CLAIMS, ...claims });
const createRevoking = (options: Partial<ResourceServerOptions> = {}) =>
  createServer({ revocation: inMemoryRevocation({ now: () => NOW * 1000 }), ...options });

const transmitter = createIssuer({ kid: "transmitter" });
const REVOKED = "https://schemas.openid.net/secevent/caep/event-type/session-revoked";
const setOf = (claims: object = {}, header: object = {}) =>
  transmitter.token(
    {
      iss: ISS,
      aud: "agents-prod",
      iat: Math.floor(Date.now() / 1000),
      jti: "event-1",
      exp: undefined,
      sub_id: { format: "iss_sub", iss: ISS, sub: "u1" },
      events: { [REVOKED]: { event_timestamp: NOW } },
      ...claims,
    },
    { typ: "secevent+jwt", ...header },
  );
const receiverOf = (server: ResourceServer, options: Partial<SecurityEventsOptions> = {}) =>
  securityEvents(server, {
    issuer: ISS,
    keys: jwks({ keys: [transmitter.publicJwk] }),
    audience: "agents-prod",
    ...options,
  });

describe("securityEvents", () => {
  let server: ResourceServer;
  let receive: ReturnType<typeof securityEvents>;
  beforeEach(() => {
    server = createRevoking();
    receive = receiverOf(server);
  });
  // A failed fetch is repeated, and each failure is a warning of the process.
  afterEach(() => server.close());
  /** Sends a body. Returns the status, and the error code of RFC 8935. */
  const send = async (sent: unknown) => {
    const { status, body } = await receive(sent);
    return { status, err: status === 400 ? (JSON.parse(body) as { err: string }).err : undefined };
  };
  const session = { format: "opaque", id: "s1" };
  const user = { format: "iss_sub", iss: ISS, sub: "u1" };
  const email = { format: "email", email: "u1@x.example" };

  it.each<readonly [string, object]>([
    ["a session", { sub_id: session }],
    ["a session in a complex subject", { sub_id: { format: "complex", session, user } }],
    ["a user in a complex subject", { sub_id: { format: "complex", user } }],
    ["a token", { sub_id: { format: "jwt_id", iss: ISS, jti: "t1" } }],
    ["a user by one of several names", { sub_id: { format: "aliases", identifiers: [email, user] } }],
    ["a subject in the event", { sub_id: undefined, events: { [REVOKED]: { subject: user } } }],
  ])("revokes %s", async (_, claims) => {
    const token = await tokenOf({ sub: "u1", session_id: "s1", jti: "t1" });
    expect(await send(await setOf(claims))).toEqual({ status: 202 });
    expect(await verdictOf(server, token)).toBe("revoked");
  });

  const aliases = (identifiers: unknown) => ({ sub_id: { format: "aliases", identifiers } });
  const nested = { format: "aliases", identifiers: [user] };

  it.each<[name: string, claims: object, err?: string]>([
    ["a user of another issuer", { sub_id: { ...user, iss: "https://other.example/" } }],
    ["an e-mail address", { sub_id: email }],
    ["names that no token has", aliases([email])],
    ["no list of names", aliases(user)],
    ["names in names", aliases([nested])],
    ["a session that no token has", { sub_id: { format: "complex", session: email, user } }],
    ["no subject", { sub_id: undefined }],
    ["an empty user", { sub_id: { ...user, sub: "" } }],
    ["another audience", { aud: "other" }, "invalid_audience"],
    ["another transmitter", { iss: "https://other.example/" }, "invalid_issuer"],
    ["no id", { jti: undefined }],
    ["events that are not an object", { events: "none" }],
    ["events that are an array", { events: [] }],
  ])("refuses an event with %s", async (_, claims, err = "invalid_request") => {
    expect(await send(await setOf(claims))).toEqual({ status: 400, err });
    expect(await verdictOf(server, await tokenOf({ sub: "u1", session_id: "s1" }))).toBe("accepted");
  });

  it("refuses an access token, the signature of another key, and a body that is not a token", async () => {
    expect(await send(await setOf({}, { typ: "JWT" }))).toMatchObject({ status: 400 });
    const forged = createIssuer({ kid: "forged" });
    const base = { iss: ISS, aud: "agents-prod", iat: NOW, jti: "1" };
    const claims = { ...base, sub_id: user, events: { [REVOKED]: {} } };
    const token = await forged.token(claims, { typ: "secevent+jwt", kid: undefined });
    expect(await send(token)).toEqual({ status: 400, err: "authentication_failed" });
    for (const body of ["", "{}", "x".repeat(70_000), undefined, {}, Buffer.from(token)])
      expect(await send(body)).toEqual({ status: 400, err: "invalid_request" });
    expect(await verdictOf(server, await tokenOf({ sub: "u1", session_id: "s1" }))).toBe("accepted");
  });

  it("does not accept a security event as an access token", async () => {
    const both = createServer({ verificationKeys: [transmitter.publicPem] });
    expect(await verdictOf(both, await setOf({ scopes: [], sub: "u1" }))).toBe("type");
  });

  it("accepts other events, reports them, and revokes nothing", async () => {
    const others: unknown[] = [];
    const type = "https://schemas.openid.net/secevent/caep/event-type/device-compliance-change";
    receive = receiverOf(server, { onOtherEvent: (event) => others.push(event) });
    const verification = "https://schemas.openid.net/secevent/ssf/event-type/verification";
    expect(await send(await setOf({ events: { [verification]: {} } }))).toEqual({ status: 202 });
    expect(await send(await setOf({ events: { [type]: {} } }))).toEqual({ status: 202 });
    expect(others).toEqual([{ type, subject: user }]);
    expect(await verdictOf(server, await tokenOf({ sub: "u1", session_id: "s1" }))).toBe("accepted");
  });

  it.each([
    ["revoke", "revoked"],
    ["update", "revoked"],
    ["delete", "revoked"],
    [undefined, "revoked"],
    // The user got one more credential.
    ["create", "accepted"],
  ])("leaves the tokens of a user whose credential had the change %s %s", async (change_type, expected) => {
    const type = "https://schemas.openid.net/secevent/caep/event-type/credential-change";
    const events = { [type]: { change_type, event_timestamp: NOW } };
    expect(await send(await setOf({ events }))).toEqual({ status: 202 });
    expect(await verdictOf(server, await tokenOf({ sub: "u1" }))).toBe(expected);
  });

  it("stops its own background work when its server is closed", async () => {
    const fetch = vi.fn(() => Promise.resolve(Response.json({ keys: [transmitter.publicJwk] })));
    receive = receiverOf(server, { keys: remoteKeys({ jwksUri: "https://login.example/keys", fetch }) });
    expect(await send(await setOf())).toEqual({ status: 202 });
    vi.useFakeTimers();
    await server.close();
    await vi.advanceTimersByTimeAsync(86_400_000);
    vi.useRealTimers();
    expect(fetch).toHaveBeenCalledTimes(1);
  });

  describe("with the clock of the system", () => {
    const now = Math.floor(Date.now() / 1000);
    const issuedAt = (seconds: number) => tokenOf({ sub: "u1", iat: now + seconds, exp: now + 600 });
    const sendEvent = async (event: object) =>
      expect(await send(await setOf({ iat: now - 100, events: { [REVOKED]: event } }))).toEqual({
        status: 202,
      });
    beforeEach(() => {
      server = createRevoking({ now: Date.now, revocation: inMemoryRevocation() });
      receive = receiverOf(server);
    });

    it("does not revoke newer tokens when an event without `event_timestamp` is delivered again", async () => {
      await sendEvent({});
      expect(await verdictOf(server, await issuedAt(-10))).toBe("accepted");
      expect(await verdictOf(server, await issuedAt(-100))).toBe("revoked");
    });

    it("does not revoke tokens that are issued later, whatever the time of the event is", async () => {
      for (const event_timestamp of [Date.now(), 1e300, -1e300, now + 10_000])
        await sendEvent({ event_timestamp });
      expect(await verdictOf(server, await issuedAt(-10))).toBe("accepted");
    });
  });

  it("refuses an event that is older than three days", async () => {
    const iat = Math.floor(Date.now() / 1000) - 4 * 86_400;
    expect(await send(await setOf({ iat }))).toMatchObject({ status: 400 });
  });

  it("returns 503 if the store fails, so that the transmitter delivers the event again", async () => {
    const broken = inMemoryRevocation();
    vi.spyOn(broken, "revoke").mockRejectedValue(new Error("canary"));
    server = createRevoking({ revocation: broken });
    receive = receiverOf(server);
    expect(await receive(await setOf())).toEqual({ status: 503, headers: { "Retry-After": "1" }, body: "" });
  });

  it("returns 503 if the keys of the transmitter are not available", async () => {
    const fetch = () => Promise.reject(new Error("down"));
    receive = receiverOf(server, { keys: remoteKeys({ jwksUri: "https://login.example/keys", fetch }) });
    expect(await receive(await setOf())).toEqual({ status: 503, headers: { "Retry-After": "5" }, body: "" });
  });

  it("accepts white space around an event, and returns headers that forbid caching", async () => {
    expect(await receive(`${await setOf()}\n`)).toEqual({
      status: 202,
      headers: { "Cache-Control": "no-store" },
      body: "",
    });
    expect((await receive("none")).headers).toEqual({
      "Content-Type": "application/json",
      "Cache-Control": "no-store",
      "Content-Language": "en",
    });
  });

  it("needs a server that can revoke", () => {
    for (const wrong of [createServer(), {}, undefined])
      expect(() => receiverOf(wrong as ResourceServer)).toThrow(
        "needs a server with the option `revocation`",
      );
  });
});
