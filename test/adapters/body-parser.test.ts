/** A body parser in front of `protect` reads what callers send whom nobody knows: each guard tells so once. */
import { createServer, type RequestListener } from "node:http";
import { bodyParser } from "@koa/bodyparser";
import express5 from "express";
import express4 from "express4";
import Koa3 from "koa";
import Koa2 from "koa2";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createResourceServer } from "scopegate";
import * as forExpress from "scopegate/express";
import * as forKoa from "scopegate/koa";
import { listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const server = createResourceServer({
  serviceId: "agents-prod",
  verificationKeys: [createIssuer().publicPem],
  scopeMappings: { "* /notes": "public" },
});

const JSON_BODY = { body: '{"text":"a"}', headers: { "content-type": "application/json" } };

/** The warnings while a listener answers some POST and GET requests. */
async function warningsOf(listener: RequestListener, ...requests: readonly RequestInit[]) {
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue(undefined);
  const running = await listen(createServer(listener));
  for (const request of requests) {
    const answer = await fetch(`http://127.0.0.1:${running.port}/notes`, request);
    expect(answer.status).toBe(200);
  }
  await running.close();
  return warn.mock.calls;
}

afterEach(() => {
  vi.restoreAllMocks();
});

const post = { method: "POST", ...JSON_BODY };
const streamed = () => ({
  method: "POST",
  headers: JSON_BODY.headers,
  body: new Blob([JSON_BODY.body]).stream(),
  duplex: "half" as const,
});

describe.each([
  ["Express 4", express4 as unknown as typeof express5],
  ["Express 5", express5],
])("protect in %s", (_, express) => {
  const answer: express5.RequestHandler = (_request, response) => void response.end("ran");

  it("warns once about a body parser in front of protect, with the line to move", async () => {
    const app = express().use(express.json(), forExpress.protect(server), answer);
    expect(await warningsOf(app, post, post)).toEqual([
      [
        "A body parser runs in front of protect: it reads and parses the bodies of requests that are then refused. Move app.use(protect(server)) in front of the parser.",
        "ScopegateWarning",
      ],
    ]);
  });

  it("warns about bodies without a Content-Length", async () => {
    const app = express().use(express.json(), forExpress.protect(server), answer);
    expect(await warningsOf(app, streamed())).toHaveLength(1);
  });

  it("does not warn about requests without a body, or about a body that was not read", async () => {
    const setBody: express5.RequestHandler = (request, _response, next) => {
      request.body = undefined;
      next();
    };
    const parsed = express().use(express.json(), forExpress.protect(server), answer);
    const unread = express().use(setBody, forExpress.protect(server), express.json(), answer);
    const empty = { method: "POST", headers: { "content-length": "0" } };
    expect(await warningsOf(parsed, {}, empty)).toEqual([]);
    expect(await warningsOf(unread, post)).toEqual([]);
  });
});

describe.each([
  ["Koa 2", Koa2 as unknown as typeof Koa3],
  ["Koa 3", Koa3],
])("protect in %s", (_, Koa) => {
  const answer = (context: { body: unknown }) => {
    context.body = "ran";
  };
  const listenerOf = (app: {
    callback(): (...given: Parameters<RequestListener>) => Promise<void>;
  }): RequestListener => {
    const callback = app.callback();
    return (request, response) => void callback(request, response);
  };

  it("warns once about a body parser in front of protect, with the line to move", async () => {
    const app = new Koa().use(bodyParser()).use(forKoa.protect(server)).use(answer);
    const warnings = await warningsOf(listenerOf(app), post, streamed());
    expect(warnings.map(([text, type]) => [type, text])).toEqual([
      ["ScopegateWarning", expect.stringContaining("Move app.use(protect(server)) in front of the parser.")],
    ]);
  });

  it("does not warn about requests without a body, or about a parser after protect", async () => {
    const parsed = new Koa().use(bodyParser()).use(forKoa.protect(server)).use(answer);
    const behind = new Koa().use(forKoa.protect(server)).use(bodyParser()).use(answer);
    expect(await warningsOf(listenerOf(parsed), {})).toEqual([]);
    expect(await warningsOf(listenerOf(behind), post)).toEqual([]);
  });
});
