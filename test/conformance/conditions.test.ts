/** Conditions on the caller, and tokens in a header field of a proxy, in every application. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask } from "../support/http.ts";
import { applications, type Running } from "./applications.ts";
import { issuer, start } from "./service.ts";

const FIELD = "cf-access-jwt-assertion";

describe.each(applications)("$name", (application) => {
  let running: Running;
  beforeAll(async () => {
    running = await start(application, {
      tokenSources: [{ header: "authorization" }, { header: FIELD, scheme: null }],
      scopeMappings: {
        "* /items/:id": { scopes: [], where: { id: { claim: "items" } } },
        "GET /items/:id": ["items:read"],
        "GET /mounted/items/:id": { scopes: [], where: { id: { claim: "items" } } },
        "GET /signed-in": { scopes: [], acr: { anyOf: ["urn:mfa"] }, maxAuthAgeSeconds: 300 },
        "GET /either": { scopes: [], actors: "none", clients: ["app"] },
        "* /public{/*path}": { scopes: [], actors: "none", except: ["GET /public/stats"] },
        "GET /public/stats": "public",
        "GET /slow/:turns": { scopes: [], where: { turns: { claim: "turns" } } },
      },
    });
  });
  afterAll(() => running.close());

  const get = async (path: string, claims: Readonly<Record<string, unknown>>) =>
    ask(running.port, { path, token: await issuer.token({ scopes: ["items:read"], ...claims }) });

  it.each(["/items/7", "/mounted/items/7"])(
    "allows %s for the caller of the token's id alone",
    async (path) => {
      expect((await get(path, { items: ["7"] })).status).toBe(200);
      expect((await get(path, { items: 7 })).status).toBe(200);
      const before = running.ran.length;
      for (const items of [undefined, "8", ["8"], "07"]) {
        const refused = await get(path, { items });
        expect(refused.status).toBe(403);
        expect(refused.headers["www-authenticate"]).toBeUndefined();
        expect(refused.body).toMatchObject({ code: "caller_not_allowed" });
      }
      expect(running.ran.length).toBe(before);
    },
  );

  it.each(["/ITEMS/7", "/items/7/", "/%69tems/7", "/items/%37"])(
    "runs no handler for the spelling %s without the id",
    async (path) => {
      const before = running.ran.length;
      expect((await get(path, { items: "8" })).status).toBeGreaterThanOrEqual(400);
      expect(running.ran.length).toBe(before);
    },
  );

  it("requires a new login, and says which (RFC 9470)", async () => {
    const now = Math.floor(Date.now() / 1000);
    const claims = { sub: "u1", acr: "urn:mfa" };
    expect((await get("/signed-in", { ...claims, auth_time: now - 10 })).status).toBe(200);
    const refused = await get("/signed-in", { ...claims, auth_time: now - 400 });
    expect(refused.status).toBe(401);
    expect(refused.headers["www-authenticate"]).toMatch(
      /^Bearer error="insufficient_user_authentication", .*, acr_values="urn:mfa", max_age="300"$/,
    );
    expect(refused.body).toMatchObject({ code: "authentication_insufficient" });
  });

  it("checks actors and clients", async () => {
    const claims = { sub: "u1", client_id: "app" };
    expect((await get("/either", claims)).status).toBe(200);
    expect((await get("/either", { ...claims, act: { sub: "agent" } })).status).toBe(403);
    expect((await get("/either", { ...claims, azp: "other" })).status).toBe(403);
  });

  it("exempts a public rule", async () => {
    expect((await ask(running.port, { path: "/public/stats" })).status).toBe(200);
    expect((await ask(running.port, { path: "/slow/1" })).status).toBe(401);
    expect((await get("/slow/1", { turns: "2" })).status).toBe(403);
  });

  it("reads a token in the field of a proxy", async () => {
    const token = await issuer.token({ scopes: ["items:read"], items: "7" });
    const send = async (...headers: (readonly [string, string])[]) =>
      (await ask(running.port, { path: "/items/7", headers })).status;
    expect(await send([FIELD, token])).toBe(200);
    expect(await send(["Cf-Access-Jwt-Assertion", token])).toBe(200);
    expect(await send([FIELD, `Bearer ${token}`])).toBe(400);
    expect(await send([FIELD, token], [FIELD, token])).toBe(400);
    expect(await send([FIELD, `${token},${token}`])).toBe(400);
    expect(await send([FIELD, token], ["Authorization", `Bearer ${token}`])).toBe(400);
    expect(await send([FIELD, ""], ["Authorization", `Bearer ${token}`])).toBe(200);
    expect(await send([FIELD, `${token}x`])).toBe(401);
    expect(await send(["X-Other", token])).toBe(401);
  });
});
