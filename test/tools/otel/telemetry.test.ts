/** `scopegate/otel`: what it measures, what its attributes contain, and what cannot change an answer. */
import { once } from "node:events";
import { context, createNoopMeter, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { MeterProvider, PeriodicExportingMetricReader } from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import express from "express";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { ResourceServer } from "scopegate";
import { apiKeys, createApiKey } from "scopegate/api-keys";
import { protect } from "scopegate/express";
import { introspection } from "scopegate/introspection";
import type { KeyFetch } from "scopegate/keys";
import { startTelemetry } from "scopegate/otel";
import { sharedRevocation } from "scopegate/revocation";
import { memoryStore, type Store } from "scopegate/store";
import { serve as serveListener } from "../../support/frameworks.ts";
import { ask } from "../../support/http.ts";
import { createIssuer } from "../../support/issuer.ts";
import { createServer, issuer } from "../../support/resource-servers.ts";
import { setOf } from "../../support/remote-keys.ts";
import type { ResourceServerOptions } from "../../support/server.ts";
import { measure } from "../../support/telemetry.ts";

const create = (options: Partial<ResourceServerOptions> = {}) => createServer({ now: Date.now, ...options });
const tokenWith = (...scopes: readonly string[]) => issuer.token({ scopes });

/** Serves an application until the end of the test, and returns its port. */
function serve(server: ResourceServer, before?: express.RequestHandler): Promise<number> {
  const app = express();
  if (before) app.use(before);
  app.use(protect(server));
  app.use((_request, response) => void response.json({ ok: true }));
  return serveListener(app);
}

const READ = { rule: "GET /agents/:agent_id" };

describe("decisions", () => {
  it("counts by result, reason, rejection and rule, and measures their duration in seconds", async () => {
    const server = create();
    const { seriesOf } = measure(server);
    const port = await serve(server);
    const token = await tokenWith("agents:web:read");
    for (const one of [token, token, token, await tokenWith(), `${token}x`, undefined])
      await ask(port, { path: "/agents/web", token: one });
    await ask(port, { path: "/nowhere", token });
    await ask(port, { path: "//agents", token });

    expect(await seriesOf("decisions")).toEqual([
      { result: "allowed", ...READ, value: 3 },
      { result: "refused", reason: "scope_insufficient", ...READ, value: 1 },
      { result: "refused", reason: "token_rejected", rejection: "malformed", ...READ, value: 1 },
      { result: "refused", reason: "credential_missing", ...READ, value: 1 },
      { result: "refused", reason: "route_unmapped", value: 1 },
      { result: "refused", reason: "request_ambiguous", value: 1 },
    ]);
    const durations = await seriesOf("decision.duration");
    expect(durations).toMatchObject([
      { result: "allowed", value: { count: 3 } },
      { result: "refused", value: { count: 5 } },
    ]);
    for (const { value } of durations) {
      const { sum } = value as { readonly sum: number };
      expect(sum).toBeGreaterThan(0);
      expect(sum).toBeLessThan(30);
    }
  });

  it("counts what a shadow table decides where it differs", async () => {
    const scopeMappings = { "GET /agents/:agent_id": ["agents:<agent_id>:admin"] };
    const server = create({ shadow: { scopeMappings, defaultScopeMappings: {} } });
    const { seriesOf } = measure(server);
    const authorization = `Bearer ${await tokenWith("agents:read")}`;
    for (const [target, sent] of [
      ["/agents/web", authorization],
      ["/agents/web", `${authorization}x`],
      ["/agents/web", undefined],
    ] as const)
      await server.check({ method: "GET", target, authorization: sent });
    expect(await seriesOf("decisions")).toMatchObject([
      { result: "allowed", shadow: "scope_insufficient", value: 1 },
      { reason: "token_rejected", shadow: "undecided", value: 1 },
      { reason: "credential_missing", value: 1 },
    ]);
  });

  it("keeps the number of series below a bound for 10,000 paths, methods and tokens", async () => {
    const server = create({ unmappedRoutes: "authenticated" });
    const { collect } = measure(server);
    const authorization = `Bearer ${await tokenWith("agents:read")}`;
    for (let index = 0; index < 10_000; index += 1) {
      const target = index % 2 === 0 ? `/agents/canary-${index}` : `/canary-${index}/x?key=canary`;
      const method = index % 5 === 0 ? `CANARY${index}` : "GET";
      const wrong = index % 7 === 0 ? { authorization: `${authorization}canary${index}` } : { authorization };
      await server.check({ method, target, ...(index % 3 > 0 && wrong) });
    }
    const metrics = await collect();
    const series = metrics.reduce((sum, { dataPoints }) => sum + dataPoints.length, 0);
    expect(series).toBeGreaterThan(8);
    expect(series).toBeLessThan(40);
    expect(JSON.stringify(metrics)).not.toMatch(/canary|user-1/i);
  });
});

describe("the token cache", () => {
  it("counts hits, misses and evictions, measures verifications, and shows entries and bytes", async () => {
    const server = create({ tokenCache: { maxEntries: 2 } });
    const { seriesOf } = measure(server);
    const port = await serve(server);
    const [first, ...others] = [await tokenWith("agents:read"), await tokenWith("a"), await tokenWith("b")];
    for (const token of [first, first, ...others]) await ask(port, { path: "/agents", token });
    expect(await seriesOf("cache.events")).toEqual([
      { "cache.event": "miss", value: 3 },
      { "cache.event": "hit", value: 1 },
      { "cache.event": "evicted", value: 1 },
    ]);
    expect(await seriesOf("verification.duration")).toMatchObject([{ value: { count: 3 } }]);
    expect(await seriesOf("cache.entries")).toEqual([{ value: 2 }]);
    expect(await seriesOf("cache.size")).toEqual([{ value: server.health().cache?.bytes }]);
  });
});

describe("keys", () => {
  const signer = createIssuer({ kid: "first" });
  const source = { "keys.source": "https://issuer.example/jwks", "keys.issuer": "https://issuer.example" };

  function createRemote(now: () => number) {
    const fetch = vi.fn<KeyFetch>(() => Promise.resolve(Response.json(setOf(signer))));
    const keys = {
      jwksUri: "https://issuer.example/jwks?key=canary",
      fetch,
      maxAgeMs: 60_000,
      staleMs: 60_000,
    };
    const options = { issuer: "https://issuer.example", keys, now, onKeyEvent: () => undefined };
    const server = createServer(options);
    onTestFinished(() => server.close());
    const fail = () => fetch.mockImplementation(() => Promise.resolve(new Response(null, { status: 500 })));
    return { server, fail };
  }

  it("counts fetches by source and outcome, and shows the state, the age and the time until 503", async () => {
    let passed = 0;
    vi.spyOn(Date, "now").mockImplementation(() => 1_700_000_000_000 + passed);
    const { server, fail } = createRemote(() => Date.now());
    const { seriesOf } = measure(server);
    const state = async () =>
      (await seriesOf("keys.state")).flatMap((one) => (one["value"] === 1 ? one["keys.state"] : []));

    expect([await state(), await seriesOf("keys.age")]).toEqual([["not loaded"], []]);
    await server.ready();
    passed = 10_000;
    expect(await state()).toEqual(["fresh"]);
    expect(await seriesOf("keys.age")).toEqual([{ ...source, value: 10 }]);
    expect(await seriesOf("keys.time_left")).toEqual([]);

    fail();
    await expect(server.refreshKeys()).rejects.toThrow("500");
    passed = 70_000;
    expect(await state()).toEqual(["stale"]);
    expect(await seriesOf("keys.time_left")).toEqual([{ ...source, value: 50 }]);
    expect(await seriesOf("keys.events")).toEqual([
      { ...source, "keys.event": "fetched", value: 1 },
      { ...source, "keys.event": "failed", value: 1 },
    ]);

    passed = 120_000;
    expect(await state()).toEqual(["unavailable"]);
    expect(await seriesOf("keys.time_left")).toEqual([{ ...source, value: 0 }]);
  });

  it("reports no age if the clock of the server fails", async () => {
    const { server } = createRemote(() => Number.NaN);
    const { seriesOf } = measure(server);
    await expect(server.ready()).rejects.toThrow();
    expect(await seriesOf("keys.age")).toEqual([]);
    expect(await seriesOf("keys.time_left")).toMatchObject([{ value: 0 }]);
  });

  it("names the servers if there are several", async () => {
    const { seriesOf } = measure({ api: create(), admin: create({ tokenCache: false }) });
    expect(await seriesOf("cache.entries")).toEqual([{ server: "api", value: 0 }]);
    const fresh = (await seriesOf("keys.state")).filter(({ value }) => value === 1);
    expect(fresh).toEqual(
      ["api", "admin"].map((server) => ({
        server,
        "keys.source": "verificationKeys",
        "keys.state": "fresh",
        value: 1,
      })),
    );
  });
});

describe("stores and endpoints", () => {
  const stateOf = async ({ seriesOf }: ReturnType<typeof measure>) =>
    (await seriesOf("lookups.state")).flatMap((series) =>
      series["value"] === 0 ? [] : [[series["lookups.of"], series["lookups.state"], series["value"]]],
    );
  const fail = () => Promise.reject(new Error("It failed."));

  it("shows the state of revocation, introspection, API keys and proofs, pending lookups and warnings", async () => {
    let isDown = false;
    const memory = memoryStore();
    const store: Store = {
      ...memory,
      get: (keys) => (isDown ? fail() : memory.get(keys)),
      findWarnings: () => Promise.resolve(["canary"]),
    };
    const responses: ((response: Response) => void)[] = [];
    const fetch = () => new Promise<Response>((resolve) => responses.push(resolve));
    const server = create({
      revocation: sharedRevocation(store, { onEvent: () => undefined }),
      opaqueTokens: [
        apiKeys({ prefix: "key_", find: fail }),
        introspection({ url: "http://localhost/i", client: { id: "c", secret: "s" }, fetch, prefix: "t_" }),
        introspection({ url: "http://localhost/j", client: { id: "c", secret: "s" }, fetch, prefix: "u_" }),
      ],
    });
    onTestFinished(() => server.close());
    const measured = measure(server);
    await server.ready();
    expect(await stateOf(measured)).toEqual([
      ["api_key", "ok", 1],
      ["introspected", "ok", 2],
      ["revocation", "ok", 1],
    ]);
    expect(await measured.seriesOf("policy")).toEqual([{ value: 1, policy: server.health().policy }]);
    expect(await measured.seriesOf("revocation.warnings")).toEqual([
      { value: server.health().revocation?.warnings?.length },
    ]);

    const { key } = createApiKey({ prefix: "key_", name: "ci", ownerId: "user-1", scopes: ["agents:read"] });
    await expect(server.authenticate(key)).rejects.toThrow();
    const waiting = server.authenticate("t_canary").catch(() => undefined);
    await vi.waitFor(() => expect(responses).toHaveLength(1));
    expect(await measured.seriesOf("lookups.pending")).toEqual([
      { "lookups.of": "api_key", value: 0 },
      { "lookups.of": "introspected", value: 1 },
    ]);
    responses[0]?.(new Response(null, { status: 404 }));
    await waiting;
    isDown = true;
    await expect(server.authenticate(await tokenWith("agents:read"))).rejects.toThrow();
    expect(await stateOf(measured)).toEqual([
      ["api_key", "degraded", 1],
      ["introspected", "ok", 1],
      ["introspected", "degraded", 1],
      ["revocation", "degraded", 1],
    ]);
  });

  it("shows a store of proofs only while it fails, and nothing for a server without stores", async () => {
    const replay: Store = { ...memoryStore(), set: fail };
    const server = create({ senderConstraint: { dpop: { origins: ["https://api.example"], replay } } });
    const measured = measure({ bound: server, plain: create() });
    expect(await measured.seriesOf("lookups.state")).toEqual([]);
    await expect(server.ready()).rejects.toThrow();
    expect(await stateOf(measured)).toEqual([["replay", "degraded", 1]]);
    expect(await measured.seriesOf("revocation.warnings")).toEqual([]);
  });
});

describe("the active span", () => {
  it("receives an event for each refusal, in the context of its own request", async () => {
    const exporter = new InMemorySpanExporter();
    const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
    context.setGlobalContextManager(new AsyncLocalStorageContextManager());
    onTestFinished(() => context.disable());
    const tracer = provider.getTracer("test");
    const server = create();
    measure(server);
    const port = await serve(server, (request, response, next) => {
      const span = tracer.startSpan(request.url);
      response.once("close", () => span.end());
      context.with(trace.setSpan(context.active(), span), next);
    });
    const token = await tokenWith("agents:web:read");
    // All at the same time, so that several requests wait for one verification.
    await Promise.all(
      ["/agents/web", "/agents/api", "/agents/docs"].map((path) => ask(port, { path, token })),
    );
    await vi.waitFor(() => expect(exporter.getFinishedSpans()).toHaveLength(3));
    const events = Object.fromEntries(exporter.getFinishedSpans().map((span) => [span.name, span.events]));
    const refusal = {
      name: "scopegate.decision",
      attributes: {
        "scopegate.result": "refused",
        "scopegate.reason": "scope_insufficient",
        "scopegate.rule": "GET /agents/:agent_id",
      },
    };
    expect(events["/agents/web"]).toEqual([]);
    expect(events["/agents/api"]).toMatchObject([refusal]);
    expect(events["/agents/docs"]).toMatchObject([refusal]);
    expect(JSON.stringify(events)).not.toContain(token.slice(-20));
    await provider.shutdown();
  });
});

describe("an exporter", () => {
  const statuses = async (port: number) => {
    const token = await tokenWith("agents:web:read");
    const found = [];
    for (const one of [token, token, `${token}x`, undefined])
      found.push((await ask(port, { path: "/agents/web", token: one })).status);
    return found;
  };

  const fail = () => {
    throw new Error("It failed.");
  };

  it.each([
    ["throws", fail],
    ["hangs", () => undefined],
  ])("changes no response if it %s", async (_, run) => {
    const exported = vi.fn(run);
    const resolve = () => Promise.resolve();
    const exporter = { export: exported, forceFlush: resolve, shutdown: resolve };
    const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 600_000 });
    const meterProvider = new MeterProvider({ readers: [reader] });
    const server = create();
    const stop = startTelemetry(server, { meterProvider });
    const port = await serve(server);
    expect(await statuses(port)).toEqual([200, 200, 401, 401]);
    const flushed = meterProvider.forceFlush().catch(() => undefined);
    await vi.waitFor(() => expect(exported).toHaveBeenCalled());
    expect(await statuses(port)).toEqual([200, 200, 401, 401]);
    stop();
    void flushed;
  });

  it("changes no response if the instruments throw, and warns once", async () => {
    const warnings = vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    const instrument = { add: fail, record: fail };
    const gauge = { addCallback: fail, removeCallback: fail };
    const meter = {
      ...createNoopMeter(),
      createCounter: () => instrument,
      createHistogram: () => instrument,
      createObservableGauge: () => gauge,
      addBatchObservableCallback: () => undefined,
      removeBatchObservableCallback: () => undefined,
    };
    const server = create();
    const stop = startTelemetry(server, { meterProvider: { getMeter: () => meter as never } });
    onTestFinished(stop);
    expect(await statuses(await serve(server))).toEqual([200, 200, 401, 401]);
    // One for each of the two channels that published something.
    expect(warnings).toHaveBeenCalledTimes(2);
  });
});

