/** Requests and documents that cost more to read than to send, and comparisons whose time shows a secret. */
import crypto from "node:crypto";
import { createServer as createHttp } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import { gzipSync } from "node:zlib";
import express from "express";
import { Server } from "socket.io";
import { expect, onTestFinished, vi } from "vitest";
import { WebSocketServer } from "ws";
import { apiKeys, createApiKey } from "scopegate/api-keys";
import * as forExpress from "scopegate/express";
import { guardUpgrades } from "scopegate/node";
import { parseDocument } from "scopegate/openapi";
import * as forSocketIo from "scopegate/socketio";
import { serve, serveHttp, statusWith } from "../../support/frameworks.ts";
import { createFaultServer } from "../../support/fault-server.ts";
import { ask, listen } from "../../support/http.ts";
import { exchange, renderUpgrade } from "../../support/raw-http.ts";
import { createServer, issuer, verdictOf } from "../../support/resource-servers.ts";
import { itPrevents } from "./prevents.ts";
import { createGuarded, type Fields } from "./support.ts";

itPrevents("CVE-2022-31142", async () => {
  const compare = vi.spyOn(crypto, "timingSafeEqual");
  syncBuiltinESMExports();
  onTestFinished(() => {
    compare.mockRestore();
    syncBuiltinESMExports();
  });
  const details = { prefix: "acme_pat_", name: "ci", scopes: ["agents:read"], ownerId: "u1" };
  const [mine, theirs] = [createApiKey(details), createApiKey(details)];
  const serverWith = (record: typeof mine.record) =>
    createServer({
      now: Date.now,
      opaqueTokens: [apiKeys({ prefix: "acme_pat_", find: () => Promise.resolve(record) })],
    });
  expect(await verdictOf(serverWith(mine.record), mine.key)).toBe("accepted");
  // The record of this id has the hash of another secret.
  expect(await verdictOf(serverWith({ ...theirs.record, id: mine.record.id }), mine.key)).toBe("key");
  expect(compare.mock.results.map(({ value }) => value as unknown)).toEqual([true, false]);
  for (const [left, right] of compare.mock.calls)
    expect([left.byteLength, right.byteLength]).toEqual([32, 32]);
});

itPrevents("CVE-2026-22036", async () => {
  const faults = await createFaultServer();
  onTestFinished(() => faults.stop());
  vi.spyOn(process, "emitWarning").mockReturnValue();
  const set = JSON.stringify({ keys: [issuer.publicJwk] });
  const compressed = gzipSync(set);
  const sendEncoded = (path: string, encodings: number, body: Buffer): void =>
    faults.answer(path, (_request, response) => {
      const encoding = Array<string>(encodings).fill("gzip").join(", ");
      response.writeHead(200, { "content-type": "application/json", "content-encoding": encoding }).end(body);
    });
  sendEncoded("/one", 1, compressed);
  sendEncoded("/two", 2, gzipSync(compressed));
  sendEncoded("/many", 1_000, compressed);
  const token = await issuer.token({ exp: 2_000_000_000 });
  const verdicts: unknown[] = [];
  for (const path of ["/one", "/two", "/many"]) {
    const server = createServer({ keys: { jwksUri: faults.url + path } });
    verdicts.push(await verdictOf(server, token));
    await server.close();
  }
  expect(verdicts).toEqual(["accepted", "unavailable", "unavailable"]);
});

itPrevents("CVE-2026-33532", () => {
  const bytes = Array.from({ length: 256 }, (_, index) => String.fromCharCode((index * 167) % 256)).join("");
  const documents = [
    "[".repeat(20_000),
    "- ".repeat(20_000),
    "? ".repeat(20_000),
    `a: ${"{b: ".repeat(20_000)}`,
    "a: &a [*a]",
    "\u0000",
    "!!js/function x",
    "- !!binary ?",
    "%YAML 9.9\n---\n",
    bytes,
  ];
  for (const document of documents)
    expect(() => parseDocument(document), document.slice(0, 20)).toThrow(/^(?!Maximum call stack)/);
});

