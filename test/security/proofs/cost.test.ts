/** Hostile proofs cost no more than their bytes. */
import { describe, expect, it } from "vitest";
import { memoryStore } from "scopegate/store";
import { ALICE, ALICE_TOKEN, ORIGIN, proofOf, rawProof, RSA_CALLER, type Sent, sent } from "./forge.ts";
import { checkDirectly, createService } from "./service.ts";

/** Repeats a text up to a length. */
const repeated = (text: string, length: number): string => text.repeat(Math.floor(length / text.length));

const nested = (open: string, close: string, length: number): string => {
  const depth = Math.floor(length / (open.length + close.length));
  return open.repeat(depth) + close.repeat(depth);
};

const objects = (length: number): string => nested('{"a":', "}", length).replace(":}", ":0}");
const equalMembers = (length: number): string => `{${repeated('"a":0,', length)}"a":0}`;
const members = (length: number): object =>
  Object.fromEntries(Array.from({ length: length / 10 }, (_, index) => [`m${index}`, 0]));

type Fill = (length: number) => unknown;

/** What a proof consists of, if one part of it has so many bytes: its text, its JSON, or one of its members. */
const TEXTS: Readonly<Record<string, (length: number) => string>> = {
  dots: (length) => ".".repeat(length),
  "proofs with commas": (length) => repeated("a.b.c, ", length),
  spaces: (length) => `a${" ".repeat(length)}b`,
  base64url: (length) => Array.from({ length: 3 }, () => "A".repeat(length / 3)).join("."),
  "a long signature": (length) => `${proofOf()}${"A".repeat(length)}`,
};
const PAYLOADS: Readonly<Record<string, (length: number) => string>> = {
  "nested arrays": (length) => nested("[", "]", length),
  "nested objects": objects,
  "many members": (length) => JSON.stringify(members(length)),
  "many equal members": equalMembers,
  escapes: (length) => `{"${repeated("\\u0061", length)}":0}`,
  backslashes: (length) => `{"a":"${repeated("\\\\", length)}`,
  "digits in iat": (length) => `{"iat":${repeated("9", length)}}`,
};
const HEADERS: Readonly<Record<string, (length: number) => string>> = {
  "nested objects": objects,
  "many equal members": equalMembers,
  quotes: (length) => repeated('"', length),
  colons: (length) => `{"a":"${repeated(":", length)}"}`,
};
const CLAIMS: Readonly<Record<string, readonly [claim: string, fill: Fill]>> = {
  "parent segments": ["htu", (length) => `${ORIGIN}/${repeated("a/../", length)}`],
  slashes: ["htu", (length) => ORIGIN + "/".repeat(length)],
  "percent signs": ["htu", (length) => `${ORIGIN}/${"%".repeat(length)}`],
  "encoded letters": ["htu", (length) => `${ORIGIN}/${repeated("%41", length)}`],
  "encoded dots": ["htu", (length) => `${ORIGIN}/${repeated("%2e%2e/", length)}`],
  "at signs": ["htu", (length) => `https://${"@".repeat(length)}`],
  "dots in the host": ["htu", (length) => `https://${"a.".repeat(length / 2)}`],
  "question marks": ["htu", (length) => `${ORIGIN}/agents/7${"?".repeat(length)}`],
  "a long jti": ["jti", (length) => "x".repeat(length)],
  "a long nonce": ["nonce", (length) => "x".repeat(length)],
};
const PARAMETERS: Readonly<Record<string, readonly [parameter: string, fill: Fill]>> = {
  "a long typ": ["typ", (length) => `dpop+jwt${" ".repeat(length)}`],
  "a long alg": ["alg", (length) => "E".repeat(length)],
  "a long coordinate": ["jwk", (length) => ({ ...ALICE.jwk, x: "A".repeat(length) })],
  "many members of the key": ["jwk", (length) => ({ ...ALICE.jwk, ...members(length) })],
  "a large RSA key": ["jwk", (length) => ({ ...RSA_CALLER.jwk, n: "_".repeat(length) })],
  "a large RSA exponent": ["jwk", (length) => ({ ...RSA_CALLER.jwk, e: "_".repeat(length) })],
};

/** Each creates a proof of about so many bytes. */
const HOSTILE: readonly (readonly [name: string, create: (length: number) => string])[] = [
  ...Object.entries(TEXTS),
  ...named("payload", PAYLOADS, (fill) => (length) => rawProof({ payload: fill(length) })),
  ...named("header", HEADERS, (fill) => (length) => rawProof({ header: fill(length) })),
  ...named("claim", CLAIMS, ([claim, fill]) => {
    return (length) => proofOf({ claims: { [claim]: fill(length) } });
  }),
  ...named("header", PARAMETERS, ([parameter, fill]) => {
    return (length) => proofOf({ header: { [parameter]: fill(length) } });
  }),
];

function named<Row>(
  part: string,
  rows: Readonly<Record<string, Row>>,
  creatorOf: (row: Row) => (length: number) => string,
) {
  return Object.entries(rows).map(([name, row]) => [`${name} (${part})`, creatorOf(row)] as const);
}

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
  it.each(HOSTILE)("of 8 KB costs no more than linear time: %s", async (_, create) => {
    // As long as the text can be so that the whole proof, which is base64url, is not refused by its length.
    const requestsOf = (length: number): readonly Sent[] =>
      Array.from({ length: 15 }, () => sent(ALICE_TOKEN, create(length).slice(0, 8_192)));
    const [cost, costOfSmall] = [await costOf(requestsOf(5_200)), await costOf(requestsOf(1_300))];
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
});
