/** Entries of the table, taken apart and written again. */
import { describe, expect, it } from "vitest";
import type { Requirement } from "../../../src/core/policy/requirement.ts";
import { readEntry, type TableEntry, writeEntry } from "../../../src/core/policy/table-entry.ts";

describe("readEntry", () => {
  it.each<[TableEntry, unknown]>([
    ["public", { requirement: "public", path: [] }],
    [["a:b"], { requirement: ["a:b"], path: [] }],
    [{ anyOf: ["a:b"] }, { requirement: { anyOf: ["a:b"] }, path: [] }],
    [{ filtered: "a:b" }, { requirement: { filtered: "a:b" }, path: [] }],
    [{ scopes: ["a:b"] }, { requirement: ["a:b"], path: ["scopes"] }],
  ])("finds what %j enforces, and where, also as an override", (entry, enforced) => {
    expect(readEntry(entry)).toEqual({ enforced, reported: undefined, isOverride: false });
    const { requirement, path } = enforced as { requirement: Requirement; path: string[] };
    const override = { override: entry } as TableEntry;
    expect(readEntry(override)).toEqual({
      enforced: { requirement, path: ["override", ...path] },
      reported: undefined,
      isOverride: true,
    });
  });

  it.each<[TableEntry, unknown, unknown]>([
    [{ report: ["a:b"] }, undefined, { requirement: ["a:b"], path: ["report"] }],
    [
      { scopes: ["c:d"], report: { anyOf: ["a:b"] } },
      { requirement: ["c:d"], path: ["scopes"] },
      { requirement: { anyOf: ["a:b"] }, path: ["report"] },
    ],
    [
      { filtered: "c:d", report: { scopes: ["a:b"] } },
      { requirement: { filtered: "c:d" }, path: [] },
      { requirement: ["a:b"], path: ["report", "scopes"] },
    ],
  ])("finds what %j reports", (entry, enforced, reported) => {
    expect(readEntry(entry)).toEqual({ enforced, reported, isOverride: false });
  });

  it("finds conditions next to what is enforced, and within what is reported", () => {
    const entry: TableEntry = {
      scopes: ["a:b"],
      actors: "none",
      unless: ["c:d"],
      report: { anyOf: ["e:f"], clients: ["console"] },
    };
    expect(readEntry({ override: entry })).toEqual({
      enforced: {
        requirement: ["a:b"],
        path: ["override", "scopes"],
        conditioned: { written: { actors: "none", unless: ["c:d"] }, path: ["override"] },
      },
      reported: {
        requirement: { anyOf: ["e:f"] },
        path: ["override", "report"],
        conditioned: { written: { clients: ["console"] }, path: ["override", "report"] },
      },
      isOverride: true,
    });
  });

  it.each<[TableEntry]>([["public"], [["a:b"]], [{ scopes: ["a:b"] }]])(
    "finds no conditions in %j",
    (entry) => {
      expect(readEntry(entry).enforced?.conditioned).toBeUndefined();
    },
  );

  it("finds no requirement in an object without one", () => {
    const entry = Object.assign(Object.create({ scopes: ["a:b"] }) as object, { actors: "none" as const });
    expect(readEntry(entry as unknown as TableEntry).enforced).toBeUndefined();
  });

  it("reads no property of a polluted prototype", () => {
    const polluted = Object.create({
      override: "public",
      report: ["x:y"],
      anyOf: ["x:y"],
      filtered: "x:y",
    }) as object;
    const entry = Object.assign(polluted, { scopes: ["a:b"] }) as unknown as TableEntry;
    expect(readEntry(entry)).toEqual({
      enforced: { requirement: ["a:b"], path: ["scopes"] },
      reported: undefined,
      isOverride: false,
    });
  });
});

describe("writeEntry", () => {
  it.each<TableEntry>([
    { report: ["a:b"] },
    { scopes: ["c:d"], report: ["a:b"] },
    { anyOf: ["c:d"], report: ["a:b"] },
    { filtered: "c:d", report: { anyOf: ["a:b"] } },
  ])("writes %j as it was", (entry) => {
    const { enforced, reported } = readEntry(entry);
    if (!reported) throw new Error("It reports nothing.");
    expect(writeEntry(enforced, reported)).toEqual(entry);
  });

  it.each<TableEntry>([
    { scopes: ["a:b"], actors: "none" },
    { anyOf: ["a:b"], clients: ["console"], unless: ["c:d"] },
    { scopes: [], actors: "none", report: { scopes: ["a:b"], clients: ["console"] } },
  ])("writes the conditions of %j as they were", (entry) => {
    const { enforced, reported } = readEntry(entry);
    const partOf = (read: typeof enforced) =>
      read && {
        requirement: read.requirement,
        ...(read.conditioned && { conditions: read.conditioned.written }),
      };
    expect(writeEntry(partOf(enforced), partOf(reported))).toEqual(entry);
  });

  it.each<[Requirement]>([["public"], ["optional"], [["a:b"]], [{ anyOf: ["a:b"] }]])(
    "writes %j without conditions as it was",
    (requirement) => {
      expect(writeEntry({ requirement }, undefined)).toEqual(requirement);
    },
  );

  it("writes a requirement of any valid token for a rule that requires nothing else", () => {
    expect(writeEntry(undefined, undefined)).toEqual([]);
  });

  it.each(["public", "optional"] as const)(
    "writes no %s next to a report, which needs a token",
    (enforced) => {
      expect(writeEntry({ requirement: enforced }, { requirement: ["a:b"] })).toEqual({ report: ["a:b"] });
    },
  );
});
