/** Where the records of API keys are kept: a file, or a store that may be shared. */
import { randomUUID } from "node:crypto";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { inspect } from "node:util";
import { afterAll, describe, expect, it, vi } from "vitest";
import { apiKeyFile, apiKeys, type ApiKeyStore, apiKeyStore, createApiKey } from "scopegate/api-keys";
import { memoryStore, type Store } from "scopegate/store";
import { createServer, verdictOf } from "../../support/resource-servers.ts";
import { until } from "../../support/until.ts";

const folder = fs.mkdtempSync(join(tmpdir(), "scopegate-api-keys-"));
afterAll(() => fs.rmSync(folder, { recursive: true }));
const newPath = () => join(folder, `${randomUUID()}.json`);

const make = (name = "ci") =>
  createApiKey({ prefix: "acme_pat_", name, scopes: ["agents:read"], ownerId: "u1" });

/** Adds a key to a store. */
async function withKey(store: ApiKeyStore) {
  const { key, record } = make();
  await store.add(record);
  return { store, key, record };
}

/** A file with a key. */
async function newFile() {
  const path = newPath();
  return { path, ...(await withKey(apiKeyFile(path))) };
}

function describeStore(name: string, create: () => ApiKeyStore) {
  describe(name, () => {
    it("finds the records that were added, and no others", async () => {
      const store = create();
      const [one, other] = [make().record, make().record];
      await store.add(one);
      await store.add(other);
      expect(await store.find(one.id)).toEqual(one);
      expect(await store.find(other.id)).toEqual(other);
      for (const id of [make().record.id, "", "__proto__", "constructor", "toString"])
        expect(await store.find(id)).toBeUndefined();
    });

    it("refuses a second key with the same id, and keeps the first", async () => {
      const { store, record } = await withKey(create());
      await expect(store.add({ ...make().record, id: record.id })).rejects.toThrow(record.id);
      expect(await store.find(record.id)).toEqual(record);
    });

    it("adds only one of many keys with the same id that are added at once", async () => {
      const store = create();
      const { id } = make().record;
      const adding = Array.from({ length: 10 }, () => store.add({ ...make().record, id }));
      const results = await Promise.allSettled(adding);
      expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    });

    it("lists every key without its hash", async () => {
      const store = create();
      const records = ["a", "b", "c"].map((one) => make(one).record);
      for (const record of records) await store.add(record);
      const listed = await store.list();
      expect([...listed].sort((one, other) => one.name.localeCompare(other.name))).toEqual(
        records.map(({ hash: _, ...rest }) => rest),
      );
      expect(JSON.stringify(listed)).not.toContain(records[0]?.hash);
    });

    it("revokes a key once, with the first reason and time", async () => {
      const { store, record } = await withKey(create());
      expect(await store.revoke(record.id, "leaked")).toBe(true);
      const revoked = await store.find(record.id);
      expect(revoked).toEqual({
        ...record,
        revokedAt: expect.any(Number) as number,
        revokedReason: "leaked",
      });
      expect(Math.abs((revoked?.revokedAt ?? 0) - Date.now() / 1000)).toBeLessThan(5);
      expect(await store.revoke(record.id, "again")).toBe(true);
      expect(await store.find(record.id)).toEqual(revoked);
    });

    it("keeps a revocation without a reason, and adds no reason of a later one", async () => {
      const { store, record } = await withKey(create());
      await store.revoke(record.id);
      await store.revoke(record.id, "later");
      expect(await store.find(record.id)).not.toHaveProperty("revokedReason");
    });

    it("reports that there is no key to revoke, and adds no record for an unknown id", async () => {
      const store = create();
      await store.add(make().record);
      const { id } = make().record;
      expect(await store.revoke(id)).toBe(false);
      await store.markUsed(id, 5);
      expect(await store.find(id)).toBeUndefined();
      expect(await store.list()).toHaveLength(1);
    });

    it("removes a key, and no other", async () => {
      const store = create();
      const { record } = await withKey(store);
      const { record: other } = await withKey(store);
      await store.markUsed(record.id, 5);
      expect(await store.remove(record.id)).toBe(true);
      expect(await store.remove(record.id)).toBe(false);
      expect(await store.find(record.id)).toBeUndefined();
      expect((await store.list()).map(({ id }) => id)).toEqual([other.id]);
      // Its id is free again, without what was known of the removed one.
      await store.add(record);
      expect((await store.list()).find(({ id }) => id === record.id)).not.toHaveProperty("lastUsedAt");
    });

    it("saves when a key was used, and keeps its revocation", async () => {
      const store = create();
      const records = Array.from({ length: 5 }, () => make().record);
      for (const record of records) await store.add(record);
      await Promise.all(
        records.flatMap(({ id }, index) => [
          store.markUsed(id, index),
          store.revoke(id),
          store.markUsed(id, 100 + index),
        ]),
      );
      const listed = new Map((await store.list()).map((one) => [one.id, one]));
      for (const [index, { id }] of records.entries()) {
        expect(listed.get(id)?.lastUsedAt).toBe(100 + index);
        expect((await store.find(id))?.revokedAt).toEqual(expect.any(Number));
      }
    });

    it("finds keys for a server, and saves when the server used them", async () => {
      const { store, key, record } = await withKey(create());
      const { find, markUsed } = store;
      let noted: Promise<void> | undefined;
      const onUse = (id: string, at: number) => (noted = markUsed(id, at));
      const kind = apiKeys({ prefix: "acme_pat_", find, onUse, cacheSeconds: 0 });
      const server = createServer({ now: Date.now, opaqueTokens: [kind] });
      expect(await verdictOf(server, key)).toBe("accepted");
      await noted;
      expect((await store.list())[0]?.lastUsedAt).toEqual(expect.any(Number));
      await store.revoke(record.id);
      expect(await verdictOf(server, key)).toBe("revoked");
      expect(await verdictOf(server, make().key)).toBe("key");
    });
  });
}

