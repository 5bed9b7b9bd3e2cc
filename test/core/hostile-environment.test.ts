/** What must hold where other code of the process is broken or hostile: polluted prototypes, changed lists, odd promises. */
import { createSecretKey } from "node:crypto";
import { createServer } from "node:http";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import express from "express";
import Koa from "koa";
import { afterAll, afterEach, describe, expect, it, vi } from "vitest";
import {
  type AccessRequest,
  ConfigurationError,
  createResourceServer,
  type Decision,
  type ResourceServerOptions,
} from "scopegate";
import * as forExpress from "scopegate/express";
import * as forKoa from "scopegate/koa";
import * as forNode from "scopegate/node";
import { ask as askOverHttp, listen } from "../support/http.ts";
import { createIssuer } from "../support/issuer.ts";

const issuer = createIssuer();
const create = (options: Partial<ResourceServerOptions> = {}) =>
  createResourceServer({
    serviceId: "agents-prod",
    verificationKeys: [issuer.publicPem],
    scopeMappings: { "GET /agents/:agent_id": ["agents:<agent_id>:read"], "GET /open": "public" },
    ...options,
  });
const bearer = async (...scopes: readonly string[]) => `Bearer ${await issuer.token({ scopes })}`;
const ask = (authorization?: string): AccessRequest => ({
  method: "GET",
  target: "/agents/web",
  ...(authorization !== undefined && { authorization }),
});

const pollution: Record<string, unknown> = {};
const pollute = (members: Record<string, unknown>) => {
  Object.assign(pollution, members);
  Object.assign(Object.prototype, members);
};
afterEach(() => {
  for (const name of Object.keys(pollution)) {
    Reflect.deleteProperty(Object.prototype, name);
    Reflect.deleteProperty(pollution, name);
  }
});

describe("a polluted prototype", () => {
  it.each<readonly [Record<string, unknown>]>([
    [{ refused: { allowed: true } }],
    [{ allowed: true }],
    [{ matchedPattern: "/open" }],
    [{ principal: { userId: "root", scopes: ["platform:admin"] } }],
    [{ refusal: undefined }],
    [{ scopes: ["platform:admin"] }],
    [{ kid: "other", typ: "JWT", alg: "none" }],
  ])("allows no caller with %j", async (members) => {
    const server = create();
    const few = await bearer("teams:read");
    pollute(members);
    expect(Object.hasOwn(await server.check(ask()), "reason")).toBe(true);
    expect((await server.check(ask(few))).allowed).toBe(false);
    expect((await server.check(ask("Bearer a.b.c"))).allowed).toBe(false);
    await expect(server.authenticate("a.b.c")).rejects.toThrow("malformed");
  });

  it("adds no credential", async () => {
    const server = create();
    pollute({ authorization: await bearer("agents:read"), cookie: "access_token=x" });
    expect(await server.check(ask())).toMatchObject({ allowed: false, reason: "credential_missing" });
  });
});

describe("a polluted prototype at construction", () => {
  it.each([
    { verifyAudience: false },
    { audience: "other" },
    { unmappedRoutes: "authenticated" },
    { authorization: false },
  ])("sets no option: %o", async (members) => {
    pollute(members);
    const server = create();
    const other = `Bearer ${await issuer.token({ aud: "other", scopes: ["agents:read"] })}`;
    expect(await server.check(ask(other))).toMatchObject({ allowed: false, rejection: "audience" });
    const request = { method: "GET", target: "/unknown", authorization: await bearer("agents:read") };
    expect(await server.check(request)).toMatchObject({ allowed: false, reason: "route_unmapped" });
  });
});

describe("a polluted prototype under an adapter", () => {
  const server = create();
  const guardNode = forNode.protect(server);
  const serveKoa = new Koa()
    .use(forKoa.protect(server) as never)
    .use((context) => void (context.body = "ran"))
    .callback();
  const listeners: Record<string, Parameters<typeof createServer>[1]> = {
    node: (request, response) =>
      void guardNode(request, response).then((isAllowed) => isAllowed && response.end("ran")),
    express: express()
      .use(forExpress.protect(server))
      .use((_request, response) => void response.end("ran")),
    koa: (request, response) => void serveKoa(request, response),
  };

  it.each(Object.keys(listeners))("adds neither a route nor a credential: %s", async (name) => {
    const { port, close } = await listen(createServer(listeners[name]));
    const token = await issuer.token({ scopes: ["agents:read"] });
    const statusOf = async () => (await askOverHttp(port, { path: "/agents/web" })).status;
    try {
      pollute({ matchedPattern: "/open" });
      expect(await statusOf()).toBe(401);
      pollute({ matchedPattern: undefined, authorization: `Bearer ${token}` });
      expect(await statusOf()).toBe(401);
    } finally {
      await close();
    }
  });
});

