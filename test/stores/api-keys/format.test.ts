/** The form of API keys, checked by a second implementation. */
import { createHash, createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { apiKeys, createApiKey, type NewApiKey } from "scopegate/api-keys";
import { createServer, NOW, thrownBy, verdictOf } from "../../support/resource-servers.ts";
import { BASE62, crcOf, GIVEN, PREFIX } from "./support.ts";

const valueOf = (digits: string): number =>
  Array.from(digits).reduce((value, digit) => value * 62 + BASE62.indexOf(digit), 0);

/** A server whose store counts look-ups and has no key. */
function createAsked() {
  const asked: string[] = [];
  const find = (id: string) => void asked.push(id);
  return { asked, server: createServer({ opaqueTokens: [apiKeys({ prefix: PREFIX, find })] }) };
}

describe("createApiKey", () => {
  it("returns a key that consists of the prefix, an id, 43 random characters and a checksum", () => {
    for (let count = 0; count < 50; count += 1) {
      const { key, record } = createApiKey(GIVEN);
      const [, id, content] = /^acme_pat_(([0-9A-Za-z]{12}))[0-9A-Za-z]{43}[0-9A-Za-z]{6}$/.exec(key) ?? [];
      expect(record.id).toBe(id);
      expect(content).toBeDefined();
      expect(valueOf(key.slice(-6))).toBe(crcOf(key.slice(0, -6)));
    }
  });

  it("uses every character of its alphabet at every place of a key, and never repeats one", () => {
    const keys = Array.from({ length: 2000 }, () => createApiKey(GIVEN).key);
    expect(new Set(keys).size).toBe(2000);
    for (let place = PREFIX.length; place < PREFIX.length + 55; place += 1)
      expect(new Set(keys.map((key) => key[place])).size).toBe(62);
  });

  it("returns a record with the hash of the key, and without the key", () => {
    const { key, record } = createApiKey(GIVEN);
    expect(record.hash).toBe(createHash("sha256").update(key).digest("base64url"));
    const secret = key.slice(PREFIX.length + 12);
    expect(JSON.stringify(record)).not.toContain(secret.slice(0, 10));
    const pepper = "0123456789abcdef";
    const other = createApiKey({ ...GIVEN, pepper });
    expect(other.record.hash).toBe(createHmac("sha256", pepper).update(other.key).digest("base64url"));
  });

  it("returns a record with the owner, the name, the scopes and times in seconds", () => {
    const expiresAt = new Date(Date.now() + 90_500);
    const { record } = createApiKey({ ...GIVEN, scopes: ["b:c", "a:b", "b:c"], expiresAt });
    const { createdAt } = record;
    expect(Math.abs(createdAt - Date.now() / 1000)).toBeLessThan(2);
    expect(record).toEqual({
      id: record.id,
      hash: record.hash,
      name: "ci",
      scopes: ["b:c", "a:b"],
      ownerId: "u1",
      createdAt,
      expiresAt: Math.floor(expiresAt.getTime() / 1000),
    });
    expect(createApiKey(GIVEN).record).not.toHaveProperty("expiresAt");
  });
});

describe("apiKeys, for a changed key", () => {
  it("rejects every change of one character, at every place, without a look-up", async () => {
    const { asked, server } = createAsked();
    const { key } = createApiKey(GIVEN);
    for (let place = PREFIX.length; place < key.length; place += 1)
      for (const other of BASE62) {
        if (other === key[place]) continue;
        const changed = key.slice(0, place) + other + key.slice(place + 1);
        expect(await verdictOf(server, changed)).toBe("malformed");
      }
    expect(asked).toEqual([]);
    expect(await verdictOf(server, key)).toBe("key");
    expect(asked).toEqual([key.slice(PREFIX.length, PREFIX.length + 12)]);
  });

  it("rejects a key that is cut, longer, or has adjacent characters swapped, without a look-up", async () => {
    const { asked, server } = createAsked();
    const { key } = createApiKey(GIVEN);
    const changed = [
      ...Array.from({ length: key.length - PREFIX.length }, (_, cut) => key.slice(0, PREFIX.length + cut)),
      `${key}0`,
      key.toUpperCase().replace(PREFIX.toUpperCase(), PREFIX),
      ...Array.from({ length: 60 }, (_, index) => {
        const at = PREFIX.length + index;
        return key.slice(0, at) + (key[at + 1] ?? "") + (key[at] ?? "") + key.slice(at + 2);
      }),
    ].filter((one) => one !== key);
    for (const one of changed) expect(await verdictOf(server, one)).toBe("malformed");
    expect(asked).toEqual([]);
  });

  it("rejects any characters after the prefix without a look-up", async () => {
    const { asked, server } = createAsked();
    const texts = fc.oneof(
      fc.string({ unit: "binary", maxLength: 80 }),
      fc.string({ unit: fc.constantFrom(...Array.from(BASE62)), minLength: 61, maxLength: 61 }),
    );
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        expect(await verdictOf(server, PREFIX + text)).toBe("malformed");
      }),
    );
    expect(asked).toEqual([]);
  });

  it("rejects keys of any length", async () => {
    const { server } = createAsked();
    expect(await verdictOf(server, PREFIX + "a".repeat(16_000))).toBe("malformed");
    expect(await verdictOf(server, PREFIX + "a".repeat(5_000_000))).toBe("too_large");
  });
});

