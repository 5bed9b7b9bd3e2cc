/** The warnings of guards that are in a wrong place. Each copy of the package warns the process once. */
import type { RequestListener } from "node:http";
import { bodyParser } from "@koa/bodyparser";
import type { RequestHandler } from "express";
import { Hono } from "hono";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { EXPRESS_VERSIONS, KOA_VERSIONS, koaListener, serve, serverFor } from "../support/frameworks.ts";
import { listenerOf } from "../support/hosts.ts";

const server = serverFor({
  "POST /notes": "public",
  "GET /notes": "public",
  "OPTIONS /closed": ["closed:read"],
});

beforeEach(() => void vi.resetModules());

/** The warnings while a listener answers requests. */
async function warningsOf(listener: RequestListener, requests: readonly RequestInit[], path = "/notes") {
  const warn = vi.spyOn(process, "emitWarning").mockReturnValue(undefined);
  const port = await serve(listener);
  for (const request of requests) await fetch(`http://127.0.0.1:${port}${path}`, request);
  return warn.mock.calls.map(([text, type]) => [type, text]);
}

const JSON_TYPE = { "content-type": "application/json" };
const POST = { method: "POST", body: "{}", headers: JSON_TYPE };
const streamed = () => ({
  method: "POST",
  headers: JSON_TYPE,
  body: new Blob(["{}"]).stream(),
  duplex: "half",
});
const EMPTY = { method: "POST", headers: { "content-length": "0" } };
const PARSER = [
  "ScopegateWarning",
  "A body parser runs before protect: it reads and parses the bodies of requests that are then refused. Move app.use(protect(server)) before the parser.",
];

type Part = "parser" | "guard" | "undefined body";

const expressHosts = EXPRESS_VERSIONS.map(([name, express]) => {
  const create = async (order: readonly Part[]) => {
    const { protect } = await import("scopegate/express");
    const parts: Readonly<Record<Part, RequestHandler>> = {
      parser: express.json(),
      guard: protect(server),
      "undefined body": (request, _response, next) => {
        request.body = undefined;
        next();
      },
    };
    const app = express();
    for (const part of order) app.use(parts[part]);
    return app.use((_request, response) => void response.end("ran")) as RequestListener;
  };
  return [name, create] as const;
});

const koaHosts = KOA_VERSIONS.map(([name, Koa]) => {
  const create = async (order: readonly Part[]) => {
    const { protect } = await import("scopegate/koa");
    const app = new Koa();
    for (const part of order) app.use(part === "guard" ? protect(server) : (bodyParser() as never));
    return koaListener(app.use((context) => void (context.body = "ran")));
  };
  return [name, create] as const;
});

describe.each([...expressHosts, ...koaHosts])("protect in %s", (name, create) => {
  type Row = [order: readonly Part[], requests: readonly object[], warnings: readonly unknown[]];
  const unread: Row = [["undefined body", "guard", "parser"], [POST], []];

  it.each<Row>([
    [["parser", "guard"], [POST, POST], [PARSER]],
    [["parser", "guard"], [streamed()], [PARSER]],
    [["parser", "guard"], [{}, EMPTY], []],
    [["guard", "parser"], [POST], []],
    [["guard", "parser", "guard"], [POST], []],
    ...(name.startsWith("Express") ? [unread] : []),
  ])("warns once about a parsed body before it, with %j", async (order, requests, warnings) => {
    expect(await warningsOf(await create(order), requests)).toEqual(warnings);
  });
});

const honoHost = async () => {
  const { protect } = await import("scopegate/hono");
  return listenerOf(new Hono().use(protect(server)).fetch);
};

describe.each([...expressHosts, ...koaHosts, ["Hono", honoHost] as const])("protect in %s", (_, create) => {
  const origin = { origin: "https://app.example" };
  const method = { "access-control-request-method": "GET" };

  it.each<[headers: Record<string, string>, path: string, warnings: readonly string[]]>([
    [{ ...origin, ...method }, "/notes", ["Register CORS middleware before protect"]],
    [origin, "/notes", []],
    [method, "/notes", []],
    [{ ...origin, ...method }, "/closed", []],
  ])("warns once of a preflight without a rule: OPTIONS with %j for %s", async (headers, path, warnings) => {
    const preflight = { method: "OPTIONS", headers };
    const received = await warningsOf(await create(["guard"]), [preflight, preflight], path);
    expect(received).toEqual(
      warnings.map((text): unknown[] => ["ScopegateWarning", expect.stringContaining(text)]),
    );
  });
});
