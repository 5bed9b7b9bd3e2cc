/** The routes that revoke tokens, in every host: RFC 7009, and pushed security events (RFC 8935). */
import express from "express";
import { urlencoded } from "express";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type ResourceServer, type ResourceServerOptions } from "scopegate";
import { type RevocationStore } from "scopegate/revocation";
import * as forExpress from "scopegate/express";
import { inMemoryRevocation, revocationEndpoint, securityEvents } from "scopegate/revocation";
import { closeAll, hostsOf, start } from "../../support/handler-hosts.ts";
import { createIssuer } from "../../support/issuer.ts";
import { createServer, issuer, NOW, verdictOf } from "../../support/resource-servers.ts";

afterAll(closeAll);

const ISS = "https://login.example/";
const CLAIMS = { iss: ISS, exp: NOW + 600, iat: NOW - 10, aud: "agents-prod", scopes: [] };
const tokenOf = (claims: object) => issuer.token({ ...CLAIMS, ...claims });
const createRevoking = (options: Partial<ResourceServerOptions> = {}) =>
  createServer({
    scopeMappings: { "POST /revoke": [], "POST /events": "public" },
    revocation: inMemoryRevocation({ now: () => NOW * 1000 }),
    ...options,
  });

interface Sent {
  readonly token?: string;
  readonly body?: string;
  readonly type?: string;
}

async function post(port: number, path: string, { token, body = "", type = FORM }: Sent) {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const headers = { "content-type": type, ...authorization };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method: "POST", headers, body });
  const text = await response.text();
  return { status: response.status, text, headers: response.headers };
}
const FORM = "application/x-www-form-urlencoded";
const SET = "application/secevent+jwt";

describe.each(Object.entries(hostsOf("post", "/revoke")))("revocationEndpoint in %s", (_, open) => {
  let server: ResourceServer;
  let port = 0;
  beforeAll(async () => {
    server = createRevoking();
    port = await open(revocationEndpoint(server, { all: "tokens:revoke" }) as never, server);
  });

  it("revokes a token of the caller", async () => {
    const [token, other] = [await tokenOf({ sub: "u1", jti: "a" }), await tokenOf({ sub: "u1", jti: "b" })];
    const answer = await post(port, "/revoke", {
      token,
      body: `token_type_hint=access_token&token=${other}`,
    });
    expect([answer.status, answer.text, answer.headers.get("cache-control")]).toEqual([200, "", "no-store"]);
    expect([await verdictOf(server, other), await verdictOf(server, token)]).toEqual(["revoked", "accepted"]);
  });

  it("answers 200 for a token that is not valid, and 400 without a token", async () => {
    const token = await tokenOf({ sub: "u1", jti: "c" });
    const expired = await tokenOf({ sub: "u1", exp: NOW - 1 });
    for (const body of ["token=garbage", `token=${expired}`])
      expect((await post(port, "/revoke", { token, body })).status).toBe(200);
    for (const body of ["", "token=", "tokens=a", `token=${token}&token=${token}`]) {
      const { status, text } = await post(port, "/revoke", { token, body });
      expect([status, text]).toEqual([400, '{"error":"invalid_request"}']);
    }
    expect(await verdictOf(server, token)).toBe("accepted");
  });

  it("revokes the token of another user only for a caller with the scope `all`", async () => {
    const victim = await tokenOf({ sub: "u2", jti: "d" });
    const callers = [{ sub: "u1" }, {}, { sub: "u2", iss: "https://other.example/" }, { sub: "" }];
    for (const caller of callers) {
      const { status, text } = await post(port, "/revoke", {
        token: await tokenOf(caller),
        body: `token=${victim}`,
      });
      expect([status, text]).toEqual([400, '{"error":"unauthorized_client"}']);
    }
    expect(await verdictOf(server, victim)).toBe("accepted");
    const token = await tokenOf({ sub: "u1", scopes: ["tokens:revoke"] });
    expect((await post(port, "/revoke", { token, body: `token=${victim}` })).status).toBe(200);
    expect(await verdictOf(server, victim)).toBe("revoked");
  });

  it("refuses a request without a token by the rule of its route", async () => {
    const victim = await tokenOf({ sub: "u1", jti: "e" });
    expect((await post(port, "/revoke", { body: `token=${victim}` })).status).toBe(401);
    expect(await verdictOf(server, victim)).toBe("accepted");
  });
});

