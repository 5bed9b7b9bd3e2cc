/** Which keys a server accepts, and when it looks them up in the store. */
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  type ApiKeyRecord,
  apiKeys,
  type ApiKeysOptions,
  createApiKey,
  type NewApiKey,
} from "scopegate/api-keys";
import { inMemoryRevocation } from "scopegate/revocation";
import { revalidate } from "scopegate/connections";
import { createServer, issuer, thrownBy, verdictOf } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";
import { BASE62, crcOf, GIVEN, PREFIX } from "./support.ts";
import { withPollution } from "../../support/polluted-prototype.ts";

const PEPPER = "a pepper of enough characters";
/** The time of the servers: later than any key is made here. */
const START = Math.floor(Date.now() / 1000) + 3600;

afterEach(() => void vi.useRealTimers());

/** A server with one key, a clock that the test moves, and a store that counts look-ups and can be replaced. */
function createKeyed({
  key: given = {},
  kind = {},
  server: options = {},
}: {
  readonly key?: Partial<NewApiKey>;
  readonly kind?: Partial<ApiKeysOptions>;
  readonly server?: Partial<ResourceServerOptions>;
} = {}) {
  let now = START * 1000;
  const { key, record } = createApiKey({ ...GIVEN, ...given });
  const asked: string[] = [];
  const store = {
    records: { [record.id]: record } as Record<string, unknown>,
    find: (id: string): unknown => Promise.resolve(store.records[id]),
  };
  const find = (id: string) => {
    asked.push(id);
    return store.find(id) as Promise<ApiKeyRecord>;
  };
  const server = createServer({
    now: () => now,
    opaqueTokens: [apiKeys({ prefix: PREFIX, find, ...kind })],
    ...options,
  });
  const setNow = (seconds: number) => void (now = seconds * 1000);
  const pass = (seconds: number) => void (now += seconds * 1000);
  const change = (other: Partial<ApiKeyRecord>) => void (store.records[record.id] = { ...record, ...other });
  return { server, key, record, asked, store, pass, setNow, change, verdict: () => verdictOf(server, key) };
}

const throwing = () => {
  throw new Error("the database is down");
};

/** A key with the id of another one, another secret, and a correct checksum. */
function forgeryOf(record: ApiKeyRecord): string {
  const { key } = createApiKey(GIVEN);
  const content = PREFIX + record.id + key.slice(PREFIX.length + 12, -6);
  return content + checksumOf(content);
}

/** CRC-32 in base 62. */
function checksumOf(content: string): string {
  let rest = crcOf(content);
  let text = "";
  for (; text.length < 6; rest = Math.floor(rest / 62)) text = (BASE62[rest % 62] ?? "") + text;
  return text;
}

