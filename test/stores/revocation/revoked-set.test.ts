import { describe, expect, it } from "vitest";
import { RevokedSet } from "../../../src/stores/revocation/revoked-set.ts";
import type { RevokedEntry } from "../../../src/core/token/revocation.ts";

const NOW = 1_700_000_000;
const ISSUER = "https://login.example/";
const TOKEN: RevokedEntry = { kind: "token", id: "t1", until: NOW + 100 };
const USER: RevokedEntry = { kind: "user", id: "u1", issuer: ISSUER, before: NOW, until: NOW + 100 };

function createSet(...entries: readonly RevokedEntry[]) {
  let now = NOW * 1000;
  const set = new RevokedSet(10, () => now);
  for (const entry of entries) set.add(entry);
  return { set, pass: (seconds: number) => void (now += seconds * 1000) };
}

describe("RevokedSet.entries", () => {
  it("lists entries with their issuer and times, so that they can be written to a shared store again", () => {
    expect([...createSet(TOKEN, USER).set.entries()]).toStrictEqual([TOKEN, USER]);
  });

  it("leaves out entries that have ended", () => {
    const { set, pass } = createSet({ ...TOKEN, until: NOW + 10 }, USER);
    pass(10);
    expect([...set.entries()]).toEqual([USER]);
  });
});

describe("RevokedSet.covers", () => {
  it.each<readonly [string, RevokedEntry]>([
    ["the same token", TOKEN],
    ["the same token for a shorter time", { ...TOKEN, until: NOW + 99 }],
    ["the same user", USER],
    ["older tokens of the same user", { ...USER, before: NOW - 1 }],
  ])("returns true for %s", (_, entry) => {
    expect(createSet(TOKEN, USER).set.covers(entry)).toBe(true);
  });

  const { before, ...always } = USER;
  it.each<readonly [string, RevokedEntry]>([
    ["another token", { ...TOKEN, id: "t2" }],
    ["a token of one issuer", { ...TOKEN, issuer: ISSUER }],
    ["the same id of another kind", { ...TOKEN, kind: "session" }],
    ["the same token for a longer time", { ...TOKEN, until: NOW + 101 }],
    ["the same user for a longer time", { ...USER, until: NOW + 101 }],
    ["newer tokens of the same user", { ...USER, before: (before ?? 0) + 1 }],
    ["all tokens of the same user", always],
  ])("returns false for %s", (_, entry) => {
    expect(createSet(TOKEN, USER).set.covers(entry)).toBe(false);
  });
});