describeStore("apiKeyFile", () => apiKeyFile(newPath()));

describe("apiKeyFile", () => {
  it("creates a file that only its owner can read, which contains no key, and leaves no other file", async () => {
    const place = fs.mkdtempSync(join(folder, "alone-"));
    const path = join(place, "keys.json");
    const store = apiKeyFile(path);
    const { key, record } = make();
    await store.add(record);
    await store.markUsed(record.id, 5);
    await expect(store.add(record)).rejects.toThrow();
    expect(fs.statSync(path).mode & 0o777).toBe(0o600);
    expect(fs.readdirSync(place)).toEqual(["keys.json"]);
    const text = fs.readFileSync(path, "utf8");
    expect(JSON.parse(text)).toEqual({ keys: [{ ...record, lastUsedAt: 5 }] });
    expect(text).not.toContain(key.slice(-20));
  });

  it("reads what another process has written, with the next call", async () => {
    const path = newPath();
    const [one, other] = [apiKeyFile(path), apiKeyFile(path)];
    const { record } = make();
    await one.add(record);
    expect(await other.find(record.id)).toEqual(record);
    await one.revoke(record.id);
    expect((await other.find(record.id))?.revokedAt).toBeDefined();
  });

  it("loses nothing that several processes write at once", async () => {
    const path = newPath();
    const stores = Array.from({ length: 4 }, () => apiKeyFile(path));
    const records = Array.from({ length: 20 }, () => make().record);
    await Promise.all(records.map(async (record, index) => stores[index % 4]?.add(record)));
    expect((await stores[0]?.list())?.map(({ id }) => id).sort()).toEqual(records.map(({ id }) => id).sort());
  });

  it("writes the uses of many keys at once", async () => {
    const path = newPath();
    const store = apiKeyFile(path);
    const records = Array.from({ length: 30 }, () => make().record);
    for (const record of records) await store.add(record);
    const before = fs.statSync(path, { bigint: true });
    const marking = records.map(({ id }) => store.markUsed(id, 7));
    await marking[0];
    const first = fs.statSync(path, { bigint: true });
    await Promise.all(marking);
    expect(first.ino === before.ino && first.mtimeNs === before.mtimeNs).toBe(false);
    expect(fs.statSync(path, { bigint: true })).toMatchObject({ ino: first.ino, mtimeNs: first.mtimeNs });
    expect((await store.list()).every(({ lastUsedAt }) => lastUsedAt === 7)).toBe(true);
  });

  it("waits for another writer, while it can be read", async () => {
    const { path, store, record } = await newFile();
    fs.writeFileSync(`${path}.lock`, "");
    const waiting = store.revoke(record.id);
    let isDone = false;
    void waiting.then(() => (isDone = true));
    const since = performance.now();
    await until(() => performance.now() - since > 60);
    expect(isDone).toBe(false);
    expect((await store.find(record.id))?.id).toBe(record.id);
    fs.rmSync(`${path}.lock`);
    expect(await waiting).toBe(true);
  });

  it("throws after six seconds if others write all the time", async () => {
    const { path, store, record } = await newFile();
    const touch = () => fs.writeFileSync(`${path}.lock`, "");
    touch();
    const touching = setInterval(touch, 100);
    try {
      await expect(store.revoke(record.id)).rejects.toThrow(`${path}.lock exists`);
    } finally {
      clearInterval(touching);
      fs.rmSync(`${path}.lock`);
    }
  }, 15_000);

  it("removes a lock that a process has left, once for all that wait for it", async () => {
    const { path, record } = await newFile();
    const others = Array.from({ length: 20 }, () => make().record);
    const leave = (lock: string) => {
      fs.writeFileSync(lock, "");
      fs.utimesSync(lock, new Date(), new Date(Date.now() - 6_000));
    };
    leave(`${path}.lock`);
    fs.utimesSync(`${path}.lock`, new Date(), new Date(Date.now() + 3_600_000));
    // What its owner was writing.
    fs.writeFileSync(`${path}.lock.${fs.statSync(`${path}.lock`).ino}`, "{");
    // A process that ended while it removed the lock has left another file.
    leave(`${path}.lock.breaking`);
    await Promise.all(others.map((other) => apiKeyFile(path).add(other)));
    expect(await apiKeyFile(path).list()).toHaveLength(others.length + 1);
    expect((await apiKeyFile(path).find(record.id))?.id).toBe(record.id);
    const left = fs.readdirSync(folder).filter((name) => name.startsWith(basename(path)));
    expect(left).toEqual([basename(path)]);
  });

  it("keeps the mode of its file", async () => {
    const { path, store } = await newFile();
    fs.chmodSync(path, 0o640);
    await store.add(make().record);
    expect(fs.statSync(path).mode & 0o777).toBe(0o640);
  });

  it.runIf(process.getuid?.() === 0)("keeps the group of its file when root writes", async () => {
    const { path, store } = await newFile();
    fs.chownSync(path, 0, 1235);
    await store.add(make().record);
    expect(fs.statSync(path)).toMatchObject({ uid: 0, gid: 1235 });
  });

  it.runIf(process.getuid?.() === 0)(
    "refuses a file of another user if the process runs as root",
    async () => {
      const { path, store, record } = await newFile();
      fs.chownSync(path, 1234, 1235);
      for (const call of [
        () => store.find(record.id),
        () => store.list(),
        () => store.add(make().record),
        () => store.revoke(record.id),
      ])
        await expect(call()).rejects.toThrow("belongs to another user");
      expect(fs.statSync(path)).toMatchObject({ uid: 1234, gid: 1235 });
    },
  );

  it.runIf(process.getuid)("refuses a file and a lock of another user, but no file of root", async () => {
    const { path, store, record } = await newFile();
    const { uid } = fs.statSync(path);
    fs.writeFileSync(`${path}.lock`, "");
    fs.utimesSync(`${path}.lock`, new Date(), new Date(Date.now() - 6_000));
    const user = vi.spyOn(process, "getuid").mockReturnValue(uid + 1);
    try {
      await expect(store.revoke(record.id)).rejects.toThrow("belongs to another user");
      if (uid === 0) expect((await store.find(record.id))?.id).toBe(record.id);
      else await expect(store.find(record.id)).rejects.toThrow("run chown");
    } finally {
      user.mockRestore();
    }
  });

  it("replaces the file behind a symbolic link, and not the link", async () => {
    const path = newPath();
    const link = newPath();
    await apiKeyFile(path).add(make().record);
    fs.symlinkSync(path, link);
    await apiKeyFile(link).add(make().record);
    expect(fs.lstatSync(link).isSymbolicLink()).toBe(true);
    expect(await apiKeyFile(path).list()).toHaveLength(2);
  });

  it.each([0o620, 0o602, 0o666])("refuses a file of mode %o, which others can write", async (mode) => {
    const { path, record } = await newFile();
    fs.chmodSync(path, mode);
    await expect(apiKeyFile(path).find(record.id)).rejects.toThrow("run chmod 600");
    await expect(apiKeyFile(path).add(make().record)).rejects.toThrow("run chmod 600");
    fs.chmodSync(path, 0o644);
    expect(await apiKeyFile(path).find(record.id)).toEqual(record);
  });

  it.each<readonly [string, unknown]>([
    ["content that is not JSON", "{"],
    ["no content", ""],
    ["null", null],
    ["an array", []],
    ["keys that are not an array", { keys: {} }],
    ["a key that is null", { keys: [null] }],
    ["a key without a hash", { keys: [{ ...make().record, hash: undefined }] }],
    ["a key with a wrong end", { keys: [{ ...make().record, expiresAt: "2099" }] }],
    [
      "two keys with the same id",
      { keys: [make().record, make().record].map((one) => ({ ...one, id: "000000000001" })) },
    ],
  ])("throws for a file with %s, and changes nothing in it", async (_, content) => {
    const path = newPath();
    const text = typeof content === "string" ? content : JSON.stringify(content);
    fs.writeFileSync(path, text, { mode: 0o600 });
    const store = apiKeyFile(path);
    await expect(store.find("000000000001")).rejects.toThrow();
    await expect(store.list()).rejects.toThrow();
    await expect(store.add(make().record)).rejects.toThrow();
    expect(fs.readFileSync(path, "utf8")).toBe(text);
    expect(fs.existsSync(`${path}.lock`)).toBe(false);
  });

  it("throws for a file that is absent or a folder, and creates a file only to add a key", async () => {
    const path = newPath();
    await expect(apiKeyFile(path).find("000000000001")).rejects.toThrow("ENOENT");
    expect(await apiKeyFile(path).revoke("000000000001")).toBe(false);
    expect(fs.existsSync(path)).toBe(false);
    await expect(apiKeyFile(join(folder, "no/keys.json")).add(make().record)).rejects.toThrow("ENOENT");
    await expect(apiKeyFile(folder).list()).rejects.toThrow("must be a file");
  });

  it("makes every key unavailable while the file is broken or absent", async () => {
    const { path, store, key } = await newFile();
    const kind = apiKeys({ prefix: "acme_pat_", find: store.find, cacheSeconds: 0, staleSeconds: 0 });
    const server = createServer({ now: Date.now, opaqueTokens: [kind] });
    expect(await verdictOf(server, key)).toBe("accepted");
    const text = fs.readFileSync(path, "utf8");
    fs.writeFileSync(path, "{}");
    expect(await verdictOf(server, key)).toBe("unavailable");
    fs.rmSync(path);
    expect(await verdictOf(server, key)).toBe("unavailable");
    fs.writeFileSync(path, text, { mode: 0o600 });
    expect(await verdictOf(server, key)).toBe("accepted");
  });
});