describe("apiKeys, for a valid key", () => {
  it("returns a principal of the owner of the key, with its scopes, its id and its end", async () => {
    const expiresAt = new Date((START + 3600) * 1000);
    const { server, key, record } = createKeyed({ key: { expiresAt, scopes: ["agents:web:read", "x:y"] } });
    const principal = await server.authenticate(key);
    expect(principal).toMatchObject({
      userId: "u1",
      tokenId: record.id,
      tokenKind: "api_key",
      scopes: ["agents:web:read", "x:y"],
      expiresAt: START + 3600,
      audience: [],
      claims: {
        sub: "u1",
        jti: record.id,
        iat: record.createdAt,
        exp: START + 3600,
        scopes: ["agents:web:read", "x:y"],
        name: "ci",
      },
    });
    expect([principal.issuer, principal.sessionId]).toEqual([undefined, undefined]);
    expect(principal.has("agents:web:read") && !principal.has("agents:read")).toBe(true);
    expect(JSON.stringify(principal)).not.toContain(record.hash);
    expect(Object.isFrozen(principal.claims) && !Object.isFrozen(record)).toBe(true);
  });

  it("accepts keys and JWTs, and never verifies a key as a JWT", async () => {
    const { server, key } = createKeyed();
    const jwt = await issuer.token({ sub: "u2", scopes: [] });
    const kinds = [await server.authenticate(key), await server.authenticate(jwt)].map(
      ({ tokenKind }) => tokenKind,
    );
    expect(kinds).toEqual(["api_key", undefined]);
    expect(await verdictOf(server, `${PREFIX}${jwt}`)).toBe("malformed");
  });

  it("looks a key up once for all requests until `cacheSeconds`, by its id alone", async () => {
    const { server, key, record, asked, pass } = createKeyed({ kind: { cacheSeconds: 10 } });
    await Promise.all(Array.from({ length: 20 }, () => server.authenticate(key)));
    pass(9.9);
    await server.authenticate(key);
    expect(asked).toEqual([record.id]);
    pass(0.1);
    await server.authenticate(key);
    expect(asked).toEqual([record.id, record.id]);
  });

  it("looks a key up again after 30 seconds by default, and for each request with `cacheSeconds: 0`", async () => {
    const standard = createKeyed();
    for (const seconds of [0, 29, 1]) {
      standard.pass(seconds);
      await standard.verdict();
    }
    expect(standard.asked).toHaveLength(2);
    const uncached = createKeyed({ kind: { cacheSeconds: 0 } });
    await uncached.verdict();
    await uncached.verdict();
    expect(uncached.asked).toHaveLength(2);
  });

  it("keeps the principal as long as the record grants the same", async () => {
    const { server, key, pass, change } = createKeyed();
    const principal = await server.authenticate(key);
    expect(await server.authenticate(key)).toBe(principal);
    pass(60);
    change({ lastUsedAt: START });
    expect(await server.authenticate(key)).toBe(principal);
    pass(60);
    change({ scopes: ["agents:web:read"] });
    const narrowed = await server.authenticate(key);
    expect(narrowed.scopes).toEqual(["agents:web:read"]);
    expect(principal.scopes).toEqual(["agents:read"]);
  });

  it("ignores later changes of the object that the store returned", async () => {
    const { store, record, verdict } = createKeyed();
    const mine = { ...record };
    store.find = () => Promise.resolve(mine);
    expect(await verdict()).toBe("accepted");
    Object.assign(mine, { hash: "", expiresAt: 1 });
    expect(await verdict()).toBe("accepted");
  });

  it("adds no scopes of `grants`, because the roles of the owner would add scopes to the key", async () => {
    const asked: unknown[] = [];
    const { server, key } = createKeyed({
      server: { grants: ({ userId }) => (asked.push(userId), Promise.resolve(["agents:write"])) },
    });
    const jwt = await issuer.token({ sub: "u1", scopes: [] });
    expect((await server.authenticate(jwt)).has("agents:write")).toBe(true);
    expect((await server.authenticate(key)).scopes).toEqual(["agents:read"]);
    expect(asked).toEqual(["u1"]);
  });
});

describe("apiKeys, while `find` fails", () => {
  it("accepts known keys for 30 seconds by default, without calling it for each request, and reports it", async () => {
    const { server, store, asked, pass, verdict } = createKeyed({ kind: { cacheSeconds: 0 } });
    expect(await verdict()).toBe("accepted");
    expect(server.health().opaqueTokens).toEqual([{ tokenKind: "api_key", state: "ok", underWay: 0 }]);
    const { find } = store;
    store.find = throwing;
    pass(29);
    for (let request = 0; request < 5; request += 1) expect(await verdict()).toBe("accepted");
    expect(asked).toHaveLength(2);
    expect(server.health()).toMatchObject({
      status: "degraded",
      opaqueTokens: [{ state: "degraded", cause: { message: "the database is down" } }],
    });
    expect(await verdictOf(server, createApiKey(GIVEN).key)).toBe("unavailable");
    pass(1);
    expect(await verdict()).toBe("unavailable");
    store.find = find;
    expect(await verdict()).toBe("accepted");
    expect(server.health().status).toBe("ok");
  });

  it("accepts known keys for `cacheSeconds` and then for `staleSeconds`, whenever the failure begins", async () => {
    const { store, pass, verdict } = createKeyed();
    expect(await verdict()).toBe("accepted");
    store.find = throwing;
    for (let second = 1; second < 60; second += 1) {
      pass(1);
      expect(await verdict()).toBe("accepted");
    }
    pass(1);
    expect(await verdict()).toBe("unavailable");
  });

  it("keeps refusing a key that it knows to be revoked, and one with the id of a known one", async () => {
    const { server, store, record, change, pass, verdict } = createKeyed({ kind: { cacheSeconds: 0 } });
    change({ revokedAt: START });
    expect(await verdict()).toBe("revoked");
    store.find = throwing;
    pass(5);
    expect(await verdict()).toBe("revoked");
    expect(await verdictOf(server, forgeryOf(record))).toBe("key");
  });

  it.each([{ staleSeconds: -1 }, { staleSeconds: 3_601 }])("refuses %j", (kind) => {
    expect(() => createKeyed({ kind })).toThrow("staleSeconds");
  });
});

