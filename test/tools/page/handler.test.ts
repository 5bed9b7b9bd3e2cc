/** The handler of the page, behind the guard of each host on a real port. */
import express5 from "express";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ResourceServer } from "scopegate";
import { routesOf } from "scopegate/audit";
import * as forExpress from "scopegate/express";
import * as forFetch from "scopegate/fetch";
import { page, pageHandler } from "scopegate/page";
import { closeAll, hostsOf, start } from "../../support/handler-hosts.ts";
import { ask } from "../../support/http.ts";
import { createServer as createResourceServer, issuer, NOW } from "../../support/resource-servers.ts";
import { partsOf } from "./page-text.ts";

const PATH = "/policy";
const server = createResourceServer({ scopeMappings: { [`GET ${PATH}`]: ["policy:read"] } });
const unmapped = createResourceServer();

afterAll(closeAll);

const HOSTS = hostsOf(PATH);

const tokenWith = (scopes: readonly string[]) =>
  issuer.token({ sub: "u1", aud: "agents-prod", exp: NOW + 60, scopes });

describe.each(Object.entries(HOSTS))("the handler in %s", (_, open) => {
  let port = 0;
  beforeAll(async () => {
    port = await open(pageHandler(server, { title: "Agents" }), server);
  });

  it("serves the page to callers with the scopes of its rule", async () => {
    const token = await tokenWith(["policy:read"]);
    const { status, text, headers } = await ask(port, { path: PATH, token });
    expect(status).toBe(200);
    expect(text).toBe(page(server, { title: "Agents" }));
    expect(headers).toMatchObject({
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": `${partsOf(text).csp}; frame-ancestors 'none'`,
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
      "referrer-policy": "no-referrer",
    });
    expect(await ask(port, { path: PATH, token, method: "HEAD" })).toMatchObject({ status: 200, text: "" });
  });

  it("requires what its rule in the table requires", async () => {
    expect((await ask(port, { path: PATH })).status).toBe(401);
    expect((await ask(port, { path: PATH, token: await tokenWith(["policy:write"]) })).status).toBe(403);
    const other = await open(pageHandler(unmapped), unmapped);
    const token = await tokenWith(["policy:read"]);
    const { status, body } = await ask(other, { path: PATH, token });
    expect({ status, body }).toMatchObject({ status: 403, body: { code: "route_unmapped" } });
  });

  it("does not respond without a guard before it", async () => {
    const alone = await open(pageHandler(server));
    const { status, text } = await ask(alone, { path: PATH, token: await tokenWith(["policy:read"]) });
    expect(status).toBe(500);
    expect(text).not.toContain("policy:read");
  });
});

describe("pageHandler", () => {
  it("reads the routes at the first request, when all of them are registered", async () => {
    const app = express5().use(forExpress.protect(server));
    app.get(PATH, pageHandler(server, { routes: () => routesOf(app) }));
    app.get("/later", (_, response) => void response.end());
    const { text } = await ask(await start(app), { path: PATH, token: await tokenWith(["policy:read"]) });
    expect(partsOf(text).data.audit).toMatch(/^2 routes, 1 with a rule/);
  });

  it("does not respond to callers without a token, wherever it is mounted", async () => {
    const open = createResourceServer({ scopeMappings: { "GET /open/*rest": "public" } });
    const app = express5().use(forExpress.protect(open));
    app.use("/open", pageHandler(open));
    const answerFault: express5.ErrorRequestHandler = (_error, _request, response, _next) =>
      void response.status(500).end();
    app.use(answerFault);
    const { status, text } = await ask(await start(app), { path: "/open/x" });
    expect({ status, text }).toEqual({ status: 500, text: "" });
  });

  it("rejects a call without a request, and anything but a resource server", () => {
    const handler = pageHandler(server) as (first: unknown, second: unknown) => unknown;
    // The second is what the createContext of tRPC receives.
    for (const request of [{}, { req: {}, info: {} }])
      expect(() => handler(request, {})).toThrow("pageHandler needs protect(server) before it");
    expect(() => pageHandler({} as ResourceServer)).toThrow(/^pageHandler takes the resource server itself/);
  });

  it("returns a response of the Fetch standard, not a promise, as its type says", async () => {
    const request = new Request(`https://agents.example${PATH}`, {
      headers: { authorization: `Bearer ${await tokenWith(["policy:read"])}` },
    });
    const handler = pageHandler(server);
    const respond = forFetch.withScopes(server, (guarded) => {
      const response = handler(guarded);
      return new Response(null, { status: response.status + 1 });
    });
    expect((await respond(request)).status).toBe(201);
  });
});
