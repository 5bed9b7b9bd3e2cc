/** The facts of the service's interface, each checked against the example running on a real port. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfiguration } from "../../examples/knowledge-service/configuration.ts";
import { describeKnowledge, loadKnowledge } from "../../examples/knowledge-service/knowledge.ts";
import {
  type Framework,
  FRAMEWORKS,
  type Service,
  startService,
} from "../../examples/knowledge-service/service.ts";
import { type Asked, ask } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const knowledge = loadKnowledge();
const issuer = createIssuer();
const folder = mkdtempSync(join(tmpdir(), "scopegate-interface-"));
const closing: Service[] = [];
let files = 0;

/** Starts the example with a JSON file in the interface's own names. */
async function startWith(framework: Framework, json: Record<string, unknown>): Promise<Service> {
  writeFileSync(join(folder, "key.pem"), issuer.publicPem);
  const file = join(folder, `${(files += 1)}.json`);
  writeFileSync(
    file,
    JSON.stringify({ service_id: "agents-prod", verification_key_file: "key.pem", ...json }),
  );
  const service = await startService(framework, loadConfiguration(file), 0);
  closing.push(service);
  return service;
}

const portOf = ({ url }: Service): number => Number(new URL(url).port);
const ALL = ["agents:read", "teams:read", "sessions:read", "sessions:write", "knowledge:read"];

afterAll(async () => {
  for (const service of closing) await service.close();
  rmSync(folder, { recursive: true });
});

describe.each(Object.keys(FRAMEWORKS) as Framework[])("the interface in %s", (framework) => {
  let service: Service;
  beforeAll(async () => {
    service = await startWith(framework, { algorithm: "RS256", authorization: true, verify_audience: true });
  });
  const call = async (
    path: string,
    claims: Record<string, unknown> = { scopes: ALL },
    more: Partial<Asked> = {},
  ) => ask(portOf(service), { path, token: await issuer.token(claims), ...more });

  describe("the claims of a token", () => {
    const now = Math.floor(Date.now() / 1000);

    it.each<[string, Record<string, unknown>, number]>([
      ["scopes as an array of strings", { scopes: ["agents:read"] }, 200],
      ["no scopes", { scopes: undefined }, 401],
      ["a scope that is not a string", { scopes: [7] }, 401],
      ["no sub", { sub: undefined }, 200],
      ["a sub that is not an integer", { sub: 7.5 }, 401],
      ["a session_id", { session_id: "s-1" }, 200],
      ["an integer as session_id", { session_id: 7 }, 200],
      ["a session_id that is not an integer", { session_id: 7.5 }, 401],
      ["the service id as aud", { aud: "agents-prod" }, 200],
      ["another aud", { aud: "agents-test" }, 401],
      ["no aud", { aud: undefined }, 401],
      ["no exp", { exp: undefined }, 200],
      ["an exp in the future", { exp: now + 600 }, 200],
      ["an exp in the past", { exp: now - 1 }, 401],
      ["an iat", { iat: 1 }, 200],
      ["an iat that is not a number", { iat: "yesterday" }, 401],
    ])("respond to a token with %s by its status", async (_name, claims, status) => {
      expect((await call("/agents", { scopes: ALL, ...claims })).status).toBe(status);
    });

    it.each([
      ["u-1", "u-1"],
      // An integer is read as its decimal string, as many issuers have numeric ids.
      [7, "7"],
    ])("read the sub %j as user_id", async (sub, user_id) => {
      const session = { method: "POST", body: { name: "mine" } };
      expect((await call("/sessions", { scopes: ALL, sub }, session)).body).toMatchObject({ user_id });
    });
  });

  describe("GET /knowledge/config", () => {
    it("returns the catalogue of the interface, in its order", async () => {
      const { text } = await call("/knowledge/config");
      expect(text).toBe(JSON.stringify(describeKnowledge(knowledge, new URLSearchParams())));
    });

    it.each([
      ["?db_id=archive", 200, "application/json"],
      ["?db_id=primary", 400, "application/problem+json"],
      ["?db_id=unknown", 404, "application/problem+json"],
    ])("selects by database and knowledge base: %s returns %i", async (query, status, type) => {
      const { status: answered, headers } = await call(`/knowledge/config${query}`);
      expect([answered, headers["content-type"]]).toEqual([status, expect.stringContaining(type)]);
    });
  });

  describe("authentication", () => {
    it("requires Authorization: Bearer on every request", async () => {
      for (const path of ["/agents", "/teams", "/sessions", "/knowledge/config", "/public/stats"]) {
        expect((await ask(portOf(service), { path })).status, path).toBe(401);
      }
    });

    it("checks scopes for the method and the route, and none for an empty array", async () => {
      expect((await call("/knowledge/config", { scopes: ["agents:read"] })).status).toBe(403);
      expect((await call("/public/stats", { scopes: [] })).status).toBe(200);
    });

    it.each<[string, string, string, number, unknown]>([
      ["agents:read", "GET", "/agents", 200, undefined],
      ["teams:read", "GET", "/teams", 200, undefined],
      ["sessions:read", "GET", "/sessions", 200, undefined],
      ["sessions:write", "POST", "/sessions", 201, { name: "one" }],
      ["agents:web:run", "POST", "/agents/web/runs", 201, { input: "hello" }],
      ["agents:web:read", "GET", "/agents/web", 200, undefined],
      ["platform:admin", "GET", "/teams/research", 200, undefined],
      ["custom:write", "POST", "/custom/endpoint", 201, {}],
    ])("requires the scope %s for %s %s", async (scope, method, path, status, body) => {
      expect((await call(path, { scopes: [scope] }, { method, body })).status).toBe(status);
      expect((await call(path, { scopes: ["custom:read"] }, { method, body })).status).toBe(403);
    });
  });

  it("responds to a body that is not JSON with 400, behind the guard", async () => {
    const statusWith = async (headers: Readonly<Record<string, string>>) => {
      const headersOfJson = { "content-type": "application/json", ...headers };
      const request = { method: "POST", headers: headersOfJson, body: "{" };
      return (await fetch(`${service.url}/sessions`, request)).status;
    };
    const authorization = `Bearer ${await issuer.token({ scopes: ALL })}`;
    expect(await statusWith({ authorization })).toBe(400);
    expect(await statusWith({})).toBe(401);
  });
});

it.each(Object.keys(FRAMEWORKS) as Framework[])(
  "adds scope_mappings to the defaults in %s, overrides the same route, and requires no scope for an empty array",
  async (framework) => {
    const service = await startWith(framework, {
      scope_mappings: { "GET /teams": ["custom:read"], "GET /knowledge/config": [] },
    });
    const statusOf = async (path: string, ...scopes: string[]) =>
      (await ask(portOf(service), { path, token: await issuer.token({ scopes }) })).status;
    expect(await statusOf("/teams", "teams:read")).toBe(403);
    expect(await statusOf("/teams", "custom:read")).toBe(200);
    expect(await statusOf("/knowledge/config")).toBe(200);
    expect(await statusOf("/agents", "agents:read")).toBe(200);
  },
);
