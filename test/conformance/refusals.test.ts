import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseChallenges } from "../support/challenge-parser.ts";
import { type Asked, ask } from "../support/http.ts";
import { applications, type Running } from "./applications.ts";
import { issuer, start } from "./service.ts";

const token = (claims: Record<string, unknown> = {}) => issuer.token(claims);
const bearer = (value: string): Pick<Asked, "headers"> => ({ headers: [["authorization", value]] });

/** Targets that parsers of URLs read as `/agents/web`. */
const NORMALIZED = ["/public/stats/%2e%2e/../agents/web", "/public/%2e%2e/agents/./web"];

/** The parameters of the one challenge of a refusal. */
function parseChallenge(value: unknown): Readonly<Record<string, string>> {
  const [challenge, ...others] = parseChallenges(String(value));
  expect([challenge?.scheme, others]).toEqual(["Bearer", []]);
  return challenge?.params ?? {};
}

describe.each(applications)("$name", (application) => {
  let running: Running;
  beforeAll(async () => {
    running = await start(application, {
      realm: 'the "agents" realm',
      resourceMetadataUrl: "https://as.example/meta",
    });
  });
  afterAll(() => running.close());
  const get = (path: string, more: Partial<Asked> = {}) => ask(running.port, { path, ...more });

  it("responds to a request without credentials with a bare challenge (RFC 6750 section 3.1)", async () => {
    const answer = await get("/agents");
    expect(answer.status).toBe(401);
    expect(parseChallenge(answer.headers["www-authenticate"])).toEqual({
      realm: 'the "agents" realm',
      resource_metadata: "https://as.example/meta",
    });
    expect(answer.body).toMatchObject({ code: "credential_missing", status: 401 });
  });

  it.each(["Bearer", "Bearer a b", "Bearer\ta.b.c", "bearer a.b.c,d", "eyJhbGciOi.x.y"])(
    "responds to the malformed credential %j with 400 invalid_request",
    async (value) => {
      const answer = await get("/agents", bearer(value));
      expect(answer.status).toBe(400);
      expect(parseChallenge(answer.headers["www-authenticate"])).toMatchObject({ error: "invalid_request" });
      expect(answer.body).toMatchObject({ code: "credential_malformed" });
    },
  );

  it("refuses a request with two Authorization fields, even if both are valid", async () => {
    const good = `Bearer ${await token({ scopes: ["agents:read"] })}`;
    const answer = await get("/agents", {
      headers: [
        ["authorization", good],
        ["authorization", good],
      ],
    });
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ code: "credential_malformed" });
  });

  it("responds to a rejected token with 401 invalid_token", async () => {
    const expired = await token({ scopes: ["agents:read"], exp: 1 });
    const good = await token({ scopes: ["agents:read"] });
    const at = good.lastIndexOf(".") + 5;
    const changed = good.slice(0, at) + (good[at] === "A" ? "B" : "A") + good.slice(at + 1);
    for (const rejected of [expired, changed]) {
      const answer = await get("/agents", { token: rejected });
      expect(answer.status).toBe(401);
      expect(parseChallenge(answer.headers["www-authenticate"])).toMatchObject({ error: "invalid_token" });
      expect(answer.body).toMatchObject({ code: "token_rejected", status: 401 });
    }
  });

  it("responds to insufficient scopes with 403 and all scopes that the operation requires", async () => {
    const answer = await ask(running.port, {
      method: "POST",
      path: "/agents/web/runs",
      token: await token({ scopes: ["agents:api:run", "agents:read"] }),
    });
    expect(answer.status).toBe(403);
    expect(parseChallenge(answer.headers["www-authenticate"])).toMatchObject({
      error: "insufficient_scope",
      scope: "agents:web:run",
    });
    expect(answer.body).toMatchObject({
      code: "scope_insufficient",
      required_scopes: ["agents:web:run"],
      missing_scopes: ["agents:web:run"],
    });
  });

  it.each([
    ["'", "items:':read"],
    ["~", "items:~:read"],
    ["a*", "items:a*:read"],
    // A client that requests the scopes of a challenge must not ask for all ids because of one.
    ["*", undefined],
    ["a:b", undefined],
    ["a%22b", undefined],
    ["a%20b", undefined],
    ["%C3%A9", undefined],
  ])("names a scope in the challenge only if a token can be granted it: id %s", async (id, expected) => {
    const answer = await get(`/items/${id}`, { token: await token({ scopes: ["nothing:here"] }) });
    expect(answer.status).toBe(403);
    const { error, scope } = parseChallenge(answer.headers["www-authenticate"]);
    expect([error, scope]).toEqual(["insufficient_scope", expected]);
  });

  it("refuses a route without a rule for every caller, and runs no handler", async () => {
    const admin = await token({ scopes: ["platform:admin"] });
    for (const path of ["/unmapped", "/mounted/unmapped", "/nowhere"]) {
      for (const credentials of [{}, { token: admin }]) {
        const answer = await get(path, credentials);
        expect(answer.status, path).toBe(403);
        expect(answer.headers["www-authenticate"]).toBeUndefined();
        expect(answer.body).toMatchObject({ code: "route_unmapped" });
      }
    }
    expect(running.ran.filter((route) => route.includes("unmapped"))).toEqual([]);
  });

  it.each([
    "/agents/..%2fpublic/stats",
    "/agents//web",
    "/agents/web%00",
    "/agents/%zz",
    "/agents\\web",
    ...(application.parsesUrl ? [] : NORMALIZED),
  ])("refuses the ambiguous target %s with 400", async (path) => {
    const answer = await get(path, { token: await token({ scopes: ["platform:admin"] }) });
    expect(answer.status).toBe(400);
    // Some hosts answer before any guard: Fastify a target that it cannot decode, hosts that parse the URL, and
    // every router in front of a guard of NestJS.
    const isFromHost = application.parsesUrl === true || /^(?:Fastify|NestJS)/.test(application.name);
    const isOwnAnswer = (answer.body as { code?: string }).code === "request_ambiguous";
    expect(isOwnAnswer || isFromHost).toBe(true);
  });

  it.runIf(application.parsesUrl).each(NORMALIZED)(
    "decides %s by the path that the handler sees",
    async (path) => {
      expect((await get(path)).status).toBe(401);
      expect((await get(path, { token: await token({ scopes: ["agents:api:read"] }) })).status).toBe(403);
      const before = running.ran.length;
      expect((await get(path, { token: await token({ scopes: ["agents:web:read"] }) })).status).toBe(200);
      expect(running.ran.slice(before)).toEqual(["GET /agents/:agent_id"]);
    },
  );

  it("responds with a problem (RFC 9457) without any data of the request", async () => {
    const secret = await token({ scopes: [], leak: "canary-claim" });
    const answer = await get("/agents/canary-id", { token: secret });
    expect(answer.headers["content-type"]).toBe("application/problem+json");
    expect(answer.headers["cache-control"]).toBe("no-store");
    expect(answer.body).toMatchObject({ type: "about:blank", title: "Forbidden", status: 403 });
    expect(answer.text).not.toContain("canary-claim");
    expect(JSON.stringify(answer.headers) + answer.text).not.toContain(secret.split(".")[2]);
    expect(answer.text).not.toMatch(/at .*\.(?:js|ts)|jose|JWT|Error/);
  });
});

