/** Claims about the library, for `npm test` and for the mutants. Tables are sampled, all else is complete. */
import { ConfigurationError, hasScopes, type ScopeMappings } from "../../src/index.ts";
import { isScope } from "../../src/core/scopes/scope.ts";
import { readPath, segmentsOf, hasTrailingSlash } from "../../src/core/request.ts";
import { pipelineOf } from "../../src/core/port.ts";
import { createServer } from "../support/resource-servers.ts";
import { Comparison } from "./compare.ts";
import * as specification from "./specification.ts";
import { choiceAt, UNIVERSES } from "./universe.ts";

/** One of each class of segments that some router, proxy or URL parser treats in its own way. */
const SEGMENTS = [
  "a",
  "A",
  "%61",
  "%C3%A9",
  "%2561",
  "%252f",
  "%252e",
  "*",
  ":a",
  "{a}",
  "a,b",
  "",
  ".",
  "..",
  "...",
  "%2e",
  ".%2E",
  "%2f",
  "a%2Fb",
  "%5c",
  "\\",
  ";",
  "a;b",
  "%3b",
  "%00",
  "%0a",
  "%7f",
  "%zz",
  "%",
  "%c3",
  "%c2%80",
  "é",
  "a b",
  "a%20b",
  "\t",
  "~",
];

/** Every target with at most `length` of these segments that the library reads in another way. */
export function* findMisreadTargets(length: number): Iterable<string> {
  let heads = [""];
  for (let count = 0; count < length; count += 1) {
    heads = heads.flatMap((head) => SEGMENTS.map((segment) => `${head}/${segment}`));
    for (const head of heads)
      for (const target of [head, `${head}/`, head.slice(1)]) {
        const expected = specification.readTarget(target);
        const path = readPath(target);
        const actual = path && { segments: segmentsOf(path), hasSlash: hasTrailingSlash(path) };
        if (JSON.stringify(expected) !== JSON.stringify(actual)) yield target;
      }
  }
}

// Joined with colons, "//a" makes a URI such as `agents://a`, and "urn" a URN.
const PARTS = ["agents", "read", "web", "*", "Agents", "", "urn", "a/b", "//a"];

/** Every text of at most four of these parts. */
const SCOPES = [1, 2, 3, 4].flatMap((length) =>
  Array.from({ length: PARTS.length ** length }, (_, number) =>
    Array.from(
      { length },
      (__, place) => PARTS[Math.floor(number / PARTS.length ** place) % PARTS.length],
    ).join(":"),
  ),
);

/** Scopes for which the library disagrees. Of those with four parts, only those below `agents:web:` are tried. */
export function* findWrongScopes(): Iterable<string> {
  const granted = SCOPES.filter((scope) => scope.split(":").length < 4 || scope.startsWith("agents:web:"));
  const required = SCOPES.filter(
    (scope) =>
      isScope(scope) &&
      // A required id is never `*`.
      !/^[^:]+:\*:[^:]+$/.test(scope) &&
      (scope.split(":").length < 4 || scope.startsWith("agents:web:")),
  );
  for (const scope of required)
    for (const grant of granted)
      if (hasScopes([grant], [scope]) !== specification.covers(grant, scope)) yield `${grant} for ${scope}`;
}

const IDS = [
  "",
  "web",
  "WEB",
  "%77eb",
  "*",
  "%2A",
  "web:read",
  "*:read",
  "read",
  "w%20b",
  "w%22b",
  "%C3%A9",
  "%2a",
];

/** Every granted scope and id of a path on which the library disagrees. */
export function* findWrongIds(): Iterable<string> {
  const { policy } = pipelineOf(createServer({ scopeMappings: { "GET /agents/:id": ["agents:<id>:read"] } }));
  const granted = SCOPES.filter((scope) => scope.split(":").length < 4);
  for (const id of IDS)
    for (const grant of granted) {
      const caller = policy.callerWith([grant]);
      const { allowed } = policy.decideFor(caller, {
        method: "GET",
        target: `/agents/${id}`,
        matchedPattern: "/agents/:id",
      });
      const expected = specification.coversParts(grant, ["agents", decodeURIComponent(id), "read"]);
      if (allowed !== expected) yield `${grant} for ${id}`;
    }
}

/** Every granted scope with which the library disagrees about a list that requires any id. */
export function* findWrongLists(): Iterable<string> {
  const policy = policyOf({ "GET /agents": ["agents:<any>:read"] });
  for (const grant of SCOPES) {
    const request = { method: "GET", target: "/agents", matchedPattern: "/agents" };
    const decision = policy?.decideFor(policy.callerWith([grant]), request);
    if (decision?.allowed !== specification.covers(grant, "agents:<any>:read")) yield grant;
  }
}

const LIST_REQUIREMENTS: readonly specification.Requirement[] = [
  [],
  ["a:read"],
  ["a:7:read"],
  ["a:<any>:read"],
  ["a:<any>:read", "b:read"],
  ["a:<any>:write"],
];

