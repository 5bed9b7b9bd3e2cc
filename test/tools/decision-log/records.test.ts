/** What a decision log writes, and what it never writes. */
import { createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { Decision } from "scopegate";
import { decisionLog, type DecisionLogOptions } from "scopegate/decision-log";
import { explain } from "scopegate/explain";
import { createServer, issuer, NOW, thrownBy } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";

type Line = Readonly<Record<string, unknown>>;

const TABLE = {
  "GET /agents/:agent_id": ["agents:<agent_id>:read"],
  "GET /health": "public",
  "GET /news": "optional",
} as const;
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";

function start(options?: DecisionLogOptions, server: Partial<ResourceServerOptions> = {}) {
  const lines: string[] = [];
  const log = decisionLog((line) => void lines.push(line), options);
  const scopeMappings = TABLE;
  const guarded = createServer({ scopeMappings, onDecision: log, ...server });
  const read = async (): Promise<Line[]> => {
    await log.flush();
    return lines.splice(0).map((line) => JSON.parse(line) as Line);
  };
  const ask = async (
    target: string,
    authorization?: string,
    more: object = {},
  ): Promise<Line | undefined> => {
    await guarded.check({ method: "GET", target, authorization, ...more });
    return (await read()).at(-1);
  };
  return { log, lines, server: guarded, read, ask };
}

const bearer = async (claims: object): Promise<string> => `Bearer ${await issuer.token({ ...claims })}`;

describe("a record", () => {
  it("contains the cause of a 400 if it contains the path, and no cause of another rejected token", async () => {
    // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- JavaScript can do this
    const isRevoked = () => Promise.reject("canary");
    const { ask } = start({ include: ["path"] }, { isRevoked });
    expect(await ask("/agents//web")).toMatchObject({
      reason: "request_ambiguous",
      cause: "The target is too long, or has an empty or dot segment, `;`, `%2F` or the like.",
    });
    expect(await ask("/agents/web", "Bearer one two")).toMatchObject({
      reason: "credential_malformed",
      cause: "The token has a character that RFC 6750 doesn't allow.",
    });
    expect(await start().ask("/agents//web")).not.toHaveProperty("cause");
    for (const claims of [{ scopes: [] }, { scopes: { not: "scopes" } }])
      expect(await ask("/agents/web", await bearer(claims))).not.toHaveProperty("cause");
  });

  it("says where a rejected token has its scopes", async () => {
    const authorization = await bearer({ scopes: undefined, scope: "agents:read" });
    expect(await start().ask("/agents/web", authorization)).toMatchObject({
      rejection: "claims",
      cause: 'The token has `scope`: write scopesClaim: "scope".',
    });
  });

  it("contains the facts of a refusal, with the scopes as the table has them", async () => {
    const { ask } = start();
    const record = await ask(
      "/agents/web?full=1",
      await bearer({ sub: "user-1", iss: "https://a.example", scopes: ["agents:api:read"] }),
    );
    expect(record).toEqual({
      time: new Date(NOW * 1000).toISOString(),
      id: expect.stringMatching(/^[\w-]{12}$/) as string,
      method: "GET",
      pattern: "/agents/:agent_id",
      rule: "GET /agents/:agent_id",
      policy: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
      result: "refused",
      reason: "scope_insufficient",
      required: ["agents:<agent_id>:read"],
      missing: ["agents:<agent_id>:read"],
      granted: ["agents:api:read"],
      issuer: "https://a.example",
      subject: expect.stringMatching(/^[\w-]{43}$/) as string,
      durationMs: expect.any(Number) as number,
    });
    const expired = { rejection: "expired", granted: null };
    expect(await ask("/agents/web", await bearer({ scopes: [], exp: 1 }))).toMatchObject(expired);
    const wrong = { rejection: "claims", claim: "scopes" };
    expect(await ask("/agents/web", await bearer({ scopes: 5 }))).toMatchObject(wrong);
    const revoking = start({}, { isRevoked: () => true });
    const revoked = await revoking.ask("/agents/web", await bearer({ scopes: ["agents:read"] }));
    expect(revoked).toMatchObject({ rejection: "revoked", granted: null });
    expect(await ask("/other")).toMatchObject({ reason: "route_unmapped", pattern: null, rule: null });
    expect(await ask("/health")).toMatchObject({ result: "allowed", granted: null, required: [] });
  });

  it("contains path, parameters and claims only if `include` names them, and limits their length", async () => {
    const authorization = await bearer({
      sub: "u",
      scopes: [],
      tenant: "t1",
      deep: { org: 7 },
      big: "x".repeat(3000),
    });
    const include = [
      "path",
      "parameters",
      { claim: "tenant" },
      { claim: ["deep", "org"] },
      { claim: "big" },
    ] as const;
    const more = { matchedPattern: "/agents/:agent_id", params: { agent_id: "web" } };
    const record = await start({ include }).ask("/agents/web?secret=1", authorization, more);
    expect(record).toMatchObject({
      matched: true,
      path: "/agents/web",
      parameters: { agent_id: "web" },
      missing: ["agents:web:read"],
    });
    expect(record?.["claims"]).toEqual({ tenant: "t1", "deep.org": 7 });
    const plain = JSON.stringify(
      await start().ask("/agents/canary-id", authorization, { ...more, params: { agent_id: "canary-id" } }),
    );
    expect(plain).not.toMatch(/canary-id|t1"/);
    const long = await start({ include }).ask(`/agents/${"x".repeat(3000)}`, authorization);
    expect(long).toMatchObject({ result: "refused" });
    expect(long).not.toHaveProperty("path");
  });

  it("hides the filled-in scopes of requireScopes, which have no rule", async () => {
    const { server, read } = start();
    const request = { method: "GET", target: "/agents/web" };
    const authorization = await bearer({ scopes: ["agents:read"] });
    const decision = await server.check({ ...request, authorization });
    server.checkScopes(decision, ["runs:<agent_id>:write"], { ...request, params: { agent_id: "web" } });
    expect((await read())[1]).toMatchObject({ missing: ["(requireScopes)"], routeScopes: true });
  });

  it("contains what the shadow table decides where it differs, with scopes as they are written", async () => {
    const scopeMappings = { "GET /agents/:id": ["agents:<id>:admin"], "GET /open": "public" } as const;
    const { ask } = start({}, { shadow: { scopeMappings, defaultScopeMappings: {} } });
    const authorization = await bearer({ sub: "user-1", scopes: ["agents:read"] });
    expect(await ask("/agents/web", authorization)).toMatchObject({
      result: "allowed",
      shadow: {
        result: "refused",
        reason: "scope_insufficient",
        rule: "GET /agents/:id",
        missing: ["agents:<id>:admin"],
      },
    });
    expect(await ask("/open", authorization)).toMatchObject({
      result: "refused",
      reason: "route_unmapped",
      shadow: { result: "allowed", rule: "GET /open" },
    });
    expect(await ask("/agents/web", `${authorization}x`)).toMatchObject({ shadow: "undecided" });
    expect(await ask("/agents/web")).not.toHaveProperty("shadow");
  });

  it("contains the rules of MCP operations, and the operations only with the path", async () => {
    const scopeMappings = { "POST /mcp": [], "MCP tools/call search": ["docs:read"] };
    const [{ decision }] = [
      explain(createServer({ scopeMappings }), { method: "MCP", path: "tools/call search", scopes: [] }),
    ];
    const request = { method: "POST", target: "/mcp", operations: ["tools/call search"] };
    for (const [include, operations] of [
      [[], null],
      [["path"], ["tools/call search"]],
    ] as const) {
      const { log, read } = start({ include });
      log(decision, request, { at: 0, durationMs: 1, policy: "" });
      expect(await read()).toMatchObject([{ method: "POST", rule: "MCP tools/call search", operations }]);
    }
  });
});

describe("the subject", () => {
  const subjectOf = async (options: DecisionLogOptions) =>
    (await start(options).ask("/news", await bearer({ sub: "user-1", scopes: [] })))?.["subject"];

  it("hashes the user id with the secret of the options or a random one, or writes it plainly or not at all", async () => {
    const hashSecret = "0123456789abcdef0123456789abcdef";
    const expected = createHmac("sha256", hashSecret).update("user-1").digest("base64url");
    expect(await subjectOf({ hashSecret })).toBe(expected);
    expect(await subjectOf({})).not.toBe(await subjectOf({}));
    expect(await subjectOf({ subject: "plain" })).toBe("user-1");
    expect(await subjectOf({ subject: "none" })).toBeUndefined();
  });
});

describe("the trace id", () => {
  const field = `00-${TRACE}-00f067aa0ba902b7-01`;
  const traceOf = async (source: object | undefined) =>
    (await start().ask("/health", undefined, { source }))?.["traceId"];

  it.each([
    ["Node.js", { headers: { traceparent: field } }],
    ["Fetch", new Request("http://a.example", { headers: { traceparent: field } })],
    ["Koa", { req: { headers: { traceparent: field } } }],
    ["Hono", { req: { raw: new Request("http://a.example", { headers: { traceparent: field } }) } }],
  ])("reads a request of %s", async (_, source) => {
    expect(await traceOf(source)).toBe(TRACE);
  });

  it.each([
    "",
    "x",
    `${field}, ${field}`,
    field.toUpperCase(),
    `ff${field.slice(2)}`,
    field.replace(TRACE, "0".repeat(32)),
    field.replace("00f067aa0ba902b7", "0".repeat(16)),
    `${field}\n`,
    ` ${field}`,
    field.slice(0, -1),
  ])("omits %j", async (traceparent) => {
    expect(await traceOf({ headers: { traceparent } })).toBeUndefined();
  });

  it("omits the id if the request cannot be read, and returns the id of the record to the application", async () => {
    const hostile = {
      get headers(): object {
        throw new Error("no");
      },
    };
    expect(await traceOf(hostile)).toBeUndefined();
    expect(await traceOf(undefined)).toBeUndefined();
    expect(await traceOf({ headers: Object.create({ traceparent: field }) as object })).toBeUndefined();
    const { log, server, read } = start();
    const decision = await server.check({ method: "GET", target: "/health" });
    await read();
    const id = log(decision, { method: "GET", target: "/health" }, { at: 0, durationMs: 1, policy: "" });
    expect((await read()).map((record) => record["id"])).toEqual([id]);
  });
});

describe("privacy", () => {
  it("writes no token, wherever a client puts it", async () => {
    const canary = await issuer.token({ scopes: ["agents:read"], sub: "user-1", note: "CANARYCANARY" });
    const parts = canary.split(".");
    const { log, lines, server } = start({
      include: ["path", "parameters", { claim: "tenant" }],
      subject: "plain",
    });
    for (const target of ["/agents/web", "/news", "/other", "/health"])
      for (const place of [
        { authorization: `Bearer ${canary}` },
        { authorization: `Basic ${canary}` },
        { cookie: `access_token=${canary}` },
        { target: `${target}?access_token=${canary}` },
        { target: `/agents/Bearer%20${canary}` },
        { method: canary },
        { target: `http://${canary}@a.example${target}` },
        { params: { agent_id: canary } },
        { source: { headers: { traceparent: canary, authorization: canary } } },
      ]) {
        await server.check({ method: "GET", target, ...place });
        await log.flush();
        expect(lines).toHaveLength(1);
        for (const part of [...parts, "CANARYCANARY"]) expect(lines[0]).not.toContain(part);
        lines.length = 0;
      }
  });

  it.each<[string, (token: string) => string]>([
    ["with encoded dots", (token) => token.replaceAll(".", "%2E")],
    ["with dots that are encoded twice", (token) => token.replaceAll(".", "%252E")],
    ["with an encoded first character", (token) => token.replaceAll("eyJ", "%65yJ")],
    ["with an encoded second character", (token) => token.replaceAll("eyJ", "e%79J")],
    ["with tildes for its dots", (token) => token.replaceAll(".", "~")],
    ["behind a scheme", (token) => `Bearer%20${token}`],
    ["whose parts do not begin as JSON usually does", (token) => token.replaceAll("eyJ", "IHs")],
  ])("writes no token in a path, %s", async (_, spell) => {
    const target = `/agents/${spell(await issuer.token({ scopes: [] }))}`;
    expect(await start({ include: ["path"] }).ask(target)).toMatchObject({ path: "/agents/[token]" });
  });

  it("writes no token that is a key of a claim", async () => {
    const tenant = { [await issuer.token({ scopes: [] })]: 1 };
    const { ask } = start({ include: [{ claim: "tenant" }] });
    const record = await ask("/news", await bearer({ scopes: [], tenant }));
    expect(record).toMatchObject({ claims: { tenant: { "[token]": 1 } } });
    expect(JSON.stringify(record)).not.toContain("eyJ");
  });

  it("writes one line, without characters that end lines or steer terminals", async () => {
    const { log, lines, server } = start({ include: ["path", { claim: "tenant" }], subject: "plain" });
    const hostile = 'a\n\r\u2028\u2029\u0085\u009b31m\u202e\u001b[2J"}';
    await server.check({
      method: "GET\n",
      target: `/x/${encodeURIComponent(hostile)}/\u2028`,
      authorization: await bearer({ scopes: [hostile.replaceAll(/\s/g, "")], sub: hostile, tenant: hostile }),
    });
    await server.check({
      method: "GET",
      target: "/news",
      authorization: await bearer({ scopes: [], sub: hostile, tenant: hostile }),
    });
    await log.flush();
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(line).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(lines[1] ?? "")).toMatchObject({ subject: hostile, claims: { tenant: hostile } });
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({ method: "other" });
  });
});

describe("samples", () => {
  it("writes the shares of allowed and refused decisions, by the given numbers, and builds no other", async () => {
    const { log } = start({ sample: { allowed: 0 } });
    // Each property of `undefined` throws.
    expect(log({ allowed: true } as Decision, undefined as never, undefined as never)).toBeUndefined();
    let seed = 1;
    const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
    const { ask, read, server } = start({ sample: { allowed: 0.1, refused: 0.5 }, random });
    await ask("/health");
    for (let count = 0; count < 1000; count += 1) {
      await server.check({ method: "GET", target: "/health" });
      await server.check({ method: "GET", target: "/other" });
    }
    const records = await read();
    const allowed = records.filter(({ result }) => result === "allowed").length;
    expect(allowed).toBeGreaterThan(70);
    expect(allowed).toBeLessThan(130);
    expect(records.length - allowed).toBeGreaterThan(440);
    expect(records.length - allowed).toBeLessThan(560);
  });
});

describe("the options", () => {
  it("lists every mistake with its fix", () => {
    const options = {
      sample: { allowed: 2 },
      subject: "md5",
      hashSecret: "short",
      include: ["query"],
      maxQueued: 0,
      random: 5,
      salt: "x",
    };
    const { issues, message } = thrownBy(() => decisionLog(() => undefined, options as never));
    expect(issues.map(({ path }) => path[1]).sort()).toEqual(Object.keys(options).sort());
    expect(message).toContain("Write { allowed: 0.01, refused: 1 }, each from 0 to 1.");
    expect(() => decisionLog(undefined as never)).toThrow(
      new TypeError("decisionLog takes a stream, or a function that receives a line."),
    );
  });

  it.each([
    ...[{ refused: Number.NaN }, { other: 1 }, { allowed: "1" }, 1, { allowed: null }].map((sample) => ({
      sample,
    })),
    ...["path", [{ claim: 5 }], [{ claim: [] }], [{ claim: "tenant", other: 1 }], [5], [null], null].map(
      (include) => ({ include }),
    ),
    ...[{ maxQueued: 1.5 }, { hashSecret: 99 }, { hashSecret: null }, { random: null }, { smaple: {} }],
  ])("rejects %j", (options) => {
    expect(() => decisionLog(() => undefined, options as never)).toThrow("decisionLog");
  });
});
