/** The command `key`: keys in a file, and what is never printed. */
import { createHmac } from "node:crypto";
import { chmodSync, existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { apiKeyFile, apiKeys } from "scopegate/api-keys";
import { createServer, verdictOf } from "../../support/resource-servers.ts";
import { folder, jsonOf, mistakesOf, outputOf, scopegate, useFolder } from "./support.ts";

useFolder();

let count = 0;
const newStore = () => join(folder, `keys-${process.pid}-${(count += 1)}.json`);
const GIVEN = "--name ci --owner u1 --scope agents:read";

async function create(store: string, more = "") {
  const { out, code, notes } = await scopegate(`key create ${GIVEN} --store ${store} ${more}`);
  expect({ code, notes }).toEqual({ code: 0, notes: "" });
  expect(out).toMatch(/^\S+\n$/);
  return out.trim();
}

interface Listed {
  readonly keys: readonly Readonly<Record<string, unknown>>[];
}
const listed = async (store: string) => ((await jsonOf(`key list --store ${store} --json`)) as Listed).keys;

const serverOf = (store: string, options: { prefix: string; pepper?: string }) =>
  createServer({
    now: Date.now,
    opaqueTokens: [apiKeys({ ...options, find: apiKeyFile(store).find, cacheSeconds: 0 })],
  });

describe("scopegate key create", () => {
  it("prints only the key to a pipe, which a server with the store accepts", async () => {
    const store = newStore();
    const key = await create(store);
    expect(key).toMatch(/^key_[0-9A-Za-z]{61}$/);
    expect(statSync(store).mode & 0o777).toBe(0o600);
    const principal = await serverOf(store, { prefix: "key_" }).authenticate(key);
    expect(principal).toMatchObject({ userId: "u1", scopes: ["agents:read"] });
    expect(principal.expiresAt).toBeUndefined();
  });

  it("explains at a terminal how to accept, send and revoke the key, without repeating it", async () => {
    const store = newStore();
    const { out, notes } = await scopegate(`key create ${GIVEN} --store ${store}`, { isTerminal: true });
    const [only] = await listed(store);
    expect(notes).toContain('apiKeys({ prefix: "key_", find, onUse: markUsed })');
    expect(notes).toContain("Authorization: Bearer");
    expect(notes).toContain(`scopegate key revoke ${String(only?.["id"])} --store ${store}`);
    expect(notes).not.toContain(out.trim());
    expect(notes).not.toContain(out.trim().slice(-20));
  });

  it("accepts a prefix, several scopes and a lifetime, and prints them as JSON without the hash", async () => {
    const store = newStore();
    const line = `key create ${GIVEN} --scope x:y --prefix acme_pat_ --expires 90d --store ${store} --json`;
    const made = (await jsonOf(line)) as Listed["keys"][number];
    expect(made).toMatchObject({ name: "ci", ownerId: "u1", scopes: ["agents:read", "x:y"] });
    expect(Number(made["expiresAt"]) - Number(made["createdAt"])).toBe(90 * 86_400);
    expect(String(made["key"])).toMatch(/^acme_pat_/);
    expect(made).not.toHaveProperty("hash");
    expect(await verdictOf(serverOf(store, { prefix: "acme_pat_" }), String(made["key"]))).toBe("accepted");
  });

  it("uses the pepper of an environment variable, which it never prints", async () => {
    const store = newStore();
    const pepper = "a pepper of enough characters";
    const args = `key create ${GIVEN} --store ${store} --pepper-env PEPPER`;
    const { out, notes } = await scopegate(args, { env: { PEPPER: pepper }, isTerminal: true });
    expect(notes).toContain(", pepper })");
    expect(out + notes + readFileSync(store, "utf8")).not.toContain(pepper);
    const hash = createHmac("sha256", pepper).update(out.trim()).digest("base64url");
    expect(readFileSync(store, "utf8")).toContain(hash);
    expect(await verdictOf(serverOf(store, { prefix: "key_", pepper }), out.trim())).toBe("accepted");
    expect(await mistakesOf(args)).toContain("this one isn't set");
    const short = await mistakesOf(args, { env: { PEPPER: "short-secret" } });
    expect(short).toContain("at least 16 characters");
    expect(short).not.toContain("short-secret");
    expect(await listed(store)).toHaveLength(1);
  });

  const NEEDED = "key create needs --name";
  const WORDS = "key takes create, list, or revoke with the id of a key";

  it.each<[mistake: string, line: string, ...others: string[]]>([
    [NEEDED, "", "key create needs --owner", "key create needs --scope", "write --store"],
    ["ENOENT", `${GIVEN} --store no/such/keys.json`],
    ["--expires takes a number and a unit", `${GIVEN} --expires 5y`, "write --store"],
    ["in the future", `${GIVEN} --expires 0d --store FILE`],
    ["--prefix needs a value", `${GIVEN} --prefix -x`],
    ["createApiKey.prefix", `${GIVEN} --prefix acme --store FILE`],
    ["--scope takes one scope", `${GIVEN} --scope a:b,c:d`],
    ["grant nothing", `${GIVEN} --scope agents: --store FILE`],
    [WORDS, `ID ${GIVEN} --store FILE`],
  ])("refuses wrong usage, and writes nothing: %s", async (mistake, line, ...others) => {
    const store = newStore();
    const notes = await mistakesOf(`key create ${line.replace("FILE", store)}`);
    for (const each of [mistake, ...others]) expect(notes).toContain(each);
    expect(existsSync(store)).toBe(false);
  });
});

describe("scopegate key list", () => {
  it("shows every key with its state, and neither a key nor a hash", async () => {
    const store = newStore();
    const keys = [
      await create(store),
      await create(store, "--scope x:y --expires 1s"),
      await create(store, "--expires 90d"),
    ];
    const records = JSON.parse(readFileSync(store, "utf8")) as { keys: Record<string, unknown>[] };
    const [first, second, third] = records.keys;
    Object.assign(second ?? {}, { expiresAt: 1_700_000_000, createdAt: 1_600_000_000 });
    Object.assign(first ?? {}, { lastUsedAt: 1_700_000_000 });
    writeFileSync(store, JSON.stringify(records));
    await outputOf(`key revoke ${String(third?.["id"])} --store ${store}`);
    const out = await outputOf(`key list --store ${store}`, 0, { isTerminal: true });
    const lines = out.trimEnd().split("\n");
    expect(lines[0]).toMatch(/^id +state +name +owner +scopes +created +expires +last used$/);
    expect(lines[1]).toMatch(/ active +ci +u1 +agents:read +\d{4}-\d\d-\d\d +never +2023-11-14$/);
    expect(lines[2]).toMatch(/ expired +ci +u1 +agents:read x:y +2020-09-13 +2023-11-14 +never$/);
    expect(lines[3]).toMatch(/ revoked +/);
    const json = await outputOf(`key list --store ${store} --json`);
    expect((await listed(store)).map(({ state }) => state)).toEqual(["active", "expired", "revoked"]);
    for (const [index, key] of keys.entries())
      for (const secret of [key, key.slice(16), String(records.keys[index]?.["hash"])])
        expect(out + json).not.toContain(secret);
  });

  it("refuses a file that others can read, and one that is absent or broken, without quoting it", async () => {
    const store = newStore();
    await create(store);
    chmodSync(store, 0o640);
    for (const args of ["list", "revoke 000000000001", `create ${GIVEN}`])
      expect(await mistakesOf(`key ${args} --store ${store}`)).toContain("run chmod 600.");
    chmodSync(store, 0o600);
    const text = readFileSync(store, "utf8");
    const hash = /"hash": "([^"]+)"/.exec(text)?.[1] ?? "none";
    writeFileSync(store, text.slice(0, -4));
    const broken = await mistakesOf(`key list --store ${store}`);
    expect(broken).toContain("must be { keys: [...] }");
    expect(broken).not.toContain(hash);
    expect(await mistakesOf(`key list --store ${newStore()}`)).toContain("ENOENT");
  });
});

describe("scopegate key revoke", () => {
  it("revokes a key for every server with the store, and keeps the reason", async () => {
    const store = newStore();
    const [key, other] = [await create(store), await create(store)];
    const server = serverOf(store, { prefix: "key_" });
    expect(await verdictOf(server, key)).toBe("accepted");
    const id = key.slice(4, 16);
    expect(await outputOf(`key revoke ${id} --store ${store} --reason leaked`)).toBe("Revoked.\n");
    expect([await verdictOf(server, key), await verdictOf(server, other)]).toEqual(["revoked", "accepted"]);
    expect(await listed(store)).toMatchObject([
      { id, state: "revoked", revokedReason: "leaked" },
      { state: "active" },
    ]);
  });

  it("reports an unknown id with exit code 1, without repeating it: it may be a key", async () => {
    const store = newStore();
    const key = await create(store);
    const { code, out, notes } = await scopegate(["key", "revoke", key, "--store", store]);
    expect(code).toBe(1);
    expect(out + notes).not.toContain(key);
    expect(out).toContain("The store has no key with this id");
    const unknown = `key revoke 000000000001 --store ${store} --json`;
    expect(await jsonOf(unknown, 1)).toEqual({ revoked: false });
  });
});
