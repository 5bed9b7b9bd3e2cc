/** Random policies, callers and requests, the same for each seed. */
import type { Claims, Entry, Policy, Request, Restricted, Table } from "./random-specification.ts";
import { readPattern, shapeOf } from "./random-specification.ts";

/** The time of all tables, in seconds. */
export const NOW = 1_700_000_000;

export type Random = ReturnType<typeof randomOf>;

/** A generator of the kind `mulberry32`. */
export function randomOf(seed: number) {
  let state = seed * 2_654_435_761;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (count: number): number => Math.floor(next() * count);
  const pick = <T>(values: readonly T[]): T => values[below(values.length)] as T;
  const some = <T>(values: readonly T[], most: number): readonly T[] => [
    ...new Set(Array.from({ length: below(most + 1) }, () => pick(values))),
  ];
  return { below, pick, some, chance: (share: number): boolean => next() < share };
}

const METHODS = ["GET", "GET", "GET", "*", "*", "POST", "DELETE", "HEAD"];
const PATTERNS = [
  "/{*path}",
  "/*path",
  "/orgs",
  "/:area",
  "/orgs/:org",
  "/orgs/:org",
  "/orgs/:o{/*path}",
  "/orgs/:org{/*path}",
  "/orgs/:org/*path",
  "/orgs{/*path}",
  "/orgs/acme",
  "/orgs/:org/docs",
  "/orgs/:org/docs/:doc",
  "/orgs/:org/docs/:doc.json",
  "/orgs/:org/:page",
  "/:area/:org/docs",
  "/:area/acme",
  "/orgs/:org.json",
  "/:area/:org{/*path}",
  "/trpc{/*path}",
  "/trpc/list",
  "/trpc/list",
  "/trpc/secret",
  "/trpc/:name",
];
const OPERATIONS = ["tools/list", "tools/call search", "tools/call se*", "tools/call send", "tools/call *"];
const VALUES = ["acme", "globex", "7", "acme.json"];
const STRANGE_VALUES = ["%2A", "a%3Ab", "a%20b", "%C3%A9", "%3Cany%3E"];
const ROUTES = [
  "/:a/:b",
  "/orgs/:x",
  "/orgs/*rest",
  "/*rest",
  "/orgs/:x/:y",
  "/:a/:b/docs",
  "/trpc/:x",
  "/orgs/:x.json",
];

const CONDITIONS = ["where", "also", "actors", "clients", "acr", "maxAuthAgeSeconds"];
const RESOURCES = ["docs", "orgs"];
const ACTIONS = ["read", "write"];
const PLAIN_SCOPES = ["docs:read", "docs:write", "orgs:read", "orgs:write", "meta:read", "openid"];

/** Parameters of a pattern that a scope or `where` may name. */
const parametersOf = (pattern: string): readonly string[] =>
  [...pattern.matchAll(/:(\w+)/g)].map(([, name]) => name ?? "");

function scopeFor(random: Random, method: string, pattern: string): string {
  const [resource, action] = [random.pick(RESOURCES), random.pick(ACTIONS)];
  const names = parametersOf(pattern);
  if (names.length > 0 && random.chance(0.5)) return `${resource}:<${random.pick(names)}>:${action}`;
  const isList =
    method === "MCP" ? !pattern.endsWith("*") : /^(GET|HEAD)$/.test(method) && /\/\w+$/.test(pattern);
  if (isList && !/:\w+(?:\.json)?$/.test(pattern) && random.chance(0.5)) return `${resource}:<any>:${action}`;
  return random.chance(0.1) ? `${resource}:acme:${action}` : random.pick(PLAIN_SCOPES);
}

function scopesFor(random: Random, method: string, pattern: string, least = 0): readonly string[] {
  const count = least + random.below(3 - least);
  return [...new Set(Array.from({ length: count }, () => scopeFor(random, method, pattern)))];
}

function conditionsFor(random: Random, method: string, pattern: string): Restricted {
  const names = parametersOf(pattern);
  const isBound = names.length > 0 && random.chance(0.6);
  const where = Object.fromEntries(
    [...random.some(names, 2), random.pick(names)].map((name) => [
      name,
      { claim: random.pick(["org_id", "team"]) },
    ]),
  );
  const conditions: Restricted = {
    ...(isBound && { where }),
    ...(random.chance(0.3) && { also: scopesFor(random, "*", pattern, 1) }),
    ...(random.chance(0.2) && {
      actors: random.pick(["none", "any", { anyOf: ["a1"] }, { anyOf: ["a1"], direct: true }] as const),
    }),
    ...(random.chance(0.2) && { clients: random.pick([["web"], ["web", "cli"]]) }),
    ...(random.chance(0.2) && {
      acr: { anyOf: random.pick([["hi"], ["lo", "hi"], ["hi", "lo"], ["hi", "lo"]]) },
    }),
    ...(random.chance(0.2) && { maxAuthAgeSeconds: random.pick([60, 300]) }),
  };
  const hasLiftable = Boolean(conditions.where ?? conditions.actors ?? conditions.clients);
  const unless = {
    scopes: random.chance(0.1)
      ? ["platform:admin"]
      : random.pick([["orgs:cross"], ["orgs:cross", "meta:read"]]),
    ...(random.chance(0.4) && { methods: [method === "*" ? random.pick(["GET", "POST"]) : method] }),
  };
  return { ...conditions, ...(hasLiftable && method !== "MCP" && random.chance(0.4) && { unless }) };
}

