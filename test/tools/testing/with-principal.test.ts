/** Handlers that run without an application, each with the request or context of its framework. */
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import express from "express";
import Fastify from "fastify";
import { Hono } from "hono";
import Koa from "koa";
import { describe, expect, it } from "vitest";
import type { Principal } from "scopegate";
import * as ofExpress from "scopegate/express";
import * as ofFastify from "scopegate/fastify";
import * as ofFetch from "scopegate/fetch";
import * as ofHono from "scopegate/hono";
import * as ofKoa from "scopegate/koa";
import * as ofMcp from "scopegate/mcp";
import * as ofNest from "scopegate/nest";
import * as ofNode from "scopegate/node";
import * as ofSocketIo from "scopegate/socketio";
import { withPrincipal } from "scopegate/testing";

const CALLER = { userId: "user-7", sessionId: "s-1", scopes: ["agents:read"], claims: { org: "o1" } };
const isCaller = expect.objectContaining({ ...CALLER, audience: [] }) as Principal;

const nodeRequest = (): IncomingMessage => Object.assign(new IncomingMessage(new Socket()), { url: "/" });

async function honoContext(): Promise<object> {
  const app = new Hono();
  return new Promise((resolve) => {
    app.get("/", (context) => (resolve(context), context.text("")));
    void app.request("/");
  });
}

async function fastifyRequest(): Promise<object> {
  const app = Fastify();
  const request = new Promise<object>((resolve) => {
    app.get("/", (received) => (resolve(received), {}));
  });
  await app.inject("/");
  return request;
}

const koaContext = () => {
  const request = nodeRequest();
  return new Koa().createContext(request, new ServerResponse(request));
};
const expressRequest = () => Object.setPrototypeOf(nodeRequest(), express.request) as object;

type PrincipalOf = (target: never) => Principal | undefined;
const HOSTS: readonly (readonly [string, PrincipalOf, () => object | Promise<object>])[] = [
  ["a request of Node.js", ofNode.principalOf, nodeRequest],
  ["a request of Express", ofExpress.principalOf, expressRequest],
  ["a plain object for Express", ofExpress.principalOf, () => ({ params: { id: "1" } })],
  ["a context of Koa", ofKoa.principalOf, koaContext],
  ["a plain object for Koa", ofKoa.principalOf, () => ({ req: {}, params: {} })],
  ["a request of Fastify", ofFastify.principalOf, fastifyRequest],
  ["a plain object for Fastify", ofFastify.principalOf, () => ({ raw: {}, params: {} })],
  ["a context of Hono", ofHono.principalOf, honoContext],
  ["a plain object for Hono", ofHono.principalOf, () => ({ req: {} })],
  ["a request of the Fetch standard", ofFetch.principalOf, () => new Request("http://a.example/")],
  ["a request of NestJS on Express", ofNest.principalOf, expressRequest],
  ["a request of NestJS on Fastify", ofNest.principalOf, fastifyRequest],
  ["a socket of Socket.IO", ofSocketIo.principalOf, () => ({ nsp: { name: "/" } })],
  ["the argument of MCP, version 1", ofMcp.principalOf, () => ({ requestId: 1 })],
  ["the `authInfo` of MCP, version 1", ofMcp.principalOf, () => ({ authInfo: undefined })],
  ["the argument of MCP, version 2", ofMcp.principalOf, () => ({ mcpReq: {} })],
  ["the `http` of MCP, version 2", ofMcp.principalOf, () => ({ http: { req: {} } })],
  [
    "a context of tRPC",
    (context: { readonly principal?: Principal }) => context.principal,
    () => ({ principal: undefined, db: {} }),
  ],
];

describe("withPrincipal", () => {
  it.each(HOSTS)("makes principalOf return the caller of %s", async (_, principalOf, create) => {
    const target = await create();
    expect(withPrincipal(target, CALLER)).toBe(target);
    const principal = principalOf(target as never);
    expect(principal).toEqual(isCaller);
    expect([principal?.has("agents:read"), principal?.has("agents:write")]).toEqual([true, false]);
    expect(Object.isFrozen(principal)).toBe(true);
  });

  it("replaces the caller of a request that has one", () => {
    const request = {};
    withPrincipal(request, { userId: "one" });
    expect(ofExpress.principalOf(withPrincipal(request, { userId: "two" }))?.userId).toBe("two");
  });

  it("creates a caller without scopes, sessions and claims by default", () => {
    const principal = ofExpress.principalOf(withPrincipal({}, {}));
    expect(principal).toMatchObject({ userId: "user-1", scopes: [], claims: {} });
    expect(principal).not.toHaveProperty("sessionId");
  });

  it("lets requireScopes decide by the scopes of the caller", () => {
    const request = withPrincipal(new Request("http://a.example/"), CALLER);
    expect(ofFetch.requireScopes("agents:read")(request)).toBeUndefined();
    expect(ofFetch.requireScopes("agents:write")(request)?.status).toBe(403);
  });

  it("shows the caller to mayCall of MCP, whose table has no operations", () => {
    const principal = ofMcp.principalOf(withPrincipal({ authInfo: {} }, CALLER));
    expect(principal && ofMcp.mayCall(principal, "tools/call", "search")).toBe(false);
  });

  it("rejects a target that is not an object, an unknown option, and scopes that grant nothing", () => {
    expect(() => withPrincipal("request" as never, CALLER)).toThrow("isn't an object");
    expect(() => withPrincipal({}, { user: "one" } as never)).toThrow("user");
    expect(() => withPrincipal({}, { scopes: ["agents:<id>:read"] })).toThrow("grants nothing");
  });
});
