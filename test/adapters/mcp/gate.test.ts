/** `protectMcp` and `withMcp` with requests in memory. */
import { Hono } from "hono";
import { describe, expect, it, vi } from "vitest";
import { type McpAccess, protectMcp, withMcp } from "scopegate/mcp";
import { principalOf } from "scopegate/fetch";
import { pipelineOf } from "../../../src/core/port.ts";
import { createResourceServer, type ResourceServerOptions } from "../../support/server.ts";
import { post, requestOf, server } from "./support/memory.ts";
import { ALLOWED, FORBIDDEN } from "./support/corpus/hostile.ts";
import { CORPUS } from "./support/corpus/index.ts";
import { INITIALIZE } from "./support/corpus/sessions.ts";
import type { Raw } from "./support/send.ts";
import { issuer, RESOURCE, tokenOf, type User } from "./support/tools.ts";

/** What a handler gets; a refusal fails the test. */
async function enter(request: Request, gate = protectMcp(server)): Promise<McpAccess> {
  const access = await gate(request);
  if (access instanceof Response) throw new Error(`${access.status}: ${await access.text()}`);
  return access;
}

describe("protectMcp", () => {
  const WHOLE_NUMBER = "Write a whole number, 1 or more.";
  const SECONDS = "Write a number of seconds greater than 0, or false.";
  const STORE = "Write a store, such as redisStore(client) of scopegate/store.";
  it.each<[options: object, hint: string]>([
    [{ maxBodyBytes: 0 }, WHOLE_NUMBER],
    [{ maxBodyBytes: 1.5 }, WHOLE_NUMBER],
    [{ maxBodyBytes: "1mb" }, WHOLE_NUMBER],
    [{ maxBodyBytes: Infinity }, WHOLE_NUMBER],
    [{ bodyTimeoutMs: -1 }, WHOLE_NUMBER],
    [{ bodyTimeoutMs: NaN }, WHOLE_NUMBER],
    [{ maxSessions: 0.5 }, WHOLE_NUMBER],
    [{ streamCheckSeconds: 0 }, SECONDS],
    [{ streamCheckSeconds: -1 }, SECONDS],
    [{ streamCheckSeconds: "10" }, SECONDS],
    [{ streamCheckSeconds: true }, SECONDS],
    [{ store: undefined }, STORE],
    [{ store: {} }, STORE],
    [{ store: "redis://127.0.0.1" }, STORE],
    [{ listFilter: 1 }, "Write true or false."],
    [{ listFliter: true }, "Did you mean `listFilter`?"],
    [{ metadata: true }, "Put metadata(server) of your adapter before it"],
  ])("throws for the options %j, and names the wrong one and its fix", (options, hint) => {
    const [name] = Object.keys(options);
    for (const [guard, create] of [
      ["protectMcp", () => protectMcp(server, options)],
      ["withMcp", () => withMcp(server, () => new Response(), options)],
    ] as const) {
      expect(create).toThrow(`${guard}.${name}: `);
      expect(create).toThrow(hint);
    }
  });

  it.each([null, 5, () => undefined])("throws for options that are not an object: %j", (options) => {
    expect(() => protectMcp(server, options as never)).toThrow("takes its options as an object");
  });

  it("passes the parsed body, the caller and the decision on", async () => {
    const request = await post(ALLOWED);
    const access = await enter(request);
    expect(access.parsedBody).toEqual(ALLOWED);
    expect(access.principal?.userId).toBe("runner");
    expect(access.decision.allowed).toBe(true);
    expect(access.authInfo).toMatchObject({ scopes: ["docs:read", "agents:web:run"] });
    expect(access.authInfo?.resource?.href).toBe(RESOURCE);
    expect(access.authInfo?.token).toBe(request.headers.get("authorization")?.slice(7));
    expect(access.authInfo?.expiresAt).toBeGreaterThan(Date.now() / 1000);
  });

  it("passes the client of the token on", async () => {
    for (const claims of [{ client_id: "agent-1" }, { azp: "agent-1" }, { client_id: 1, azp: "agent-1" }]) {
      const token = await tokenOf("reader", { claims });
      const request = await post(ALLOWED, { authorization: `Bearer ${token}` });
      expect((await enter(request)).authInfo?.clientId).toBe("agent-1");
    }
  });

  /** A server without `resource`. */
  const serverWith = (transport: "public" | [], more: Partial<ResourceServerOptions> = {}) =>
    createResourceServer({
      ...issuer.resourceServerOptions,
      serviceId: RESOURCE,
      scopeMappings: { "* /mcp": transport, "MCP tools/call search": transport },
      ...more,
    });

  it("passes a public endpoint on without a caller, and its session to anybody", async () => {
    const gate = protectMcp(serverWith("public"));
    const access = await enter(requestOf(INITIALIZE), gate);
    expect(access.principal).toBeUndefined();
    expect(access.authInfo).toBeUndefined();
    await access.respond(new Response(null, { headers: { "mcp-session-id": "open" } }));
    await enter(requestOf(INITIALIZE, undefined, { "mcp-session-id": "open" }), gate);
    expect(await gate(await post("{}", { "mcp-session-id": "other" }))).toMatchObject({ status: 404 });
  });

  it("shows no token to handlers that was not in the header Authorization, and no resource without the option", async () => {
    const cookie = `token=${await tokenOf("reader", { expiresIn: null })}`;
    const cookies = serverWith([], { tokenSources: [{ cookie: "token" }] });
    const { authInfo } = await enter(requestOf(ALLOWED, undefined, { cookie }), protectMcp(cookies));
    expect(authInfo).toMatchObject({ token: "", scopes: ["docs:read"] });
    expect(authInfo?.resource).toBeUndefined();
  });

  it("reads a body of many chunks, and gives up when they are too large or take too long together", async () => {
    const pieces = [...Buffer.from(JSON.stringify(ALLOWED))].map((byte) => Uint8Array.of(byte));
    expect((await enter(await post(ReadableStream.from(pieces)))).parsedBody).toEqual(ALLOWED);
    // Each chunk arrives at once: only the sum of all takes too long.
    const endless = () => new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1)) });
    const hasty = protectMcp(server, { bodyTimeoutMs: 5, maxBodyBytes: 1_000_000_000 });
    expect(await hasty(await post(endless()))).toMatchObject({ status: 408 });
    const small = protectMcp(server, { maxBodyBytes: 5 });
    expect(await small(await post(endless()))).toMatchObject({ status: 413 });
    const failing = new ReadableStream({ pull: () => Promise.reject(new Error("reset")) });
    expect(await protectMcp(server)(await post(failing))).toMatchObject({ status: 408 });
  });

  it("logs its own responses, without the query", async () => {
    const logged = vi.spyOn(pipelineOf(server).observer, "logResponse");
    const gate = protectMcp(server);
    await gate(await post("{"));
    await gate(await post("{}", { "content-type": "text/plain" }));
    await gate(await post("{}", { "mcp-session-id": "unknown" }));
    expect(logged.mock.calls.map(([words]) => words.slice(0, 4))).toEqual(["400:", "415:", "404:"]);
    expect(logged.mock.calls[0]?.[1]).toMatchObject({ method: "POST", target: "/mcp" });
  });

  it("refuses an empty body, which is not JSON", async () => {
    expect(await protectMcp(server)(await post(null))).toMatchObject({ status: 400 });
  });

  it("throws if something in front has read the body, and keeps no value of it", async () => {
    const request = await post(ALLOWED);
    await request.text();
    await expect(protectMcp(server)(request)).rejects.toThrow("Put protectMcp before");
  });
});