describe("the prefix", () => {
  it("decides without a look-up whether a token is a key", async () => {
    const { asked, server } = createAsked();
    const { key } = createApiKey({ ...GIVEN, prefix: "other_" });
    for (const token of [key, key.replace("other", "Acme_pat"), ` ${createApiKey(GIVEN).key}`])
      expect(await verdictOf(server, token)).toBe("malformed");
    expect(asked).toEqual([]);
    const kind = apiKeys({ prefix: PREFIX, find: () => undefined });
    expect(["acme_pat_", "acme_pat_x", "acme_pat", "xacme_pat_", ""].map((one) => kind.matches(one))).toEqual(
      [true, true, false, false, false],
    );
  });

  it.each(["ab_", `${"a".repeat(31)}_`, "A1_2_"])("allows %j", (prefix) => {
    expect(createApiKey({ ...GIVEN, prefix }).key.startsWith(prefix)).toBe(true);
  });

  const wrong = [undefined, 5, "", "a_", "acme", "acme-pat_", "1acme_", "ä_b_", `${"a".repeat(32)}_`];
  it.each(wrong)("refuses %j", (prefix) => {
    const given = { ...GIVEN, prefix } as NewApiKey;
    expect(() => createApiKey(given)).toThrow("createApiKey.prefix: ");
    expect(() => apiKeys({ prefix: given.prefix, find: () => undefined })).toThrow("apiKeys.prefix: ");
    expect(() => createApiKey(given)).toThrow("3 to 32 letters, digits and `_`. Begin with a letter");
  });
});

describe("createApiKey, for wrong options", () => {
  it.each<readonly [string, object]>([
    ["scopes: has an invalid value", { scopes: ["agents:read", "agents:"] }],
    ["scopes: has an invalid value", { scopes: ["two scopes"] }],
    ["scopes: has an invalid value", { scopes: ["agents:<agent_id>:read"] }],
    ["scopes: has an invalid value", { scopes: [] }],
    ["scopes: has an invalid value", { scopes: "agents:read" }],
    ["scopes: has an invalid value", { scopes: [5] }],
    ["scopes: is missing", { scopes: undefined }],
    ["name: has an invalid value", { name: "" }],
    ["name: is missing", { name: undefined }],
    ["ownerId: has an invalid value", { ownerId: 5 }],
    ["ownerId: has an invalid value", { ownerId: "" }],
    ["expiresAt: is undefined", { expiresAt: undefined }],
    ["expiresAt: has an invalid value", { expiresAt: new Date("never") }],
    ["expiresAt: has an invalid value", { expiresAt: new Date(NOW * 1000) }],
    ["pepper: is undefined", { pepper: undefined }],
    ["pepper: has an invalid value", { pepper: "short" }],
  ])("throws %j for %j", (message, options) => {
    const given = { ...GIVEN, ...options };
    expect(thrownBy(() => createApiKey(given)).message).toContain(`createApiKey.${message}`);
  });
});
