import { inspect } from "node:util";
import { describe, expect, it, vi } from "vitest";
import {
  type AccessRequest,
  ConfigurationError,
  type Decision,
  KeysUnavailableError,
  type DecisionEvent,
  type ObservedRequest,
  type Principal,
  type Refused,
  type ResourceServer,
  TokenRejectedError,
} from "scopegate";
import { explain } from "scopegate/explain";
import { compact } from "../../src/core/runtime/compact.ts";
import { createIssuer } from "../support/issuer.ts";
import { createServer, issuer, NOW } from "../support/resource-servers.ts";
import type { ResourceServerOptions } from "../support/server.ts";

const scopeMappings = {
  "GET /open": "public",
  "GET /maybe": "optional",
  "GET /signed-in": [],
  "GET /items/:id": ["items:<id>:read"],
  "POST /items": ["items:write", "audit:write"],
  "GET /either": { anyOf: ["a:read", "b:read"] },
  "GET /list": ["items:<any>:read"],
} as const;

const create = (options: Partial<ResourceServerOptions> = {}) =>
  createServer({ adminScope: "platform:admin", scopeMappings, ...options });

const server = create();
const bearer = async (scopes: readonly string[] = [], claims: object = {}) =>
  `Bearer ${await issuer.token({ scopes, ...claims })}`;

/** The decision on a request: `METHOD /path`, and whatever else it has. */
function check(to: ResourceServer, route: string, request: Partial<AccessRequest> = {}): Promise<Decision> {
  const [method = "", target = ""] = route.split(" ");
  return to.check({ method, target, ...request });
}

/** What a server decides on a request with this header: `allowed`, or the reason of the refusal. */
async function outcomeOf(to: ResourceServer, route: string, authorization?: string): Promise<string> {
  const decision = await check(to, route, { authorization });
  return decision.allowed ? "allowed" : decision.reason;
}

const expired = await bearer(["platform:admin"], { exp: NOW });
const stranger = createIssuer({ kid: "stranger" });

const ANONYMOUS = { allowed: true };
const MISSING = { allowed: false, reason: "credential_missing" };
const MALFORMED = { allowed: false, reason: "credential_malformed" };
const rejectedAs = (rejection: string) => ({ allowed: false, reason: "token_rejected", rejection });