/** Every pair of rules, one of which decides for the other, on which the library disagrees. */
export function* findWrongPairs(): Iterable<string> {
  for (const first of LIST_REQUIREMENTS)
    for (const second of LIST_REQUIREMENTS) {
      const table = [
        { method: "GET", pattern: "/a/:x/c", requirement: first },
        { method: "GET", pattern: "/:x/b/c", requirement: second },
      ];
      const scopeMappings = { "GET /a/:x/c": first, "GET /:x/b/c": second };
      const path = specification.readTarget("/a/b/c");
      const isOrdered = path !== undefined && specification.isOrdered(table, "GET", path);
      if (isOrdered !== (policyOf(scopeMappings) !== undefined)) yield JSON.stringify(scopeMappings);
    }
}

const RULE_KEYS = ["GET /a/b", "GET /a/:x", "* /:x/b"];
const REQUIREMENTS: readonly specification.Requirement[] = [
  "public",
  "optional",
  [],
  ["a:read"],
  ["a:read", "b:read"],
];
const CALLERS = [undefined, [], ["a:read"], ["b:read"], ["a:read", "b:read"], ["platform:admin"]];

/** Every caller, with some scopes or without a token, for whom three rules together are decided wrongly. */
export function* findWrongCallers(): Iterable<string> {
  // Some reading of the path reaches each of the rules.
  const request = { method: "GET", target: "/A/B", matchedPattern: "/a/b" };
  for (const [first, second, third] of triplesOf(REQUIREMENTS)) {
    const requirements = [first, second, third];
    const scopeMappings = Object.fromEntries(RULE_KEYS.map((key, index) => [key, requirements[index] ?? []]));
    const policy = policyOf(scopeMappings);
    // Without a rule that needs a token, such a path is refused for everybody.
    if (!policy || requirements.every((requirement) => typeof requirement === "string")) continue;
    for (const scopes of CALLERS) {
      const { allowed } = policy.decideFor(scopes && policy.callerWith(scopes), request);
      const granted = scopes?.includes("platform:admin") ? requirements.flat() : scopes;
      const expected = requirements.every((requirement) => specification.isSatisfied(requirement, granted));
      if (allowed !== expected) yield `${JSON.stringify(scopeMappings)} with ${JSON.stringify(scopes)}`;
    }
  }
}

const triplesOf = <T>(all: readonly T[]): readonly (readonly [T, T, T])[] =>
  all.flatMap((first) => all.flatMap((second) => all.map((third) => [first, second, third] as const)));

/** Returns `undefined` if the server does not start. */
function policyOf(scopeMappings: ScopeMappings) {
  try {
    return pipelineOf(createServer({ adminScope: "platform:admin", scopeMappings })).policy;
  } catch (error) {
    if (error instanceof ConfigurationError) return undefined;
    throw error;
  }
}

/** Every path and matched route, also one that does not fit the path, for which the library disagrees. */
export function* findWrongRoutes(): Iterable<string> {
  const table: readonly specification.Rule[] = ["/a", "/b/:x", "/{*w}"].map((pattern) => ({
    method: "GET",
    pattern,
    requirement: [],
  }));
  const policy = policyOf(Object.fromEntries(table.map(({ pattern }) => [`GET ${pattern}`, []])));
  for (const target of ["/a", "/b/x", "/b/", "/c/d/e"])
    for (const route of ["/a", "/b/:x", "/b", "/c/*w", "/:x", "/:x/:y/:z", "/{*w}"]) {
      const path = specification.readTarget(target);
      if (!path || !policy) throw new Error("The table or the path is wrong.");
      const ofPath = specification.rulesOfPath(
        specification.candidatesFor(table, "GET", path),
        "GET",
        path.hasSlash,
      );
      const { kind } = specification.rulesOfRoute(table, "GET", path, route, ofPath);
      const decision = policy.decideFor(policy.callerWith([]), {
        method: "GET",
        target,
        matchedPattern: route,
      });
      if (decision.allowed !== (kind === "rules")) yield `${target} at ${route}`;
    }
}

/** How many choices of keys a sample has, by the size of their tables. */
export type Sample = readonly [one: number, two: number, three: number];

/** What does not hold for tables with two texts behind a parameter, of which one ends with the other. */
export function* findWrongEndings(): Iterable<string> {
  const [, universe] = UNIVERSES;
  if (!universe) return;
  const comparison = new Comparison(universe);
  comparison.compareTables(["/:x-b", "/:x-b-b"].map((pattern) => ({ method: "GET", pattern })));
  for (const violation of comparison.violations) yield JSON.stringify(violation);
}

/** What does not hold for some tables of each universe, which are spread evenly over all of them. */
export function* findWrongTables(sample: Sample): Iterable<string> {
  for (const [index, universe] of UNIVERSES.entries()) {
    const count = sample[index] ?? 0;
    if (count === 0) continue;
    const comparison = new Comparison(universe);
    for (let number = 0; number < count; number += 1) {
      comparison.compareTables(choiceAt(universe, number));
      for (const violation of comparison.violations) yield JSON.stringify(violation);
      comparison.reset();
    }
  }
}