describe("apiKeys, for an expired or revoked key", () => {
  it("rejects the key from `expiresAt` on, also if its record is remembered", async () => {
    const expiresAt = new Date((START + 10) * 1000);
    const { pass, asked, verdict } = createKeyed({
      key: { expiresAt },
      server: { clockToleranceSeconds: 300 },
    });
    pass(9.999);
    expect(await verdict()).toBe("accepted");
    pass(0.001);
    expect(await verdict()).toBe("expired");
    expect(asked).toHaveLength(1);
  });

  it("rejects a key that expires while it is looked up", async () => {
    const { store, record, pass, verdict } = createKeyed({
      key: { expiresAt: new Date((START + 10) * 1000) },
    });
    store.find = () => {
      pass(10);
      return Promise.resolve(record);
    };
    expect(await verdict()).toBe("expired");
  });

  it.each([0, 1, START + 1_000_000])(
    "rejects a key whose record has the `revokedAt` %d",
    async (revokedAt) => {
      const { change, verdict } = createKeyed();
      change({ revokedAt, expiresAt: 1 });
      expect(await verdict()).toBe("revoked");
    },
  );

  it("rejects a key within `cacheSeconds` of a revocation in the store", async () => {
    const { change, pass, verdict } = createKeyed();
    expect(await verdict()).toBe("accepted");
    change({ revokedAt: START });
    pass(29);
    expect(await verdict()).toBe("accepted");
    pass(1);
    expect(await verdict()).toBe("revoked");
  });

  it("rejects a remembered key at once after `server.revoke` with its id", async () => {
    const { server, record, asked, verdict } = createKeyed({ server: { revocation: inMemoryRevocation() } });
    expect(await verdict()).toBe("accepted");
    await server.revoke({ tokenId: record.id });
    expect(await verdict()).toBe("revoked");
    expect(asked).toHaveLength(1);
  });

  it("rejects the keys of a revoked owner, and accepts those that were made later", async () => {
    const { server, verdict } = createKeyed({ server: { revocation: inMemoryRevocation() } });
    expect(await verdict()).toBe("accepted");
    await server.revoke({ userId: "u1" }, {});
    expect(await verdict()).toBe("revoked");
    const later = createKeyed({ server: { revocation: inMemoryRevocation() } });
    await later.server.revoke({ userId: "u1", before: new Date((later.record.createdAt - 6) * 1000) });
    expect(await later.verdict()).toBe("accepted");
  });

  it("keeps a connection open until a revocation, however old the key is", async () => {
    const revocation = inMemoryRevocation();
    const { server, key, record, pass } = createKeyed({ server: { revocation } });
    const principal = await server.authenticate(key);
    pass(3600);
    expect(await revalidate(server, principal)).toEqual({ valid: true, expiresInMs: Infinity });
    await server.revoke({ tokenId: record.id });
    expect(await revalidate(server, principal)).toEqual({ valid: false, reason: "revoked" });
  });
});

