/** A token or an API key that a client sends in the wrong place must not reach a hook, a channel or a log. */
import { inspect } from "node:util";
import { describe, expect, it, vi } from "vitest";
import type { AccessRequest } from "scopegate";
import { decisionLog } from "scopegate/decision-log";
import { createApiKey } from "scopegate/api-keys";
import { createRefusalLog } from "../../src/core/refusal-log.ts";
import { withoutTokens } from "../../src/core/runtime/printable.ts";
import { messagesOf } from "../support/channel.ts";
import { createServer, issuer } from "../support/resource-servers.ts";
import type { ResourceServerOptions } from "../support/server.ts";
import { measure } from "../support/telemetry.ts";

const jwt = await issuer.token({ scopes: ["agents:read"] });
const { key } = createApiKey({ prefix: "acme_pat_", name: "ci", scopes: ["agents:read"], ownerId: "u1" });
const encoded = (text: string): string =>
  text.replaceAll(/[^/]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);

/** The parts of each credential that nobody may see. A percent-encoded part counts as well. */
const SECRETS = [jwt.split(".")[1] ?? "", jwt.split(".")[2] ?? "", key.slice(24, 60)].flatMap((text) => [
  text.slice(0, 30),
  encoded(text).slice(0, 60),
]);

const table = {
  "GET /agents/:agent_id": ["agents:<agent_id>:read"],
  "GET /reports/:id": [],
  "MCP resources/read *": ["docs:read"],
  "MCP tools/call run": ["agents:<agent_id>:run"],
};

/** For the decision of a second table. */
const shadow = { scopeMappings: { ...table, "GET /reports/:id": ["reports:<id>:read"] } };

const requests: readonly AccessRequest[] = [jwt, key].flatMap((secret) => [
  { method: "GET", target: `/agents/${secret}` },
  { method: "GET", target: `/reports/${secret}` },
  { method: "GET", target: `/elsewhere/x-${secret}` },
  { method: "GET", target: `/agents/${encoded(secret)}` },
  { method: "GET", target: `/agents/${encoded(encoded(secret))}` },
  { method: "GET", target: `/agents/Bearer%20${secret}` },
  { method: "GET", target: `/agents/web?access_token=${secret}` },
  { method: "GET", target: `/agents/web%3Faccess_token=${secret}` },
  { method: "GET", target: "/agents/web", params: { agent_id: secret, other: [secret], none: undefined } },
  {
    method: "GET",
    target: "/agents/web",
    operations: [`resources/read https://docs.example/?key=${secret}`],
  },
  { method: "MCP", target: `resources/read docs://${secret}` },
  { method: "MCP", target: `resources/list ${secret}` },
  { method: "MCP", target: "tools/call run", params: { agent_id: secret } },
]);

function expectNoSecret(value: unknown): void {
  const text = inspect(value, { depth: Infinity, maxStringLength: null, maxArrayLength: null });
  expect(SECRETS.filter((secret) => text.includes(secret))).toEqual([]);
}

async function observe(options: Partial<ResourceServerOptions>): Promise<void> {
  const server = createServer({ scopeMappings: table, shadow, ...options });
  for (const request of requests)
    for (const scopes of [["agents:read"], ["agents:read", "agents:run", "docs:read"]])
      await server.check({ ...request, authorization: `Bearer ${await issuer.token({ scopes })}` });
}

