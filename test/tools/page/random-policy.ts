/** Random options of a server that make no configuration error, and random queries that often reach a rule. */
import fc from "fast-check";
import type { ScopeMappings } from "scopegate";
import type { ExplainQuery } from "../../../src/capabilities/explain/explain.ts";
import { callerOf, policyOf, randomOf, requestOf } from "../../model/random-tables.ts";
import { starts } from "../../support/resource-servers.ts";
import type { ResourceServerOptions } from "../../support/server.ts";

const seed = fc.integer({ min: 1, max: 1_000_000 });

const anyOptions: fc.Arbitrary<Partial<ResourceServerOptions>> = fc
  .record({
    seed,
    unmappedRoutes: fc.constantFrom("deny", "authenticated"),
    authorization: fc.boolean().map((isOff) => !isOff),
  })
  .map(({ seed: chosen, ...others }) => {
    const { base, custom, adminScope, implied } = policyOf(randomOf(chosen));
    const tables = { defaultScopeMappings: base as ScopeMappings, scopeMappings: custom as ScopeMappings };
    return { ...tables, ...others, adminScope, impliedScopes: implied, mcp: {} };
  });

export const options = anyOptions.filter(starts);

/** Other spellings of a path. */
const SPELLINGS: readonly ((path: string) => string)[] = [
  (path) => path.toUpperCase(),
  (path) => `${path}/`,
  (path) => `${path}?q=1`,
  (path) => `/..${path}`,
  (path) => path.replace("o", "%6F"),
];

export const queries: fc.Arbitrary<ExplainQuery> = seed
  .map((chosen): ExplainQuery => {
    const random = randomOf(chosen);
    const { method, path } = requestOf(random, policyOf(random));
    const spelled = random.chance(0.3) ? random.pick(SPELLINGS)(path) : path;
    return { method, path: spelled, ...(random.chance(0.8) && { scopes: callerOf(random).scopes }) };
  })
  .filter(({ method }) => method !== "MCP");
