/** Recorded decisions, decided again by another table. */
import { createInterface } from "node:readline";
import { Readable } from "node:stream";
import fastify from "fastify";
import { describe, expect, it } from "vitest";
import type { ScopeMappings } from "scopegate";
import { decisionLog, replayDecisions } from "scopegate/decision-log";
import * as forFastify from "scopegate/fastify";
import { explain } from "scopegate/explain";
import { createServer, issuer } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";

const serverOf = (scopeMappings: ScopeMappings, more: Partial<ResourceServerOptions> = {}) =>
  createServer({ scopeMappings, ...more });

/** The log of requests, each `METHOD /path` with the scopes of its token, or without a token. */
async function record(
  scopeMappings: ScopeMappings,
  requests: readonly (readonly [string, (readonly string[] | string)?])[],
  include: readonly "path"[] = ["path"],
): Promise<string[]> {
  const lines: string[] = [];
  const log = decisionLog((line) => void lines.push(line), { include });
  const server = serverOf(scopeMappings, { onDecision: log });
  for (const [request, scopes] of requests) {
    const [method = "", target = ""] = request.split(" ");
    const token = typeof scopes === "string" ? scopes : scopes && (await issuer.token({ scopes }));
    await server.check({ method, target, ...(token !== undefined && { authorization: `Bearer ${token}` }) });
  }
  await log.flush();
  return lines;
}

const TABLE = {
  "GET /agents/:id": ["agents:<id>:read"],
  "GET /open": "public",
  "POST /runs": ["runs:write"],
} as const;

