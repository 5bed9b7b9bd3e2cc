/** Random tables against the random model. `npm run test:model` tries more of them. */
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ConfigurationError, type ResourceServer } from "scopegate";
import {
  ask,
  compareRandomly,
  identitiesFor,
  identityOf,
  isServer,
  rulingOf,
  serverOf,
  start,
} from "./random-comparison.ts";
import type { Policy, Table } from "./random-specification.ts";
import { callerOf, policyOf, randomOf, type Random, requestOf, shadowOf } from "./random-tables.ts";

// Weaker overrides are warnings.
beforeEach(() => void vi.spyOn(process, "emitWarning").mockReturnValue(undefined));

/** How often each kind occurs at least, in a thousand decisions. */
const SHARES = {
  allowed: 200,
  scope_insufficient: 200,
  route_unmapped: 80,
  credential_missing: 20,
  token_rejected: 20,
  "caller_not_allowed where": 10,
  "caller_not_allowed actors": 3,
  "caller_not_allowed clients": 3,
  "authentication_insufficient acr": 3,
  "authentication_insufficient maxAuthAgeSeconds": 3,
  "shadows that differ": 20,
  batches: 20,
  routes: 100,
  operations: 50,
};
/** The same for tables that don't start, in a thousand tables. */
const MISTAKES = {
  rules_cross: 50,
  rule_outranked: 100,
  exception_missing: 30,
  exception_unknown: 3,
  override_partial: 3,
};

it("starts with the same random tables, and decides the same requests of the same callers", async () => {
  const { tally, differences } = await compareRandomly(1, 10_000);
  expect(differences).toEqual([]);
  const share = (name: string, of: string) => (1000 * (tally[name] ?? 0)) / (tally[of] ?? 0);
  for (const [name, least] of Object.entries(SHARES))
    expect(share(name, "decisions"), name).toBeGreaterThan(least);
  for (const [name, least] of Object.entries(MISTAKES))
    expect(share(name, "tables"), name).toBeGreaterThan(least);
});

describe("a random table", () => {
  it("decides the same, in whatever order its rules are written", () =>
    forTables(201, async ({ policy, server, random }) => {
      const reversed = start({ ...policy, custom: reverse(policy.custom), base: reverse(policy.base) });
      if (!isServer(reversed)) throw new Error(`${JSON.stringify(policy)} doesn't start in another order.`);
      expect(reversed.health().policy).toBe(server.health().policy);
      await forRequests(policy, random, async (request, identity) => {
        const [first, second] = [
          await ask(server, request, identity),
          await ask(reversed, request, identity),
        ];
        const { conditions: _, ...ruling } = rulingOf(second);
        expect(rulingOf(first)).toMatchObject(ruling);
      });
    }));

  it("has the same mistakes, in whatever order its rules are written", () => {
    const random = randomOf(204);
    let withMistakes = 0;
    while (withMistakes < 40) {
      const { custom, base, ...policy } = policyOf(random);
      const repeated = Object.keys(custom).filter(() => random.chance(0.1));
      const withRepeated = {
        ...custom,
        ...Object.fromEntries(repeated.map((key) => [key.replace(/:\w+/, ":again"), []])),
      };
      const mistakes = mistakesOf({ ...policy, base, custom: withRepeated });
      if (mistakes.length > 0) withMistakes += 1;
      const reversed = { ...policy, base: reverse(base), custom: reverse(withRepeated) };
      expect(mistakesOf(reversed)).toEqual(mistakes);
    }
  });

  it("has another digest without one of its effective rules", () =>
    forTables(205, ({ policy, server }) => {
      for (const { key, source } of server.routes) {
        const table = source === "default" ? "base" : "custom";
        const { [key]: _, ...others } = policy[table];
        const smaller = start({ ...policy, [table]: others });
        if (isServer(smaller)) expect(smaller.health().policy).not.toBe(server.health().policy);
      }
      return Promise.resolve();
    }));

  it("never refuses a caller because of further scopes", () =>
    forTables(202, ({ policy, server, random }) =>
      forRequests(policy, random, async (request, identity) => {
        if (typeof identity.caller !== "object" || !(await ask(server, request, identity)).allowed) return;
        const scopes = [...identity.caller.scopes, ...callerOf(random).scopes];
        const further = identityOf({ ...identity.caller, scopes });
        expect(await ask(server, request, further), JSON.stringify({ policy, request })).toMatchObject({
          allowed: true,
        });
      }),
    ));

  it("decides the same with a shadow", () =>
    forTables(203, async ({ policy, server, random }) => {
      const shadowed = start(policy, shadowOf(random, policy));
      if (!isServer(shadowed)) return;
      await forRequests(policy, random, async (request, identity) => {
        const [first, second] = [
          await ask(server, request, identity),
          await ask(shadowed, request, identity),
        ];
        expect(rulingOf(second)).toEqual(rulingOf(first));
      });
    }));
});

interface Started {
  readonly policy: Policy;
  readonly server: ResourceServer;
  readonly random: Random;
}

/** Runs a property for 15 tables that start. */
async function forTables(seed: number, run: (started: Started) => Promise<void>): Promise<void> {
  const random = randomOf(seed);
  let started = 0;
  while (started < 15) {
    const policy = policyOf(random);
    const server = start(policy);
    if (!isServer(server)) continue;
    started += 1;
    await run({ policy, server, random });
  }
}

type Asked = Parameters<typeof ask>;

async function forRequests(
  policy: Policy,
  random: Random,
  run: (request: Asked[1], identity: Asked[2]) => Promise<void>,
): Promise<void> {
  for (const identity of identitiesFor(random))
    for (let made = 0; made < 5; made += 1) await run(requestOf(random, policy), identity);
}

/** Returns the mistakes of a policy as texts, sorted. */
function mistakesOf(policy: Policy): readonly string[] {
  try {
    serverOf(policy);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.issues.map((issue) => JSON.stringify(issue)).toSorted();
  }
}

const reverse = (table: Table): Table => Object.fromEntries(Object.entries(table).toReversed());
