import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, it } from "vitest";
import { type Access, principalOf, protect, requireScopes, withScopes } from "scopegate/fetch";
import { createServer, issuer } from "../support/resource-servers.ts";
import type { ResourceServerOptions } from "../support/server.ts";

const serverWith = (options: Partial<ResourceServerOptions> = {}) =>
  createServer({
    scopeMappings: {
      "GET /items/:id": ["items:<id>:read"],
      "GET /open": "public",
      "GET /maybe": "optional",
      "GET /self": [],
    },
    ...options,
  });

const bearer = async (...scopes: string[]): Promise<string> => `Bearer ${await issuer.token({ scopes })}`;

const requestOf = (path: string, authorization?: string): Request =>
  new Request(`http://127.0.0.1${path}`, authorization === undefined ? {} : { headers: { authorization } });

/** What the guard found out about a request that it let pass. */
const passed = (result: Access | Response): Access => {
  if (!("decision" in result)) throw new Error(`refused with ${result.status}`);
  return result;
};

describe("protect for fetch", () => {
  it("refuses a handler as its second argument, and every option", () => {
    const handler = (): Response => new Response();
    expect(() => protect(serverWith(), handler as never)).toThrow(
      new TypeError("protect takes no handler: write withScopes(server, handler)."),
    );
    expect(() => protect(serverWith(), { strict: true } as never)).toThrow("unknown option `strict`");
  });

  it("returns the caller and the decision of an allowed request", async () => {
    const result = await protect(serverWith())(requestOf("/items/7", await bearer("items:7:read")));
    const { principal, decision } = passed(result);
    expect(principal?.userId).toBe("user-1");
    expect(decision).toMatchObject({ allowed: true, required: ["items:7:read"] });
    expect(decision.principal).toBe(principal);
  });

  it("accepts a request of another realm", async () => {
    const request = runInNewContext(
      "({ method: 'GET', url: 'http://127.0.0.1/self', headers: { get: (name) => headers[name] ?? null } })",
      { headers: { authorization: await bearer() } },
    ) as Request;
    expect(passed(await protect(serverWith())(request)).principal?.userId).toBe("user-1");
    expect(principalOf(Object.assign(request, { bodyUsed: false }))?.userId).toBe("user-1");
  });

  it("rejects after an error, and returns no caller", async () => {
    const server = serverWith({
      now: () => {
        throw new Error("no clock");
      },
    });
    const request = requestOf("/self", await bearer());
    await expect(protect(server)(request)).rejects.toThrow("no clock");
    expect(principalOf(request)).toBeUndefined();
  });

  it.each([undefined, null, {}, { headers: {} }, { headers: { get: "x" } }])(
    "rejects %j, which is not a request",
    async (value) => {
      await expect(protect(serverWith())(value as never)).rejects.toThrow(TypeError);
    },
  );

  it("rejects the request of Node.js, and names the adapter to import", async () => {
    const request = { method: "GET", url: "/open", headers: {}, rawHeaders: [] };
    await expect(protect(serverWith())(request as never)).rejects.toThrow(
      'protect of "scopegate/fetch" was called by Node.js: import it from the adapter of that framework, "scopegate/node"',
    );
  });
});

describe("withScopes", () => {
  it("passes the caller, followed by the arguments of the framework", async () => {
    const handler = withScopes(
      serverWith(),
      (request: Request, { principal, decision }, env: { readonly region: string }, ctx: object) =>
        Response.json([request.url, principal?.userId, decision.required, env, ctx]),
    );
    const request = requestOf("/items/7", await bearer("items:read"));
    const response = await handler(request, { region: "eu" }, { waitUntil: 1 });
    expect(await response.json()).toEqual([
      "http://127.0.0.1/items/7",
      "user-1",
      ["items:7:read"],
      { region: "eu" },
      { waitUntil: 1 },
    ]);
  });

  it.each([undefined, null, {}, "handler"])("refuses %j as a handler", (handler) => {
    expect(() => withScopes(serverWith(), handler as never)).toThrow(
      new TypeError("withScopes takes a handler: write withScopes(server, { route }, (request) => ...)."),
    );
  });

  it("throws for a request instead of a server, as from a framework that calls withScopes itself", () => {
    expect(() => withScopes(requestOf("/open") as never, undefined as never)).toThrow(
      "Fetch calls withScopes itself: write withScopes(server, handler), with the parentheses.",
    );
  });
});

describe("a polluted prototype", () => {
  afterEach(() => {
    for (const name of ["decision", "authorization"]) Reflect.deleteProperty(Object.prototype, name);
  });

  it("does not turn a refusal into access", async () => {
    const handler = withScopes(serverWith(), () => new Response("ran"));
    Object.assign(Object.prototype, { decision: { allowed: true }, authorization: await bearer() });
    expect((await handler(requestOf("/self"))).status).toBe(401);
  });
});

describe("requireScopes for fetch", () => {
  const mayUse = requireScopes("extra:<id>:use");

  it("throws for a request that passed no guard, and for a clone", async () => {
    expect(() => mayUse(requestOf("/self"), { id: "7" })).toThrow("needs protect(server)");
    const request = requestOf("/self", await bearer("extra:7:use"));
    passed(await protect(serverWith())(request));
    expect(mayUse(request, { id: "7" })).toBeUndefined();
    expect(() => mayUse(request.clone(), { id: "7" })).toThrow("a clone is another request");
  });
});

describe("principalOf for fetch", () => {
  it.each<[string, readonly string[] | undefined, string | undefined]>([
    ["/open", [], undefined],
    ["/maybe", undefined, undefined],
    ["/maybe", [], "user-1"],
    ["/items/7", ["items:7:read"], "user-1"],
    ["/items/7", ["items:8:read"], undefined],
    ["/items/7", undefined, undefined],
  ])("returns the allowed caller only: %s with %j gives %s", async (path, scopes, userId) => {
    const request = requestOf(path, scopes && (await bearer(...scopes)));
    expect(principalOf(request)).toBeUndefined();
    await protect(serverWith())(request);
    expect(principalOf(request)?.userId).toBe(userId);
  });

  it("returns the caller for a proxy of the request, but not for a clone", async () => {
    const request = requestOf("/self", await bearer());
    await protect(serverWith())(request);
    expect(principalOf(new Proxy(request, {}))?.userId).toBe("user-1");
    expect(principalOf(request.clone())).toBeUndefined();
    expect(principalOf(new Request(request))).toBeUndefined();
  });
});
