/** API keys in requests to a real server. */
import { createServer as createHttp } from "node:http";
import express from "express";
import { afterAll, beforeAll, expect, it } from "vitest";
import type { Decision } from "scopegate";
import { apiKeys, apiKeyStore, createApiKey } from "scopegate/api-keys";
import { memoryStore } from "scopegate/store";
import { principalOf, protect } from "scopegate/express";
import { ask, listen } from "../../support/http.ts";
import { createServer } from "../../support/resource-servers.ts";

const PREFIX = "acme_pat_";
const store = apiKeyStore(memoryStore());
const decisions: Decision[] = [];
let isDown = false;
let port = 0;
let close: () => unknown;

async function create(scopes: readonly string[]) {
  const { key, record } = createApiKey({ prefix: PREFIX, name: "ci", scopes, ownerId: "service:ci" });
  await store.add(record);
  return { key, record };
}

beforeAll(async () => {
  const find = (id: string) => (isDown ? Promise.reject(new Error("down")) : store.find(id));
  const server = createServer({
    now: Date.now,
    opaqueTokens: [apiKeys({ prefix: PREFIX, find, cacheSeconds: 0 })],
    scopeMappings: { "GET /agents/:agent_id": ["agents:<agent_id>:read"] },
    onDecision: (decision) => void decisions.push(decision),
  });
  const app = express();
  app.use(protect(server));
  app.get("/agents/:agent_id", (req, res) => {
    const { userId, tokenId, tokenKind } = principalOf(req) ?? {};
    res.json({ userId, tokenId, tokenKind });
  });
  ({ port, close } = await listen(createHttp(app)));
});
afterAll(() => close());

it("returns 200 to a key with the scope of the route, and passes its principal", async () => {
  const { key, record } = await create(["agents:web:read"]);
  const answer = await ask(port, { path: "/agents/web", token: key });
  expect(answer).toMatchObject({
    status: 200,
    body: { userId: "service:ci", tokenId: record.id, tokenKind: "api_key" },
  });
});

it("returns 403 with the missing scope to a key without it", async () => {
  const { key } = await create(["agents:web:read"]);
  const answer = await ask(port, { path: "/agents/api", token: key });
  expect(answer.status).toBe(403);
  expect(answer.headers["www-authenticate"]).toContain('error="insufficient_scope"');
});

it("returns 401 to a mistyped, unknown or revoked key, and shows the reason in the decision only", async () => {
  const { key, record } = await create(["agents:web:read"]);
  const { key: unknown } = createApiKey({ prefix: PREFIX, name: "x", scopes: ["a:b"], ownerId: "u1" });
  await store.revoke(record.id);
  const tokens = { malformed: `${key.slice(0, -1)}_`, key: unknown, revoked: key };
  for (const [rejection, token] of Object.entries(tokens)) {
    const answer = await ask(port, { path: "/agents/web", token });
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toContain('error="invalid_token"');
    expect(decisions.at(-1)).toMatchObject({ reason: "token_rejected", rejection });
    const seen = answer.text + JSON.stringify([answer.headers, decisions.at(-1)]);
    for (const secret of [token, token.slice(-30), record.hash]) expect(seen).not.toContain(secret);
  }
  expect((await ask(port, { path: "/agents/web" })).status).toBe(401);
});

it("returns 503 with Retry-After while the store is down, and 200 again afterwards", async () => {
  const { key } = await create(["agents:web:read"]);
  isDown = true;
  const answer = await ask(port, { path: "/agents/web", token: key });
  isDown = false;
  expect(answer.status).toBe(503);
  expect(answer.headers["retry-after"]).toBeDefined();
  expect(answer.text).not.toContain("down");
  expect((await ask(port, { path: "/agents/web", token: key })).status).toBe(200);
});