describe("check", () => {
  it("allows a caller with the required scopes, and reports what satisfied them", async () => {
    const decision = await check(server, "GET /items/7", { authorization: await bearer(["items:7:read"]) });
    expect(decision).toMatchObject({
      allowed: true,
      rule: { key: "GET /items/:id", source: "custom" },
      principal: { userId: "user-1" },
      required: ["items:7:read"],
      granted: ["items:7:read"],
      missing: [],
      satisfied: [{ required: "items:7:read", granted: "items:7:read", by: "exact" }],
    });
  });

  it("refuses a caller without a required scope, and reports which is missing", async () => {
    const decision = await check(server, "POST /items", { authorization: await bearer(["items:write"]) });
    expect(decision).toMatchObject({
      allowed: false,
      reason: "scope_insufficient",
      rule: { key: "POST /items" },
      principal: { userId: "user-1" },
      required: ["items:write", "audit:write"],
      granted: ["items:write"],
      missing: ["audit:write"],
      satisfied: [{ required: "items:write", granted: "items:write", by: "exact" }],
    });
  });

  it("returns a frozen decision", async () => {
    for (const decision of [
      await check(server, "GET /items/7", { authorization: await bearer(["items:read"]) }),
      await check(server, "GET /items/7", { authorization: await bearer([]) }),
      await check(server, "GET /items/7"),
      await check(server, "GET /open"),
    ]) {
      for (const part of [
        decision,
        decision.required,
        decision.granted,
        decision.missing,
        decision.satisfied,
      ])
        expect(Object.isFrozen(part)).toBe(true);
    }
  });

  it("does not touch the credential on a public, an unmapped or an ambiguous path", async () => {
    const untouchable = (target: string): AccessRequest => ({
      method: "GET",
      target,
      get authorization(): string {
        throw new Error("The credential was read.");
      },
      get cookie(): string {
        throw new Error("The cookie was read.");
      },
    });
    const decision = await server.check(untouchable("/open"));
    expect(decision).toMatchObject({ allowed: true, rule: { key: "GET /open" }, granted: [] });
    expect(decision).not.toHaveProperty("principal");
    expect(await server.check(untouchable("/nowhere"))).toMatchObject({ reason: "route_unmapped" });
    const ambiguous = [
      ...["/a/../open", "/%2e%2e/open", "//open", "/open#x", "/open%2f", "*", "", "http://user@host/open"],
    ];
    for (const target of ambiguous)
      expect(await server.check(untouchable(target))).toMatchObject({
        reason: "request_ambiguous",
        rules: [],
      });
    await expect(server.check(untouchable("/signed-in"))).rejects.toThrow("was read");
  });

  it.each<readonly [string, Partial<AccessRequest>, object, object]>([
    ["no token", {}, ANONYMOUS, MISSING],
    ["another scheme", { authorization: "Basic dXNlcjpwYXNz" }, ANONYMOUS, MISSING],
    ["a cookie that is not a token source", { cookie: "access_token=a.b.c" }, ANONYMOUS, MISSING],
    ["a malformed header", { authorization: "Bearer a b" }, MALFORMED, MALFORMED],
    ["several headers", { authorization: ["Bearer a", "Bearer b"] }, MALFORMED, MALFORMED],
    ["a bad token", { authorization: "Bearer a.b.c" }, rejectedAs("malformed"), rejectedAs("malformed")],
    ["an expired token", { authorization: expired }, rejectedAs("expired"), rejectedAs("expired")],
  ])(
    "decides %s on an optional route and where a token is required",
    async (_, request, optional, required) => {
      const decision = await check(server, "GET /maybe", request);
      expect(decision).toMatchObject(optional);
      expect(decision).not.toHaveProperty("principal");
      for (const route of ["GET /signed-in", "GET /items/7", "POST /items", "GET /either", "GET /list"]) {
        const refused = await check(server, route, request);
        expect(refused).toMatchObject({ ...required, required: [], granted: [] });
        expect(refused.rule?.key).toBe(route.replace("7", ":id"));
        expect(refused).not.toHaveProperty("principal");
      }
    },
  );

  it("returns the caller with a token on an optional route", async () => {
    expect(await check(server, "GET /maybe", { authorization: await bearer(["a:read"]) })).toMatchObject({
      allowed: true,
      principal: { userId: "user-1", scopes: ["a:read"] },
    });
  });

  it("decides an inexact path with the route that the router matched, by all its rules", async () => {
    const authorization = await bearer(["items:7:read"]);
    const request = { method: "GET", matchedPattern: "/items/:id", authorization };
    expect(await server.check({ ...request, target: "/Items/7/" })).toMatchObject({
      allowed: true,
      rules: [{ key: "GET /items/:id" }],
    });
    expect(await server.check({ ...request, target: "/Items/8/" })).toMatchObject({
      reason: "scope_insufficient",
      missing: ["items:8:read"],
    });
  });

  it("ignores a matched route of a polluted prototype", async () => {
    const polluted = Object.create({ matchedPattern: "/items/:id" }) as object;
    const request = Object.assign(polluted, { method: "GET", target: "/ITEMS/7" });
    expect(await server.check(request)).toMatchObject({ cause: "The path isn't spelled as in the table." });
  });

  it('requires a valid token and no scope on unmapped routes with `unmappedRoutes: "authenticated"`', async () => {
    const lenient = create({ unmappedRoutes: "authenticated" });
    expect(await outcomeOf(lenient, "GET /nowhere")).toBe("credential_missing");
    expect(await outcomeOf(lenient, "GET /nowhere", "Bearer")).toBe("credential_malformed");
    expect(await outcomeOf(lenient, "GET /nowhere", expired)).toBe("token_rejected");
    expect(await outcomeOf(lenient, "GET /a//b", await bearer())).toBe("request_ambiguous");
    expect(await outcomeOf(lenient, "GET /items/7", await bearer())).toBe("scope_insufficient");
    const decision = await check(lenient, "GET /nowhere", { authorization: await bearer() });
    expect(decision).toMatchObject({ allowed: true, principal: { userId: "user-1" }, required: [] });
    expect(decision).not.toHaveProperty("rule");
  });

  it("verifies tokens and checks no scopes with `authorization: false`", async () => {
    const open = create({ authorization: false });
    for (const route of ["GET /items/7", "POST /items", "GET /either", "GET /list", "GET /nowhere"]) {
      expect(await outcomeOf(open, route)).toBe("credential_missing");
      expect(await outcomeOf(open, route, "Bearer")).toBe("credential_malformed");
      expect(await outcomeOf(open, route, expired)).toBe("token_rejected");
      expect(await check(open, route, { authorization: await bearer() })).toMatchObject({
        allowed: true,
        principal: { userId: "user-1" },
      });
    }
    expect(await outcomeOf(open, "GET /open", "Bearer")).toBe("allowed");
    expect(await outcomeOf(open, "GET /maybe")).toBe("allowed");
    expect(await outcomeOf(open, "GET /a/../open")).toBe("request_ambiguous");
  });

  it.each<readonly [string, object, Partial<ResourceServerOptions>]>([
    ["scopes", { scopes: 5 }, {}],
    ["scopes", { scopes: undefined }, {}],
    ["realm_access.roles", { realm_access: {} }, { scopesClaim: ["realm_access", "roles"] }],
    ["sub", { sub: 5.5 }, {}],
    ["uid", { uid: 5.5 }, { userIdClaim: "uid" }],
    ["session_id", { session_id: null }, {}],
    ["iss", { iss: 5 }, {}],
    ["jti", { jti: [] }, {}],
    ["exp", { exp: "never" }, {}],
    ["tenant", {}, { requiredClaims: ["tenant"] }],
  ])(
    "reports the claim %s that is missing or wrong to the operator, not to the client",
    async (claim, claims, options) => {
      const strict = create(options);
      const decision = await check(strict, "GET /signed-in", { authorization: await bearer([], claims) });
      expect(decision).toMatchObject({ reason: "token_rejected", rejection: "claims", claim });
      const other = await check(strict, "GET /signed-in", {
        authorization: `Bearer ${await stranger.token({}, { kid: undefined })}`,
      });
      expect(strict.refuse(decision as Refused)).toEqual(strict.refuse(other as Refused));
    },
  );

  it("needs no scopes claim with `authorization: false`, but one of the right type", async () => {
    const open = create({ authorization: false });
    const authorization = await bearer([], { scopes: undefined });
    expect(await check(open, "GET /items/7", { authorization })).toMatchObject({
      allowed: true,
      principal: { userId: "user-1", scopes: [] },
    });
    for (const options of [
      { authorization: false, scopesClaim: "scp" },
      { authorization: false, scopeSources: [{ claim: "scp" }] },
    ])
      expect(await outcomeOf(create(options), "GET /items/7", authorization)).toBe("allowed");
    const wrong = await bearer([], { scopes: 5 });
    expect(await check(open, "GET /items/7", { authorization: wrong })).toMatchObject({ claim: "scopes" });
    const required = create({ authorization: false, scopeSources: [{ claim: "scopes", required: true }] });
    expect(await check(required, "GET /items/7", { authorization })).toMatchObject({ claim: "scopes" });
  });
});

