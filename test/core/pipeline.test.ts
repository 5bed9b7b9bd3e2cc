import { describe, expect, it, vi } from "vitest";
import type { AccessRequest } from "scopegate";
import type { Pipeline, Verdict } from "../../src/core/pipeline.ts";
import { pipelineOf } from "../../src/core/port.ts";
import { createServer, issuer, NOW } from "../support/resource-servers.ts";
import type { ResourceServerOptions } from "../support/server.ts";

const scopeMappings = {
  "GET /open": "public",
  "GET /maybe": "optional",
  "GET /items/me": ["me:read"],
  "GET /items/:id": ["items:<id>:read"],
  "DELETE /items/:id": ["items:<id>:delete"],
  "GET /:page": ["pages:read"],
} as const;

function pipelineFor(options: Partial<ResourceServerOptions> = {}): Pipeline {
  return pipelineOf(createServer({ adminScope: "platform:admin", scopeMappings, ...options }));
}

const bearer = async (scopes: readonly string[], claims: object = {}) =>
  `Bearer ${await issuer.token({ scopes, ...claims })}`;

const get = (target: string, authorization?: string): AccessRequest => ({
  method: "GET",
  target,
  authorization,
});

/** The keys of the rules of a verdict, or why it refuses. */
function rulesOf(verdict: Verdict): readonly string[] | string {
  const decision = verdict.decision();
  expect(decision.allowed).toBe(verdict.isAllowed);
  return decision.allowed ? decision.rules.map(({ key }) => key) : decision.reason;
}

describe("pipelineOf", () => {
  it("returns nothing for an object that createResourceServer did not return", () => {
    expect(pipelineOf({})).toBeUndefined();
    expect(pipelineOf({ ...createServer() })).toBeUndefined();
  });
});

describe("decide", () => {
  it("refuses an inexact path unless the caller promises to check the route", async () => {
    const pipeline = pipelineFor();
    const request = get("/ITEMS/7", await bearer(["items:read"]));
    expect(rulesOf(await pipeline.decide(request, false))).toBe("request_ambiguous");
    expect(rulesOf(await pipeline.decide(request, true))).toEqual(["GET /items/:id"]);
  });

  it.each([
    ["/Open", ["pages:read"], ["GET /open", "GET /:page"]],
    ["/Open", [], "scope_insufficient"],
    ["/items/ME", ["me:read", "items:ME:read"], ["GET /items/me", "GET /items/:id"]],
    ["/items/ME", ["me:read"], "scope_insufficient"],
    ["/items/ME", ["items:ME:read"], "scope_insufficient"],
  ])(
    "requires every rule that a reading of %s reaches of a caller with %j",
    async (target, scopes, expected) => {
      expect(rulesOf(await pipelineFor().decide(get(target, await bearer(scopes)), true))).toEqual(expected);
    },
  );

  it("reads the token where only some of the rules are public or optional", async () => {
    const pipeline = pipelineFor();
    expect(rulesOf(await pipeline.decide(get("/Open"), true))).toBe("credential_missing");
    expect(rulesOf(await pipeline.decide(get("/Open", "Bearer a.b.c"), true))).toBe("token_rejected");
    expect(rulesOf(await pipeline.decide(get("/open", "Bearer a.b.c"), true))).toEqual(["GET /open"]);
    expect(rulesOf(await pipeline.decide(get("/MAYBE"), true))).toBe("credential_missing");
  });
});