describe("checkScopes", () => {
  it("returns a refused decision unchanged, whatever its caller holds", async () => {
    const revoking = create({ isRevoked: () => true });
    const revoked = await revoking.check(ask(await bearer("agents:read")));
    expect(revoking.checkScopes(revoked, ["agents:read"], ask())).toBe(revoked);
    const server = create();
    const insufficient = await server.check(ask(await bearer("teams:read")));
    expect(server.checkScopes(insufficient, ["teams:read"], ask())).toBe(insufficient);
  });

  it("compiles a changed array again", async () => {
    const server = create();
    const allowed = await server.check(ask(await bearer("agents:read")));
    const scopes = ["agents:read"];
    expect(server.checkScopes(allowed, scopes, ask()).allowed).toBe(true);
    scopes.push("platform:admin");
    expect(server.checkScopes(allowed, scopes, ask()).allowed).toBe(false);
  });
});

describe("a revocation check that never settles", () => {
  it("ends with keys_unavailable after five seconds, and leaves no timer", async () => {
    const token = await bearer("agents:read");
    let asked: (() => void) | undefined;
    const wasAsked = new Promise<void>((resolve) => (asked = resolve));
    const server = create({
      isRevoked: () => {
        asked?.();
        return new Promise(() => undefined);
      },
    });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      let decision: Decision | undefined;
      const checking = server.check(ask(token)).then((decided) => (decision = decided));
      await wasAsked;
      await vi.advanceTimersByTimeAsync(4_999);
      expect(decision).toBeUndefined();
      await vi.advanceTimersByTimeAsync(1);
      expect(await checking).toMatchObject({ allowed: false, reason: "keys_unavailable" });
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  it("leaves no timer when it settles in time", async () => {
    const token = await bearer("agents:read");
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const server = create({ isRevoked: () => Promise.resolve(false) });
      expect((await server.check(ask(token))).allowed).toBe(true);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("a hook", () => {
  it("may return a rejected promise of another realm", async () => {
    const server = create({ onDecision: () => runInNewContext("Promise.reject(new Error())") as undefined });
    expect((await server.check(ask(await bearer("agents:read")))).allowed).toBe(true);
  });
});

describe("a global Promise that the program replaced", () => {
  it.each<readonly [Partial<ResourceServerOptions>]>([
    [{ authorization: false }],
    [{ unmappedRoutes: "authenticated" }],
    [{ scopeMappings: { "GET /tasks": [] } }],
    [{ scopeMappings: { "GET /tasks": "optional" } }],
  ])("waits for the verification of a token with %j", async (options) => {
    const server = create(options);
    const good = await bearer();
    const forged = `${good.slice(0, good.lastIndexOf("."))}.AAAA`;
    const checkAs = (authorization: string) => {
      vi.stubGlobal("Promise", Map);
      try {
        return server.check({ ...ask(authorization), target: "/tasks" });
      } finally {
        vi.unstubAllGlobals();
      }
    };
    expect(await checkAs(forged)).toMatchObject({ allowed: false, reason: "token_rejected" });
    expect(await checkAs(good)).toMatchObject({ allowed: true, principal: {} });
  });
});

describe("a JWK Set in a file", () => {
  const folder = mkdtempSync(join(tmpdir(), "scopegate-hostile-"));
  const file = join(folder, "keys.json");
  const other = createIssuer({ kid: "other" });
  const own = createIssuer({ kid: "own" });
  const write = (...keys: readonly unknown[]) => {
    writeFileSync(`${file}.new`, JSON.stringify({ keys }));
    renameSync(`${file}.new`, file);
  };
  afterAll(() => rmSync(folder, { recursive: true }));

  it("rejects a key that is withdrawn while the file is read", async () => {
    const token = await own.token({ scopes: [] });
    for (let round = 0; round < 20; round += 1) {
      write(own.publicJwk);
      const server = create({ verificationKeys: undefined as never, keys: { jwksFile: file } });
      write(own.publicJwk, other.publicJwk);
      const started = server.authenticate(token).catch(() => undefined);
      write(other.publicJwk);
      await expect(server.authenticate(token)).rejects.toThrow("key");
      await started;
    }
  });

  it("uses the good keys next to an invalid entry", () => {
    write({ kid: "nonsense" }, null, 7, own.publicJwk);
    expect(() => create({ verificationKeys: undefined as never, keys: { jwksFile: file } })).not.toThrow();
  });
});

describe("an HMAC secret", () => {
  const der = issuer.publicKey.export({ type: "spki", format: "der" });
  it.each([
    ["a PEM", issuer.publicPem],
    ["a PEM behind a byte order mark", `\uFEFF  ${issuer.publicPem}`],
    ["a PEM in base64", Buffer.from(issuer.publicPem).toString("base64")],
    ["DER in base64", der.toString("base64")],
    ["a JWK", JSON.stringify(issuer.publicJwk)],
    ["a JWK Set", JSON.stringify({ keys: [issuer.publicJwk] })],
    ["a PEM as a key object", createSecretKey(issuer.publicPem, "utf8")],
    ["DER as a key object", createSecretKey(der)],
    ["an SSH key", "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQC7vbqajDhA someone@example"],
  ])("causes a configuration error if it is %s, which is public", (_, key) => {
    expect(() => create({ algorithm: "HS256", verificationKeys: [key] })).toThrow(ConfigurationError);
  });
});
