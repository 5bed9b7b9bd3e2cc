/** Parsers and guards around `protectMcp`, and wrong arguments. */
import { NodeStreamableHTTPServerTransport as Transport2, toNodeHandler } from "@modelcontextprotocol/node";
import { StreamableHTTPServerTransport as Transport1 } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpHandler } from "@modelcontextprotocol/server";
import express from "express";
import fastify from "fastify";
import Koa from "koa";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect, createServer as createServer2 } from "node:http2";
import type { AddressInfo } from "node:net";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { protect } from "scopegate/express";
import { protectMcp, withMcp } from "scopegate/mcp";
import { memoryStore } from "scopegate/store";
import { accessMatrix } from "scopegate/testing";
import { serve } from "../../support/frameworks.ts";
import { ask, askMcp } from "../../support/http.ts";
import { pipelineOf } from "../../../src/core/port.ts";
import { requestOf, server } from "./support/memory.ts";
import { createMcp, createMcpResourceServer, issuer, type Line, tokenOf } from "./support/tools.ts";
import { withPollution } from "../../support/polluted-prototype.ts";

/** Calls `run_agent` behind these handlers, as the runner, and returns what the route received. */
async function call(app: ReturnType<typeof express>, agent_id: unknown) {
  app.post("/mcp", (request, response) => response.json(request.body));
  const params = { name: "run_agent", arguments: { agent_id } };
  return askMcp(await serve(app), "tools/call", params, await tokenOf("runner"));
}