describe("decideRoute", () => {
  const PROTECTED = ["/items/:id"];

  /** The result at the route that runs, after the guard decided the request of the verdict. */
  const atRoute = async (pipeline: Pipeline, verdict: Verdict, target: string, patterns = PROTECTED) =>
    rulesOf(await pipeline.decideRoute(verdict, { ...get(target), patterns }));

  /** What a guard keeps of a request that it allowed. */
  async function guarded(pipeline: Pipeline, request: AccessRequest): Promise<Verdict> {
    const verdict = await pipeline.decide(request, true);
    if (!verdict.isAllowed) throw new Error("The guard refused.");
    return verdict;
  }

  it("returns the verdict unchanged where the route adds no rule, and calls no hook", async () => {
    const onDecision = vi.fn();
    const pipeline = pipelineFor({ onDecision });
    for (const [request, patterns] of [
      [get("/items/7", await bearer(["items:read"])), ["/items/:key"]],
      [get("/items/7", await bearer(["items:read"])), ["/:section/:id"]],
      [get("/ITEMS/7/", await bearer(["items:read"])), ["/items/:id"]],
      [get("/open"), ["/open"]],
      [get("/maybe"), ["/maybe"]],
    ] as const) {
      const verdict = await guarded(pipeline, request);
      onDecision.mockClear();
      expect(await pipeline.decideRoute(verdict, { ...request, patterns })).toBe(verdict);
      expect(onDecision).not.toHaveBeenCalled();
    }
  });

  it("calls onDecision once for each new decision, without the credential", async () => {
    const onDecision = vi.fn();
    const pipeline = pipelineFor({ onDecision });
    const request = get("/items/me", await bearer(["me:read"]));
    const verdict = await guarded(pipeline, request);
    expect(onDecision).toHaveBeenCalledTimes(1);
    const next = await pipeline.decideRoute(verdict, { ...request, patterns: PROTECTED });
    expect(rulesOf(next)).toBe("scope_insufficient");
    expect(onDecision).toHaveBeenCalledTimes(2);
    expect(onDecision.mock.lastCall?.slice(0, 2)).toEqual([
      next.decision(),
      { method: "GET", target: "/items/me" },
    ]);
    expect(await pipeline.decideRoute(next, { ...request, patterns: PROTECTED })).toMatchObject({
      isAllowed: false,
    });
  });

  it("requires the route's rule of the principal that the guard verified", async () => {
    const pipeline = pipelineFor();
    const allowed = await guarded(pipeline, get("/items/me", await bearer(["me:read", "items:me:read"])));
    expect(await atRoute(pipeline, allowed, "/items/me")).toEqual(["GET /items/me", "GET /items/:id"]);
    const lacking = await guarded(pipeline, get("/items/me", await bearer(["me:read"])));
    expect(
      (await pipeline.decideRoute(lacking, { ...get("/items/me"), patterns: PROTECTED })).decision(),
    ).toMatchObject({
      reason: "scope_insufficient",
      rule: { key: "GET /items/:id" },
      missing: ["items:me:read"],
    });
  });

  it("ignores a credential that was changed or removed after the guard, and verifies nothing again", async () => {
    const isRevoked = vi.fn(() => false);
    const pipeline = pipelineFor({ isRevoked });
    const request = { ...get("/items/me", await bearer(["me:read"], { sub: "alice" })) };
    const verdict = await guarded(pipeline, request);
    expect(isRevoked).toHaveBeenCalledTimes(1);
    const stronger = await bearer(["platform:admin"], { sub: "mallory" });
    for (const authorization of [stronger, undefined, "Bearer", [stronger, stronger]]) {
      Object.assign(request, { authorization });
      const next = await pipeline.decideRoute(verdict, { ...request, patterns: PROTECTED });
      expect(next.decision()).toMatchObject({
        reason: "scope_insufficient",
        principal: { userId: "alice" },
        missing: ["items:me:read"],
      });
    }
    expect(isRevoked).toHaveBeenCalledTimes(1);
  });

  it("keeps the principal, although its token has expired since", async () => {
    let now = NOW;
    const pipeline = pipelineFor({ now: () => now * 1000 });
    const request = get("/items/me", await bearer(["me:read", "items:read"], { exp: NOW + 1 }));
    const verdict = await guarded(pipeline, request);
    now += 60;
    expect(rulesOf(await pipeline.decideRoute(verdict, { ...request, patterns: PROTECTED }))).toHaveLength(2);
  });

  describe("behind a public path", () => {
    const table = {
      "GET /open/:id": "public",
      "GET /open/me": "public",
      "GET /*path": ["all:read"],
    } as const;
    const ROUTE = ["/*path"];

    it.each([
      [["all:read"], ["GET /open/:id", "GET /*path"]],
      [["other:read"], "scope_insufficient"],
    ])("verifies the credential that the request had at the guard: %j", async (scopes, expected) => {
      const pipeline = pipelineFor({ scopeMappings: table });
      const verdict = await guarded(pipeline, get("/open/x", await bearer(scopes)));
      expect(verdict.decision().principal).toBeUndefined();
      const later = get("/open/x", await bearer(["platform:admin"]));
      expect(rulesOf(await pipeline.decideRoute(verdict, { ...later, patterns: ROUTE }))).toEqual(expected);
    });

    it.each([
      [undefined, "credential_missing"],
      ["Bearer", "credential_malformed"],
      ["Bearer a.b.c", "token_rejected"],
    ])("refuses the credential %s", async (authorization, expected) => {
      const pipeline = pipelineFor({ scopeMappings: table });
      const verdict = await guarded(pipeline, get("/open/x", authorization));
      const later = get("/open/x", await bearer(["platform:admin"]));
      expect(rulesOf(await pipeline.decideRoute(verdict, { ...later, patterns: ROUTE }))).toBe(expected);
    });

    it("allows another public route without a token", async () => {
      const pipeline = pipelineFor({ scopeMappings: table });
      const verdict = await guarded(pipeline, get("/open/me"));
      const next = await pipeline.decideRoute(verdict, { ...get("/open/me"), patterns: ["/open/:x"] });
      expect(rulesOf(next)).toEqual(["GET /open/me", "GET /open/:id"]);
    });
  });

  it("requires a token at a protected route behind an optional path", async () => {
    const pipeline = pipelineFor({ scopeMappings: { "GET /maybe": "optional", "GET /:page": [] } });
    const verdict = await guarded(pipeline, get("/maybe"));
    expect(await atRoute(pipeline, verdict, "/maybe", ["/:page"])).toBe("credential_missing");
  });

  it.each([
    ["DELETE", "/items/7", "/items/:id", "scope_insufficient"],
    ["PUT", "/items/7", "/items/:id", "route_unmapped"],
    ["GET", "/items/8", "/items/:id", "scope_insufficient"],
    ["GET", "/items/7?x=1", "/items/:id", ["GET /items/:id"]],
    ["GET", "/open", "/open", ["GET /open"]],
    ["GET", "/nowhere/x", "/nowhere/:id", "route_unmapped"],
    ["GET", "/items/../open", "/open", "request_ambiguous"],
    ["HEAD", "/items/7", "/items/:id", ["GET /items/:id"]],
  ])("decides a changed request again: %s %s", async (method, target, route, expected) => {
    const onDecision = vi.fn();
    const pipeline = pipelineFor({ onDecision });
    const verdict = await guarded(pipeline, get("/items/7", await bearer(["items:7:read"])));
    const next = await pipeline.decideRoute(verdict, { method, target, patterns: [route] });
    expect(rulesOf(next)).toEqual(expected);
    expect(onDecision).toHaveBeenCalledTimes(2);
    expect(onDecision.mock.lastCall?.[1]).toEqual({ method, target: target.split("?")[0] });
  });

  it("decides each further change against the changed request", async () => {
    const pipeline = pipelineFor();
    const first = await guarded(pipeline, get("/items/7", await bearer(["items:7:read"])));
    const second = await pipeline.decideRoute(first, { ...get("/open"), patterns: ["/open"] });
    expect(second.request.target).toBe("/open");
    expect(await pipeline.decideRoute(second, { ...get("/open"), patterns: ["/open"] })).toBe(second);
    expect(await atRoute(pipeline, second, "/items/8")).toBe("scope_insufficient");
    expect(await atRoute(pipeline, second, "/items/7")).toEqual(["GET /items/:id"]);
  });

  it("verifies the captured credential where a public request becomes a protected one", async () => {
    const pipeline = pipelineFor();
    const verdict = await guarded(pipeline, get("/open", await bearer(["items:7:read"])));
    expect(await atRoute(pipeline, verdict, "/items/7")).toEqual(["GET /items/:id"]);
    expect(await atRoute(pipeline, verdict, "/items/8")).toBe("scope_insufficient");
    const anonymous = await guarded(pipeline, get("/open"));
    expect(await atRoute(pipeline, anonymous, "/items/7")).toBe("credential_missing");
  });

  it.each([
    ["that was matched for another request", undefined],
    ["that the path does not fit", ["/open"]],
    ["that no rule covers, at an inexact path", ["/:section/:id"]],
  ])("refuses a route %s", async (_, patterns) => {
    const pipeline = pipelineFor();
    const request = get("/ITEMS/7", await bearer(["platform:admin"]));
    expect(
      rulesOf(await pipeline.decideRoute(await guarded(pipeline, request), { ...request, patterns })),
    ).toBe("request_ambiguous");
  });

  it("checks no scopes at a route with `authorization: false`", async () => {
    const pipeline = pipelineFor({ authorization: false });
    const request = get("/items/me", await bearer([]));
    const verdict = await guarded(pipeline, request);
    const next = await pipeline.decideRoute(verdict, { ...request, patterns: PROTECTED });
    expect(next.decision()).toMatchObject({ allowed: true, principal: { userId: "user-1" } });
    expect(rulesOf(next)).toEqual(["GET /items/me", "GET /items/:id"]);
  });

  it('keeps a valid token sufficient at an unmapped route with `unmappedRoutes: "authenticated"`', async () => {
    const pipeline = pipelineFor({ unmappedRoutes: "authenticated" });
    const verdict = await guarded(pipeline, get("/items/7", await bearer(["items:7:read"])));
    const next = await pipeline.decideRoute(verdict, {
      method: "PUT",
      target: "/items/7",
      patterns: PROTECTED,
    });
    expect(rulesOf(next)).toEqual([]);
    expect(
      rulesOf(
        await pipeline.decideRoute(next, { method: "DELETE", target: "/items/7", patterns: PROTECTED }),
      ),
    ).toBe("scope_insufficient");
  });
});
