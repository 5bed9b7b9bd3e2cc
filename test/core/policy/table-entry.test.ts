/** Entries of the table, taken apart and written again. */
import { describe, expect, it } from "vitest";
import { readEntry, type TableEntry, writeEntry } from "../../../src/core/policy/table-entry.ts";

describe("readEntry", () => {
  it.each<[TableEntry, object]>([
    ["public", { requirement: "public", path: [] }],
    [["a:b"], { requirement: ["a:b"], path: [] }],
    [{ anyOf: ["a:b"] }, { requirement: { anyOf: ["a:b"] }, path: [] }],
    [{ scopes: ["a:b"] }, { requirement: ["a:b"], path: ["scopes"] }],
  ])("finds what %j requires, and where, and no conditions", (entry, expected) => {
    expect(readEntry(entry)).toEqual({ ...expected, conditions: undefined });
  });

  it("finds conditions next to the scopes", () => {
    expect(readEntry({ scopes: ["a:b"], actors: "none", unless: ["c:d"] })).toEqual({
      requirement: ["a:b"],
      path: ["scopes"],
      conditions: { actors: "none", unless: ["c:d"] },
    });
    expect(readEntry({ anyOf: ["a:b"], clients: ["console"] }).conditions).toEqual({ clients: ["console"] });
  });

  it("reads no property of a polluted prototype", () => {
    const polluted = Object.create({ anyOf: ["x:y"], actors: "none" }) as object;
    const entry = Object.assign(polluted, { scopes: ["a:b"] }) as unknown as TableEntry;
    expect(readEntry(entry)).toEqual({ requirement: ["a:b"], path: ["scopes"], conditions: undefined });
  });
});

describe("writeEntry", () => {
  it.each<[TableEntry]>([
    ["public"],
    ["optional"],
    [["a:b"]],
    [{ anyOf: ["a:b"] }],
    [{ scopes: ["a:b"], actors: "none" }],
    [{ anyOf: ["a:b"], clients: ["console"], unless: ["c:d"] }],
  ])("writes %j as it was", (entry) => {
    expect(writeEntry(readEntry(entry))).toEqual(entry);
  });
});