describe("isRevoked", () => {
  const answering = (isRevoked: (principal: Principal) => unknown) =>
    create({ isRevoked: isRevoked as NonNullable<ResourceServerOptions["isRevoked"]> });

  it.each<readonly [string, unknown]>([
    ["true", true],
    ["a promise of true", Promise.resolve(true)],
  ])("rejects the token when it returns %s, on every route that reads one", async (_, answer) => {
    const revoking = answering(() => answer);
    const authorization = await bearer(["platform:admin"]);
    for (const route of ["GET /signed-in", "GET /items/7", "GET /maybe"])
      expect(await check(revoking, route, { authorization })).toMatchObject({ rejection: "revoked" });
    await expect(revoking.authenticate(await issuer.token())).rejects.toMatchObject({ rejection: "revoked" });
  });

  // `test/security/fail-closed` has more that it may do, and `test/conformance/refusals` the response.
  it.each([0, 1, { revoked: false }, "false"])(
    "refuses every request that has a token when it returns %j, and names no caller",
    async (answer) => {
      const unsure = answering(() => Promise.resolve(answer));
      const authorization = await bearer(["platform:admin"]);
      for (const route of ["GET /signed-in", "GET /items/7", "GET /maybe"]) {
        const decision = await check(unsure, route, { authorization });
        expect(decision).toMatchObject({ allowed: false, reason: "keys_unavailable", granted: [] });
        expect(decision).not.toHaveProperty("principal");
      }
    },
  );

  it("receives the principal of every verified token, and no other", async () => {
    const isRevoked = vi.fn((principal: Principal) => principal.userId === "user-9");
    const asking = create({ isRevoked });
    await check(asking, "GET /open", { authorization: await bearer() });
    await check(asking, "GET /nowhere", { authorization: await bearer() });
    await check(asking, "GET /signed-in");
    await check(asking, "GET /signed-in", { authorization: expired });
    await check(asking, "GET /signed-in", { authorization: "Bearer a.b.c" });
    await check(asking, "GET /signed-in", { authorization: await bearer([], { scopes: 5 }) });
    expect(isRevoked).not.toHaveBeenCalled();
    const authorization = await bearer(["a:read"], { jti: "token-1" });
    for (let turn = 1; turn <= 2; turn += 1) {
      expect(await check(asking, "GET /signed-in", { authorization })).toMatchObject({ allowed: true });
      expect(isRevoked).toHaveBeenCalledTimes(turn);
    }
    expect(isRevoked).toHaveBeenLastCalledWith(expect.objectContaining({ tokenId: "token-1" }));
    const ninth = await bearer([], { sub: "user-9" });
    expect(await check(asking, "GET /signed-in", { authorization: ninth })).toMatchObject({
      rejection: "revoked",
    });
  });

  it("reports its failure to the operator", async () => {
    const cause = new Error("The revocation list is away.");
    const unsure = answering(() => Promise.reject(cause));
    const decision = await check(unsure, "GET /signed-in", { authorization: await bearer() });
    expect(decision).toMatchObject({ cause });
    const error: unknown = await unsure.authenticate(await issuer.token()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(KeysUnavailableError);
    expect(error).toMatchObject({
      name: "KeysUnavailableError",
      code: "keys_unavailable",
      message: "The access token cannot be checked at the moment.",
      cause,
    });
    const nothing = answering(() => undefined);
    expect(await check(nothing, "GET /signed-in", { authorization: await bearer() })).toMatchObject({
      cause: new TypeError("`isRevoked` must return true or false."),
    });
  });
});

describe("onDecision", () => {
  it("receives every decision and its request", async () => {
    const seen: [Decision, ObservedRequest][] = [];
    const observed = create({ onDecision: (decision, request) => void seen.push([decision, request]) });
    const requests: readonly (readonly [route: string, outcome: string, authorization?: string])[] = [
      ["GET /open", "allowed"],
      ["GET /nowhere", "route_unmapped"],
      ["GET /a//b", "request_ambiguous"],
      ["GET /signed-in", "credential_missing"],
      ["GET /signed-in", "credential_malformed", "Bearer"],
      ["GET /signed-in", "token_rejected", expired],
      ["GET /items/7", "scope_insufficient", await bearer()],
      ["GET /items/7", "allowed", await bearer(["items:read"])],
    ];
    const decisions: Decision[] = [];
    for (const [route, , authorization] of requests)
      decisions.push(await check(observed, route, { authorization }));
    expect(seen.map(([decision]) => decision)).toEqual(decisions);
    expect(
      seen.map(([decision, { method, target }]) => [
        `${method} ${target}`,
        decision.allowed ? "allowed" : decision.reason,
      ]),
    ).toEqual(requests.map(([route, outcome]) => [route, outcome]));
  });

  it("receives the time, the duration and the request of the framework, which no log shows", async () => {
    const onDecision = vi.fn();
    const observed = create({ onDecision, now: () => 1_700_000_000_000 });
    const source = { secret: "token" };
    const decision = await check(observed, "GET /items/7", { authorization: await bearer(), source });
    observed.checkScopes(decision, ["items:read"], { method: "GET", target: "/items/7", source });
    expect(onDecision).toHaveBeenCalledTimes(2);
    for (const [, request, event] of onDecision.mock.calls as [Decision, ObservedRequest, DecisionEvent][]) {
      expect(event.source).toBe(source);
      const durationMs = expect.any(Number) as number;
      expect(event).toEqual({ at: 1_700_000_000_000, durationMs, policy: observed.health().policy });
      expect(event.durationMs).toBeGreaterThan(0);
      expect(event.durationMs).toBeLessThan(60_000);
      expect(inspect([request, event])).not.toContain("secret");
      expect(JSON.stringify([request, event])).not.toContain("secret");
    }
  });

  it("receives the pattern and the parameters that the framework matched", async () => {
    const onDecision = vi.fn();
    const matched = { matchedPattern: "/items/:key", params: { key: "7" } };
    await check(create({ onDecision }), "GET /items/7", { ...matched, authorization: await bearer() });
    expect(onDecision.mock.lastCall?.[1]).toEqual({ method: "GET", target: "/items/7", ...matched });
  });

  it("keeps the decision unchanged, whatever the hook does", async () => {
    const observed = create({
      onDecision: (decision, request) => {
        Object.assign(request, { target: "/open" });
        Object.assign(decision, { allowed: true });
      },
    });
    expect(await check(observed, "GET /signed-in")).toMatchObject({ allowed: false });
  });

  it("receives nothing from authorize and explain", async () => {
    const onDecision = vi.fn();
    const observed = create({ onDecision });
    const principal = await observed.authenticate(await issuer.token());
    observed.authorize(principal, "GET", "/items/7");
    explain(observed, { method: "GET", path: "/items/7" });
    expect(onDecision).not.toHaveBeenCalled();
  });
});

describe("authenticate", () => {
  it("returns the principal of a token, whatever the table has", async () => {
    const token = await issuer.token({ scopes: ["a:read"], session_id: "s-1" });
    const principal = await create({ scopeMappings: {} }).authenticate(token);
    expect(principal).toMatchObject({ userId: "user-1", sessionId: "s-1", scopes: ["a:read"] });
    expect(principal.has("a:read")).toBe(true);
    expect(principal.has("a:write")).toBe(false);
  });

  // `test/security/tokens` has a token for each rejection.
  it("throws an error with the rejection as its code and in its message", async () => {
    await expect(server.authenticate(await issuer.token({ exp: NOW }))).rejects.toMatchObject({
      name: "TokenRejectedError",
      code: "token_rejected",
      rejection: "expired",
      message: "The access token was rejected: expired.",
    });
  });

  it("throws TokenRejectedError for every invalid value", async () => {
    for (const token of ["", " ", "..", "Bearer x", "\0", undefined, null, 5, ["a.b.c"], { length: 5 }])
      await expect(server.authenticate(token as string)).rejects.toBeInstanceOf(TokenRejectedError);
  });
});

describe("authorize", () => {
  it("decides like check for the same caller", async () => {
    const routes = [
      ...["GET /items/7", "HEAD /items/7", "GET /items/7?x=1", "GET /items/8", "PUT /items/7", "POST /items"],
      ...["GET /either", "GET /list", "GET /signed-in", "GET /open", "GET /nowhere", "GET /a//b"],
    ];
    const viewOf = (decision: Decision) => ({
      outcome: decision.allowed ? "allowed" : decision.reason,
      required: decision.required,
      missing: decision.missing,
    });
    for (const scopes of [[], ["items:read"], ["a:read"], ["items:7:read"], ["platform:admin"]]) {
      const token = await issuer.token({ scopes });
      const principal = await server.authenticate(token);
      for (const route of routes) {
        const [method = "", path = ""] = route.split(" ");
        const checked = await check(server, route, { authorization: `Bearer ${token}` });
        expect(viewOf(server.authorize(principal, method, path))).toEqual(viewOf(checked));
      }
    }
  });

  it("decides a principal of another server, or a hand-made one, by its scopes and the rules of this server", async () => {
    const lenient = create({ impliedScopes: { "a:read": ["items:read"] }, adminScope: "root" });
    for (const [scopes, allowed] of [
      [["a:read"], false],
      [["root"], false],
      [["items:7:read"], true],
      [["platform:admin"], true],
    ] as const) {
      const foreign = await lenient.authenticate(await issuer.token({ scopes }));
      const made: Principal = { ...foreign, has: () => true, resourceIds: () => "all" };
      for (const principal of [foreign, made])
        expect(server.authorize(principal, "GET", "/items/7").allowed).toBe(allowed);
    }
  });
});

describe("checkScopes", () => {
  const request = { method: "GET", target: "/signed-in", params: { id: "7", path: ["a", "b"] } };
  const allowedFor = async (scopes: readonly string[], to = server) =>
    check(to, "GET /signed-in", { authorization: await bearer(scopes) });

  it.each([
    [["extra:use"], ["extra:use"], true],
    [["extra:use"], ["extra:use", "more:use"], false],
    [["extra:use", "more:use"], ["extra:use", "more:use"], true],
    [[], [], true],
    [[], ["extra:use"], false],
    [["platform:admin"], ["extra:use"], true],
    [["extra:7:use"], ["extra:<id>:use"], true],
    [["extra:use"], ["extra:<id>:use"], true],
    [["extra:8:use"], ["extra:<id>:use"], false],
    [["extra:a/b:use"], ["extra:<path>:use"], true],
  ])("requires of a caller with %j all of %j", async (held, scopes, allowed) => {
    const decision = server.checkScopes(await allowedFor(held), scopes, request);
    expect(decision).toMatchObject({ allowed, rule: { key: "GET /signed-in" }, granted: held });
    expect(decision.principal?.userId).toBe("user-1");
    expect(decision.missing.length === 0).toBe(allowed);
  });

  it("calls onDecision without the credential", async () => {
    const onDecision = vi.fn();
    const observed = create({ onDecision });
    const allowed = await allowedFor([], observed);
    onDecision.mockClear();
    const authorization = await bearer();
    const asked = { ...request, target: "/signed-in?token=x", authorization, cookie: "a=b" };
    const decision = observed.checkScopes(allowed, ["extra:use"], asked);
    expect(decision).toMatchObject({ allowed: false, reason: "scope_insufficient", missing: ["extra:use"] });
    expect(onDecision.mock.calls).toEqual([[decision, request, expect.anything()]]);
  });

  it.each([
    ["web:admin", ["extra:web:admin", "extra:web:admin:use", "extra:web:use"]],
    ["*", ["extra:web:use"]],
    ["", ["extra::use", "extra:web:use"]],
  ])("does not let the parameter %j add parts to a scope", async (id, held) => {
    const decide = async (scopes: readonly string[]) =>
      server.checkScopes(await allowedFor(scopes), ["extra:<id>:use"], { ...request, params: { id } });
    expect(await decide(held)).toMatchObject({ allowed: false, reason: "scope_insufficient" });
    expect(await decide(["extra:*:use"])).toMatchObject({ allowed: true });
  });

  it("returns a refusal unchanged, whatever its caller holds", async () => {
    const authorization = await bearer(["extra:use"]);
    for (const to of [server, create({ isRevoked: () => true })]) {
      const refused = await check(to, "GET /items/7", { authorization });
      expect(refused.allowed).toBe(false);
      expect(to.checkScopes(refused, ["extra:use"], request)).toBe(refused);
    }
  });

  it("refuses a caller without a token, also where no scopes are checked", async () => {
    for (const to of [server, create({ authorization: false })]) {
      const decision = to.checkScopes(await check(to, "GET /maybe"), ["extra:use"], request);
      expect(decision).toMatchObject({ reason: "credential_missing", rule: { key: "GET /maybe" } });
    }
  });

  it("compiles an array again unless it is frozen, because it may have changed", async () => {
    const caller = await allowedFor(["a:b"]);
    const isAllowed = (scopes: readonly string[]) => server.checkScopes(caller, scopes, request).allowed;
    const scopes = ["a:b"];
    expect(isAllowed(scopes)).toBe(true);
    scopes[0] = "c:d";
    expect(isAllowed(Object.freeze(scopes))).toBe(false);
    expect(isAllowed(scopes)).toBe(false);
    expect(isAllowed(Object.freeze(["a:b"]))).toBe(true);
  });

  it("checks no scopes with `authorization: false`", async () => {
    const open = create({ authorization: false });
    const decision = open.checkScopes(await allowedFor([], open), ["extra:use"], request);
    expect(decision).toMatchObject({ allowed: true, required: [], principal: { userId: "user-1" } });
  });

  it("throws for scopes that could never allow anyone", async () => {
    const allowed = await allowedFor(["platform:admin"]);
    const open = await check(server, "GET /open");
    expect(() => server.checkScopes(open, ["extra:use"], request)).toThrow("is public");
    const inherited = Object.create({ other: "x" }) as Record<string, string>;
    for (const params of [request.params, undefined, {}, { OTHER: "x" }, inherited])
      expect(() =>
        server.checkScopes(allowed, ["extra:<other>:use"], compact({ ...request, params })),
      ).toThrow("<other>");
    for (const scope of ["", "extra use", "extra::use", "extra:x<id>:use"])
      expect(() => server.checkScopes(allowed, [scope], request), scope).toThrow(ConfigurationError);
  });
});

describe("explain", () => {
  it("decides like check, with a token and without", async () => {
    for (const path of ["/open", "/maybe", "/items/7", "/either", "/list", "/nowhere", "/a//b"]) {
      const anonymous = await check(server, `GET ${path}`);
      expect(explain(server, { method: "GET", path }).decision).toEqual(anonymous);
      for (const scopes of [[], ["items:read"], ["b:read"], ["platform:admin"]]) {
        const checked = await check(server, `GET ${path}`, { authorization: await bearer(scopes) });
        const { allowed, missing } = explain(server, { method: "GET", path, scopes }).decision;
        expect({ allowed, missing }).toEqual({ allowed: checked.allowed, missing: checked.missing });
      }
    }
  });

  it("lists the same rules as check, with and without the route that the router matched", async () => {
    const narrow = create({
      scopeMappings: {
        "GET /files/:id": ["files:read"],
        "GET /files/*path": ["files:list"],
        "GET /open": "public",
      },
    });
    const authorization = await bearer(["files:read", "files:list"]);
    let several = 0;
    for (const path of ["/files/a", "/FILES/a", "/files/a/", "/files/a/b", "/OPEN", "/%66iles/a", "/x"]) {
      for (const matchedPattern of [undefined, "/files/:name", "/files/*all", "/open", "/:page"]) {
        const request = compact({ method: "GET", matchedPattern });
        const checked = await narrow.check({ ...request, target: path, authorization });
        const { decision } = explain(narrow, { ...request, path, scopes: ["files:read", "files:list"] });
        if (checked.rules.length > 1) several += 1;
        expect(decision.rules).toEqual(checked.rules);
        expect(decision).toMatchObject({ allowed: checked.allowed, missing: checked.missing });
        if (!checked.allowed) expect(decision).toMatchObject({ reason: checked.reason });
      }
    }
    expect(several).toBeGreaterThan(3);
  });

  it("fills templates from the path, and refuses parameters of the query that differ from it", () => {
    const query = {
      method: "GET",
      path: "/items/7",
      scopes: ["items:7:read"],
      matchedPattern: "/items/:key",
    };
    const decide = (key: string) => explain(server, { ...query, params: { key } }).decision;
    expect(decide("7")).toMatchObject({ allowed: true, required: ["items:7:read"] });
    expect(decide("8")).toMatchObject({ reason: "request_ambiguous" });
  });

  it.each([
    ["/ITEMS/7", undefined, "The path isn't spelled as in the table."],
    ["/OPEN", "/open", "The rule needs no token, and the path isn't spelled as in the table."],
  ])("shows why %s is ambiguous for the route %s: %s", (path, matchedPattern, cause) => {
    const query = compact({ method: "GET", path, matchedPattern });
    const { text, decision } = explain(server, query);
    expect(decision).toMatchObject({ reason: "request_ambiguous", cause, rules: [] });
    expect(text).toContain(`refused: request_ambiguous. ${cause}`);
  });
});

describe("a resource server", () => {
  it("lists its effective table, each rule with its source, frozen", () => {
    const { routes } = create({
      defaultScopeMappings: { "GET /a": ["a:read"], "GET /b/:id": ["b:read"] },
      scopeMappings: { "GET /b/:key": ["b:write"], "GET /c": "public" },
    });
    expect(routes.map(({ key, source }) => `${key} ${source}`).sort()).toEqual([
      "GET /a default",
      "GET /b/:key override",
      "GET /c custom",
    ]);
    for (const part of [routes, ...routes, ...routes.map(({ requirement }) => requirement)])
      expect(Object.isFrozen(part)).toBe(true);
  });

  it("accepts ready() and close() more than once and in any order", async () => {
    const hmac = create({ algorithm: "HS256", verificationKeys: ["s".repeat(32)] });
    await expect(
      Promise.all([hmac.ready(), hmac.ready(), hmac.close(), hmac.close(), hmac.ready()]),
    ).resolves.toEqual(Array(5).fill(undefined));
  });
});

describe("a call from a program without types", () => {
  it.each<[string, () => unknown, string]>([
    [
      "explain without a path",
      () => explain(server, { method: "GET", target: "/open" } as never),
      "`path` is missing",
    ],
    [
      "explain with scopes in a text",
      () => explain(server, { method: "GET", path: "/open", scopes: "a:b" as never }),
      'scopes: ["agents:read"]',
    ],
    [
      "authorize without a path",
      () => server.authorize({} as never, "GET", undefined as never),
      "is missing",
    ],
    [
      "authorize with a path that is not a string",
      () => server.authorize({} as never, "GET", 7 as never),
      "must be a string",
    ],
    [
      "check with `path` instead of `target`",
      () => server.check({ method: "GET", path: "/open" } as never),
      "server.check takes { method, target, authorization }: `target` is missing.",
    ],
  ])("throws a TypeError with what to write: %s", async (_, call, expected) => {
    const calling = Promise.resolve().then(call);
    await expect(calling).rejects.toThrow(TypeError);
    await expect(calling).rejects.toThrow(expected);
  });
});