describe("protectMcp", () => {
  it.each([
    ["text", express.text({ type: "*/*" })],
    ["bytes", express.raw({ type: "*/*" })],
    ["JSON", express.json()],
  ])("decides a body that a parser in front has kept as %s", async (_, parser) => {
    const allowed = await call(express().use(parser, protectMcp(server)), "web");
    expect(allowed).toMatchObject({ status: 200, body: { method: "tools/call" } });
    expect((await call(express().use(parser, protectMcp(server)), "api")).status).toBe(403);
  });

  type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;
  const connectTransport =
    (Transport: typeof Transport1 | typeof Transport2, line: Line): Listener =>
    async (request, response) => {
      const transport = new Transport({ enableJsonResponse: true });
      await createMcp(line).connect(transport as never);
      await transport.handleRequest(request, response);
    };
  const READING_HANDLERS = {
    "the transport of SDK 1": connectTransport(Transport1, 1),
    "the transport of SDK 2": connectTransport(Transport2, 2),
    "the handler of SDK 2": toNodeHandler(createMcpHandler(() => createMcp(2) as never)) as Listener,
  } as const;

  /** Calls a handler that no one passes the body to, behind the gate on a host. */
  async function callReading(host: "Express" | "Koa" | "Fastify" | "plain Node", handle: Listener) {
    const mcpServer = createMcpResourceServer();
    const logged = vi.spyOn(pipelineOf(mcpServer).observer, "logResponse");
    const gate = protectMcp(mcpServer);
    const hosts = {
      Express: () => express().use(gate, (request, response) => void handle(request, response)),
      Koa: () => {
        const app = new Koa();
        app.use(gate).use((context) => {
          context.respond = false;
          return handle(context.req, context.res);
        });
        return app.callback();
      },
      Fastify: async () => {
        const app = fastify();
        app.register(gate);
        app.register((routes, _options, done) => {
          routes.post("/mcp", (request, reply) => {
            reply.hijack();
            return handle(request.raw, reply.raw);
          });
          done();
        });
        await app.ready();
        return (request: IncomingMessage, response: ServerResponse) => app.routing(request, response);
      },
      "plain Node": () => (request: IncomingMessage, response: ServerResponse) =>
        gate(request as never, response, () => void handle(request, response)),
    };
    const port = await serve(await hosts[host]());
    const { status, body } = await askMcp(port, "tools/call", { name: "search" }, await tokenOf("reader"));
    return { status, body, logged: logged.mock.calls.map(([line]) => line) };
  }

  it.each(
    (["Express", "Koa", "Fastify", "plain Node"] as const).flatMap((host) =>
      (["the transport of SDK 1", "the transport of SDK 2"] as const).map((name) => [name, host] as const),
    ),
  )("keeps the body for %s, which reads it by itself, on %s", async (name, host) => {
    const { status, body, logged } = await callReading(host, READING_HANDLERS[name]);
    expect({ status, body, logged }).toMatchObject({ status: 200, body: { id: 1, result: {} }, logged: [] });
  });

  it("explains in the log how to pass the body to a handler that can't read it again", async () => {
    const handle = READING_HANDLERS["the handler of SDK 2"];
    const { status, body, logged } = await callReading("Express", handle);
    expect({ status, body }).toMatchObject({ status: 400, body: { error: { code: -32700 } } });
    expect(logged).toEqual([expect.stringContaining("req.body")]);
  });

  it("fails a request whose body something in front has read and not kept", async () => {
    const app = express().use((request, _response, next) => void request.resume().on("end", next));
    const onFault: express.ErrorRequestHandler = (fault: Error, _request, response, _next) =>
      void response.status(500).json(fault.message);
    const { status, text } = await call(app.use(protectMcp(server), onFault), "web");
    expect([status, text]).toEqual([500, expect.stringContaining("Put protectMcp before")]);
  });

  it("warns of no body parser if another guard is before it", async () => {
    const emitWarning = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const app = express().use("/mcp", protectMcp(server)).use(protect(server));
    expect((await call(app, "web")).status).toBe(200);
    expect(emitWarning).not.toHaveBeenCalled();
  });

  it("returns 400 for an argument that is not a string, and blames the request, not its path", async () => {
    const { status, text } = await call(express().use(protectMcp(server)), ["web"]);
    expect(status).toBe(400);
    expect(text).toContain("The request can be read in more than one way.");
  });

  it("names itself and not protect when a framework calls it in the wrong way", () => {
    const next = () => undefined;
    const express = { headers: {}, originalUrl: "/" };
    const uncalled = () => protectMcp(...([express, {}, next] as unknown as [never]));
    expect(uncalled).toThrow("Express calls protectMcp itself: write app.use(protectMcp(server)), with");
    const fetched = () => protectMcp(new Request("http://a/mcp") as never);
    expect(fetched).toThrow(/write protectMcp\(createResourceServer\(\{ \.\.\. \}\)\)\.$/);
    const node = { headers: {}, rawHeaders: [] };
    const calls: readonly (readonly unknown[])[] = [
      [node, {}],
      [express, {}],
      [{ req: {}, info: {} }],
      [{}],
      [],
    ];
    for (const given of calls)
      expect(() => protectMcp(server)(...(given as [never]))).toThrow(
        /^protectMcp was called in the wrong place/,
      );
  });

  it("reads certificates in Express, and throws for the Fetch standard, which has none", async () => {
    const senderConstraint = { mtls: { from: "socket" as const } };
    const binding = createMcpResourceServer(undefined, {}, { senderConstraint });
    expect(await call(express().use(protectMcp(binding)), "web")).toMatchObject({ status: 200 });
    await expect(protectMcp(binding)(requestOf())).rejects.toThrow("has no socket");
    expect(() => withMcp(binding, () => new Response())).toThrow("has no socket");
  });
});

