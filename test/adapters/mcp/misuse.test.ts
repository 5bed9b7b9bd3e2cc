/** Parsers and guards around `protectMcp`, and wrong arguments. */
import { NodeStreamableHTTPServerTransport as Transport2, toNodeHandler } from "@modelcontextprotocol/node";
import { StreamableHTTPServerTransport as Transport1 } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { createMcpHandler } from "@modelcontextprotocol/server";
import express from "express";
import fastify from "fastify";
import Koa from "koa";
import { once } from "node:events";
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { connect, createServer as createServer2 } from "node:http2";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it, vi } from "vitest";
import { protect } from "scopegate/express";
import { operationsOf, protectMcp, withMcp } from "scopegate/mcp";
import { memoryStore } from "scopegate/store";
import { accessMatrix, createTestIssuer } from "scopegate/testing";
import { ask, listen } from "../../support/http.ts";
import { pipelineOf } from "../../../src/core/port.ts";
import { createResourceServer } from "../../support/server.ts";
import {
  createMcp,
  createMcpResourceServer,
  issuer as mcpIssuer,
  type Line,
  tokenOf,
} from "./support/tools.ts";

const issuer = createTestIssuer({ audience: "mcp" });
const server = createResourceServer({
  ...issuer.resourceServerOptions,
  serviceId: "mcp",
  scopeMappings: { "* /mcp": [], "MCP tools/list": [], "MCP tools/call run": ["agents:<agent_id>:run"] },
});
const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const close of closing.splice(0)) await close();
});

async function call(app: ReturnType<typeof express>, agent_id: unknown) {
  app.post("/mcp", (request, response) => response.json(request.body));
  const { port, close } = await listen(createHttpServer(app));
  closing.push(close);
  const token = await issuer.token({ scopes: ["agents:web:run"] });
  const params = { name: "run", arguments: { agent_id } };
  return ask(port, {
    method: "POST",
    path: "/mcp",
    token,
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params },
  });
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

  const SEARCH = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "search" } };
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
    const { port, close } = await listen(createHttpServer(await hosts[host]()));
    closing.push(close);
    const token = await tokenOf("reader");
    const headers = [["accept", "application/json, text/event-stream"]] as const;
    const { status, body } = await ask(port, { method: "POST", path: "/mcp", token, headers, body: SEARCH });
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
    const binding = createResourceServer({
      ...issuer.resourceServerOptions,
      serviceId: "mcp",
      scopeMappings: { "* /mcp": [], "MCP tools/call run": [] },
      senderConstraint: { mtls: { from: "socket" } },
    });
    expect(await call(express().use(protectMcp(binding)), "web")).toMatchObject({ status: 200 });
    await expect(protectMcp(binding)(new Request("http://a/mcp"))).rejects.toThrow("has no socket");
    expect(() => withMcp(binding, () => new Response())).toThrow("has no socket");
  });
});

describe("a body that headers do not announce", () => {
  const message = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "run" } });

  it("causes a refusal with DELETE, in a request of the Fetch standard", async () => {
    const token = await issuer.token({ scopes: [] });
    const headers = { authorization: `Bearer ${token}` };
    const send = (body?: string) =>
      protectMcp(server)(new Request("http://a/mcp", { method: "DELETE", headers, ...(body && { body }) }));
    expect(await send(message)).toMatchObject({ status: 400 });
    expect(await send()).not.toBeInstanceOf(Response);
  });

  it("causes a refusal with DELETE if it does not end", async () => {
    const headers = { authorization: `Bearer ${await issuer.token({ scopes: [] })}` };
    const body = new ReadableStream();
    const request = new Request("http://a/mcp", { method: "DELETE", headers, body, duplex: "half" });
    expect(await protectMcp(server, { bodyTimeoutMs: 20 })(request)).toMatchObject({ status: 400 });
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
    closing.push(async () => {
      client.close();
      http2.close();
      await once(http2, "close");
    });
    const authorization = `Bearer ${await issuer.token({ scopes: [] })}`;
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

describe("a polluted prototype", () => {
  it("adds no body to a request", async () => {
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    Object.assign(Object.prototype, { parsed: ping });
    try {
      expect((await call(express().use(protectMcp(server)), "api")).status).toBe(403);
    } finally {
      Reflect.deleteProperty(Object.prototype, "parsed");
    }
  });
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
    const { port, close } = await listen(createHttpServer(app));
    closing.push(close);
    const body = { jsonrpc: "2.0", id: 1, method: "tasks/list" };
    const answer = await ask(port, { method: "POST", path: "/mcp", token: await mcpIssuer.token(), body });
    expect(answer).toMatchObject({ status: 200, body: { result: { tasks: [] } } });
    expect(ended).toEqual([true]);
  });
});

describe("a response that cannot be edited", () => {
  const respond = async (headers: Readonly<Record<string, string>>, text: string | Buffer) => {
    const app = express().use(protectMcp(server, { listFilter: true }));
    app.get("/mcp", (_request, response) => void response.writeHead(405, headers).end(text));
    const { port, close } = await listen(createHttpServer(app));
    closing.push(close);
    return ask(port, { path: "/mcp", token: await issuer.token({ scopes: ["agents:web:run"] }) });
  };

  it("sends it as it is, if it is neither JSON nor a stream of events", async () => {
    expect(await respond({ "content-type": "text/plain" }, "Use POST")).toMatchObject({
      status: 405,
      text: "Use POST",
    });
  });

  it.each(["text/event-stream", "application/json"])(
    "sends nothing, if it is compressed %s",
    async (type) => {
      const headers = { "content-type": type, "content-encoding": "gzip" };
      expect(await respond(headers, Buffer.from([31, 139, 8]))).toMatchObject({ status: 405, text: "" });
    },
  );
});

describe("listFilter", () => {
  it.each([["[not json"], ['{"result":']])(
    "sends an empty body once for %s, however often the handler ends",
    async (text) => {
      const app = express().use(protectMcp(server, { listFilter: true }));
      app.post("/mcp", (_request, response) => {
        response.type("json").write(text);
        response.end();
        response.end();
      });
      const { port, close } = await listen(createHttpServer(app));
      closing.push(close);
      const token = await issuer.token({ scopes: ["agents:web:run"] });
      const body = { jsonrpc: "2.0", id: 1, method: "tools/list" };
      const answer = await ask(port, { method: "POST", path: "/mcp", token, body });
      expect(answer).toMatchObject({ status: 200, text: "" });
    },
  );
});

describe("operationsOf", () => {
  it("explains what it accepts", async () => {
    await expect(operationsOf((() => undefined) as never)).rejects.toThrow(
      "await operationsOf(createMcpServer())",
    );
  });
});

describe("accessMatrix", () => {
  it("fills the arguments of operations that are named as routes", async () => {
    const { cells } = await accessMatrix(server, {
      callers: { web: issuer.caller({ scopes: ["agents:web:run"] }) },
      routes: ["MCP tools/call run"],
      params: { agent_id: "web" },
    });
    expect(cells.map(({ decision }) => decision.allowed)).toEqual([true]);
  });
});