describe("revocationEndpoint", () => {
  it("answers 503 with Retry-After if the store does not confirm the revocation", async () => {
    const store = inMemoryRevocation();
    const broken: RevocationStore = { ...store, add: () => Promise.reject(new Error("canary")) };
    const server = createRevoking({ revocation: broken });
    const app = express().use(forExpress.protect(server)).post("/revoke", revocationEndpoint(server));
    const token = await tokenOf({ sub: "u1", jti: "a" });
    const { status, headers, text } = await post(await start(app), "/revoke", {
      token,
      body: `token=${token}`,
    });
    expect([status, headers.get("retry-after"), text]).toEqual([
      503,
      "1",
      '{"error":"temporarily_unavailable"}',
    ]);
  });

  it("refuses a token that cannot be revoked, because it never expires", async () => {
    const server = createRevoking();
    const app = express().use(forExpress.protect(server)).post("/revoke", revocationEndpoint(server));
    const token = await tokenOf({ sub: "u1", jti: "a", exp: undefined });
    const { status, text } = await post(await start(app), "/revoke", { token, body: `token=${token}` });
    expect([status, text]).toEqual([400, '{"error":"unsupported_token_type"}']);
  });

  it("allows a token without a user to revoke itself, and no other such token", async () => {
    const server = createRevoking();
    const app = express().use(forExpress.protect(server)).post("/revoke", revocationEndpoint(server));
    const port = await start(app);
    const [token, other] = [
      await tokenOf({ sub: undefined, jti: "a" }),
      await tokenOf({ sub: undefined, jti: "b" }),
    ];
    expect((await post(port, "/revoke", { token, body: `token=${other}` })).status).toBe(400);
    expect((await post(port, "/revoke", { token, body: `token=${token}` })).status).toBe(200);
    expect([await verdictOf(server, token), await verdictOf(server, other)]).toEqual(["revoked", "accepted"]);
  });

  it("needs a server that can revoke", () => {
    expect(() => revocationEndpoint(createServer())).toThrow("needs a server with the option `revocation`");
  });

  it("revokes the token of a form that a body parser has already read", async () => {
    const server = createRevoking();
    const app = express().use(forExpress.protect(server), urlencoded({ extended: true }));
    const port = await start(app.post("/revoke", revocationEndpoint(server)));
    const token = await tokenOf({ sub: "u1", jti: "a" });
    expect((await post(port, "/revoke", { token, body: `token[]=${token}` })).status).toBe(400);
    expect((await post(port, "/revoke", { token, body: `token=${token}` })).status).toBe(200);
    expect(await verdictOf(server, token)).toBe("revoked");
  });

  it("refuses a body that is too large", async () => {
    const server = createRevoking();
    const app = express().use(forExpress.protect(server)).post("/revoke", revocationEndpoint(server));
    const token = await tokenOf({ sub: "u1", jti: "a" });
    const body = `filler=${"x".repeat(70_000)}&token=${token}`;
    expect((await post(await start(app), "/revoke", { token, body })).status).toBe(400);
  });

  it("answers 401 to a caller without a token, and throws for anything but a resource server", async () => {
    const server = createRevoking({ scopeMappings: { "POST /revoke": "public" } });
    const app = express().use(forExpress.protect(server)).post("/revoke", revocationEndpoint(server));
    const answer = await post(await start(app), "/revoke", { body: "token=a.b.c" });
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toBe("Bearer");
    expect(() => revocationEndpoint({} as never)).toThrow(/^revocationEndpoint takes the resource server/);
  });
});

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
const received = (server: ResourceServer) =>
  securityEvents(server, {
    issuer: ISS,
    keys: { verificationKeys: [transmitter.publicPem] },
    audience: "agents-prod",
  });

describe.each(Object.entries(hostsOf("post", "/events")))("securityEvents in %s", (_, open) => {
  it("revokes the user that an event names, and answers 202", async () => {
    const server = createRevoking();
    const port = await open(received(server) as never, server);
    const token = await tokenOf({ sub: "u1" });
    const { status, text } = await post(port, "/events", { body: await setOf(), type: SET });
    expect([status, text]).toEqual([202, ""]);
    expect(await verdictOf(server, token)).toBe("revoked");
    expect(await verdictOf(server, await tokenOf({ sub: "u2" }))).toBe("accepted");
  });
});