describe("apiKeyStore", () => {
  describeStore("in memory", () => apiKeyStore(memoryStore()));

  it("shares keys with others that have the same store, and lists none at first", async () => {
    const store = memoryStore();
    const [one, other] = [apiKeyStore(store), apiKeyStore(store)];
    expect(await one.list()).toEqual([]);
    const { record } = make();
    await one.add(record);
    await other.revoke(record.id, "leaked");
    expect(await one.find(record.id)).toMatchObject({ revokedReason: "leaked" });
  });

  /** A store in memory that counts the keys of each call. */
  function createCounting() {
    const memory = memoryStore();
    const reads: number[] = [];
    const get: Store["get"] = (keys) => {
      reads.push(keys.length);
      return memory.get(keys);
    };
    return { memory, reads, store: { ...memory, get } };
  }

  it("adds a key to 100,000 others, and lists them all, without reading them one after another", async () => {
    const { memory, reads, store } = createCounting();
    const json = JSON.stringify(make().record);
    for (let number = 0; number < 100_000; number += 1) {
      const id = String(number).padStart(12, "0");
      await memory.set(`api-key:${number}`, id);
      await memory.set(`api-key:id:${id}`, json.replace(/"id":"\w+"/, `"id":"${id}"`));
    }
    await memory.set("api-key:next", "100000");
    const keys = apiKeyStore(store);
    await keys.add(make().record);
    expect(reads.length).toBeLessThan(5);
    expect(reads.every((count) => count < 5)).toBe(true);
    reads.length = 0;
    expect(await keys.list()).toHaveLength(100_001);
    expect(reads.length).toBeLessThan(400);
  });

  it("lists what comes after lost entries, also if the store has lost where the list ends", async () => {
    const memory = memoryStore();
    const keys = apiKeyStore(memory);
    const records = Array.from({ length: 10 }, () => make().record);
    for (const record of records) await keys.add(record);
    await memory.delete("api-key:0");
    await memory.delete("api-key:4");
    expect(await keys.list()).toHaveLength(8);
    await memory.delete(`api-key:id:${records[5]?.id}`);
    expect(await keys.list()).toHaveLength(7);
    await keys.add(records[5] ?? make().record);
    expect(await keys.list()).toHaveLength(8);
    await memory.delete("api-key:next");
    expect(await keys.list()).toHaveLength(8);
    await keys.add(make().record);
    expect(await memory.get(["api-key:11", "api-key:next"])).toEqual([expect.any(String), "12"]);
    expect(await keys.list()).toHaveLength(9);
    await memory.set("api-key:next", "unreadable");
    expect(await keys.list()).toHaveLength(9);
    // Thousands of keys between have expired.
    const { record } = make();
    await memory.set("api-key:3500", record.id);
    await memory.set(`api-key:id:${record.id}`, JSON.stringify(record));
    expect(await keys.list()).toHaveLength(10);
    await memory.set("api-key:next", "3501");
    expect(await keys.list()).toHaveLength(10);
  });

  it("leaves it to the store to delete a key 30 days after its end", async () => {
    let now = Date.now();
    const memory = memoryStore({ now: () => now });
    const keys = apiKeyStore(memory);
    const [expiring, other] = [{ ...make().record, expiresAt: Math.floor(now / 1000) + 60 }, make().record];
    await keys.add(expiring);
    await keys.add(other);
    await keys.markUsed(expiring.id, 5);
    await keys.revoke(expiring.id);
    now += 30 * 86_400_000;
    expect(await keys.list()).toHaveLength(2);
    now += 61_000;
    expect((await keys.list()).map(({ id }) => id)).toEqual([other.id]);
    const left = await memory.get(["api-key:0", `api-key:id:${expiring.id}`, `api-key:used:${expiring.id}`]);
    expect(left).toEqual([undefined, undefined, undefined]);
  });

  it("loses none of the keys that two processes add at once, and lists each once", async () => {
    const store = memoryStore();
    const [one, other] = [apiKeyStore(store), apiKeyStore(store)];
    const records = Array.from({ length: 20 }, () => make().record);
    await Promise.all(records.map((record, index) => (index % 2 ? one : other).add(record)));
    const listed = (await one.list()).map(({ id }) => id);
    expect(listed.toSorted()).toEqual(records.map(({ id }) => id).toSorted());
  });

  it.each([
    ["is cut", (json: string) => json.slice(0, -20)],
    ["has a character too many", (json: string) => json.replace(',"name"', ',,"name"')],
    ["is a string", (json: string) => JSON.stringify(json)],
    ["is null", () => "null"],
  ])("refuses with 503 and quotes nothing, if a record %s", async (_, corrupt) => {
    const memory = memoryStore();
    const { key, record } = make();
    await apiKeyStore(memory).add(record);
    await memory.set(`api-key:id:${record.id}`, corrupt(JSON.stringify(record)));
    const store = apiKeyStore(memory);
    const server = createServer({ opaqueTokens: [apiKeys({ prefix: "acme_pat_", find: store.find })] });
    const authorization = `Bearer ${key}`;
    const decision = await server.check({ method: "GET", target: "/agents", authorization });
    const cause = new TypeError("The store has a record of an API key that isn't a JSON object.");
    expect(decision).toMatchObject({ reason: "keys_unavailable", cause });
    for (const run of [() => store.find(record.id), () => store.list(), () => store.revoke(record.id)])
      await expect(run()).rejects.toEqual(cause);
    const shown = inspect(decision, { depth: 9 });
    for (let start = 0; start + 5 <= record.hash.length; start += 1)
      expect(shown).not.toContain(record.hash.slice(start, start + 5));
  });

  it("rejects every call if the store hangs", async () => {
    vi.useFakeTimers();
    const hang = () => new Promise<never>(() => undefined);
    const store = apiKeyStore({ get: hang, set: hang, delete: hang });
    const calls = [
      store.find("a"),
      store.list(),
      store.add(make().record),
      store.revoke("a"),
      store.markUsed("a", 1),
    ];
    const settled = Promise.allSettled(calls);
    await vi.advanceTimersByTimeAsync(5_000);
    expect((await settled).map(({ status }) => status)).toEqual(calls.map(() => "rejected"));
    vi.useRealTimers();
  });
});
