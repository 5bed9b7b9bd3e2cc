/** The list, the page in the documentation, the records and the tests say the same. */
import { readdirSync, readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { renderPages } from "./page.ts";
import { GROUPS } from "./records/index.ts";

const vulnerabilities = GROUPS.flatMap((group) => group.vulnerabilities);

/** Next.js runs only in `npm run test:runtimes`. */
const FILES = [
  ...readdirSync(import.meta.dirname).filter((file) => file.endsWith(".test.ts")),
  "../../runtimes/next.test.ts",
];

/** The first argument of every call of `itPrevents`, and the keys of tables for it. */
const tested = FILES.map((file) => readFileSync(new URL(file, import.meta.url), "utf8")).flatMap((source) =>
  [...source.matchAll(/^ *(?:itPrevents\()?"((?:CVE|GHSA)-[^"]+)"/gm)].map(([, id = ""]) => id),
);

it("lists all vulnerabilities, and ten in the documentation, as npm run docs:vulnerabilities writes them", async () => {
  for (const { path, text } of await renderPages()) expect(readFileSync(path, "utf8"), path).toBe(text);
});

it("contains exactly one test for each vulnerability that no other test repeats", () => {
  const others = vulnerabilities.filter(({ testedBy }) => !testedBy);
  expect([...tested].sort()).toEqual(others.map(({ ids }) => ids[0]).sort());
});

it.each(
  vulnerabilities.flatMap(({ ids, testedBy = [] }) => (testedBy.length > 0 ? [[ids[0], ...testedBy]] : [])),
)("names the test of %s: %s says %s", (_, file = "", text = "") => {
  expect(readFileSync(new URL(`../../${file}`, import.meta.url), "utf8")).toContain(text);
});

it("contains each identifier once, in the form of CVE or GitHub", () => {
  const ids = vulnerabilities.flatMap((vulnerability) => vulnerability.ids);
  expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
  const form = /^(?:CVE-\d{4}-\d{4,}|GHSA(?:-[23456789cfghjmpqrvwx]{4}){3})$/;
  expect(ids.filter((id) => !form.test(id))).toEqual([]);
});

it.each(vulnerabilities)(
  "describes $ids in one sentence each, with a source",
  ({ happened, here, source }) => {
    for (const sentence of [happened, here]) expect(sentence).toMatch(/^[A-Z`][^|\n]*[A-Za-z0-9`)]\.$/);
    expect(source).toMatch(/^https:\/\//);
  },
);
