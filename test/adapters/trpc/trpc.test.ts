import { createTRPCClient, httpBatchLink, httpBatchStreamLink, httpLink } from "@trpc/client";
import { initTRPC } from "@trpc/server";
import { createHTTPHandler } from "@trpc/server/adapters/standalone";
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import type { Decision, ScopeMappings } from "scopegate";
import * as forNode from "scopegate/node";
import * as trpc from "scopegate/trpc";
import { ask } from "../../support/http.ts";
import { createIssuer } from "../../support/issuer.ts";
import { createResourceServer } from "../../support/server.ts";
import { type Host, HOSTS, listenBehindNode, ran, type Router, type Served, startHost } from "./hosts.ts";

const issuer = createIssuer();
const decisions: Decision[] = [];
const serverFor = (scopeMappings: ScopeMappings) =>
  createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [issuer.publicPem],
    scopeMappings,
    onDecision: (decision) => void decisions.push(decision),
  });

/** One rule for each procedure, none for a batch, and none for `save` with GET. */
const TABLE: ScopeMappings = {
  "* /trpc/list": ["list:use"],
  "GET /trpc/open": "public",
  "* /trpc/adminSecret": ["admin:use"],
  "POST /trpc/save": ["save:use"],
  "POST /trpc/adminDelete": ["admin:use"],
  "* /trpc/user.list": ["users:read"],
  "POST /trpc/user.remove": ["users:write"],
  "GET /trpc/ticks": ["ticks:read"],
};

const ALL = ["list:use", "save:use", "users:read", "users:write", "ticks:read"];
const tokenOf = (scopes: readonly string[]) => issuer.token({ sub: "ann", scopes });

describe.each(HOSTS)("scopegate/trpc on %s", (name) => {
  let host: Host;
  let url: string;
  const server = serverFor(TABLE);
  beforeAll(async () => {
    host = await startHost(name, { server, createContext: trpc.protect(server, { prefix: "/trpc" }) });
    url = `http://127.0.0.1:${host.port}/trpc`;
  });
  afterAll(() => host.close());
  beforeEach(() => {
    ran.length = 0;
    decisions.length = 0;
  });

  const links = { httpBatchLink, httpBatchStreamLink, httpLink };
  const clientOf = async (link: keyof typeof links, scopes: readonly string[], options: object = {}) => {
    const headers = { authorization: `Bearer ${await tokenOf(scopes)}` };
    return createTRPCClient<Router>({ links: [links[link]({ url, headers, ...options })] });
  };

  describe.each(["httpBatchLink", "httpBatchStreamLink", "httpLink"] as const)("with %s", (link) => {
    it("runs procedures whose rules the caller satisfies, and passes them the principal", async () => {
      const client = await clientOf(link, ALL);
      expect(await Promise.all([client.list.query(), client.user.list.query()])).toEqual(["ann", "ann"]);
      const changes = [client.save.mutate(), client.user.remove.mutate()];
      expect(await Promise.all(changes)).toEqual(["save done", "user.remove done"]);
    });

    it("runs queries that are sent as POST, by the rules for POST", async () => {
      const client = await clientOf(link, ALL, { methodOverride: "POST" });
      expect(await Promise.all([client.list.query(), client.user.list.query()])).toEqual(["ann", "ann"]);
      expect(decisions.at(-1)?.rules.map(({ key }) => key)).toContain("* /trpc/user.list");
    });

    it("refuses a procedure whose rule the caller does not satisfy", async () => {
      const client = await clientOf(link, ALL);
      await expect(client.adminDelete.mutate()).rejects.toThrow();
      await expect(client.adminSecret.query()).rejects.toThrow();
      expect(ran).toEqual([]);
    });
  });

  it("runs no procedure of a batch if one of them is refused", async () => {
    const client = await clientOf("httpBatchLink", ALL);
    const results = await Promise.allSettled([client.save.mutate(), client.adminDelete.mutate()]);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(ran).toEqual([]);
  });

  it("guards a subscription over server-sent events", async () => {
    const listen = (token: string) =>
      ask(host.port, { path: "/trpc/ticks", token, headers: [["accept", "text/event-stream"]] });
    expect((await listen(await tokenOf(ALL))).text).toMatch(/data: 1\n[^]*data: 2\n/);
    expect(ran).toEqual(["ticks"]);
    expect((await listen(await tokenOf(["list:use"]))).status).toBe(403);
    expect(ran).toEqual(["ticks"]);
  });

  it("runs public procedures without a token, and refuses a whole batch that needs one", async () => {
    expect((await ask(host.port, { path: "/trpc/open,open?batch=1" })).body).toEqual([
      { result: { data: "nobody" } },
      { result: { data: "nobody" } },
    ]);
    expect((await ask(host.port, { path: "/trpc/open,list?batch=1" })).status).toBe(401);
    const token = await tokenOf(ALL);
    const both = await ask(host.port, { path: "/trpc/open,list?batch=1", token });
    expect(both.body).toEqual([{ result: { data: "ann" } }, { result: { data: "ann" } }]);
  });

  it("runs a batch of hundreds of calls with one decision", async () => {
    const path = `/trpc/${"list,user.list,".repeat(200)}list?batch=1`;
    const answer = await ask(host.port, { path, token: await tokenOf(ALL) });
    expect(answer.status).toBe(200);
    expect(ran).toHaveLength(401);
    expect(decisions).toHaveLength(1);
  });
});