describe("apiKeys, for an unknown key", () => {
  it.each([undefined, null])(
    "rejects a key if the store returns %s, and asks again after 5 seconds",
    async (nothing) => {
      const { store, asked, pass, record, verdict } = createKeyed();
      store.find = () => Promise.resolve(nothing);
      expect(await verdict()).toBe("key");
      pass(4.9);
      expect(await verdict()).toBe("key");
      expect(asked).toHaveLength(1);
      store.find = () => Promise.resolve(record);
      pass(0.1);
      expect(await verdict()).toBe("accepted");
    },
  );

  it("rejects a key with the id of another one, without a further look-up", async () => {
    const { server, record, asked, verdict } = createKeyed();
    expect(await verdictOf(server, forgeryOf(record))).toBe("key");
    expect(await verdict()).toBe("accepted");
    expect(await verdictOf(server, forgeryOf(record))).toBe("key");
    expect(asked).toEqual([record.id]);
  });

  it("does not report for a wrong secret whether the right key is expired or revoked", async () => {
    const { server, record, change } = createKeyed();
    change({ revokedAt: 1, expiresAt: 1 });
    expect(await verdictOf(server, forgeryOf(record))).toBe("key");
  });

  it("rejects a key that was made with another pepper, or with none", async () => {
    const [key, kind] = [{ pepper: PEPPER }, { pepper: PEPPER }];
    expect(await createKeyed({ key, kind }).verdict()).toBe("accepted");
    for (const other of [{ key }, { kind }, { key, kind: { pepper: `${PEPPER}2` } }])
      expect(await createKeyed(other).verdict()).toBe("key");
  });

  it("rejects a key whose id is the name of a property that every object has", async () => {
    const { server, store } = createKeyed();
    store.find = (id) => Promise.resolve(store.records[id]);
    // Twelve characters, as an id has.
    const content = `${PREFIX}aPolluted012${"a".repeat(43)}`;
    const verdict = withPollution({ aPolluted012: {} }, () =>
      verdictOf(server, content + checksumOf(content)),
    );
    expect(await verdict).toBe("unavailable");
  });
});

describe("a refused key", () => {
  it.each<readonly [string, (keyed: ReturnType<typeof createKeyed>) => string, number]>([
    ["malformed", ({ key }) => `${key.slice(0, -1)}_`, 401],
    ["key", ({ record }) => forgeryOf(record), 401],
    ["revoked", ({ key, change }) => (change({ revokedAt: 1 }), key), 401],
    ["unavailable", ({ key, store }) => ((store.find = throwing), key), 503],
  ])(
    "gets a response that neither shows it nor that it is %s, as the decision does",
    async (why, of, status) => {
      const keyed = createKeyed();
      const token = of(keyed);
      const { server, record } = keyed;
      const decision = await server.check({
        method: "GET",
        target: "/agents",
        authorization: `Bearer ${token}`,
      });
      if (decision.allowed) throw new Error("It was allowed.");
      const found = decision.reason === "keys_unavailable" ? "unavailable" : decision.rejection;
      expect(found).toBe(why);
      const response = server.refuse(decision);
      expect(response.status).toBe(status);
      const challenge = expect.stringContaining('error="invalid_token"') as string;
      const retry = expect.stringMatching(/^\d+$/) as string;
      expect(response.headers).toMatchObject(
        status === 401 ? { "WWW-Authenticate": challenge } : { "Retry-After": retry },
      );
      expect(JSON.stringify(response)).not.toMatch(/malformed|revoked|the database is down/);
      for (const secret of [token, token.slice(-30), record.hash])
        expect(JSON.stringify([decision, response])).not.toContain(secret);
    },
  );
});

