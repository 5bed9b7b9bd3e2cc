/** The facts of the service's interface, each checked against the example running on a real port. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loadConfiguration } from "../../examples/knowledge-service/configuration.ts";
import {
  type Framework,
  FRAMEWORKS,
  type Service,
  startService,
} from "../../examples/knowledge-service/service.ts";
import { type Answer, type Asked, ask } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";
import * as facts from "./interface-facts.ts";

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

  describe("token claims", () => {
    it("requires scopes, an array of strings", async () => {
      expect((await call("/agents", { scopes: ["agents:read"] })).status).toBe(200);
      expect((await call("/agents", { scopes: undefined })).status).toBe(401);
      expect((await call("/agents", { scopes: [7] })).status).toBe(401);
    });

    it("reads the optional string sub as user_id", async () => {
      const session = { method: "POST", body: { name: "mine" } };
      expect((await call("/sessions", { scopes: ALL, sub: "u-1" }, session)).body).toMatchObject({
        user_id: "u-1",
      });
      expect((await call("/agents", { scopes: ALL, sub: undefined })).status).toBe(200);
      // An integer is read as its decimal string, as many issuers have numeric ids.
      expect((await call("/sessions", { scopes: ALL, sub: 7 }, session)).body).toMatchObject({
        user_id: "7",
      });
      expect((await call("/agents", { scopes: ALL, sub: 7.5 })).status).toBe(401);
    });

    it("reads the optional string session_id", async () => {
      expect((await call("/agents", { scopes: ALL, session_id: "s-1" })).status).toBe(200);
      expect((await call("/agents", { scopes: ALL, session_id: 7 })).status).toBe(200);
      expect((await call("/agents", { scopes: ALL, session_id: 7.5 })).status).toBe(401);
    });

    it("requires aud to equal the service id", async () => {
      expect((await call("/agents", { scopes: ALL, aud: "agents-prod" })).status).toBe(200);
      expect((await call("/agents", { scopes: ALL, aud: "agents-test" })).status).toBe(401);
      expect((await call("/agents", { scopes: ALL, aud: undefined })).status).toBe(401);
    });

    it("rejects an expired token, and accepts a token without exp", async () => {
      const now = Math.floor(Date.now() / 1000);
      expect((await call("/agents", { scopes: ALL, exp: undefined })).status).toBe(200);
      expect((await call("/agents", { scopes: ALL, exp: now + 600 })).status).toBe(200);
      expect((await call("/agents", { scopes: ALL, exp: now - 1 })).status).toBe(401);
    });

    it("accepts a token with iat and without it", async () => {
      expect((await call("/agents", { scopes: ALL, iat: 1 })).status).toBe(200);
      expect((await call("/agents", { scopes: ALL, iat: "yesterday" })).status).toBe(401);
    });
  });

  describe("GET /knowledge/config", () => {
    const config = async (query = "") =>
      (await call(`/knowledge/config${query}`)).body as Record<string, unknown>;

    it("returns the fields of the interface and the remote content sources", async () => {
      expect(Object.keys(await config())).toEqual([
        "readers",
        "readersForType",
        "chunkers",
        "vector_dbs",
        "filters",
        "remote_content_sources",
      ]);
    });

    it.each(facts.readers)(
      "returns the reader %s as %s, with its chunkers in order",
      async (id, name, chunkers) => {
        const { readers } = (await config()) as { readers: Record<string, unknown> };
        expect(readers[id]).toEqual({ id, name, description: `Reads ${id} files`, chunkers });
        expect(Object.keys(readers)).toEqual(facts.readers.map(([known]) => known));
      },
    );

    it.each(facts.readersForType)("returns the readers of the content type %s in order", async (key, ids) => {
      const { readersForType } = (await config()) as { readersForType: Record<string, unknown> };
      expect(readersForType[key]).toEqual(ids);
      expect(Object.keys(readersForType)).toEqual(facts.readersForType.map(([known]) => known));
    });

    it.each(facts.chunkers)("returns exactly the metadata of the chunker %s", async (key, metadata) => {
      const { chunkers } = (await config()) as { chunkers: Record<string, unknown> };
      expect(chunkers[key]).toEqual({
        key,
        name: key,
        description: expect.stringMatching(/./) as string,
        metadata,
      });
      expect(Object.keys(chunkers)).toEqual(facts.chunkers.map(([known]) => known));
    });

    it("returns vector_dbs with id, name, description and known search types", async () => {
      const { vector_dbs: databases } = (await config()) as { vector_dbs: { search_types: string[] }[] };
      expect(databases.length).toBeGreaterThan(0);
      for (const database of databases) {
        expect(Object.keys(database)).toEqual(["id", "name", "description", "search_types"]);
        expect(facts.searchTypes).toEqual(expect.arrayContaining(database.search_types));
      }
    });

    it("returns filters, an array of strings", async () => {
      expect((await config())["filters"]).toEqual(expect.arrayContaining([expect.any(String)]));
    });

    it("returns remote content sources of the four kinds by their ids", async () => {
      const { remote_content_sources: sources } = (await config()) as {
        remote_content_sources: Record<string, { id: string; type: string }>;
      };
      expect(
        Object.values(sources)
          .map(({ type }) => type)
          .sort(),
      ).toEqual([...facts.remoteSourceKinds].sort());
      for (const [id, source] of Object.entries(sources)) {
        expect(source.id).toBe(id);
        expect(Object.keys(source)).toEqual(["id", "name", "type", "metadata"]);
      }
    });

    it.each([
      ["?db_id=archive", 200],
      ["?knowledge_id=research", 200],
      ["?db_id=primary&knowledge_id=handbook", 200],
      ["?db_id=primary", 400],
      ["?knowledge_id=handbook", 400],
      ["?db_id=archive&knowledge_id=research", 404],
      ["?db_id=unknown", 404],
      ["?db_id=", 400],
      ["?db_id=archive&db_id=archive", 400],
    ])("selects by database and knowledge base: %s answers %i", async (query, status) => {
      const answer = await call(`/knowledge/config${query}`);
      expect(answer.status).toBe(status);
      expect(answer.headers["content-type"]).toContain(
        status === 200 ? "application/json" : "application/problem+json",
      );
    });

    it("returns the same catalogue for every knowledge base", async () => {
      const [one, other] = [await config("?db_id=archive"), await config("?knowledge_id=research")];
      for (const field of ["vector_dbs", "filters", "remote_content_sources"])
        expect(one[field]).not.toEqual(other[field]);
      for (const field of ["readers", "readersForType", "chunkers"]) expect(one[field]).toEqual(other[field]);
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

  it("hides sessions of other users, and deleted sessions", async () => {
    const mine = { scopes: ALL, sub: "owner" };
    const created = (await call("/sessions", mine, { method: "POST", body: { name: "notes" } })).body as {
      session_id: string;
    };
    const path = `/sessions/${created.session_id}`;
    expect((await call(path, { scopes: ALL, sub: "other" })).status).toBe(404);
    expect((await call(path, mine, { method: "PATCH", body: { name: "renamed" } })).body).toMatchObject({
      name: "renamed",
    });
    expect((await call(path, mine, { method: "DELETE" })).status).toBe(204);
    expect((await call(path, mine)).status).toBe(404);
  });

  it("answers a body that is not JSON with 400, behind the guard", async () => {
    const send = async (token: string | undefined): Promise<Answer> => {
      const headers = {
        "content-type": "application/json",
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      };
      const response = await fetch(`${service.url}/sessions`, { method: "POST", headers, body: "{" });
      return { status: response.status, headers: {}, text: "", body: await response.json() };
    };
    expect((await send(await issuer.token({ scopes: ALL }))).status).toBe(400);
    expect((await send(undefined)).status).toBe(401);
  });
});

describe.each(Object.keys(FRAMEWORKS) as Framework[])("the configuration parameters in %s", (framework) => {
  const statusOf = async (service: Service, path: string, claims: Record<string, unknown>, method = "GET") =>
    (await ask(portOf(service), { path, method, token: await issuer.token(claims) })).status;

  it("verifies tokens with each key of verification_keys", async () => {
    const other = createIssuer({ kid: "second" });
    const service = await startWith(framework, { verification_keys: [other.publicPem, issuer.publicPem] });
    expect(await statusOf(service, "/agents", { scopes: ALL })).toBe(200);
    const token = await other.token({ scopes: ALL }, { kid: undefined });
    expect((await ask(portOf(service), { path: "/agents", token })).status).toBe(200);
    const strangers = await createIssuer({ kid: "third" }).token({ scopes: ALL }, { kid: undefined });
    expect((await ask(portOf(service), { path: "/agents", token: strangers })).status).toBe(401);
  });

  it("rejects a token with another algorithm than `algorithm`", async () => {
    const token = await issuer.token({ scopes: ALL }, { alg: "RS512" });
    const service = await startWith(framework, { algorithm: "RS256" });
    expect((await ask(portOf(service), { path: "/agents", token })).status).toBe(401);
    const strict = await startWith(framework, { algorithm: "RS512" });
    expect((await ask(portOf(strict), { path: "/agents", token })).status).toBe(200);
  });

  it("verifies tokens and checks no scopes with authorization: false", async () => {
    const service = await startWith(framework, { authorization: false });
    expect(await statusOf(service, "/agents", { scopes: [] })).toBe(200);
    expect(await statusOf(service, "/agents", { scopes: [], exp: 1 })).toBe(401);
  });

  it("adds scope_mappings to the defaults, overrides the same route, and requires no scope for an empty array", async () => {
    const service = await startWith(framework, {
      scope_mappings: { "GET /teams": ["custom:read"], "GET /knowledge/config": [] },
    });
    expect(await statusOf(service, "/teams", { scopes: ["teams:read"] })).toBe(403);
    expect(await statusOf(service, "/teams", { scopes: ["custom:read"] })).toBe(200);
    expect(await statusOf(service, "/knowledge/config", { scopes: [] })).toBe(200);
    expect(await statusOf(service, "/agents", { scopes: ["agents:read"] })).toBe(200);
  });

  it("accepts a token for another service with verify_audience: false", async () => {
    const service = await startWith(framework, { verify_audience: false });
    expect(await statusOf(service, "/agents", { scopes: ALL, aud: "other" })).toBe(200);
    expect(await statusOf(service, "/agents", { scopes: ALL, aud: undefined })).toBe(200);
  });
});