describe("a replay", () => {
  it("changes nothing with the same table", async () => {
    const requests = [
      ["GET /agents/web", ["agents:web:read"]],
      ["GET /agents/api", ["agents:web:read"]],
      ["GET /open"],
      ["POST /runs"],
      ["GET /other"],
      ["POST /runs", "a.b.c"],
      ["GET /agents//web", []],
    ] as const;
    const lines = await record(TABLE, requests);
    const report = await replayDecisions(lines, serverOf(TABLE));
    expect(report).toMatchObject({ total: 7, same: 7, changed: [], undecidable: 0, broken: 0, dropped: 0 });
    expect(report.text).toContain("7 decisions: 7 same, 0 changed, 0 undecidable");
  });

  it("shows what would be newly refused and newly allowed, the allowed first, in groups", async () => {
    const lines = await record(TABLE, [
      ["GET /agents/web", ["agents:web:read"]],
      ["GET /agents/api", ["agents:api:read"]],
      ["GET /agents/api", ["agents:read"]],
      ["POST /runs", ["agents:read"]],
      ["POST /runs"],
    ]);
    const next = serverOf({
      "GET /agents/:id": ["agents:read"],
      "GET /open": "public",
      "POST /runs": "public",
    });
    const report = await replayDecisions(lines, next);
    const id = (index: number) => (JSON.parse(lines[index] ?? "") as { id: string }).id;
    expect(report).toMatchObject({ total: 5, same: 1, undecidable: 0 });
    expect(report.changed).toEqual([
      { route: "POST /runs", before: "refused", after: "allowed", rule: "POST /runs", count: 2, id: id(3) },
      {
        route: "GET /agents/:id",
        before: "allowed",
        after: "refused",
        rule: "GET /agents/:id",
        count: 2,
        id: id(0),
      },
    ]);
    expect(report.text).toContain(
      `allowed -> refused: 2 of GET /agents/:id, now by GET /agents/:id, such as ${id(0)}`,
    );
  });

  it("decides by the narrower rule of a recorded path", async () => {
    const lines = await record(TABLE, [
      ["GET /agents/web", ["agents:read"]],
      ["GET /agents/api", ["agents:read"]],
    ]);
    const next = serverOf({ ...TABLE, "GET /agents/web": ["web:read"] });
    expect(await replayDecisions(lines, next)).toMatchObject({
      same: 1,
      changed: [{ rule: "GET /agents/web", count: 1 }],
    });
  });

  it("counts the records that it cannot decide, with the reason", async () => {
    const unread = await record(TABLE, [["GET /open"], ["GET /other"]]);
    const next = serverOf({ "GET /open": ["a:b"], "GET /other": "optional" });
    expect(await replayDecisions(unread, next)).toMatchObject({
      undecidable: 2,
      reasons: { "The log doesn't have the scopes of the caller: no token was read.": 2 },
    });
    const pathless = await record(
      TABLE,
      [["GET /agents/web", ["agents:read"]], ["POST /runs", ["runs:write"]], ["GET /x"]],
      [],
    );
    const report = await replayDecisions(pathless, serverOf(TABLE));
    expect(report).toMatchObject({ same: 1, undecidable: 2 });
    expect(report.text).toContain('undecidable: 2. The path isn\'t in the log: write `include: ["path"]`.');
    const batch = await record({ "GET /trpc/:name": [] }, [["GET /trpc/a,b?batch=1", []]]);
    expect(await replayDecisions(batch, serverOf({ "GET /trpc/:name": [] }))).toMatchObject({
      undecidable: 1,
    });
  });

  it("keeps a rejected token rejected, except where no token is read", async () => {
    const lines = await record(TABLE, [["POST /runs", "a.b.c"]]);
    expect(await replayDecisions(lines, serverOf({ "POST /runs": "optional" }))).toMatchObject({ same: 1 });
    expect(await replayDecisions(lines, serverOf({ "POST /runs": "public" }))).toMatchObject({
      changed: [{ after: "allowed" }],
    });
  });

  it("uses the route that the framework reported", async () => {
    const lines: string[] = [];
    const log = decisionLog((line) => void lines.push(line), { include: ["path"] });
    const table = { "GET /agents/:id": [], "GET /agents/me": ["me:read"] } as const;
    const app = fastify();
    await app.register(forFastify.protect(serverOf(table, { onDecision: log })));
    app.get("/agents/:id", () => "ran");
    const headers = { authorization: `Bearer ${await issuer.token({ scopes: ["me:read"] })}` };
    expect((await app.inject({ url: "/agents/me", headers })).statusCode).toBe(200);
    await log.flush();
    expect(await replayDecisions(lines, serverOf(table))).toMatchObject({ same: 1 });
    const stricter = serverOf({ ...table, "GET /agents/:id": ["agents:read"] });
    expect(await replayDecisions(lines, stricter)).toMatchObject({
      changed: [{ after: "refused", rule: "GET /agents/:id" }],
    });
  });

  it("leaves out the decisions of requireScopes, and decides operations each", async () => {
    const lines: string[] = [];
    const log = decisionLog((line) => void lines.push(line), { include: ["path"] });
    const scopeMappings = { "POST /mcp": [], "MCP tools/call search": ["docs:read"] } as const;
    const server = serverOf(scopeMappings);
    const event = { at: 0, durationMs: 1 };
    const search = explain(server, {
      method: "MCP",
      path: "tools/call search",
      scopes: ["docs:read"],
    }).decision;
    log(search, { method: "POST", target: "/mcp", operations: ["tools/call search"] }, event);
    const added = server.checkScopes(search, ["x:y"], { method: "POST", target: "/mcp" });
    log(added, { method: "POST", target: "/mcp" }, event);
    await log.flush();
    expect(await replayDecisions(lines, server)).toMatchObject({
      same: 1,
      reasons: { "`requireScopes` decided, not the table.": 1 },
    });
    const next = serverOf({ ...scopeMappings, "MCP tools/call search": ["docs:write"] });
    expect(await replayDecisions(lines, next)).toMatchObject({
      changed: [{ rule: "MCP tools/call search", after: "refused" }],
    });
    const unknown = lines.map((line) =>
      JSON.stringify({ ...(JSON.parse(line) as object), operations: null }),
    );
    expect(await replayDecisions(unknown, next)).toMatchObject({ same: 0, undecidable: 2 });
  });

  it("reads a stream by lines, skips and counts broken ones, and sums up dropped records", async () => {
    const [line = ""] = await record(TABLE, [["GET /open"]]);
    const good = JSON.parse(line) as object;
    const broken = ["{", "null", "5", "[]", "{}", '"x"', line.slice(0, -1)];
    const wrong = [
      { result: "x" },
      { granted: 5 },
      { path: 5 },
      { id: 5 },
      { operations: 5 },
      { method: 7, path: "/open" },
    ].map((one) => JSON.stringify({ ...good, ...one }));
    const dropped = ['{"time":"x","dropped":7}', '{"dropped":2}'];
    const input = Readable.from([line, ...broken, "", ...wrong, ...dropped, line, ""].join("\n"));
    const report = await replayDecisions(createInterface({ input }), serverOf(TABLE));
    expect(report).toMatchObject({ total: 2, same: 2, broken: 13, dropped: 9 });
    expect(report.text).toContain("13 broken lines");
  });

  it("prints no control characters of a log", async () => {
    const [line = ""] = await record(TABLE, [["POST /runs", ["runs:write"]]]);
    const hostile = JSON.stringify({
      ...(JSON.parse(line) as object),
      method: "POST\u001b[2J\n",
      id: "\u009b",
    });
    const { text } = await replayDecisions([hostile], serverOf({}));
    expect(text).not.toMatch(/[^\x20-\x7e\n]/);
  });

  it.each([
    ["chunks of bytes", [Buffer.from("{}")]],
    ["chunks of text", ["{}\n{}\n"]],
    ["a string", "decisions.ndjson"],
    ["nothing", undefined],
    ["null", null],
  ])("rejects %s, which are not lines", async (_, lines) => {
    await expect(replayDecisions(lines as never, serverOf(TABLE))).rejects.toThrow(
      "createInterface({ input: file })",
    );
  });
});