describe("securityEvents", () => {
  let server: ResourceServer;
  let port = 0;
  beforeEach(async () => {
    server = createRevoking();
    port = await start(express().use(forExpress.protect(server)).post("/events", received(server)));
  });
  const send = async (body: string) => {
    const { status, text } = await post(port, "/events", { body, type: SET });
    return { status, err: status === 400 ? (JSON.parse(text) as { err: string }).err : undefined };
  };
  const session = { format: "opaque", id: "s1" };
  const user = { format: "iss_sub", iss: ISS, sub: "u1" };

  it.each<readonly [string, object]>([
    ["a session", { sub_id: session }],
    ["a session in a complex subject", { sub_id: { format: "complex", session, user } }],
    ["a user in a complex subject", { sub_id: { format: "complex", user } }],
    ["a token", { sub_id: { format: "jwt_id", iss: ISS, jti: "t1" } }],
    ["a subject in the event", { sub_id: undefined, events: { [REVOKED]: { subject: user } } }],
  ])("revokes %s", async (_, claims) => {
    const token = await tokenOf({ sub: "u1", session_id: "s1", jti: "t1" });
    expect(await send(await setOf(claims))).toEqual({ status: 202 });
    expect(await verdictOf(server, token)).toBe("revoked");
  });

  it.each<readonly [string, object, string]>([
    ["a user of another issuer", { sub_id: { ...user, iss: "https://other.example/" } }, "invalid_request"],
    ["an e-mail address", { sub_id: { format: "email", email: "u1@x.example" } }, "invalid_request"],
    ["no subject", { sub_id: undefined }, "invalid_request"],
    ["an empty user", { sub_id: { ...user, sub: "" } }, "invalid_request"],
    ["another audience", { aud: "other" }, "invalid_audience"],
    ["another transmitter", { iss: "https://other.example/" }, "invalid_issuer"],
    ["no id", { jti: undefined }, "invalid_request"],
    ["events that are not an object", { events: "none" }, "invalid_request"],
  ])("refuses an event with %s", async (_, claims, err) => {
    expect(await send(await setOf(claims))).toEqual({ status: 400, err });
    expect(server.health().revocation?.entries).toBe(0);
  });

  it("refuses an access token, the signature of another key, and a body that is not a token", async () => {
    expect(await send(await setOf({}, { typ: "JWT" }))).toMatchObject({ status: 400 });
    const forged = createIssuer({ kid: "forged" });
    const claims = {
      iss: ISS,
      aud: "agents-prod",
      iat: NOW,
      jti: "1",
      sub_id: user,
      events: { [REVOKED]: {} },
    };
    const token = await forged.token(claims, { typ: "secevent+jwt", kid: undefined });
    expect(await send(token)).toEqual({ status: 400, err: "authentication_failed" });
    for (const body of ["", "{}", "x".repeat(70_000)])
      expect(await send(body)).toMatchObject({ status: 400 });
    expect(server.health().revocation?.entries).toBe(0);
  });

  it("does not accept a security event as an access token", async () => {
    const both = createServer({ verificationKeys: [transmitter.publicPem] });
    expect(await verdictOf(both, await setOf({ scopes: [], sub: "u1" }))).toBe("type");
  });

  it("accepts other events, reports them, and revokes nothing", async () => {
    const others: unknown[] = [];
    const type = "https://schemas.openid.net/secevent/caep/event-type/credential-change";
    const handler = securityEvents(server, {
      issuer: ISS,
      keys: { verificationKeys: [transmitter.publicPem] },
      audience: "agents-prod",
      onOtherEvent: (event) => others.push(event),
    });
    port = await start(express().use(forExpress.protect(server)).post("/events", handler));
    const verification = "https://schemas.openid.net/secevent/ssf/event-type/verification";
    expect(await send(await setOf({ events: { [verification]: {} } }))).toEqual({ status: 202 });
    expect(await send(await setOf({ events: { [type]: {} } }))).toEqual({ status: 202 });
    expect(others).toEqual([{ type, subject: user }]);
    expect(server.health().revocation?.entries).toBe(0);
  });

  it("does not revoke newer tokens when an event without `event_timestamp` is delivered again", async () => {
    const now = Math.floor(Date.now() / 1000);
    server = createRevoking({ now: Date.now, revocation: inMemoryRevocation() });
    port = await start(express().use(forExpress.protect(server)).post("/events", received(server)));
    expect(await send(await setOf({ iat: now - 100, events: { [REVOKED]: {} } }))).toEqual({ status: 202 });
    const exp = now + 600;
    expect(await verdictOf(server, await tokenOf({ sub: "u1", iat: now - 10, exp }))).toBe("accepted");
    expect(await verdictOf(server, await tokenOf({ sub: "u1", iat: now - 100, exp }))).toBe("revoked");
  });

  it("does not revoke tokens that are issued later, whatever the time of the event is", async () => {
    const now = Math.floor(Date.now() / 1000);
    server = createRevoking({ now: Date.now, revocation: inMemoryRevocation() });
    port = await start(express().use(forExpress.protect(server)).post("/events", received(server)));
    for (const event_timestamp of [Date.now(), 1e300, -1e300, now + 10_000]) {
      const sent = await setOf({ iat: now - 100, events: { [REVOKED]: { event_timestamp } } });
      expect(await send(sent)).toEqual({ status: 202 });
    }
    const newer = await tokenOf({ sub: "u1", iat: now - 10, exp: now + 600 });
    expect(await verdictOf(server, newer)).toBe("accepted");
  });

  it("refuses an event that is older than three days", async () => {
    const iat = Math.floor(Date.now() / 1000) - 4 * 86_400;
    expect(await send(await setOf({ iat }))).toMatchObject({ status: 400 });
  });

  it("answers 503 if the store fails, so that the transmitter delivers the event again", async () => {
    const broken = { ...inMemoryRevocation(), add: () => Promise.reject(new Error("canary")) };
    server = createRevoking({ revocation: broken });
    port = await start(express().use(forExpress.protect(server)).post("/events", received(server)));
    expect(await send(await setOf())).toEqual({ status: 503, err: undefined });
  });
});
