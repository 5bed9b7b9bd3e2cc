/** Random applications of Next.js, and random requests to them. */
import fc from "fast-check";
import type { NextApplication, NextRewrite } from "./next.ts";
import type { Rule } from "./specification.ts";

/** A parameter has the same name everywhere at one level, as Next.js requires. */
const folder = fc
  .tuple(
    fc.array(fc.constantFrom("a", "b", "admin", "[]", "(group)"), { maxLength: 3 }),
    fc.constantFrom("", "", "", "[...rest]", "[[...rest]]"),
  )
  .map(([segments, last]) => {
    let level = 0;
    const named = segments.map((segment) => {
      if (segment !== "(group)") level += 1;
      return segment === "[]" ? `[p${level}]` : segment;
    });
    return `/${[...named, last].filter((segment) => segment !== "").join("/")}`;
  });

const SOURCES = [
  "/:rest*",
  "/r/:rest*",
  "/r/:rest+",
  "/:x/:rest*",
  "/r/:x",
  "/r-:x",
  "/:x",
  "/r/:x(\\d+)",
  "/:x(a|b)/:rest*",
  "/r/:x?",
  "/a",
  "/r",
  "/admin",
  "/a/:x",
];
const DESTINATIONS = [
  "/:rest*",
  "/a/:rest*",
  "/:x",
  "/a/:x",
  "/admin",
  "/a",
  "/:x/:rest*",
  "/a-:x",
  "/b?y=1",
  "/",
  "/r/a",
];

const namesIn = (path: string): readonly string[] =>
  [...path.matchAll(/:(\w+)/g)].map(([, name = ""]) => name);

const rewrite: fc.Arbitrary<NextRewrite> = fc.constantFrom(...SOURCES).chain((source) => {
  const names = namesIn(source);
  const modifier = source.includes(":rest+") ? "+" : "*";
  // Next.js fails if a value is missing.
  const possible = DESTINATIONS.filter((path) =>
    namesIn(path).every((name) => names.includes(name) && !source.endsWith("?")),
  );
  return fc
    .constantFrom(...possible)
    .map((path) => ({ source, destination: path.replace(":rest*", `:rest${modifier}`) }));
});

/** Next.js rejects two folders for one path, and an optional catch-all next to another catch-all or its folder. */
function removeConflicts(folders: readonly string[]): readonly string[] {
  const taken = new Set<string>();
  return folders.filter((each) => {
    const path = each.replaceAll(/\/\(\w+\)/g, "");
    const parent = path.replace(/\/\[\[?\.\.\.rest\]\]?$/, "");
    const keys = path === parent ? [path === "/" ? "" : path] : [`${parent}/*`];
    if (path.includes("[[")) keys.push(parent);
    if (keys.some((key) => taken.has(key))) return false;
    for (const key of keys) taken.add(key);
    return true;
  });
}

const FILES = ["/b", "/a/a", "/r/a", "/admin/a", "/a/b/a"];

const rewrites = fc.array(rewrite, { maxLength: 2 });

export const application: fc.Arbitrary<NextApplication> = fc
  .record({
    folders: fc.array(folder, { minLength: 1, maxLength: 6 }).map(removeConflicts),
    files: fc.subarray(FILES),
    beforeFiles: rewrites,
    afterFiles: rewrites,
    fallback: rewrites,
    basePath: fc.constantFrom("", "", "/base"),
    isRscRedirected: fc.boolean(),
  })
  .map((app) => {
    // Next.js rejects a file with the path of a folder.
    const paths = app.folders.map((each) => each.replaceAll(/\/\(\w+\)/g, ""));
    return { ...app, files: app.files.filter((file) => !paths.includes(file)) };
  });

const SEGMENTS = [
  "a",
  "b",
  "r",
  "admin",
  "A",
  "12",
  "r-a",
  "r-admin",
  "a-x",
  "%61",
  "a%2Fb",
  "%2e%2e",
  "..",
  "x%20y",
  "p0",
];

/** Paths as clients send them. */
export const requestPath: fc.Arbitrary<string> = fc
  .array(fc.constantFrom(...SEGMENTS), { maxLength: 4 })
  .chain((segments) => fc.constantFrom(segments, ["r", ...segments]))
  .chain((segments) => fc.constantFrom(segments, segments, [...segments.slice(0, 1), "a.rsc"]))
  .map((segments) => new URL(`/${segments.join("/")}`, "http://host.example").pathname);

const PATTERNS = [
  "/",
  "/{*rest}",
  "/a",
  "/a{/*rest}",
  "/a/*rest",
  "/admin",
  "/admin{/*rest}",
  "/:x",
  "/:x/:y",
  "/a/:x",
  "/:x/a",
  "/:x/:y/:z",
  "/r{/*rest}",
  "/r/:x",
  "/:x{/*rest}",
  "/b/a",
];

/** A scope with a parameter is only used where the pattern has it. */
const ruleFor = (patterns: readonly string[]): fc.Arbitrary<Rule> =>
  fc
    .record({
      method: fc.constantFrom("GET", "GET", "*", "POST"),
      pattern: fc.constantFrom(...patterns),
      requirement: fc.constantFrom<Rule["requirement"][]>(
        "public",
        "public",
        "optional",
        [],
        ["a:read"],
        ["b:read"],
        ["a:read", "b:read"],
        ["items:<x>:read"],
      ),
    })
    .map((written) => {
      const isBound = JSON.stringify(written.requirement).includes("<x>") && !written.pattern.includes(":x");
      return isBound ? { ...written, requirement: ["items:read"] } : written;
    });

/** Few patterns, so that some of them have rules for two methods. */
export const table: fc.Arbitrary<readonly Rule[]> = fc
  .subarray(PATTERNS, { minLength: 1, maxLength: 5 })
  .chain((patterns) =>
    fc.uniqueArray(ruleFor(patterns), {
      minLength: 1,
      maxLength: 6,
      selector: ({ method, pattern }) => `${method} ${pattern}`,
    }),
  );

/** The scopes of a caller; `undefined` without a token. */
export const callerScopes: fc.Arbitrary<readonly string[] | undefined> = fc.constantFrom(
  undefined,
  undefined,
  [],
  ["a:read"],
  ["b:read"],
  ["a:read", "b:read"],
  ["items:a:read"],
  ["items:admin:read", "a:read"],
);