function entryFor(random: Random, method: string, pattern: string): Entry {
  if (random.chance(0.2)) return random.pick(["public", "optional"]);
  const scopes = random.chance(0.3)
    ? { anyOf: scopesFor(random, method, pattern, 1) }
    : { scopes: scopesFor(random, method, pattern) };
  const conditions = random.chance(0.5) ? conditionsFor(random, method, pattern) : {};
  if (Object.keys(conditions).length > 0) return { ...scopes, ...conditions };
  return "anyOf" in scopes ? scopes : scopes.scopes;
}

const placesOf = (key: string): readonly string[] => {
  const [method = "", ...pattern] = key.split(" ");
  return readPattern(method, pattern.join(" ")).map((segments) => `${method} ${shapeOf(segments)}`);
};

/** Adds rules with other places than the rules that are there. */
function tableOf(random: Random, size: number): Table {
  const table: Record<string, Entry> = {};
  const places = new Set<string>();
  while (Object.keys(table).length < size) {
    const method = random.chance(0.12) ? "MCP" : random.pick(METHODS);
    const pattern = method === "MCP" ? random.pick(OPERATIONS) : random.pick(PATTERNS);
    const key = `${method} ${pattern}`;
    if (placesOf(key).some((place) => places.has(place))) continue;
    for (const place of placesOf(key)) places.add(place);
    table[key] = entryFor(random, method, pattern);
  }
  return table;
}

/** Lets rules with conditions exempt some rules below, and most of the open ones. */
function withExceptions(random: Random, table: Table): Table {
  const entries = Object.entries(table).map(([key, entry]): [string, Entry] => {
    const isRestricted = CONDITIONS.some((name) => name in Object(entry));
    const except = Object.keys(table).filter((other) => {
      const share = typeof table[other] === "string" ? 0.9 : 0.25;
      return other !== key && random.chance(isLikelyBelow(key, other) ? share : 0.01);
    });
    return [key, isRestricted && except.length > 0 ? { ...(entry as Restricted), except } : entry];
  });
  return Object.fromEntries(entries);
}