describe.each(HOSTS)("procedures on %s that a path with another rule reaches", (name) => {
  const attacks = ["/blog/adminSecret", "/trpc/x/adminSecret", "/trpc/x/adminSecret,open?batch=1"];
  const server = serverFor({ ...TABLE, "GET /blog/:page": "public", "GET /trpc/x/:page": "public" });
  const reach = async (createContext: Served["createContext"]) => {
    const host = await startHost(name, { server, createContext });
    const token = await tokenOf(["list:use"]);
    const answers = [];
    for (const path of attacks)
      answers.push(await ask(host.port, { path }), await ask(host.port, { path, token }));
    await host.close();
    return answers;
  };

  it("run without scopegate/trpc, but not with it", async () => {
    ran.length = 0;
    await reach(() => ({}));
    // Fastify, Hono and Next.js read only the paths of the route.
    const isStrict = ["fastify", "hono", "next"].includes(name);
    expect(ran.includes("adminSecret")).toBe(!isStrict);
    ran.length = 0;
    const answers = await reach(trpc.protect(server, { prefix: "/trpc" }));
    expect(ran).toEqual([]);
    for (const { status, headers, body } of answers.filter((one) => [401, 403].includes(one.status))) {
      expect(headers["www-authenticate"]).toMatch(/^Bearer/);
      const code = status === 401 ? "UNAUTHORIZED" : "FORBIDDEN";
      expect([body].flat()[0]).toMatchObject({ error: { data: { code, httpStatus: status } } });
    }
    expect(answers.map(({ status }) => status)).toContain(isStrict ? 404 : 403);
  });
});

describe("protect of scopegate/trpc", () => {
  const server = serverFor(TABLE);

  it("throws for a request that no guard of the same server has decided", async () => {
    const createContext = trpc.protect(serverFor(TABLE), { prefix: "/trpc" });
    for (const name of HOSTS) {
      ran.length = 0;
      const host = await startHost(name, { server, createContext });
      const answer = await ask(host.port, { path: "/trpc/open" });
      expect([answer.status, ran]).toEqual([500, []]);
      expect(answer.text).toContain("No guard of this resource server has decided the request.");
      await host.close();
    }
  });

  it("throws if tRPC does not report which procedures it runs, as for WebSockets", () => {
    const createContext = trpc.protect(server, { prefix: "/trpc" });
    for (const info of [undefined, {}, { calls: [] }])
      expect(() => createContext({ req: { headers: {} }, info } as never)).toThrow(/WebSockets/);
  });
});

it("refuses a procedure without a rule, also in a request with an unknown method", async () => {
  const server = serverFor({ "GET /blog/:page": "public" });
  const createContext = trpc.protect(server, { prefix: "/trpc" });
  const request = { method: "GET", url: "/blog/save", headers: {} };
  const response = {
    headersSent: false,
    statusCode: 200,
    setHeader: vi.fn(),
    appendHeader: vi.fn(),
    end: vi.fn(),
  };
  expect(await forNode.protect(server)(request, response)).toBe(true);
  const call = { req: { ...request, method: undefined }, res: response, info: { calls: [{ path: "save" }] } };
  expect(() => createContext(call)).toThrow("No rule allows access to this operation.");
  expect(() => createContext(call)).toThrow(
    expect.objectContaining({ name: "TRPCError", code: "FORBIDDEN" }),
  );
  expect(response.appendHeader).not.toHaveBeenCalled();
});

describe("a router with another path separator", () => {
  it("uses the rules for its paths, also if a client writes dots", async () => {
    const server = serverFor({ "* /trpc/:path": [], "POST /trpc/user~remove": ["users:write"] });
    const t = initTRPC.context<trpc.TrpcContext>().create({ pathSeparator: "~" });
    const procedure = t.procedure.mutation(({ path }) => void ran.push(path));
    const handle = createHTTPHandler({
      router: t.router({ save: procedure, user: { remove: procedure } }),
      basePath: "/trpc/",
      createContext: trpc.protect(server, { prefix: "/trpc", pathSeparator: "~" }),
    });
    const host = await listenBehindNode(server, handle);
    ran.length = 0;
    const call = async (path: string, scopes: readonly string[]) =>
      (await ask(host.port, { method: "POST", path, token: await tokenOf(scopes), body: {} })).status;
    for (const path of ["user~remove", "user.remove", "save,user.remove?batch=1", "save,user~remove?batch=1"])
      expect(await call(`/trpc/${path}`, ["other:use"]), path).toBe(403);
    expect(ran).toEqual([]);
    expect(await call("/trpc/save,user~remove?batch=1", ["users:write"])).toBe(200);
    expect(ran).toEqual(["save", "user.remove"]);
    await host.close();
  });
});