describe("apiKeys, for a store that fails", () => {
  it.each<readonly [string, () => unknown]>([
    ["throws", throwing],
    ["rejects", () => Promise.reject(new Error("the database is down"))],
    ["returns true", () => true],
    ["returns an empty object", () => ({})],
    ["returns a string", () => "record"],
    ["returns false", () => false],
  ])(
    "reports the key as unavailable, and asks again with the next request, if the store %s",
    async (_, answer) => {
      const { store, record, verdict } = createKeyed();
      store.find = answer;
      expect(await verdict()).toBe("unavailable");
      store.find = () => record;
      expect(await verdict()).toBe("accepted");
    },
  );

  it.each<readonly [keyof ApiKeyRecord, unknown]>([
    ["id", "000000000000"],
    ["id", undefined],
    ["hash", undefined],
    ["hash", ""],
    ["hash", "a".repeat(42)],
    ["hash", `${"a".repeat(43)}\n`],
    ["hash", Buffer.alloc(32)],
    ["name", undefined],
    ["scopes", undefined],
    ["scopes", []],
    ["scopes", "platform:admin"],
    ["scopes", [5]],
    ["ownerId", undefined],
    ["ownerId", ""],
    ["ownerId", 5],
    ["createdAt", undefined],
    ["createdAt", Number.NaN],
    ["createdAt", new Date()],
    ["expiresAt", null],
    ["expiresAt", "2099-01-01"],
    ["expiresAt", Number.NaN],
    ["expiresAt", Infinity],
    ["revokedAt", null],
    ["revokedAt", false],
    ["revokedReason", 5],
    ["lastUsedAt", "today"],
  ])("reports the key as unavailable if its record has %j: %j", async (name, value) => {
    const { change, verdict } = createKeyed();
    change({ [name]: value });
    expect(await verdict()).toBe("unavailable");
  });

  it("reports the key as unavailable if its record inherits its properties", async () => {
    const { store, record, verdict } = createKeyed();
    store.find = () => Object.create(record) as unknown;
    expect(await verdict()).toBe("unavailable");
  });

  it("reports the key as unavailable if the store returns the record of another key", async () => {
    const { store, verdict } = createKeyed();
    const { record: other } = createApiKey({ ...GIVEN, scopes: ["platform:admin"] });
    store.find = () => other;
    expect(await verdict()).toBe("unavailable");
  });

  it("reports the key as unavailable after five seconds without a response, and asks again", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { store, record, asked, verdict } = createKeyed();
    store.find = () => new Promise(() => undefined);
    const waiting = [verdict(), verdict()];
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await Promise.all(waiting)).toEqual(["unavailable", "unavailable"]);
    store.find = () => record;
    expect(await verdict()).toBe("accepted");
    expect(asked).toHaveLength(2);
  });

  it("accepts no key by a clock that fails", async () => {
    const { setNow, verdict } = createKeyed();
    setNow(Number.NaN);
    expect(await verdict()).toBe("unavailable");
  });
});

describe("onUse", () => {
  it("receives each accepted key once a minute", async () => {
    const uses: unknown[] = [];
    const onUse = (...use: readonly unknown[]) => uses.push(use);
    const { server, record, pass, verdict } = createKeyed({ kind: { onUse } });
    await verdictOf(server, forgeryOf(record));
    expect(uses).toEqual([]);
    for (const seconds of [0, 0, 59, 1, 1]) {
      pass(seconds);
      expect(await verdict()).toBe("accepted");
    }
    expect(uses).toEqual([
      [record.id, START],
      [record.id, START + 60],
    ]);
  });

  it("does not receive a key that another process has just used, or that is not accepted", async () => {
    const onUse = vi.fn();
    const { change, pass, verdict } = createKeyed({ kind: { onUse } });
    change({ lastUsedAt: START - 30 });
    expect(await verdict()).toBe("accepted");
    pass(30);
    change({ revokedAt: START });
    expect(await verdict()).toBe("revoked");
    expect(onUse).not.toHaveBeenCalled();
  });

  it.each<readonly [string, () => unknown]>([
    ["throws", throwing],
    ["rejects", () => Promise.reject(new Error("full"))],
    ["hangs", () => new Promise(() => undefined)],
  ])("changes no response if the hook %s", async (_, onUse) => {
    const { verdict } = createKeyed({ kind: { onUse } });
    expect(await verdict()).toBe("accepted");
  });
});

describe("apiKeys, for wrong options", () => {
  it.each<readonly [string, object]>([
    ["find: is missing", { find: undefined }],
    ["find: has an invalid value", { find: {} }],
    ["pepper: is undefined", { pepper: undefined }],
    ["pepper: has an invalid value", { pepper: "fifteen letters" }],
    ["pepper: has an invalid value", { pepper: Buffer.alloc(32) }],
    ["cacheSeconds: has an invalid value", { cacheSeconds: -1 }],
    ["cacheSeconds: has an invalid value", { cacheSeconds: 3601 }],
    ["cacheSeconds: has an invalid value", { cacheSeconds: "30" }],
    ["cacheSeconds: has an invalid value", { cacheSeconds: Number.NaN }],
    ["onUse: has an invalid value", { onUse: {} }],
    ["cacheSecond: received unknown option `cacheSecond`. Did you mean `cacheSeconds`?", { cacheSecond: 5 }],
  ])("throws %j for %j", (message, options) => {
    const given = { prefix: PREFIX, find: () => undefined, ...options } as ApiKeysOptions;
    expect(thrownBy(() => apiKeys(given)).message).toContain(`apiKeys.${message}`);
  });
});
