/** The guard of one framework in another framework, and `protect` that was not called: every request fails. */
import type { RequestListener } from "node:http";
import { initTRPC } from "@trpc/server";
import { createExpressMiddleware } from "@trpc/server/adapters/express";
import express from "express";
import fastify from "fastify";
import Koa from "koa";
import { describe, expect, it, vi } from "vitest";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import * as forFetch from "scopegate/fetch";
import * as forHono from "scopegate/hono";
import * as forKoa from "scopegate/koa";
import * as forNode from "scopegate/node";
import { askWith, FASTIFY_VERSIONS, koaListener, serve, serverFor } from "../support/frameworks.ts";

const server = serverFor({ "GET /open": "public" });
const adapters = { express: forExpress, koa: forKoa, fastify: forFastify, fetch: forFetch, node: forNode };
const others = (own: keyof typeof adapters) =>
  Object.entries(adapters).filter(([name]) => name !== own) as unknown as [
    string,
    { readonly protect: (server: unknown) => never },
  ][];

async function answerOf(listener: RequestListener) {
  const { status, text } = await askWith(await serve(listener), "/open");
  return { status, text };
}

const statusOf = async (listener: RequestListener) => (await answerOf(listener)).status;

async function inExpress(middleware: never) {
  const faults: string[] = [];
  const onFault: express.ErrorRequestHandler = (error, _request, response, _next) => {
    faults.push(String(error));
    response.status(500).end();
  };
  const app = express().use(middleware);
  app.get("/open", (_request, response) => void response.end("ran")).use(onFault);
  return { status: await statusOf(app), faults: faults.join() };
}

async function inKoa(middleware: never) {
  const faults: string[] = [];
  const app = new Koa().use(middleware);
  app.on("error", (error) => faults.push(String(error)));
  return { status: await statusOf(koaListener(app)), faults: faults.join() };
}

describe("protect of another adapter", () => {
  const hosts = [
    ["Express", "express", inExpress],
    ["Koa", "koa", inKoa],
  ] as const;
  const cases = hosts.flatMap(([host, own, run]) =>
    others(own).map(([name, { protect }]) => [host, name, own, run, protect] as const),
  );

  it.each(cases)(
    "fails every request when %s calls the guard for %s",
    async (host, name, own, run, protect) => {
      const warn = vi.spyOn(process, "emitWarning").mockReturnValue(undefined);
      const { status, faults } = await run(protect(server));
      expect(status).toBe(500);
      expect(faults + JSON.stringify(warn.mock.calls).replaceAll(String.raw`\"`, '"')).toContain(
        `protect of "scopegate/${name}" was called by ${host}: import it from the adapter of that framework, "scopegate/${own}", and write app.use(protect(server)).`,
      );
    },
  );
});

describe.each(FASTIFY_VERSIONS)("%s", (_, create) => {
  it.each(others("fastify"))(
    "fails every request when the guard for %s is a hook",
    async (name, { protect }) => {
      const app = create();
      app.addHook("onRequest", protect(server)).get("/open", () => "ran");
      const answer = await app.inject("/open");
      expect(answer.statusCode).toBe(500);
      expect(answer.json<{ message: string }>().message).toBe(
        `protect of "scopegate/${name}" was called by Fastify: import it from the adapter of that framework, "scopegate/fastify", and write app.register(protect(server)).`,
      );
    },
  );

  it("fails at boot when the guard of another adapter is registered as a plugin", async () => {
    await expect(create().register(forNode.protect(server) as never)).rejects.toThrow('"scopegate/fastify"');
    for (const guard of [forExpress.protect(server), forKoa.protect(server)]) {
      expect(() => {
        void guard(create() as never, {} as never, () => undefined);
      }).toThrow('"scopegate/fastify"');
    }
  });

  it("fails every request when its plugin is added as a hook", async () => {
    const app = create();
    app.addHook("onRequest", forFastify.protect(server) as never).get("/open", () => "ran");
    const answer = await app.inject("/open");
    expect(answer.statusCode).toBe(500);
    expect(answer.json<{ message: string }>().message).toBe(
      'protect of "scopegate/fastify" was called by Fastify in the wrong place: write app.register(protect(server)).',
    );
  });

  it("fails at boot when protect is registered without being called", () => {
    expect(() => forFastify.protect(create() as never)).toThrow(
      "Fastify calls protect itself: write app.register(protect(server)), with the parentheses.",
    );
  });
});

