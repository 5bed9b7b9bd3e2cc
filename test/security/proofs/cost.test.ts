/** Hostile proofs cost no more than their bytes. */
import { describe, expect, it } from "vitest";
import { memoryStore } from "scopegate/store";
import {
  ALICE,
  ALICE_TOKEN,
  EDWARDS_CALLER,
  ORIGIN,
  proofOf,
  rawProof,
  RSA_CALLER,
  type Sent,
  sent,
} from "./forge.ts";
import { checkDirectly, createService } from "./service.ts";

const MAX_PROOF = 8_192;

/** Repeats a text up to a length. */
const repeated = (text: string, length: number): string => text.repeat(Math.floor(length / text.length));

/** A claim of so many bytes, in a proof that is signed. */
const claim =
  (name: string, fill: (length: number) => unknown) =>
  (length: number): string =>
    proofOf({ claims: { [name]: fill(length) } });

/** Raw JSON of so many bytes as the payload or the header. */
const payload =
  (fill: (length: number) => string) =>
  (length: number): string =>
    rawProof({ payload: fill(length) });
const header =
  (fill: (length: number) => string) =>
  (length: number): string =>
    rawProof({ header: fill(length) });

const nested = (open: string, close: string, length: number): string => {
  const depth = Math.floor(length / (open.length + close.length));
  return open.repeat(depth) + close.repeat(depth);
};

/** Each creates a proof of about so many bytes. */
const HOSTILE: Readonly<Record<string, (length: number) => string>> = {
  dots: (length) => ".".repeat(length),
  commas: (length) => repeated(`${"a".repeat(8)},`, length),
  "proofs with commas": (length) => repeated("a.b.c, ", length),
  spaces: (length) => `a${" ".repeat(length)}b`,
  base64url: (length) => `${"A".repeat(length / 3)}.${"A".repeat(length / 3)}.${"A".repeat(length / 3)}`,
  padding: (length) => `${"A".repeat(length / 2)}.${"=".repeat(length / 4)}.${"=".repeat(length / 4)}`,
  "nested arrays in the payload": payload((length) => nested("[", "]", length)),
  "nested objects in the payload": payload((length) => nested('{"a":', "}", length).replace(":}", ":0}")),
  "nested objects in the header": header((length) => nested('{"a":', "}", length).replace(":}", ":0}")),
  "many members in the payload": payload(
    (length) => `{${Array.from({ length: length / 10 }, (_, index) => `"${1_000 + index}":0`).join(",")}}`,
  ),
  "many equal members in the payload": payload((length) => `{${repeated('"a":0,', length)}"a":0}`),
  "many equal members in the header": header((length) => `{${repeated('"a":0,', length)}"a":0}`),
  "escapes in the payload": payload((length) => `{"${repeated("\\u0061", length)}":0}`),
  "backslashes in the payload": payload((length) => `{"a":"${repeated("\\\\", length)}`),
  "quotes in the header": header((length) => repeated('"', length)),
  "colons in the header": header((length) => `{"a":"${repeated(":", length)}"}`),
  "digits in iat": payload((length) => `{"iat":${repeated("9", length)}}`),
  "parent segments in htu": claim("htu", (length) => `${ORIGIN}/${repeated("a/../", length)}`),
  "parent segments alone in htu": claim("htu", (length) => `${ORIGIN}/${repeated("../", length)}`),
  "current segments in htu": claim("htu", (length) => `${ORIGIN}/${repeated("./", length)}`),
  "slashes in htu": claim("htu", (length) => `${ORIGIN}${"/".repeat(length)}`),
  "percent signs in htu": claim("htu", (length) => `${ORIGIN}/${"%".repeat(length)}`),
  "encoded letters in htu": claim("htu", (length) => `${ORIGIN}/${repeated("%41", length)}`),
  "encoded percent signs in htu": claim("htu", (length) => `${ORIGIN}/${repeated("%25", length)}`),
  "encoded dots in htu": claim("htu", (length) => `${ORIGIN}/${repeated("%2e%2e/", length)}`),
  "at signs in htu": claim("htu", (length) => `https://${"@".repeat(length)}`),
  "colons in htu": claim("htu", (length) => `https://${":".repeat(length)}`),
  "dots in the host of htu": claim("htu", (length) => `https://${"a.".repeat(length / 2)}`),
  "brackets in htu": claim("htu", (length) => `https://${"[".repeat(length)}`),
  "question marks in htu": claim("htu", (length) => `${ORIGIN}/agents/7${"?".repeat(length)}`),
  "number signs in htu": claim("htu", (length) => `${ORIGIN}/agents/7${"#".repeat(length)}`),
  "a long jti": claim("jti", (length) => "x".repeat(length)),
  "a long ath": claim("ath", (length) => "x".repeat(length)),
  "a long htm": claim("htm", (length) => "G".repeat(length)),
  "a long nonce": claim("nonce", (length) => "x".repeat(length)),
  "a long claim that nobody reads": claim("x", (length) => "x".repeat(length)),
  "a long typ": (length) => proofOf({ header: { typ: `dpop+jwt${" ".repeat(length)}` } }),
  "a long alg": (length) => proofOf({ header: { alg: "E".repeat(length) } }),
  "a long coordinate": (length) => proofOf({ header: { jwk: { ...ALICE.jwk, x: "A".repeat(length) } } }),
  "a long Ed25519 key": (length) =>
    proofOf({ caller: EDWARDS_CALLER, header: { jwk: { ...EDWARDS_CALLER.jwk, x: "A".repeat(length) } } }),
  "many members in the key": (length) =>
    proofOf({
      header: {
        jwk: {
          ...ALICE.jwk,
          ...Object.fromEntries(Array.from({ length: length / 10 }, (_, index) => [`m${index}`, 0])),
        },
      },
    }),
  "a large RSA key": (length) =>
    proofOf({ caller: RSA_CALLER, header: { jwk: { ...RSA_CALLER.jwk, n: `_${"_".repeat(length - 1)}` } } }),
  "a large RSA exponent": (length) =>
    proofOf({ caller: RSA_CALLER, header: { jwk: { ...RSA_CALLER.jwk, e: "_".repeat(length) } } }),
  "a large RSA key and exponent": (length) =>
    proofOf({
      caller: RSA_CALLER,
      header: {
        jwk: {
          ...RSA_CALLER.jwk,
          n: "_".repeat(Math.floor(length / 2)),
          e: "_".repeat(Math.floor(length / 2)),
        },
      },
    }),
  "a long signature": (length) => `${proofOf()}${"A".repeat(length)}`,
};