describe.each(applications)("$name when a check cannot be completed", (application) => {
  it.each([
    ["throws", () => Promise.reject(new Error("canary-cause"))],
    ["answers nonsense", () => "no" as unknown as boolean],
  ])("returns 503 on every route that reads a token when isRevoked %s", async (_, isRevoked) => {
    const running = await start(application, { isRevoked });
    const admin = await token({ scopes: ["platform:admin"] });
    const routes: Asked[] = [
      ...["/agents", "/signed-in", "/optional", "/extra/5", "/any", "/mounted/items/7", "/mounted"].map(
        (path) => ({ path }),
      ),
      { method: "POST", path: "/custom/endpoint", body: { any: "body" } },
    ];
    for (const route of routes) {
      const { status, headers, body, text } = await ask(running.port, { ...route, token: admin });
      expect({ status, body }).toMatchObject({
        status: 503,
        body: { status: 503, code: "keys_unavailable" },
      });
      expect(headers["content-type"]).toBe("application/problem+json");
      expect(headers["cache-control"]).toBe("no-store");
      expect(headers["retry-after"]).toMatch(/^[1-9]\d*$/);
      expect(headers).not.toHaveProperty("www-authenticate");
      expect(text).not.toContain("canary-cause");
    }
    const head = await ask(running.port, { method: "HEAD", path: "/agents", token: admin });
    expect(head).toMatchObject({ status: 503, text: "" });
    expect(running.ran).toEqual([]);
    expect((await ask(running.port, { path: "/public/stats", token: admin })).status).toBe(200);
    expect((await ask(running.port, { path: "/optional" })).body).toEqual({ user: null });
    await running.close();
  });

  it("passes an error of the clock to the framework, and runs no handler", async () => {
    const running = await start(application, { now: () => Number.NaN });
    const answer = await ask(running.port, { path: "/signed-in", token: await token() });
    expect(answer.status).toBe(500);
    expect(running.ran).toEqual([]);
    await running.close();
  });
});