describe("startTelemetry", () => {
  it("measures nothing more after it was stopped, starts again, and ignores that the first is stopped twice", async () => {
    const server = create();
    const { stop, seriesOf, meterProvider } = measure(server);
    await server.check({ method: "GET", target: "/agents" });
    stop();
    await server.check({ method: "GET", target: "/agents" });
    expect(await seriesOf("decisions")).toMatchObject([{ value: 1 }]);
    expect(await seriesOf("keys.state")).toEqual([]);
    onTestFinished(startTelemetry(server, { meterProvider }));
    stop();
    expect(() => startTelemetry(server, { meterProvider })).toThrow("startTelemetry is already running");
    await server.check({ method: "GET", target: "/agents" });
    expect(await seriesOf("decisions")).toMatchObject([{ value: 2 }]);
  });

  it("rejects wrong arguments, with the fix in the message", () => {
    const start = startTelemetry as (...given: readonly unknown[]) => unknown;
    const { meterProvider } = measure(create());
    const wrong = [undefined, "server", { ...create() }, { meterProvider }, { api: create(), admin: {} }];
    for (const given of wrong)
      expect(() => start(given)).toThrow("write startTelemetry(createResourceServer({ ... }))");
    expect(() => start(create(), { meter: 1 })).toThrow(
      "startTelemetry.meter: received unknown option `meter`. The options are meterProvider.",
    );
    expect(() => start(create(), { meterProvider })).toThrow("startTelemetry({ api, admin })");
  });

  it("warns if no meter provider is registered", async () => {
    const warned = once(process, "warning") as Promise<[Error]>;
    // What the API returns without an SDK.
    startTelemetry(create(), { meterProvider: { getMeter: createNoopMeter } })();
    const [warning] = await warned;
    expect([warning.name, warning.message]).toEqual([
      "ScopegateWarning",
      "startTelemetry found no meter provider: register one first, or pass `meterProvider`.",
    ]);
  });
});
