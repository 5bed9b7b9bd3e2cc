/** The channels of `node:diagnostics_channel`: what they publish, and what they cost without a subscriber. */
import { execFileSync } from "node:child_process";
import { createServer as createHttpServer } from "node:http";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { protect } from "scopegate/node";
import { CACHE_CHANNEL, DECISION_CHANNEL, KEYS_CHANNEL } from "../../src/core/runtime/channels.ts";
import { messagesOf } from "../support/channel.ts";
import { ask, listen } from "../support/http.ts";
import { first } from "../support/key-issuer.ts";
import { createFakeIssuer, createRemote } from "../support/remote-keys.ts";
import { createServer, issuer } from "../support/resource-servers.ts";
import { CHILD_LIMIT } from "../support/child-limit.ts";
import type { ResourceServerOptions } from "../support/server.ts";

const bearer = async (...scopes: readonly string[]) => `Bearer ${await issuer.token({ scopes })}`;
const agents = (authorization?: string) => ({ method: "GET", target: "/agents?key=canary", authorization });

/** Listens with a server of these options until the end of the test. */
async function serve(options: Partial<ResourceServerOptions> = {}): Promise<number> {
  const guard = protect(createServer(options));
  const listener = createHttpServer((request, response) => {
    void guard(request, response).then((mayGoOn) => mayGoOn && response.end("ok"));
  });
  const { port, close } = await listen(listener);
  onTestFinished(close);
  return port;
}

describe("scopegate:decision", () => {
  it("publishes what onDecision receives, for allowed and refused requests", async () => {
    const onDecision = vi.fn();
    const messages = messagesOf("scopegate:decision");
    const server = createServer({ onDecision });
    const allowed = await bearer("agents:read");
    for (const authorization of [allowed, allowed, await bearer(), undefined])
      await server.check(agents(authorization));

    expect(messages.map(({ decision }) => (decision.allowed ? "allowed" : decision.reason))).toEqual([
      "allowed",
      "allowed",
      "scope_insufficient",
      "credential_missing",
    ]);
    for (const [index, { decision, request, event }] of messages.entries()) {
      const [observedDecision, ...others] = onDecision.mock.calls[index] as readonly unknown[];
      expect(decision).toBe(observedDecision);
      expect(others).toEqual([request, event]);
      expect(event.durationMs).toBeGreaterThan(0);
    }
  });

  it("publishes without onDecision, and without the token and the query", async () => {
    const messages = messagesOf("scopegate:decision");
    const port = await serve();
    const token = await issuer.token({ scopes: ["agents:read"] });
    for (const sentToken of [token, token, `${token}x`])
      await ask(port, { path: "/agents?key=canary", token: sentToken, headers: [["cookie", "canary=1"]] });
    expect(messages.map(({ decision }) => decision.allowed)).toEqual([true, true, false]);
    expect(messages[0]).toMatchObject({ request: { method: "GET", target: "/agents" } });
    const text = JSON.stringify(messages);
    expect(text).not.toContain("canary");
    expect(text).not.toContain(token.slice(-20));
  });

  it("publishes the decisions of checkScopes", async () => {
    const server = createServer();
    const request = agents(await bearer("agents:read"));
    const decision = await server.check(request);
    const messages = messagesOf("scopegate:decision");
    const decided = server.checkScopes(decision, ["agents:write"], request);
    expect(messages.map((message) => message.decision)).toEqual([decided]);
  });
});

describe("scopegate:cache", () => {
  it("publishes each hit, each verification with its duration, and each replaced token", async () => {
    const messages = messagesOf("scopegate:cache");
    const server = createServer({ tokenCache: { maxEntries: 1 } });
    const [first, second] = [await bearer("agents:read"), await bearer("agents:run")];
    for (const authorization of [first, first, second, `${first}x`])
      await server.check(agents(authorization));
    expect(messages.map(({ type, entries }) => [type, entries])).toEqual([
      ["miss", 1],
      ["hit", 1],
      ["evicted", 1],
      ["miss", 1],
      ["miss", 1],
    ]);
    for (const { type, bytes, durationMs } of messages) {
      expect(bytes).toBeGreaterThan(0);
      expect(durationMs !== undefined && durationMs > 0).toBe(type === "miss");
    }
    expect(server.health().cache).toEqual({ entries: 1, bytes: messages.at(-1)?.bytes });
  });

  it("publishes one miss for a token that several requests send at the same time", async () => {
    const messages = messagesOf("scopegate:cache");
    const server = createServer();
    const authorization = await bearer("agents:read");
    await Promise.all([1, 2, 3].map(() => server.check(agents(authorization))));
    expect(messages.map(({ type }) => type)).toEqual(["hit", "hit", "miss"]);
  });

  it("publishes nothing if the server has no cache", async () => {
    const messages = messagesOf("scopegate:cache");
    await createServer({ tokenCache: false }).check(agents(await bearer("agents:read")));
    expect(messages).toEqual([]);
  });
});