/** A guess, which is wrong for some rules: those tables don't start. */
function isLikelyBelow(key: string, other: string): boolean {
  const [method, pattern = ""] = key.replace("tools/", "").split(" ");
  const [otherMethod, otherPattern = ""] = other.replace("tools/", "").split(" ");
  if (method === "MCP" || otherMethod === "MCP")
    return method === otherMethod && key.endsWith("*") && other.startsWith(key.slice(0, -1));
  const prefix = pattern.replace(/\{?\/?\{?\*\w+\}?$/, "").replace(/:\w+/g, ":");
  const isSubtree = pattern.includes("*");
  const isInside =
    otherPattern.replace(/:\w+/g, ":").startsWith(prefix) && otherPattern.length >= prefix.length;
  return isSubtree && isInside && (method === "*" || method === otherMethod);
}

const OPTIONS: readonly Pick<Policy, "adminScope" | "implied">[] = [
  { adminScope: null, implied: {} },
  { adminScope: "platform:admin", implied: {} },
  { adminScope: "platform:admin", implied: { "docs:write": ["docs:read"], "docs:read": ["meta:read"] } },
  { adminScope: null, implied: { "orgs:write": ["orgs:read", "orgs:cross"] } },
];

/** A policy of two to six rules, some of them in a base table. */
export function policyOf(random: Random): Policy {
  const rules = Object.entries(withExceptions(random, tableOf(random, 2 + random.below(5))));
  const baseCount = random.chance(0.4) ? random.below(3) : 0;
  const base = Object.fromEntries(rules.slice(0, baseCount));
  const custom = Object.fromEntries(rules.slice(baseCount));
  // Some custom rules override one of the base table, under other names of parameters.
  for (const key of Object.keys(base)) {
    const [method = "", pattern = ""] = key.replace("/:org", "/:renamed").split(" ");
    if (method !== "MCP" && random.chance(0.4))
      custom[`${method} ${pattern}`] = entryFor(random, method, pattern);
    else if (method !== "MCP" && random.chance(0.1)) addUnlessTaken(custom, `* ${pattern}`);
  }
  return { base, custom, ...random.pick(OPTIONS) };
}

function addUnlessTaken(table: Record<string, Entry>, key: string): void {
  const taken = new Set(Object.keys(table).flatMap(placesOf));
  if (!placesOf(key).some((place) => taken.has(place))) table[key] = [];
}

/** A second policy with the same base table: some entries of the first one are others. */
export function shadowOf(random: Random, policy: Policy): Policy {
  const custom = Object.fromEntries(
    Object.entries(policy.custom).flatMap(([key, entry]) => {
      const [method = "", ...pattern] = key.split(" ");
      if (random.chance(0.1)) return [];
      return [[key, random.chance(0.5) ? entryFor(random, method, pattern.join(" ")) : entry]];
    }),
  );
  return { ...policy, custom };
}

const GRANTS = [
  ...PLAIN_SCOPES,
  "docs:*:read",
  "orgs:*:read",
  "docs:acme:read",
  "docs:acme:write",
  "orgs:acme:read",
  "orgs:acme:write",
  "orgs:globex:write",
  "docs:7:read",
  "docs::read",
  "orgs::read",
  "docs:<any>:read",
  "orgs:cross",
  "platform:*:admin",
  "docs:read:acme",
  "Docs:read",
];

/** Valid claims, of which many meet conditions. */
export function callerOf(random: Random): Claims {
  const values = [
    "acme",
    "acme",
    "globex",
    7,
    ["acme", "globex"],
    ["globex", "7"],
    ["acme"],
    "",
    [],
    true,
    7.5,
  ] as const;
  const scopes = random.chance(0.12)
    ? ["platform:admin", ...random.some(GRANTS, 2)]
    : random.some(GRANTS, random.chance(0.3) ? 20 : 4);
  return {
    scopes,
    ...(random.chance(0.9) && { sub: "u1" }),
    ...(random.chance(0.9) && { org_id: random.pick(values) }),
    ...(random.chance(0.7) && { team: random.pick(values) }),
    ...(random.chance(0.7) && { acr: random.pick(["hi", "hi", "lo", "other"]) }),
    ...(random.chance(0.8) && { auth_time: NOW - random.pick([0, 10, 60, 61, 300, 301, -1]) }),
    ...(random.chance(0.5) && {
      act: random.pick([{ sub: "a1" }, { sub: "a2" }, { sub: "a2", act: { sub: "a1" } }, {}, null]),
    }),
    ...(random.chance(0.7) && { client_id: random.pick(["web", "web", "cli", "other"]) }),
    ...(random.chance(0.2) && { azp: random.pick(["web", "cli"]) }),
  };
}

/** A request that some rule of the table is likely to match. */
export function requestOf(random: Random, policy: Policy): Request {
  const key = random.pick(Object.keys({ ...policy.base, ...policy.custom }));
  const [ruleMethod = "", ...rest] = key.split(" ");
  const pattern = rest.join(" ");
  if (ruleMethod === "MCP")
    return {
      method: "MCP",
      path: random.chance(0.5)
        ? pattern.replace("*", "x")
        : random.pick([
            "tools/list",
            "tools/call search",
            "tools/call send",
            "tools/call other",
            "tools/call se",
          ]),
    };
  const method =
    ruleMethod === "*" || random.chance(0.1) ? random.pick(["GET", "POST", "PUT", "HEAD"]) : ruleMethod;
  const value = (): string => random.pick(random.chance(0.12) ? STRANGE_VALUES : VALUES);
  const path = random.chance(0.1)
    ? `/${random.pick(["orgs", "trpc", "other"])}/${value()}`
    : pattern
        .replace(/\{?\/\{?\*\w+\}?$/, random.pick(["", `/${value()}`, `/docs`, `/docs/${value()}`]))
        .replace(/:\w+/g, () => random.pick([value(), value(), value(), "docs"])) || "/";
  if (method === "HEAD" && ruleMethod !== "HEAD" && random.chance(0.5)) return { method: "GET", path };
  const isBatch = method === "GET" && random.chance(0.5) && path.startsWith("/trpc/");
  if (!isBatch) {
    if (random.chance(0.7)) return { method, path };
    const routes = [...ROUTES, ...(pattern.includes("{") ? [] : [pattern])].filter((route) =>
      isRouteOf(route, path),
    );
    return routes.length > 0 ? { method, path, route: random.pick(routes) } : { method, path };
  }
  const calls = Array.from({ length: 2 }, () => `/trpc/${random.pick(["list", "secret", "other"])}`);
  return { method, path: `/trpc/${calls.map((call) => call.slice(6)).join(",")}?batch=1`, calls };
}

/** Whether a router matches a path to the pattern of a route. */
function isRouteOf(route: string, path: string): boolean {
  const source = route
    .replaceAll(".", "\\.")
    .replace(/:\w+/g, "[^/]+")
    .replace(/\*\w+$/, ".+");
  return new RegExp(`^${source}$`).test(path);
}
