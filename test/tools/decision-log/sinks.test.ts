/** Sinks that work, and sinks that throw, hang, are slow or are destroyed: no answer changes. */
import { createWriteStream, readFileSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { Writable } from "node:stream";
import express from "express";
import fastify from "fastify";
import { beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import {
  type DecisionLog,
  decisionLog,
  type DecisionLogOptions,
  type DecisionSink,
} from "scopegate/decision-log";
import * as forExpress from "scopegate/express";
import * as forFastify from "scopegate/fastify";
import { serve, serveFastify } from "../../support/frameworks.ts";
import { ask } from "../../support/http.ts";
import { temporaryFolder } from "../../support/folder.ts";
import { createServer, issuer } from "../../support/resource-servers.ts";
import { until } from "../../support/until.ts";

let warn: MockInstance<typeof process.emitWarning>;
beforeEach(() => (warn = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined)));

function start(sink: DecisionSink, options?: DecisionLogOptions) {
  const log = decisionLog(sink, options);
  const server = createServer({ scopeMappings: { "GET /open": "public" }, onDecision: log });
  const check = async (count: number): Promise<void> => {
    for (let index = 0; index < count; index += 1)
      expect((await server.check({ method: "GET", target: "/open" })).allowed).toBe(true);
  };
  return { log, check };
}
const kinds = (lines: readonly string[]) =>
  lines.map((line) => (JSON.parse(line) as { dropped?: number }).dropped ?? "record");

describe("a server that writes its decisions", () => {
  const scopeMappings = { "GET /agents/:agent_id": ["agents:<agent_id>:read"] };
  const folder = temporaryFolder("decisions");

  async function request(port: number): Promise<void> {
    const token = await issuer.token({ scopes: ["agents:web:read"], sub: "user-1" });
    const headers = [["traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"]] as const;
    expect((await ask(port, { path: "/agents/web", token, headers })).status).toBe(200);
    expect((await ask(port, { path: "/agents/api", token })).status).toBe(403);
    expect((await ask(port, { path: "/agents/api" })).status).toBe(401);
  }
  const expected = [
    { result: "allowed", granted: ["agents:web:read"], traceId: "4bf92f3577b34da6a3ce929d0e0e4736" },
    { result: "refused", reason: "scope_insufficient", missing: ["agents:<agent_id>:read"] },
    { result: "refused", reason: "credential_missing" },
  ];

  it("writes what Express and Fastify decide, to a file and to a function", async () => {
    const file = createWriteStream(join(folder, "decisions.ndjson"));
    const toFile = decisionLog(file);
    const app = express().use(forExpress.protect(createServer({ scopeMappings, onDecision: toFile })));
    app.get("/agents/:agent_id", (_, response) => void response.end());
    await request(await serve(app));
    await toFile.close();
    file.end();
    await once(file, "finish");
    const written = readFileSync(file.path, "utf8").trimEnd().split("\n");
    expect(written.map((line) => JSON.parse(line) as object)).toMatchObject(expected);

    const lines: string[] = [];
    const log = decisionLog((line) => void lines.push(line));
    const other = fastify();
    await other.register(forFastify.protect(createServer({ scopeMappings, onDecision: log })));
    other.get("/agents/:agent_id", () => "ran");
    await request(await serveFastify(other));
    await log.close();
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject(
      expected.map((one) => ({ ...one, matched: true, pattern: "/agents/:agent_id" })),
    );
  });
});

describe("a sink", () => {
  it("keeps a bounded queue under 10,000 requests if it hangs", async () => {
    let calls = 0;
    const { log, check } = start(() => ((calls += 1), new Promise(() => undefined)), { maxQueued: 50 });
    await check(1);
    await until(() => calls === 1);
    await check(9_999);
    await new Promise(setImmediate);
    expect(calls).toBe(1);
    expect(log.dropped).toBe(10_000 - 51);
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn.mock.lastCall).toEqual([expect.stringContaining("drops records"), "ScopegateWarning"]);
  });

  it("receives the number of dropped records when it works again, once for each outage", async () => {
    const lines: string[] = [];
    let resolve = (): void => undefined;
    const { log, check } = start(
      (line) => {
        lines.push(line);
        return new Promise<void>((done) => (resolve = done));
      },
      { maxQueued: 2 },
    );
    for (const stretch of [1, 2]) {
      await check(1);
      await until(() => lines.length > 0);
      await check(5);
      expect(log.dropped).toBe(3 * stretch);
      expect(warn).toHaveBeenCalledTimes(stretch);
      const flushed = log.flush();
      for (let wanted = 2; wanted <= 4; wanted += 1) {
        resolve();
        await until(() => lines.length >= wanted);
      }
      resolve();
      await flushed;
      expect(kinds(lines.splice(0))).toEqual(["record", 3, "record", "record"]);
    }
  });

  const throwing = () => {
    throw new Error("full");
  };
  it.each([
    ["throws", throwing],
    ["returns a promise that rejects", () => Promise.reject(new Error("full"))],
    ["returns a thenable that throws", () => Object.defineProperty({}, "then", { get: throwing })],
  ])("loses records, and nothing else fails, if it %s", async (_, fail) => {
    const lines: string[] = [];
    let isBroken = true;
    const { log, check } = start((line) => (isBroken ? fail() : lines.push(line)));
    await check(3);
    await log.flush();
    expect(log.dropped).toBe(3);
    expect(warn).toHaveBeenCalledTimes(1);
    isBroken = false;
    await check(2);
    await log.flush();
    expect(kinds(lines)).toEqual(["record", 3, "record"]);
    expect(log.dropped).toBe(3);
  });

  it("receives lines again after drain if it is a stream that was full", async () => {
    const written: string[] = [];
    const waiting: (() => void)[] = [];
    const stream = new Writable({
      highWaterMark: 1,
      decodeStrings: false,
      write: (chunk: string, _, done) => {
        written.push(chunk);
        waiting.push(done);
      },
    });
    const { log, check } = start(stream, { maxQueued: 10 });
    await check(3);
    await until(() => written.length > 0);
    await check(1);
    await new Promise(setImmediate);
    expect(written).toHaveLength(1);
    expect(stream.writableLength).toBe(written[0]?.length);
    while (written.length < 4) {
      waiting.shift()?.();
      await new Promise(setImmediate);
    }
    waiting.shift()?.();
    await log.flush();
    expect(written.every((chunk) => chunk.endsWith("}\n"))).toBe(true);
    expect([stream.listenerCount("drain"), stream.listenerCount("error")]).toEqual([1, 1]);
  });

  it("ends neither the process nor a request if it is a stream that fails or is destroyed", async () => {
    const failing = new Writable({ write: (_chunk, _encoding, done) => done(new Error("disk full")) });
    const { log, check } = start(failing);
    await check(1);
    await new Promise((resolve) => failing.once("close", resolve));
    await check(2);
    await log.flush();
    expect(log.dropped).toBe(2);
    const stuck = new Writable({ highWaterMark: 1, write: () => undefined });
    const other = start(stuck);
    await other.check(3);
    await until(() => stuck.writableNeedDrain);
    stuck.destroy();
    await other.log.flush();
    expect(other.log.dropped).toBe(2);
    const ended = new Writable({ write: () => undefined }).end();
    const last = start(ended);
    await last.check(1);
    await last.log.flush();
    expect(last.log.dropped).toBe(1);
  });

  it("receives its lines after the request, and does not block others for long", async () => {
    const lines: string[] = [];
    const log: DecisionLog = decisionLog({ write: (chunk) => lines.push(chunk) });
    const server = createServer({ onDecision: log, scopeMappings: { "GET /open": "public" } });
    await Promise.all(Array.from({ length: 1000 }, () => server.check({ method: "GET", target: "/open" })));
    expect(lines).toHaveLength(0);
    await new Promise(setImmediate);
    await new Promise(setImmediate);
    expect(lines.length).toBeLessThan(1000);
    await log.flush();
    expect(lines).toHaveLength(1000);
  });
});

describe("closing", () => {
  it("writes what waits, and drops what comes later", async () => {
    const lines: string[] = [];
    const { log, check } = start((line) => void lines.push(line));
    await check(2);
    await log.close();
    await check(1);
    expect(lines).toHaveLength(2);
    expect(log.dropped).toBe(1);
  });

  it("keeps the process alive for the five seconds that it waits for a sink that hangs", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
    const { log, check } = start(() => new Promise(() => undefined));
    await check(3);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const before = timers();
    const closed = log.close();
    expect(timers()).toBe(before + 1);
    await new Promise(setImmediate);
    await vi.advanceTimersByTimeAsync(5_000);
    await closed;
    expect(timers()).toBe(before);
    vi.useRealTimers();
    expect(log.dropped).toBe(2);
  });
});
