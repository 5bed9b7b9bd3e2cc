/** Headers that repeat the body, the limits of a body, and bodies that a parser has read. */
import express from "express";
import { describe, expect, it } from "vitest";
import { protectMcp } from "scopegate/mcp";
import { createServer, IncomingMessage } from "node:http";
import { Socket } from "node:net";
import { isJson, readBody, type Sink } from "../../../src/adapters/mcp/body.ts";
import { exchangeOf } from "../../../src/adapters/mcp/hosts/node-exchange.ts";

import { agree, parseMessages } from "../../../src/adapters/mcp/messages.ts";
import { ask, listen } from "../../support/http.ts";
import { ALLOWED, call, FORBIDDEN } from "./support/corpus/hostile.ts";
import { createMcpResourceServer, tokenOf } from "./support/tools.ts";

const read = (value: unknown) => parseMessages(Buffer.from(JSON.stringify(value)));
const request = (method: string, params?: unknown) => ({ jsonrpc: "2.0", id: 1, method, params });

describe("readBody", () => {
  it("limits the size of all chunks together", async () => {
    const endless = ({ add }: Sink): void => {
      while (add(Buffer.from("  ")));
    };
    expect(await readBody(endless, { maxBodyBytes: 5, bodyTimeoutMs: 5000 })).toBe("too large");
  });

  it("limits the time of all chunks together", async () => {
    const slow = ({ add }: Sink): void => {
      do for (const end = performance.now() + 3; performance.now() < end;);
      while (add(Uint8Array.of(32)));
    };
    expect(await readBody(slow, { maxBodyBytes: 1000, bodyTimeoutMs: 2 })).toBe("too slow");
  });

  it("ends with the first result, whatever the source does later", async () => {
    const late = ({ add, end, fail }: Sink): void => {
      add(Buffer.from("{}"));
      end();
      fail();
      expect(add(Buffer.from("{}"))).toBe(false);
    };
    expect(await readBody(late, { maxBodyBytes: 5, bodyTimeoutMs: 5000 })).toEqual(Buffer.from("{}"));
  });
});

describe("the headers of a request", () => {
  const withHeaders = (headers: Readonly<Record<string, string>>) => (name: string) => headers[name];
  const messages = (value: object) => {
    const found = read(value);
    return found.kind === "invalid" ? [] : found.messages;
  };

  it.each([
    "application/json",
    "Application/JSON",
    "application/json; charset=utf-8",
    'application/json;charset="UTF-8"',
  ])("announce JSON as %s", (type) => {
    expect(isJson(withHeaders({ "content-type": type }))).toBe(true);
    expect(isJson(withHeaders({ "content-type": type, "content-encoding": "Identity" }))).toBe(true);
    expect(isJson(withHeaders({ "content-type": type, "content-encoding": "gzip" }))).toBe(false);
  });

  it("announce no JSON without a type", () => {
    expect(isJson(withHeaders({}))).toBe(false);
  });

  it("join several values with one name", () => {
    const raw = { headers: { "mcp-name": ["run_agent", "search"] } };
    expect(exchangeOf(raw as never, "POST", undefined).header("mcp-name")).toBe("run_agent, search");
  });

  it.each(["run_agent", "=?base64?cnVuX2FnZW50?="])("agree with the body as %s", (name) => {
    const [one] = [messages(FORBIDDEN)];
    expect(agree(withHeaders({ "mcp-name": name }), one)).toBe(true);
    expect(agree(withHeaders({ "mcp-name": name, "mcp-method": "tools/call" }), one)).toBe(true);
    expect(agree(withHeaders({ "mcp-name": name, "mcp-method": "tools/list" }), one)).toBe(false);
    expect(agree(withHeaders({ "mcp-name": name }), messages(ALLOWED))).toBe(false);
    expect(agree(withHeaders({ "mcp-name": name }), messages(request("tools/list")))).toBe(false);
    expect(agree(withHeaders({ "mcp-name": name }), [...one, ...one])).toBe(false);
    expect(agree(withHeaders({ "mcp-name": name }), [])).toBe(false);
  });

  it("require Base64 for a name that is not ASCII", () => {
    const one = messages(call("wörter"));
    const encoded = Buffer.from("wörter").toString("base64");
    expect(agree(withHeaders({ "mcp-name": `=?base64?${encoded}?=` }), one)).toBe(true);
    expect(agree(withHeaders({ "mcp-name": "=?base64?/////w==?=" }), one)).toBe(false);
  });
});

describe("protectMcp behind a body parser of Express", () => {
  const open = async () => {
    const app = express();
    app.use(express.json({ type: (request) => request.headers["x-lost"] === undefined }));
    app.use((request, _response, next) => {
      // A middleware that reads the body and keeps nothing.
      if (request.headers["x-lost"] === undefined) next();
      else request.resume().on("end", next);
    });
    app.use(protectMcp(createMcpResourceServer()));
    app.post("/mcp", (request, response) => response.json(request.body));
    app.use(
      (fault: Error, _request: express.Request, response: express.Response, _next: express.NextFunction) =>
        response.status(500).json(fault.message),
    );
    return listen(createServer(app));
  };

  it("checks what the parser has read", async () => {
    const { port, close } = await open();
    const token = await tokenOf("runner");
    try {
      const path = "/mcp";
      expect(await ask(port, { method: "POST", path, token, body: ALLOWED })).toMatchObject({
        status: 200,
        body: ALLOWED,
      });
      expect(await ask(port, { method: "POST", path, token, body: FORBIDDEN })).toMatchObject({
        status: 403,
      });
      expect(await ask(port, { method: "POST", path, token, body: [] })).toMatchObject({ status: 400 });
      const lost = await ask(port, {
        method: "POST",
        path,
        token,
        body: ALLOWED,
        headers: [["x-lost", "1"]],
      });
      expect(lost).toMatchObject({
        status: 500,
        text: expect.stringContaining("Put protectMcp in front") as string,
      });
    } finally {
      await close();
    }
  });

  it("passes the fault of a middleware in front on", async () => {
    const request = Object.defineProperty(new IncomingMessage(new Socket()), "method", {
      get: () => {
        throw new Error("broken");
      },
    });
    const gate = protectMcp(createMcpResourceServer());
    const passed = new Promise((next) =>
      gate(request as never, { setHeader: () => undefined } as never, next),
    );
    expect(await passed).toEqual(new Error("broken"));
  });
});