describe("with a credential in a path, a parameter or the name of an operation", () => {
  it("keeps it out of the arguments of onDecision", async () => {
    const seen: unknown[] = [];
    await observe({
      onDecision: (decision, request, { at, durationMs }) => seen.push({ decision, request, at, durationMs }),
    });
    expect(seen).toHaveLength(requests.length * 2);
    expectNoSecret(seen.map((one) => ({ ...(one as object), principal: undefined })));
    expect(inspect(seen, { depth: 9 })).toContain("/agents/[token]");
  });

  it("keeps it out of the channel", async () => {
    const messages = messagesOf("scopegate:decision");
    await observe({});
    expect(messages).toHaveLength(requests.length * 2);
    expectNoSecret(messages);
  });

  it("keeps it out of the decision log, whatever the log includes", async () => {
    const lines: string[] = [];
    const onDecision = decisionLog((line) => void lines.push(line), {
      include: ["path", "parameters"],
      subject: "plain",
    });
    await observe({ onDecision });
    await onDecision.flush();
    expect(lines.join("")).toContain('"path":"/agents/[token]"');
    expectNoSecret(lines);
  });

  it("keeps it out of the lines of NODE_DEBUG", async () => {
    const log = Object.assign(vi.fn(), { enabled: true });
    const refusalLog = createRefusalLog([], log);
    const server = createServer({ scopeMappings: table, shadow });
    for (const request of requests) {
      const decision = await server.check({ ...request, authorization: `Bearer ${jwt}` });
      refusalLog.logDecision(decision, request);
      refusalLog.logResponse("400: The body must be JSON.", request);
    }
    expect(log.mock.calls.length).toBeGreaterThan(requests.length);
    expectNoSecret(log.mock.calls);
  });

  it("keeps it out of the attributes of OpenTelemetry", async () => {
    const { collect } = measure(createServer());
    await observe({});
    expectNoSecret(await collect());
  });

  it("changes neither the decision for the caller of check nor the response", async () => {
    const onDecision = vi.fn();
    const server = createServer({ scopeMappings: table, shadow, onDecision });
    const authorization = `Bearer ${await issuer.token({ scopes: [] })}`;
    const decision = await server.check({ method: "GET", target: `/agents/${key}`, authorization });
    expect(decision.required).toEqual([`agents:${key}:read`]);
    expect(onDecision.mock.calls[0]?.[0]).toMatchObject({
      required: ["agents:[token]:read"],
      missing: ["agents:[token]:read"],
    });
    const plain = await server.check({ method: "GET", target: "/agents/web", authorization });
    expect(onDecision.mock.calls[1]?.[0]).toBe(plain);
    const shadowed = await server.check({ method: "GET", target: `/reports/${key}`, authorization });
    expect(shadowed.shadow).toMatchObject({ required: [`reports:${key}:read`] });
    expect(onDecision.mock.calls[2]?.[0]).toMatchObject({ shadow: { required: ["reports:[token]:read"] } });
  });
});

/** Its header begins with a space in the JSON, so that its base64url does not begin like that of most JWTs. */
const otherJwt = [' { "alg":"RS256"}', '\n{ "sub":"user-1"}', "0123456789abcdef0123"]
  .map((part) => Buffer.from(part).toString("base64url"))
  .join(".");

describe("withoutTokens", () => {
  it.each([
    ["a JWT", `/a/${jwt}/b`, "/a/[token]/b"],
    ["a JWT after another word", `/a/session-${jwt}`, "/a/[token]"],
    ["a part of a JWT", `/a/${jwt.split(".")[1] ?? ""}`, "/a/[token]"],
    ["a JWT in other text", `/a/v1.${otherJwt}.json`, "/a/[token]"],
    ["a JWT behind an escape", `/a/%20${otherJwt}~1`, "/a/[token]"],
    ["an API key", `/a/${key}/b`, "/a/[token]/b"],
    ["an API key of another prefix", `/a/${key.replace("acme_pat_", "x1_")}`, "/a/[token]"],
    ["an API key that is cut", `/a/${key.slice(0, -10)}`, "/a/[token]"],
    ["a UUID", "/a/0b9bd2c7-8c64-4c5f-9d4b-0f3c8ed5f0aa", "/a/0b9bd2c7-8c64-4c5f-9d4b-0f3c8ed5f0aa"],
    [
      "an id with a prefix",
      `/a/user_${"0123456789abcdef".repeat(2)}`,
      `/a/user_${"0123456789abcdef".repeat(2)}`,
    ],
    ["a SHA-256", `/a/${"0123456789abcdef".repeat(4)}`, `/a/${"0123456789abcdef".repeat(4)}`],
    ["a SHA-256 in base64url", `/a/b_${"C".repeat(41)}`, `/a/b_${"C".repeat(41)}`],
    ["a long name", "/a/the-monkeyJump.release.notes", "/a/the-monkeyJump.release.notes"],
  ])("replaces a credential and nothing else: %s", (_, text, shown) => {
    expect(withoutTokens(text)).toBe(shown);
  });
});
