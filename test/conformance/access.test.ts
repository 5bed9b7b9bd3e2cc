import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { askWith } from "../support/frameworks.ts";
import { type Asked, ask } from "../support/http.ts";
import { applications, type Running } from "./applications.ts";
import { issuer, start } from "./service.ts";

describe.each(applications)("$name", (application) => {
  let running: Running;
  beforeAll(async () => {
    running = await start(application);
  });
  afterAll(() => running.close());
  const call = (path: string, scopes?: readonly string[], more?: Partial<Asked>) =>
    askWith(running.port, path, scopes, more);

  it("lists the ids that the scopes of a caller allow", async () => {
    const answer = await call("/agents", ["agents:web:read", "agents:api:read", "agents:db:run"]);
    expect(answer).toMatchObject({ status: 200, body: ["web", "api"] });
    expect((await call("/agents", ["agents:read"])).body).toBe("all");
  });

  it.each([
    ["/agents/web", ["agents:read"], 200],
    ["/agents/web", ["agents:*:read"], 200],
    ["/agents/web", ["agents:web:read"], 200],
    ["/agents/web", ["agents:api:read"], 403],
    ["/agents/web%3Aadmin", ["agents:web:read", "agents:web:admin:read"], 403],
    ["/agents/w%65b", ["agents:web:read"], 200],
    ["/signed-in", [], 200],
    ["/either", ["custom:read"], 200],
    ["/either", ["other:read"], 403],
    ["/teams", ["agents:read"], 403],
  ])("responds to %s with the scopes %j with %i", async (path, scopes, status) => {
    expect((await call(path, scopes)).status).toBe(status);
  });

  it("passes the principal of the token to the handler", async () => {
    const token = await issuer.token({ scopes: [], sub: "u-7", session_id: "s-9" });
    const answer = await ask(running.port, { path: "/signed-in", token });
    expect(answer.body).toEqual({ user: "u-7", session: "s-9" });
  });

  it("reads no token on a public route, not even a broken one", async () => {
    expect((await call("/public/stats")).body).toEqual({ anonymous: true });
    expect((await call("/public/stats", undefined, { token: "broken" })).status).toBe(200);
    expect((await call("/public/stats", ["agents:read"])).body).toEqual({ anonymous: true });
  });

  it("allows an optional route without a token, and rejects an invalid token", async () => {
    expect((await call("/optional")).body).toEqual({ user: null });
    expect((await call("/optional", [])).body).toEqual({ user: "user-1" });
    expect((await call("/optional", undefined, { token: "a.b.c" })).status).toBe(401);
    expect((await call("/optional", undefined, { headers: [["authorization", "Bearer"]] })).status).toBe(400);
  });

  it("checks mounted routes by their whole path", async () => {
    expect((await call("/mounted/items/7", ["items:7:read"])).body).toEqual({ id: "7" });
    expect((await call("/mounted/items/8", ["items:7:read"])).status).toBe(403);
    expect((await call("/mounted/items/7")).status).toBe(401);
    expect((await call("/mounted", ["mounted:read"])).body).toBe("root");
    expect((await call("/mounted", ["items:read"])).status).toBe(403);
  });

  it("requires the scopes of GET for HEAD, and sends no body", async () => {
    const refused = await call("/agents/web", ["agents:api:read"], { method: "HEAD" });
    expect(refused.status).toBe(403);
    expect(refused.text).toBe("");
    expect((await call("/agents/web", undefined, { method: "HEAD" })).status).toBe(401);
    expect((await call("/agents/web", ["agents:web:read"], { method: "HEAD" })).status).toBe(200);
  });

  it.each(["OPTIONS", "TRACE", "PUT", "PATCH", "DELETE", "PROPFIND"])(
    "checks every method on a handler for all methods: %s",
    async (method) => {
      const before = running.ran.length;
      expect((await call("/any", undefined, { method })).status).toBeGreaterThanOrEqual(400);
      expect((await call("/any", ["custom:read"], { method })).status).toBeGreaterThanOrEqual(400);
      const forged: [string, string][] = [
        ["origin", "https://evil.example"],
        ["access-control-request-method", "GET"],
      ];
      expect((await call("/any", undefined, { method, headers: forged })).status).toBeGreaterThanOrEqual(400);
      expect(running.ran.length).toBe(before);
      // The handler is one that runs: Fastify reads the type of a body first.
      if (method === "PUT") expect((await call("/any", ["any:use"], { method, body: {} })).status).toBe(200);
    },
  );

  it("reads the path of an absolute-form target as the router does", async () => {
    const target = `http://127.0.0.1:${running.port}/agents/web`;
    expect((await call(target)).status).toBe(401);
    expect((await call(target, ["agents:api:read"])).status).toBe(403);
  });

  it("requires the scopes of requireScopes on top of the rule, with their parameters", async () => {
    expect((await call("/extra/5", ["extra:5:use"])).body).toEqual({ number: "5" });
    const refused = await call("/extra/6", ["extra:5:use"]);
    expect(refused.status).toBe(403);
    expect(refused.body).toMatchObject({ code: "scope_insufficient", missing_scopes: ["extra:6:use"] });
    expect(refused.headers["www-authenticate"]).toContain('scope="extra:6:use"');
    expect((await call("/extra/5")).status).toBe(401);
  });

  it("passes the error of a handler to the framework", async () => {
    expect(await call("/throws", [])).toMatchObject({
      status: 500,
      body: { fault: "the handler's own fault" },
    });
  });

  it("keeps the callers of concurrent requests apart", async () => {
    const answers = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const user = `user-${index % 12}`;
        const token = await issuer.token({ scopes: [], sub: user, session_id: `s-${index}` });
        const answer = await ask(running.port, { path: `/slow/${index % 7}`, token });
        return [answer.body, { user, session: `s-${index}` }] as const;
      }),
    );
    for (const [received, expected] of answers) expect(received).toEqual(expected);
  });
});

// Fetch has no middleware: a program adds its headers to the response itself.
const behindCors = applications.filter(({ name }) => !name.startsWith("Fetch"));

describe.each(behindCors)("$name behind CORS middleware", (application) => {
  let running: Running;
  beforeAll(async () => {
    running = await start(application, {}, { cors: true });
  });
  afterAll(() => running.close());
  const origin: [string, string] = ["origin", "https://app.example"];

  it("responds to a preflight without a token", async () => {
    const headers: [string, string][] = [origin, ["access-control-request-method", "GET"]];
    const answer = await ask(running.port, { method: "OPTIONS", path: "/agents", headers });
    expect(answer.status).toBe(204);
    expect(answer.headers["access-control-allow-origin"]).toBeDefined();
    expect(running.ran).toEqual([]);
  });

  it("sends CORS headers with refusals, so that a browser can read them", async () => {
    const answer = await ask(running.port, { path: "/agents", headers: [origin] });
    expect(answer.status).toBe(401);
    expect(answer.headers["access-control-allow-origin"]).toBeDefined();
    expect(answer.headers["www-authenticate"]).toBe("Bearer");
  });
});
