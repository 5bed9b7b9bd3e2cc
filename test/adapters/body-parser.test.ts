/** A body parser in front of `protect` reads what callers send whom nobody knows: each guard tells so once. */
import type { RequestListener } from "node:http";
import { bodyParser } from "@koa/bodyparser";
import type express5 from "express";
import { describe, expect, it, vi } from "vitest";
import * as forExpress from "scopegate/express";
import * as forKoa from "scopegate/koa";
import { EXPRESS_VERSIONS, KOA_VERSIONS, koaListener, serve, serverFor } from "../support/frameworks.ts";

const server = serverFor({ "* /notes": "public" });

const JSON_BODY = { body: '{"text":"a"}', headers: { "content-type": "application/json" } };

/** The warnings while a listener answers some POST and GET requests. */
async function warningsOf(listener: RequestListener, ...requests: readonly RequestInit[]) {
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue(undefined);
  const port = await serve(listener);
  for (const request of requests) {
    const answer = await fetch(`http://127.0.0.1:${port}/notes`, request);
    expect(answer.status).toBe(200);
  }
  return warn.mock.calls;
}

const post = { method: "POST", ...JSON_BODY };
const streamed = () => ({
  method: "POST",
  headers: JSON_BODY.headers,
  body: new Blob([JSON_BODY.body]).stream(),
  duplex: "half" as const,
});

describe.each(EXPRESS_VERSIONS)("protect in %s", (_, express) => {
  const answer: express5.RequestHandler = (_request, response) => void response.end("ran");

  it("warns once about a body parser before protect, with the line to move", async () => {
    const app = express().use(express.json(), forExpress.protect(server), answer);
    expect(await warningsOf(app, post, post)).toEqual([
      [
        "A body parser runs before protect: it reads and parses the bodies of requests that are then refused. Move app.use(protect(server)) before the parser.",
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

describe.each(KOA_VERSIONS)("protect in %s", (_, Koa) => {
  const answer = (context: { body: unknown }) => {
    context.body = "ran";
  };
  it("warns once about a body parser before protect, with the line to move", async () => {
    const app = new Koa().use(bodyParser()).use(forKoa.protect(server)).use(answer);
    const warnings = await warningsOf(koaListener(app), post, streamed());
    expect(warnings.map(([text, type]) => [type, text])).toEqual([
      ["ScopegateWarning", expect.stringContaining("Move app.use(protect(server)) before the parser.")],
    ]);
  });

  it("does not warn about requests without a body, or about a parser after protect", async () => {
    const parsed = new Koa().use(bodyParser()).use(forKoa.protect(server)).use(answer);
    const behind = new Koa().use(forKoa.protect(server)).use(bodyParser()).use(answer);
    expect(await warningsOf(koaListener(parsed), {})).toEqual([]);
    expect(await warningsOf(koaListener(behind), post)).toEqual([]);
  });
});
