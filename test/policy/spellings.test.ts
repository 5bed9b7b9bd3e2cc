import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Spelling, Spellings } from "../../src/policy/spellings.ts";
import { type PathReading, readPath } from "../../src/request.ts";
import {
  EXACT,
  getTable,
  kindsTable,
  LENIENT,
  pathOf,
  pathSegments,
  PROPERTY,
  rulesOf,
  sourceOf,
  textOf,
} from "../support/policy.ts";

const spellingsOf = (sources: readonly string[], target: string, reading: PathReading = {}) => {
  const path = readPath(target);
  if (!path) throw new Error(`${target} is no readable target.`);
  return new Spellings(rulesOf(getTable(sources))).of(path, reading);
};

/** The path with the texts that its segments are taken for. */
function compared({ path, replacements }: Spelling): string {
  let slash = 0;
  const segments = path.slice(1).split("/");
  return segments
    .map((segment) => {
      const text = replacements?.get(slash) ?? segment;
      slash += 1 + segment.length;
      return `/${text}`;
    })
    .join("");
}

/** Each reading as `kind /path`. */
const written = (sources: readonly string[], target: string, reading?: PathReading) =>
  spellingsOf(sources, target, reading)?.map((spelling) => `${spelling.kind} ${compared(spelling)}`);

const TABLE = ["/agents/me", "/agents/:id", "/caf%C3%A9/:id"];
const SLASHED = [...TABLE, "/files/raw/"];

