/** Random options of a server that make no configuration error, and random queries that often reach a rule. */
import fc from "fast-check";
import { starts } from "../../support/resource-servers.ts";
import type { Requirement, ScopeMappings } from "scopegate";
import type { ExplainQuery } from "../../../src/capabilities/explain/explain.ts";
import type { ResourceServerOptions } from "../../support/server.ts";

const SEGMENTS = ["agents", "web", "runs", "Logs"];
const SCOPES = [
  "agents:read",
  "agents:*:run",
  "agents:web:run",
  "agents:write",
  "runs:web:read",
  "platform:admin",
  "x",
];

const METHODS = fc.constantFrom("GET", "POST", "HEAD", "DELETE");
const text = fc.constantFrom(...SEGMENTS);

/** A pattern, and the parameters that its scopes may name. */
const pattern = fc
  .tuple(
    fc.array(fc.oneof(text, fc.constant(":")), { minLength: 1, maxLength: 3 }),
    fc.constantFrom("", "", "/*rest"),
  )
  .map(([parts, end]) => ({
    path: `/${parts.map((part, index) => (part === ":" ? `:p${index}` : part)).join("/")}${end}`,
    names: parts.flatMap((part, index) => (part === ":" ? [`p${index}`] : [])),
  }));

const rule = fc
  .tuple(fc.oneof(METHODS, fc.constant("*")), pattern, fc.integer({ min: 0, max: 7 }))
  .map(([method, { path, names }, kind]): [string, ScopeMappings["GET /"]] => {
    const [name] = names;
    const own = name === undefined ? "runs:read" : `agents:<${name}>:run`;
    const requirements: readonly Requirement[] = [
      ...(["public", "optional"] as const),
      [],
      ["agents:read"],
      [own],
      { anyOf: [own, "runs:web:read"] },
      ["agents:<any>:run"],
      [own, "agents:read"],
    ];
    return [`${method} ${path}`, requirements[kind] ?? []];
  });

/** One rule for each route: keys that differ only in letter case or in the names of parameters are errors. */
const table = fc
  .uniqueArray(rule, { maxLength: 12, selector: ([key]) => key.replaceAll(/:p\d/g, ":") })
  .map((rules): ScopeMappings => Object.fromEntries(rules));

const anyOptions: fc.Arbitrary<Partial<ResourceServerOptions>> = fc.record({
  defaultScopeMappings: table,
  scopeMappings: table,
  unmappedRoutes: fc.constantFrom("deny", "authenticated"),
  authorization: fc.boolean().map((isOff) => !isOff),
  adminScope: fc.constantFrom("platform:admin", null, "x"),
  impliedScopes: fc.constantFrom({}, { "agents:write": ["agents:read", "agents:run"] }),
});

/** Without tables whose rules have no total order. */
export const options = anyOptions.filter(starts);

const spelled = fc.oneof(
  { weight: 5, arbitrary: text },
  fc.constantFrom("AGENTS", "w%65b", "..", "", "logs", "a%2Fb", ":p0"),
);

export const queries: fc.Arbitrary<ExplainQuery> = fc
  .tuple(
    METHODS,
    fc.array(spelled, { maxLength: 4 }),
    fc.constantFrom("", "", "", "/", "?q=1"),
    fc.option(fc.subarray(SCOPES), { nil: undefined }),
  )
  .map(([method, parts, end, scopes]) => ({
    method,
    path: `/${parts.join("/")}${end}`,
    ...(scopes && { scopes }),
  }));