describe("a body that headers do not announce", () => {
  const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "search" } });

  it("causes a refusal with DELETE, in a request of the Fetch standard, also if it does not end", async () => {
    const gate = protectMcp(server, { bodyTimeoutMs: 20 });
    const send = async (body?: string | object) =>
      gate(requestOf(body, await tokenOf("nobody"), {}, "DELETE"));
    for (const body of [message, new ReadableStream()])
      expect(await send(body)).toMatchObject({ status: 400 });
    expect(await send()).not.toBeInstanceOf(Response);
  });

  it("causes a refusal with OPTIONS, over HTTP/2", async () => {
    const callback = new Koa()
      .use(protectMcp(server))
      .use((context) => {
        context.body = "ran";
      })
      .callback();
    const http2 = createServer2((request, response) => void callback(request, response));
    http2.listen(0, "127.0.0.1");
    await once(http2, "listening");
    const client = connect(`http://127.0.0.1:${(http2.address() as AddressInfo).port}`);
    onTestFinished(async () => {
      client.close();
      http2.close();
      await once(http2, "close");
    });
    const authorization = `Bearer ${await tokenOf("nobody")}`;
    const send = async (body?: string) => {
      const headers = { ":method": "OPTIONS", ":path": "/mcp", authorization };
      const stream = client.request(headers, { endStream: body === undefined });
      if (body !== undefined) stream.end(body);
      const [answer] = (await once(stream, "response")) as [{ ":status": number }];
      stream.close();
      return answer[":status"];
    };
    expect(await send(message)).toBe(400);
    expect(await send()).toBe(200);
  });
});

it("adds no body to a request from a polluted prototype", async () => {
  const polluted = { parsed: { jsonrpc: "2.0", id: 1, method: "ping" } };
  const { status } = await withPollution(polluted, () => call(express().use(protectMcp(server)), "api"));
  expect(status).toBe(403);
});

describe("an edited response", () => {
  it("sends it once, although the list of tasks waits for a store, and the handler ends again", async () => {
    const store = memoryStore();
    const scopeMappings = { "* /mcp": [], "MCP tasks/list": [] };
    const app = express().use(protectMcp(createMcpResourceServer(scopeMappings), { store }));
    const ended: boolean[] = [];
    app.post("/mcp", (_request, response) => {
      const result = { tasks: [{ taskId: "one" }] };
      response.type("json").end(JSON.stringify({ jsonrpc: "2.0", id: 1, result }));
      ended.push(response.writableEnded);
      response.write("late");
      response.end("late");
    });
    const answer = await askMcp(await serve(app), "tasks/list", {}, await issuer.token());
    expect(answer).toMatchObject({ status: 200, body: { result: { tasks: [] } } });
    expect(ended).toEqual([true]);
  });
});

describe("a response that cannot be edited", () => {
  const SSE = { "content-type": "text/event-stream" };
  const JSON_TYPE = { "content-type": "application/json" };
  const GZIP = { "content-encoding": "gzip" };

  it.each<[headers: Readonly<Record<string, string>>, written: string | Buffer, sent: string]>([
    [{ "content-type": "text/plain" }, "Use POST", "Use POST"],
    [{ ...SSE, ...GZIP }, Buffer.from([31, 139, 8]), ""],
    [{ ...JSON_TYPE, ...GZIP }, Buffer.from([31, 139, 8]), ""],
    [JSON_TYPE, "[not json", ""],
    [JSON_TYPE, '{"result":', ""],
  ])(
    "is sent as it is, or without content, however often the handler ends: %j",
    async (headers, written, sent) => {
      const app = express().use(protectMcp(server, { listFilter: true }));
      app.get("/mcp", (_request, response) => {
        response.writeHead(405, headers).write(written);
        response.end();
        response.end();
      });
      const answer = await ask(await serve(app), { path: "/mcp", token: await tokenOf("runner") });
      expect(answer).toMatchObject({ status: 405, text: sent });
    },
  );
});

describe("accessMatrix", () => {
  it("fills the arguments of operations that are named as routes", async () => {
    const { cells } = await accessMatrix(server, {
      callers: { web: issuer.caller({ scopes: ["agents:web:run"] }) },
      routes: ["MCP tools/call run_agent"],
      params: { agent_id: "web" },
    });
    expect(cells.map(({ decision }) => decision.allowed)).toEqual([true]);
  });
});