describe("the readings of a path", () => {
  it.each([
    ["/", []],
    ["/agents/me", []],
    ["/agents/web", []],
    ["/elsewhere/Web/%41", []],
    ["/caf%C3%A9/1", []],
    ["/AGENTS/Web", ["foreign /agents/Web"]],
    ["/agents/ME", ["foreign /agents/me"]],
    ["/agents/m%65", ["foreign /agents/me"]],
    ["/agents/%4De", ["foreign /agents/me"]],
    ["/agents/me;v=1", ["foreign /agents/me"]],
    ["/caf%c3%a9/1", ["foreign /caf%C3%A9/1"]],
    ["/Agents/Me", ["foreign /agents/me", "foreign /agents/Me", "foreign /Agents/me"]],
    ["/agents/me/", ["foreign /agents/me"]],
    // Decoded once, never twice.
    ["/agents/%256De", []],
  ])("of which nothing is known: %s is itself first, and %j", (target, others) => {
    const [first, ...rest] = written(TABLE, target) ?? [];
    expect(first).toBe(`exact ${target}`);
    expect(new Set(rest)).toEqual(new Set(others));
  });

  it.each([
    ["/AGENTS/Web", ["declared /agents/Web"]],
    ["/AGENTS/Me", ["declared /agents/me", "declared /agents/Me", "declared /AGENTS/me"]],
    ["/agents/me/", ["declared /agents/me"]],
    ["/agents/m%65", ["foreign /agents/me"]],
    ["/AGENTS/m%65", ["declared /agents/m%65", "foreign /agents/me", "foreign /AGENTS/me"]],
    ["/agents/m%65/", ["declared /agents/m%65", "foreign /agents/me", "foreign /agents/me/"]],
    ["/agents/me;v=1", ["foreign /agents/me"]],
    ["/caf%c3%a9/1", ["declared /caf%C3%A9/1"]],
  ])("declared lenient: %s is itself first, and %j", (target, others) => {
    const [first, ...rest] = written(TABLE, target, LENIENT) ?? [];
    expect(first).toBe(`exact ${target}`);
    expect(new Set(rest)).toEqual(new Set(others));
  });

  it.each([
    ["/files/raw", ["foreign /files/raw/"]],
    ["/files/raw/", ["foreign /files/raw"]],
    ["/files/RAW", ["foreign /files/RAW/", "foreign /files/raw", "foreign /files/raw/"]],
    ["/agents/web", ["foreign /agents/web/"]],
    ["/", []],
  ])("beside a rule with a trailing slash: %s is itself first, and %j", (target, others) => {
    const [first, ...rest] = written(SLASHED, target) ?? [];
    expect(first).toBe(`exact ${target}`);
    expect(new Set(rest)).toEqual(new Set(others));
  });

  it.each([
    ["/AGENTS/me", []],
    ["/agents/me/", []],
    ["/files/raw", []],
    ["/agents/m%65", ["foreign /agents/me"]],
    ["/agents/%4De", []],
    ["/agents/me;v=1", ["foreign /agents/me"]],
    // Of the last segment nothing is left to a router that drops parameters.
    ["/files/raw/;v=1", ["foreign /files/raw/"]],
    ["/files/raw/%3B", ["foreign /files/raw/"]],
    // The digits of an encoded octet have no letter case, however strict the router is.
    ["/caf%c3%a9/1", ["foreign /caf%C3%A9/1"]],
  ])("declared strict: %s is itself, and %j", (target, others) => {
    expect(written(SLASHED, target, EXACT)).toEqual([`exact ${target}`, ...others]);
  });

  it("are declared one by one", () => {
    const caseOnly = { ignoreCase: true, ignoreTrailingSlash: false };
    const slashOnly = { ignoreCase: false, ignoreTrailingSlash: true };
    expect(written(["/a/b"], "/A/b/", caseOnly)).toEqual(["exact /A/b/", "declared /a/b/"]);
    expect(written(["/a/b"], "/A/b/", slashOnly)).toEqual(["exact /A/b/", "declared /A/b"]);
    expect(new Set(written(["/a/b"], "/A/b/", { ignoreCase: true }))).toEqual(
      new Set(["exact /A/b/", "declared /a/b/", "foreign /A/b", "foreign /a/b"]),
    );
  });

  it.each([
    [["/files/raw/"], "/files/raw", ["foreign /files/raw/"]],
    [["/files/raw/"], "/files/raw/", ["foreign /files/raw"]],
    [["/ADMIN"], "/ADMIN;", ["foreign /ADMIN"]],
    // The empty segment is the trailing slash, and never a text of which another router drops all.
    [["/a/;x"], "/a/", ["foreign /a"]],
  ])("of the table %j alone: %s is itself first, and %j", (sources, target, others) => {
    expect(written(sources, target)).toEqual([`exact ${target}`, ...others]);
  });

  it("lead to each text of the table that a segment might be", () => {
    expect(new Set(written(["/Admin", "/admin/x", "/%61dmin/y"], "/admin"))).toEqual(
      new Set(["exact /admin", "foreign /Admin", "foreign /%61dmin"]),
    );
  });

  it("go from the one to rely on to the others", () => {
    const kinds = spellingsOf(["/a/b/c"], "/A/%62/c/", { ignoreCase: true })?.map(({ kind }) => kind) ?? [];
    const order = ["exact", "declared", "foreign"];
    expect(kinds).toEqual(kinds.toSorted((a, b) => order.indexOf(a) - order.indexOf(b)));
    expect(new Set(kinds)).toEqual(new Set(order));
  });

  it("keep the spelling of the client for the parameters, segment by segment", () => {
    const paths = spellingsOf(TABLE, "/AGENTS/W%65B/")?.map(({ path }) => path);
    expect(new Set(paths)).toEqual(new Set(["/AGENTS/W%65B/", "/AGENTS/W%65B"]));
  });

  it("end for the parameters where they end for the comparison", () => {
    const paths = spellingsOf(["/files/:id/"], "/FILES/W%65b")?.map(({ path }) => path) ?? [];
    expect(new Set(paths)).toEqual(new Set(["/FILES/W%65b", "/FILES/W%65b/"]));
  });

  it("are at most 64: a path with more is nobody's honest path", () => {
    const long = (length: number) => [`/${Array.from({ length }, () => "a").join("/")}`];
    const upper = (length: number) => `/${Array.from({ length }, () => "A").join("/")}`;
    expect(spellingsOf(long(6), upper(6))).toHaveLength(64);
    expect(spellingsOf(long(7), upper(7))).toBeUndefined();
    expect(spellingsOf(long(5000), upper(5000))).toBeUndefined();
    expect(spellingsOf(long(7), long(7)[0] ?? "")).toHaveLength(1);
  });

  it("differ from each other, and in nothing but case, encoding and the trailing slash", () => {
    const loosened = (path: string) => path.toLowerCase().replace(/(?<=.)\/$/, "");
    fc.assert(
      fc.property(kindsTable(), pathSegments, fc.boolean(), (table, path, isUpper) => {
        const spelled = isUpper ? path.map((segment) => segment.toUpperCase()) : path;
        const found = new Spellings(rulesOf(getTable(table.map(sourceOf)))).of(pathOf(spelled), {}) ?? [];
        const texts = found.map(compared);
        expect(new Set(texts).size).toBe(found.length);
        expect(found[0]).toEqual({ path: textOf(spelled), replacements: undefined, kind: "exact" });
        for (const text of texts) expect(loosened(text)).toBe(loosened(textOf(spelled)));
      }),
      PROPERTY,
    );
  });
});