describe("withMcp", () => {
  it("throws without a handler", () => {
    expect(() => withMcp(server, undefined as never)).toThrow("takes a handler");
  });

  it("passes access before the arguments of the framework, and returns refusals without the handler", async () => {
    const handler = vi.fn((..._given: readonly unknown[]) => Response.json({}));
    const fetch = withMcp(server, handler);
    const request = await post(ALLOWED);
    expect((await fetch(request, "environment", "context")).status).toBe(200);
    expect(handler).toHaveBeenCalledOnce();
    const [readable, access, ...others] = handler.mock.calls[0] as [
      Request & { auth: unknown },
      McpAccess,
      ...unknown[],
    ];
    expect(access).toMatchObject({ parsedBody: ALLOWED });
    expect(others).toEqual(["environment", "context"]);
    // Handlers that know only the request find the body and the caller in it.
    expect(await readable.clone().json()).toEqual(ALLOWED);
    expect(await readable.json()).toEqual(ALLOWED);
    expect(readable.auth).toBe(access.authInfo);
    expect(principalOf(readable)).toBe(access.principal);
    expect((await fetch(await post(FORBIDDEN))).status).toBe(403);
    expect((await fetch(requestOf("{}"))).status).toBe(401);
    expect(handler).toHaveBeenCalledOnce();
  });
});

describe("protectMcp for the hostile requests that need no network", () => {
  const kinds = ["names and arguments", "JSON", "batches", "headers"].map(
    (kind) => [kind, CORPUS[kind] ?? []] as const,
  );
  it.each(kinds)("refuses hostile %s, or passes on what calls no tool", async (_, cases) => {
    const gate = protectMcp(server, { maxBodyBytes: 1_048_576 });
    for (const { name, status, body, sender = "runner", headers: given = {} } of cases) {
      const headers = new Headers({ authorization: `Bearer ${await tokenOf(sender as User)}` });
      const fields: NonNullable<Raw["headers"]> = { "content-type": "application/json", ...given };
      for (const [field, values] of Object.entries(fields))
        for (const value of values === undefined ? [] : [values].flat()) headers.append(field, value);
      const access = await gate(new Request(RESOURCE, { method: "POST", headers, body: body as string }));
      // The official SDK would answer what passes.
      expect(status, `${name} ${String(body).slice(0, 300)}`).toContain(
        access instanceof Response ? access.status : 202,
      );
    }
  });
});

describe("protectMcp before Hono's own code", () => {
  const app = new Hono<{ Variables: { parsedBody: unknown } }>();
  app.use(async (c, next) => {
    if (c.req.header("x-parsed") !== undefined) c.set("parsedBody", await c.req.json());
    await next();
  });
  app.use(protectMcp(server));
  app.post("/mcp", async (c) =>
    c.json(c.req.header("x-parsed") === undefined ? await c.req.json() : c.get("parsedBody")),
  );

  it("keeps the body readable", async () => {
    const response = await app.request(await post(ALLOWED));
    expect(await response.json()).toEqual(ALLOWED);
  });

  it("checks a body that a parser in front has read", async () => {
    const parsed = { "x-parsed": "1" };
    const response = await app.request(await post(ALLOWED, parsed));
    expect(await response.json()).toEqual(ALLOWED);
    expect((await app.request(await post(FORBIDDEN, parsed))).status).toBe(403);
    for (const body of ["[]", "5", "null"])
      expect((await app.request(await post(body, parsed))).status).toBe(400);
    // The shape of an answer of this library.
    const forged = JSON.stringify({ kind: "invalid", status: 200, code: 0, message: "x" });
    expect((await app.request(await post(forged, parsed))).status).toBe(400);
  });
});
