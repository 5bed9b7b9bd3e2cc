/** The words of the documentation: how many there are, and how they are spelled. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import dictionary from "dictionary-en";
import nspell from "nspell";
import { describe, expect, it } from "vitest";
import { pages, ROOT } from "./markdown.ts";

/** Decision records are for people who change scopegate. */
const read = pages.filter(({ path }) => !path.startsWith("docs/decisions/"));

const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;
const countWords = (text: string): number =>
  text.split(/\s+/).filter((word) => LETTER_OR_DIGIT.test(word)).length;

/** What a reader reads as words: without code, addresses, identifiers and HTML. */
const proseOf = (text: string): string =>
  text
    .replaceAll(/`[^`]*`/g, " ")
    .replaceAll(/\]\([^)]*\)/g, "] ")
    .replaceAll(/<[^<>]*>|https?:\S+|(?:GHSA|CVE)-[\w-]+/g, " ");

describe("the documentation", () => {
  it("has at most 50,500 words outside of code", () => {
    const words = read.map(({ prose }) => countWords(prose)).reduce((sum, count) => sum + count, 0);
    console.log(`${words} words on ${read.length} pages, without code and decision records.`);
    expect(words).toBeLessThanOrEqual(50_500);
  });

  it("has at most 55,000 words in README.md and docs, with code and tables, as `wc -w` counts them", () => {
    const counted = read.filter(({ path }) => path === "README.md" || path.startsWith("docs/"));
    const words = counted.flatMap(({ text }) => text.split(/\s+/).filter((word) => word !== ""));
    console.log(`${words.length} words on ${counted.length} pages, with code and tables.`);
    expect(words.length).toBeLessThanOrEqual(55_000);
  });

  it("has no page that is longer than 2,500 words, except lists", () => {
    const lists = ["CHANGELOG.md"];
    const long = read.filter(({ path, prose }) => !lists.includes(path) && countWords(prose) > 2_500);
    expect(long.map(({ path }) => path)).toEqual([]);
  });

  it("has only words of the dictionary, or of config/words.txt", () => {
    const spelling = nspell(Buffer.from(dictionary.aff), Buffer.from(dictionary.dic));
    const listed = readFileSync(join(ROOT, "config/words.txt"), "utf8").split("\n");
    for (const word of listed) spelling.add(word);
    const wrong = new Map<string, string>();
    const used = new Set<string>();
    for (const { path, prose } of read) {
      for (const [word] of proseOf(prose).matchAll(/\p{L}[\p{L}\p{M}'’]*\p{L}/gu)) {
        used.add(word);
        if (!spelling.correct(word) && !spelling.correct(word.replace(/['’]s$/, ""))) wrong.set(word, path);
      }
    }
    expect([...wrong].map(([word, path]) => `${path}: ${word}`)).toEqual([]);
    // A word that no page uses any more must leave the list.
    expect(listed.filter((word) => word !== "" && !used.has(word) && !used.has(`${word}s`))).toEqual([]);
  });
});