describe("scopegate:keys", () => {
  it("publishes the events that onKeyEvent receives, with the issuer", async () => {
    const { fetch, fail } = createFakeIssuer(first);
    const messages = messagesOf("scopegate:keys");
    const keys = { jwksUri: "https://issuer.example/jwks", fetch };
    const { server, events } = createRemote(keys, { issuer: "https://issuer.example" });
    await server.ready();
    fail();
    await expect(server.refreshKeys()).rejects.toThrow("500");
    expect(messages.map(({ type, issuer }) => [type, issuer])).toEqual([
      ["fetched", "https://issuer.example"],
      ["failed", "https://issuer.example"],
    ]);
    expect(messages).toEqual(events);
  });
});

describe("a channel", () => {
  it("changes no response if publishing throws", async () => {
    messagesOf("scopegate:decision");
    messagesOf("scopegate:cache");
    messagesOf("scopegate:keys");
    const failing = [DECISION_CHANNEL, CACHE_CHANNEL, KEYS_CHANNEL].map((channel) =>
      vi.spyOn(channel, "publish").mockImplementation(() => {
        throw new Error("The subscriber failed.");
      }),
    );
    vi.spyOn(process, "emitWarning").mockImplementation(() => undefined);
    onTestFinished(() => void vi.restoreAllMocks());
    const { fetch } = createFakeIssuer(issuer);
    const port = await serve({ keys: { jwksUri: "https://issuer.example/jwks", fetch } });
    const statuses = [];
    for (const scopes of [["agents:read"], ["agents:read"], []])
      statuses.push((await ask(port, { path: "/agents", token: await issuer.token({ scopes }) })).status);
    statuses.push((await ask(port, { path: "/agents" })).status);
    expect(statuses).toEqual([200, 200, 403, 401]);
    for (const publish of failing) expect(publish).toHaveBeenCalled();
  });

  it("builds no decision for a remembered token unless someone listens, and responds if a subscriber throws", () => {
    const { unheard, heard, statuses, uncaught } = runProgram(`
      import { subscribe, unsubscribe } from "node:diagnostics_channel";
      import { createTestIssuer } from "scopegate/testing";
      import { createResourceServer } from "scopegate";
      import { pipelineOf } from "${fileURLToPath(new URL("../../src/core/port.ts", import.meta.url))}";
      const issuer = createTestIssuer();
      const scopeMappings = { "GET /agents": ["agents:read"] };
      const server = createResourceServer({ ...issuer.resourceServerOptions, scopeMappings });
      const authorization = "Bearer " + (await issuer.token({ scopes: ["agents:read"] }));
      const request = { method: "GET", target: "/agents", authorization };
      await server.check(request);
      // A decision that was not built for a report is built each time it is asked for.
      const isBuilt = () => {
        const verdict = pipelineOf(server).decide(request, false);
        return verdict.decision() === verdict.decision();
      };
      const unheard = isBuilt();
      const listen = () => undefined;
      subscribe("scopegate:decision", listen);
      const heard = isBuilt();
      unsubscribe("scopegate:decision", listen);
      const again = isBuilt();

      let uncaught = 0;
      process.on("uncaughtException", () => (uncaught += 1));
      for (const name of ["decision", "cache", "keys"])
        subscribe("scopegate:" + name, () => { throw new Error("The subscriber failed."); });
      const allowed = await server.check(request);
      const refused = await server.check({ ...request, authorization: undefined });
      await new Promise(setImmediate);
      const statuses = [allowed.allowed, server.refuse(refused).status];
      console.log(JSON.stringify({ unheard: [unheard, again], heard, statuses, uncaught }));
    `);
    expect(unheard).toEqual([false, false]);
    expect(heard).toBe(true);
    expect(statuses).toEqual([true, 401]);
    // Node.js reports what a subscriber throws as an uncaught exception. Two decisions, one remembered token.
    expect(uncaught).toBe(3);
  });
});

/** Runs a program in a process of its own, where nobody else subscribes, and returns the JSON that it prints. */
function runProgram(code: string): Readonly<Record<string, unknown>> {
  const args = ["--import", "tsx", "--input-type=module", "-e", code];
  return JSON.parse(execFileSync(process.execPath, args, { ...CHILD_LIMIT, encoding: "utf8" })) as Record<
    string,
    unknown
  >;
}
