/** The library against its specification, in a sample. `npm run test:model` tries more of it. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  findMisreadTargets,
  findWrongCallers,
  findWrongEndings,
  findWrongIds,
  findWrongLists,
  findWrongPairs,
  findWrongRoutes,
  findWrongScopes,
  findWrongTables,
} from "./claims.ts";
import { MUTANTS } from "./mutants.ts";
import { apply } from "./run-mutants.ts";
import { choiceAt, countChoices, countTables, tablesWith, UNIVERSES } from "./universe.ts";

describe("the library, compared with its specification", () => {
  it("reads or refuses every target of up to three segments", () => {
    expect([...findMisreadTargets(3)]).toEqual([]);
  });
  it("covers every required scope with the same granted scopes", () =>
    expect([...findWrongScopes()]).toEqual([]));
  it("covers every id of a path with the same granted scopes", () => expect([...findWrongIds()]).toEqual([]));
  it("covers a list with the same granted scopes", () => expect([...findWrongLists()]).toEqual([]));
  it("lets the same rules decide for a list", () => expect([...findWrongPairs()]).toEqual([]));
  it("refuses the same matched routes, also those that do not fit the path", () => {
    expect([...findWrongRoutes()]).toEqual([]);
  });
  it("allows the same callers where several rules decide", () => expect([...findWrongCallers()]).toEqual([]));
  it("decides by the same of two texts behind a parameter", () => {
    expect([...findWrongEndings()]).toEqual([]);
  });
  it("starts with the same tables, and decides all requests by the same rules", () => {
    expect([...findWrongTables([0, 2, 4])]).toEqual([]);
  });
});

describe("a universe", () => {
  it.each(UNIVERSES)("of $name has each table once", (universe) => {
    const choices = new Set<string>();
    for (let number = 0; number < countChoices(universe); number += 1)
      choices.add(JSON.stringify(choiceAt(universe, number)));
    const tables = new Set(tablesWith(choiceAt(universe, 0), universe).map((table) => JSON.stringify(table)));
    expect(choices.size * tables.size).toBe(countTables(universe));
  });
});

it("each mutant changes one place of the library", () => {
  for (const mutant of MUTANTS) expect(() => apply(mutant)).not.toThrow();
});

it("the documentation has the counts of the last full run", () => {
  const read = (path: string) => readFileSync(new URL(path, import.meta.url), "utf8");
  const { universes } = JSON.parse(read("results.json")) as {
    universes: readonly Record<"name" | "tables" | "started" | "paths" | "routes", string | number>[];
  };
  const page = read("../../docs/understand/security.md");
  for (const { name, ...counts } of universes) {
    const [tables, started, paths, routes] = ["tables", "started", "paths", "routes"].map((count) =>
      counts[count as keyof typeof counts].toLocaleString("en"),
    );
    const shown = `${tables} tables, of which ${started} start; ${paths} decisions by the path, ${routes} by the route`;
    expect(page).toContain(`- **${name}:** ${shown}\n`);
  }
});