/** Cuts or fills a field to at most the size that a server reads. */
const sized = (proof: string, length: number): string => proof.slice(0, length);

/** The processor time of so many requests, in microseconds: less than elapsed time, it depends on the load. */
async function costOf(requests: readonly Sent[]): Promise<number> {
  const { server } = createService({ nonce: true });
  let least = Infinity;
  for (let turn = 0; turn < 3; turn += 1) {
    const before = process.cpuUsage();
    for (const request of requests) await checkDirectly(server, request);
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, user + system);
  }
  return least / requests.length;
}

describe("a hostile proof", () => {
  it.each(Object.entries(HOSTILE))("of 8 KB costs no more than linear time: %s", async (_, create) => {
    // As long as the text can be so that the whole proof, which is base64url, is not refused by its length.
    const requests = Array.from({ length: 15 }, () => sent(ALICE_TOKEN, sized(create(5_200), MAX_PROOF)));
    const small = Array.from({ length: 15 }, () => sent(ALICE_TOKEN, sized(create(1_300), MAX_PROOF)));
    const [cost, costOfSmall] = [await costOf(requests), await costOf(small)];
    // A quadratic cost would be sixteen times as high. Short times are mostly the constant part.
    expect(cost).toBeLessThan(8 * costOfSmall + 500);
    expect(cost).toBeLessThan(5_000);
  });

  it("costs nothing that depends on its length beyond 8 KB", async () => {
    const [large, small] = [3_000_000, 9_000].map((length) => [sent(ALICE_TOKEN, "a".repeat(length))]);
    expect(await costOf(large ?? [])).toBeLessThan(20 * (await costOf(small ?? [])) + 2_000);
  });
});

describe("the default store of proofs", () => {
  const SECONDS = 360;

  it("takes no longer for a proof after 200,000 others", async () => {
    let now = 0;
    const store = memoryStore({ now: () => now });
    const before = process.cpuUsage();
    for (let count = 0; count < 200_000; count += 1) {
      now += 2;
      await store.set(`proof ${count}`, "1", { ttlMs: SECONDS * 1_000, ifAbsent: true });
    }
    const { user, system } = process.cpuUsage(before);
    // It takes forty times as long if each one passes over the places of deleted ones.
    expect(user + system).toBeLessThan(4_000_000);
  });

  it("refuses at once while it is full, and takes a proof for each that has ended", async () => {
    let now = 0;
    const store = memoryStore({ maxEntries: 50_000, now: () => now });
    const add = (key: string, lifetime: number) =>
      store.set(key, "1", { ttlMs: lifetime, ifAbsent: true }).catch(() => "full");
    for (let count = 0; count < 50_000; count += 1) await add(`first ${count}`, 1_000 * (1 + count));
    const before = process.cpuUsage();
    for (let count = 0; count < 2_000; count += 1) expect(await add(`second ${count}`, 1_000)).toBe("full");
    const { user } = process.cpuUsage(before);
    expect(user).toBeLessThan(1_000_000);
    now = 11_000;
    const results = [];
    for (let count = 0; count < 20; count += 1) results.push(await add(`third ${count}`, 100_000));
    expect(results.filter((result) => result === true).length).toBe(11);
    expect(await add("first 49999", 1_000)).toBe(false);
  });

  it("searches for nothing while it is full and proofs end in any order", async () => {
    let now = 0;
    const store = memoryStore({ maxEntries: 50_000, now: () => now });
    const add = (key: string, lifetime: number) =>
      store.set(key, "1", { ttlMs: lifetime, ifAbsent: true }).catch(() => "full");
    const lifetimeOf = (count: number) => 60_000 + ((count * 7_919) % 300_000);
    for (let count = 0; count < 50_000; count += 1) await add(`first ${count}`, lifetimeOf(count));
    now = 60_000;
    const before = process.cpuUsage();
    let accepted = 0;
    for (let count = 0; count < 20_000; count += 1) {
      now += 1;
      if ((await add(`second ${count}`, lifetimeOf(count))) === true) accepted += 1;
    }
    const { user, system } = process.cpuUsage(before);
    expect(accepted).toBeGreaterThan(3_000);
    expect(accepted).toBeLessThan(4_000);
    // A search through all entries for each new one takes several seconds.
    expect(user + system).toBeLessThan(1_000_000);
  });

  it("takes a key without a time to live, and forgets it", async () => {
    const store = memoryStore({ now: () => 1_000 });
    for (const key of ["a", "b", "a"]) expect(await store.set(key, "1", { ttlMs: 0 })).toBe(true);
    expect(await store.get(["a", "b"])).toEqual([undefined, undefined]);
  });
});
