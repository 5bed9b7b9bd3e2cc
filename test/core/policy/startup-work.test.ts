/** Startup takes linear time: for twice as many rules, it calls about twice as many functions. */
import { Session } from "node:inspector";
import type { ScopeMappings } from "scopegate";
import { describe, expect, it } from "vitest";
import { starts } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";

type Options = Partial<ResourceServerOptions>;

interface Coverage {
  readonly url: string;
  readonly functions: readonly { readonly ranges: readonly { readonly count: number }[] }[];
}

/** A measurement of the coverage needs the same counters. */
const areCountersFree = process.env["npm_lifecycle_event"] !== "test:coverage";

/** Counts the calls of functions of this package. Time would depend on the machine. */
function countCalls(run: () => void): number {
  const session = new Session();
  session.connect();
  let calls = 0;
  session.post("Profiler.enable");
  session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  run();
  session.post(
    "Profiler.takePreciseCoverage",
    (_error, { result }: { readonly result: readonly Coverage[] }) => {
      const ownScripts = result.filter(({ url }) => url.includes("/src/") && !url.includes("/node_modules/"));
      for (const { functions } of ownScripts)
        for (const { ranges } of functions) calls += ranges[0]?.count ?? 0;
    },
  );
  session.post("Profiler.stopPreciseCoverage");
  session.disconnect();
  return calls;
}

/** Merges the entries for each number below a count. */
const repeat = (count: number, entriesFor: (index: number) => object): ScopeMappings =>
  Object.assign({}, ...Array.from({ length: count }, (_, index) => entriesFor(index))) as ScopeMappings;

/** A table in which each number adds two rules, or one rule. */
const two =
  (entriesFor: (index: number) => object) =>
  (count: number): Options => ({ scopeMappings: repeat(count / 2, entriesFor) });
const single =
  (entriesFor: (index: number) => object) =>
  (count: number): Options => ({ scopeMappings: repeat(count, entriesFor) });

const where = { org: { claim: "org_id" } };
const acr = (...anyOf: readonly string[]) => ({ scopes: [], acr: { anyOf } });

const TABLES: readonly (readonly [string, (count: number) => Options])[] = [
  [
    "half have `where`, and half are public below them",
    two((i) => ({
      [`* /s${i}/:org{/*path}`]: { scopes: [], where, except: [`GET /s${i}/:org/logo`] },
      [`GET /s${i}/:org/logo`]: "public",
    })),
  ],
  [
    "all are exceptions of one `where`",
    (count) => ({
      scopeMappings: {
        "* /orgs/:org{/*path}": {
          scopes: [],
          where,
          except: Array.from({ length: count }, (_, index) => `GET /orgs/:id/logo${index}`),
        },
        ...repeat(count, (i) => ({ [`GET /orgs/:org/logo${i}`]: "public" })),
      },
    }),
  ],
  [
    "rules with `where` cross rules without",
    two((i) => ({ [`GET /:org/s${i}`]: { scopes: [], where }, [`GET /p${i}/:page`]: [] })),
  ],
  ["all have the same `acr`", single((i) => ({ [`GET /a${i}`]: acr("urn:example:mfa") }))],
  ["each has another `acr`", single((i) => ({ [`GET /a${i}/:id`]: acr(`urn:example:${i}`) }))],
  [
    "rules with an `acr` in common cross",
    two((i) => ({
      [`GET /:a/x${i}`]: acr("urn:a", `urn:x${i}`),
      [`GET /y${i}/:b`]: acr(`urn:y${i}`, "urn:a"),
    })),
  ],
  ["all have `also`", single((i) => ({ [`GET /a${i}`]: { scopes: ["a:b"], also: ["c:d"] } }))],
  [
    "rules with `also` cross",
    two((i) => ({
      [`GET /:a/x${i}`]: { scopes: ["a:b"], also: ["c:d"] },
      [`GET /y${i}/:b`]: { scopes: ["a:b"], also: ["c:d"] },
    })),
  ],
  [
    "all have `unless`",
    single((i) => ({ [`GET /a${i}/:org`]: { scopes: [], where, unless: ["orgs:cross"] } })),
  ],
  [
    "all have `actors`",
    single((i) => ({ [`GET /a${i}`]: { scopes: [], actors: { anyOf: [`agent-${i}`] } } })),
  ],
  ["all have `clients`", single((i) => ({ [`GET /a${i}`]: { scopes: [], clients: [`client-${i}`] } }))],
  [
    "each overrides a rule with conditions",
    (count) => ({
      defaultScopeMappings: repeat(count, (i) => ({
        [`GET /a${i}/:org`]: { scopes: ["a:b"], where, also: ["c:d"] },
      })),
      scopeMappings: repeat(count, (i) => ({
        [`GET /a${i}/:org`]: { scopes: ["a:b", "e:f"], where, also: ["c:d"] },
      })),
    }),
  ],
  [
    "rules with the same parameter in their scopes cross",
    two((i) => ({ [`GET /:a/x${i}/:c`]: ["r:<a>:w"], [`GET /:b/:c/y${i}`]: ["r:<b>:w"] })),
  ],
  [
    "operations with conditions include public ones",
    two((i) => ({
      [`MCP tools/call s${i}_*`]: { ...acr(`urn:example:${i}`), except: [`MCP tools/call s${i}_logo`] },
      [`MCP tools/call s${i}_logo`]: "public",
    })),
  ],
];

describe("the start of a table with many rules", () => {
  it.runIf(areCountersFree).each(TABLES)("takes linear time if %s", (_, optionsFor) => {
    const [calls, callsForTwice] = [250, 500].map((count) => {
      const options = optionsFor(count);
      return countCalls(() => expect(starts(options)).toBe(true));
    });
    // Sorting takes a little more than linear time.
    expect((callsForTwice ?? 0) / (calls ?? 0)).toBeLessThan(2.5);
    expect(calls).toBeGreaterThan(5_000);
  });

  it.runIf(areCountersFree)("takes little time for rules that are nested 14 times, each with `also`", () => {
    const paths = Array.from({ length: 14 }, (_, depth) =>
      Array.from({ length: depth + 1 }, (_, index) => `/:p${index}`).join(""),
    );
    const nested = paths.map((path, i) => [`* ${path}{/*rest}`, { scopes: [`s${i}:a`], also: [`a${i}:b`] }]);
    const calls = countCalls(() =>
      expect(starts({ scopeMappings: Object.fromEntries(nested) as ScopeMappings })).toBe(true),
    );
    expect(calls).toBeLessThan(100_000);
  });

  // Compared in pairs, each of these takes more than a minute.
  it.each<[string, (index: number) => object]>([
    ["cross, and require the same", (i) => ({ [`GET /:a/x${i}`]: ["a:b"], [`GET /y${i}/:b`]: ["a:b"] })],
    ["never meet", (i) => ({ [`GET /y${i}/:a/s`]: ["a:b"], [`GET /:a/p${i}/:b/t`]: ["c:d"] })],
    ["have texts behind parameters", (i) => ({ [`GET /:a.x${i}`]: ["a:b"], [`GET /:a.x${i}.y`]: ["c:d"] })],
  ])("takes little time if its rules %s", (_, entriesFor) => {
    expect(starts({ scopeMappings: repeat(1_500, entriesFor) })).toBe(true);
  });
});