itPrevents("CVE-2025-13466", async () => {
  const parsed: string[] = [];
  const app = express().use(forExpress.protect(createGuarded({ "POST /form": ["form:write"] })));
  app.use(express.urlencoded({ extended: true, limit: "10mb" }), (_request, _response, next) => {
    parsed.push("body");
    next();
  });
  app.post("/form", (_request, response) => void response.json("done"));
  const port = await serve(app);
  const send = async (scopes?: readonly string[]) => {
    const headers = [["content-type", "application/x-www-form-urlencoded"]] as const;
    return statusWith(port, "/form", scopes, { method: "POST", headers });
  };
  expect([await send(), await send(["other:read"])]).toEqual([401, 403]);
  expect(parsed).toEqual([]);
  expect(await send(["form:write"])).toBe(200);
  expect(parsed).toEqual(["body"]);
});

itPrevents("CVE-2021-32640", async () => {
  const http = createHttp({ maxHeaderSize: 100_000 });
  const opened: unknown[] = [];
  guardUpgrades(http, createGuarded({ "GET /events": ["events:read"] }));
  new WebSocketServer({ server: http }).on("connection", (socket) => opened.push(socket));
  const port = await serveHttp(http);
  const many = Array.from({ length: 1_900 }, (_, index): readonly [string, string] => [`X-${index}`, "a"]);
  const requests: readonly Fields[] = [
    [["Sec-WebSocket-Protocol", `a${" ".repeat(50_000)}b`]],
    [["Sec-WebSocket-Protocol", "a,".repeat(30_000)]],
    many,
  ];
  const started = performance.now();
  for (const fields of requests)
    expect((await exchange(port, renderUpgrade("/events", fields))).slice(9, 12)).toBe("401");
  expect(performance.now() - started).toBeLessThan(5_000);
  expect(opened).toEqual([]);
});

const QUERIES = [
  ...["EIO=4&transport=polling", "EIO=4&transport=websocket", "EIO[]=4&transport[a]=polling"],
  ...["EIO=4&transport=__proto__", "EIO=4&transport=constructor", "EIO=4&transport=polling&sid=__proto__"],
  ...["EIO=99999&transport=polling", "EIO=4&transport=polling&%"],
];
const HEADS: readonly Fields[] = [
  [],
  [["authorization", "Bearer"]],
  [["cookie", "%%%;;;="]],
  [["sec-websocket-protocol", " ".repeat(15_000)]],
];

itPrevents("CVE-2022-21676", async () => {
  const connected: unknown[] = [];
  const http = createHttp();
  const io = new Server(http);
  forSocketIo.protect(createGuarded({ "GET /socket.io": ["sockets:open"] }))(io);
  io.on("connection", (socket) => connected.push(socket.id));
  const { port } = await listen(http);
  onTestFinished(() => io.close());
  for (const query of QUERIES)
    for (const headers of HEADS)
      for (const method of ["GET", "POST", "OPTIONS"]) {
        const { status } = await ask(port, { method, path: `/socket.io/?${query}`, headers });
        expect([200, 101], `${method} ${query}`).not.toContain(status);
        expect(status, `${method} ${query}`).toBeLessThan(500);
      }
  expect(connected).toEqual([]);
});

itPrevents("GHSA-f23p-vx2j-j53r", async () => {
  const resource = { id: "https://api.example/", authorizationServers: ["https://login.example"] };
  const server = createServer({ resource, serviceId: resource.id });
  const port = await serve(express().use(forExpress.metadata(server)));
  const token = await issuer.token({ sub: "alice" });
  const path = "/.well-known/oauth-protected-resource";
  const first = await ask(port, { path, token, headers: [["x-forwarded-host", "evil.example"]] });
  const second = await ask(port, { path });
  expect([first.status, second.status]).toEqual([200, 200]);
  expect(first.text).toBe(second.text);
  expect(second.text).not.toMatch(/alice|evil/);
});