describe("protect that was not called", () => {
  it("fails every request in Express and in Koa, with the line to write", async () => {
    const inOne = await inExpress(forExpress.protect as never);
    const inOther = await inKoa(forKoa.protect as never);
    expect([inOne.status, inOther.status]).toEqual([500, 500]);
    expect(inOne.faults).toContain("Express calls protect itself: write app.use(protect(server))");
    expect(inOther.faults).toContain("Koa calls protect itself: write app.use(protect(server))");
  });

  it("throws if a resource server is used as middleware", () => {
    expect(() => express().use(server as never)).toThrow(TypeError);
    expect(() => new Koa().use(server as never)).toThrow(TypeError);
  });
});

describe("a guard as createContext of tRPC", () => {
  it.each(Object.entries({ ...adapters, hono: forHono }) as never as ReturnType<typeof others>)(
    "fails every request, with the line to write: %s",
    async (name, { protect }) => {
      const t = initTRPC.create();
      const router = t.router({ open: t.procedure.query(() => "ran") });
      const inTrpc = async (createContext: never) =>
        answerOf(express().use(createExpressMiddleware({ router, createContext })));
      expect(await inTrpc(protect(server))).toMatchObject({
        status: 500,
        text: expect.stringContaining(
          `protect of \\"scopegate/${name}\\" was called by tRPC: import it from the adapter of that framework, \\"scopegate/trpc\\", and write createContext: protect(server, { prefix: \\"/trpc\\" }).`,
        ) as string,
      });
      expect((await inTrpc(protect as never)).text).toContain("tRPC calls protect itself");
    },
  );
});

describe("principalOf of another adapter", () => {
  /** The unguarded object of each framework that its handlers receive. */
  async function collect() {
    const received: Record<string, unknown> = { Fetch: new Request("http://127.0.0.1/open") };
    const receive = (name: string, value: unknown): string => {
      received[name] = value;
      return "";
    };
    await statusOf(express().use((request, response) => response.end(receive("Express", request))));
    await statusOf((request, response) => response.end(receive("Node.js", request)));
    const koa = new Koa().use((context) => {
      context.body = receive("Koa", context);
    });
    await statusOf(koaListener(koa));
    const app = fastify().get("/open", (request) => receive("Fastify", request));
    await app.inject("/open");
    return received;
  }

  const NAMES = {
    express: "Express",
    koa: "Koa",
    fastify: "Fastify",
    fetch: "Fetch",
    node: "Node.js",
  } as const;
  const pairs = Object.entries(NAMES).flatMap(([adapter, own]) =>
    Object.entries(NAMES).map(([right, name]) => [adapter, own, right, name] as const),
  ) as readonly (readonly [keyof typeof NAMES, string, keyof typeof NAMES, string])[];

  it.each(pairs)(
    "checks what it is given: %s (%s) given an object of %s (%s)",
    async (adapter, own, right, name) => {
      const { principalOf } = adapters[adapter];
      const received = await collect();
      const find = (): unknown => principalOf(received[name] as never);
      const isNode = (one: string): boolean => one === "express" || one === "node";
      if (adapter === right || (isNode(adapter) && isNode(right))) expect(find()).toBeUndefined();
      else {
        const subjectOf = (one: string): string => (one === "koa" ? "context" : "request");
        expect(find).toThrow(
          new TypeError(
            `principalOf of "scopegate/${adapter}" takes the ${subjectOf(adapter)} of ${own}. It received the ${subjectOf(right)} of ${name}: import it from "scopegate/${right}" and write principalOf(${subjectOf(right)}).`,
          ),
        );
      }
    },
  );

  it.each([undefined, null, {}, "request", 7, { raw: {} }, { req: {} }, { req: undefined }])(
    "fails for %j in every adapter",
    (value) => {
      for (const { principalOf } of Object.values(adapters))
        expect(() => principalOf(value as never)).toThrow(/takes the \w+ of .*Write principalOf\(/);
    },
  );

  it("throws with the value to pass for the options of tRPC's createContext", () => {
    const options = { req: {}, res: {}, info: { calls: [] } };
    expect(() => forExpress.principalOf(options as never)).toThrow(
      "Write principalOf(request) in a handler.",
    );
  });

  it("fails for a Fastify instance", () => {
    expect(() => forFastify.principalOf(fastify() as never)).toThrow(
      'principalOf of "scopegate/fastify" takes the request of Fastify. Write principalOf(request) in a handler.',
    );
  });
});
