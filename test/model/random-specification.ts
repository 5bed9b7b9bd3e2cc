/**
 * What scopegate promises about whole tables: which of them start, and what they decide for a caller. Written to
 * be read, not to be fast, and imports nothing from the library. It reads canonical paths only: other spellings
 * are in specification.ts.
 */

/** An entry of a table, as it is written. */
export type Entry = "public" | "optional" | readonly string[] | Restricted;

export interface Restricted {
  readonly scopes?: readonly string[];
  readonly anyOf?: readonly string[];
  readonly also?: readonly string[];
  /** For a parameter, the claim that it must equal. */
  readonly where?: Readonly<Record<string, { readonly claim: string }>>;
  readonly actors?: "none" | "any" | { readonly anyOf: readonly string[]; readonly direct?: boolean };
  readonly clients?: readonly string[];
  readonly acr?: { readonly anyOf: readonly string[] };
  readonly maxAuthAgeSeconds?: number;
  readonly except?: readonly string[];
  readonly unless?: { readonly scopes: readonly string[]; readonly methods?: readonly string[] };
}

export type Table = Readonly<Record<string, Entry>>;

/** What a server is made of: a base table, the table that overrides it, and how scopes cover each other. */
export interface Policy {
  readonly base: Table;
  readonly custom: Table;
  readonly adminScope: string | null;
  readonly implied: Readonly<Record<string, readonly string[]>>;
}

export interface Request {
  /** `MCP` for an operation, whose path is its method and its name. */
  readonly method: string;
  readonly path: string;
  /** The paths of the calls in a batch, which decide instead of its own path. */
  readonly calls?: readonly string[];
  /** The pattern of the route that runs, which matches the path. */
  readonly route?: string;
}

/** The claims of a valid token; `"none"` without a token; `"rejected"` with a wrong one. */
export type Caller = "none" | "rejected" | Claims;
export type Claims = Readonly<Record<string, unknown>> & { readonly scopes: readonly string[] };

export interface Ruling {
  /** `"allowed"`, or the reason of the refusal. */
  readonly result: string;
  /** The conditions that the caller doesn't meet. The decision has one of them. */
  readonly conditions?: readonly string[];
  readonly required: readonly string[];
  readonly missing: readonly string[];
  readonly acrValues?: readonly string[];
  readonly maxAgeSeconds?: number;
}

interface Segment {
  readonly kind: "text" | "suffix" | "parameter" | "wildcard";
  /** The text, or the text behind the parameter. */
  readonly text: string;
  readonly name: string;
}

export interface Rule {
  readonly key: string;
  readonly method: string;
  readonly alternatives: readonly (readonly Segment[])[];
  readonly entry: Entry;
}

/** A rule that matches a request, and the values of its parameters. */
interface Match {
  readonly rule: Rule;
  readonly path: string;
  readonly segments: readonly Segment[];
  readonly values: Readonly<Record<string, { readonly place: number; readonly value: string }>>;
}

function readSegment(source: string): Segment {
  if (source.startsWith("*")) return { kind: "wildcard", text: "", name: source.slice(1) };
  const [, name, text = ""] = /^:(\w+)(\W.*)?$/.exec(source) ?? [];
  if (name === undefined) return { kind: "text", text: source, name: "" };
  return { kind: text === "" ? "parameter" : "suffix", text, name };
}

const divide = (path: string): readonly string[] => path.split("/").filter((text) => text !== "");

/** `{/*name}` is zero or more segments. The name of an operation is exact, or ends with `*`: any text. */
export function readPattern(method: string, pattern: string): Rule["alternatives"] {
  if (method === "MCP") return [pattern.split(" ").map(readName)];
  const [, before, group] = /^([^{]*)\{([^}]*)\}$/.exec(pattern) ?? [];
  const sources = before === undefined ? [pattern] : [`${before}/${group}`, before];
  return sources.map((source) => divide(source).map(readSegment));
}

function readName(source: string): Segment {
  const isPrefix = source.endsWith("*");
  return { kind: isPrefix ? "suffix" : "text", text: isPrefix ? source.slice(0, -1) : source, name: "" };
}

function readKey(key: string): Pick<Rule, "key" | "method" | "alternatives"> {
  const [method = "", ...pattern] = key.split(" ");
  return { key, method, alternatives: readPattern(method, pattern.join(" ")) };
}

const rulesOf = (table: Table): readonly Rule[] =>
  Object.entries(table).map(([key, entry]) => ({ ...readKey(key), entry }));

/** Names of parameters make no difference. */
export const shapeOf = (segments: readonly Segment[]): string =>
  segments.map(({ kind, text }) => `/${kind} ${text}`).join("");

/** Two keys with the same method and route are one key. */
function routeOf(key: string): string {
  const { method, alternatives } = readKey(key);
  return [method, ...alternatives.map(shapeOf)].join();
}

const isReplaced = (rule: Rule, customs: readonly Rule[]): boolean =>
  customs.some((custom) => routeOf(custom.key) === routeOf(rule.key));

const effective = new WeakMap<Policy, readonly Rule[]>();
/** A custom rule overrides the base rule of the same method and route. */
function effectiveRules(policy: Policy): readonly Rule[] {
  const remembered = effective.get(policy);
  if (remembered) return remembered;
  const customs = rulesOf(policy.custom);
  const rules = [...rulesOf(policy.base).filter((rule) => !isReplaced(rule, customs)), ...customs];
  effective.set(policy, rules);
  return rules;
}

/** The methods of the rules for a request, the narrowest first. A framework runs the handler of GET for HEAD. */
function methodsFor(method: string): readonly string[] {
  if (method === "MCP") return ["MCP"];
  return method === "HEAD" ? ["HEAD", "GET", "*"] : [method, "*"];
}

function matchRule(rule: Rule, method: string, path: string): Match | undefined {
  if (!methodsFor(method).includes(rule.method)) return undefined;
  const texts = method === "MCP" ? path.split(" ") : divide(path);
  for (const segments of rule.alternatives) {
    const values = method === "MCP" ? matchName(segments, texts) : matchSegments(segments, texts);
    if (values) return { rule, path, segments, values };
  }
  return undefined;
}

const matchName = (segments: readonly Segment[], texts: readonly string[]): Match["values"] | undefined =>
  segments.length === texts.length &&
  segments.every(({ kind, text }, i) => (kind === "text" ? text === texts[i] : texts[i]?.startsWith(text)))
    ? {}
    : undefined;

function matchSegments(segments: readonly Segment[], texts: readonly string[]): Match["values"] | undefined {
  const values: Record<string, { place: number; value: string }> = {};
  for (const [place, { kind, text, name }] of segments.entries()) {
    const found = texts[place];
    if (found === undefined) return undefined;
    if (kind === "wildcard") return values;
    if (kind === "text" && text !== found) return undefined;
    if (kind === "suffix" && (!found.endsWith(text) || found === text)) return undefined;
    if (kind !== "text") {
      values[name] = { place, value: decodeURIComponent(found.slice(0, found.length - text.length)) };
    }
  }
  return texts.length === segments.length ? values : undefined;
}

/** Text is narrowest, then a parameter with text (the longest text first), a parameter, a wildcard. */
function rankOf({ kind, text }: Segment): string {
  return kind === "suffix"
    ? `1 ${String(99 - text.length)}`
    : { text: "0", parameter: "2", wildcard: "3" }[kind];
}

/** The narrowest path decides; at one path, the exact method. */
function narrowestOf(matches: readonly Match[], method: string): Match | undefined {
  const orderOf = ({ segments, rule }: Match): string =>
    [...segments.map(rankOf), methodsFor(method).indexOf(rule.method)].join();
  return matches.toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1))[0];
}

const matchesFor = (rules: readonly Rule[], method: string, path: string): readonly Match[] =>
  rules.flatMap((rule) => matchRule(rule, method, path) ?? []);

/** Returns whether every path of the inner segments is a path of the outer ones. */
function contains(
  [outer, ...outerRest]: readonly Segment[],
  [inner, ...innerRest]: readonly Segment[],
): boolean {
  if (!outer || !inner) return outer === inner;
  if (outer.kind === "wildcard") return true;
  const isCovered =
    outer.kind === "text"
      ? inner.kind === "text" && inner.text === outer.text
      : inner.kind !== "wildcard" &&
        (outer.kind === "parameter" ||
          (inner.kind !== "parameter" && inner.text.endsWith(outer.text) && inner.text !== outer.text) ||
          (inner.kind === "suffix" && inner.text === outer.text));
  return isCovered && contains(outerRest, innerRest);
}

// Scopes

const partsOf = (scope: string): readonly string[] => scope.split(":");

/** A scope that is granted, and every scope that it implies. `r:*:a` is `r:a`, except for the admin scope. */
function grantsOf(scopes: readonly string[], { adminScope, implied }: Policy): ReadonlySet<string> {
  const granted = new Set<string>();
  const add = (scope: string): void => {
    const [resource = "", id, action] = partsOf(scope);
    const plain = action !== undefined && id === "*" ? `${resource}:${action}` : scope;
    if (granted.has(plain)) return;
    granted.add(plain);
    const isOfId = action !== undefined && id !== "*";
    for (const further of implied[isOfId ? `${resource}:${action}` : plain] ?? []) {
      const [impliedResource, impliedAction] = partsOf(further);
      if (!isOfId) add(further);
      // The ids of another resource are other ids.
      else if (impliedResource === resource) add(`${resource}:${id}:${impliedAction}`);
    }
  };
  for (const scope of scopes) if (scope !== adminScope) add(scope);
  if (adminScope !== null && scopes.includes(adminScope)) granted.add(ADMIN).add(adminScope);
  return granted;
}
const ADMIN = "every scope";

/** A required scope for a request: `id` is absent for `r:a`, and `undefined` for `<any>`. */
interface Required {
  readonly text: string;
  readonly parts: readonly string[];
  readonly id?: string | undefined;
}

/** Fills in the parameters. An id that no scope can contain is left out of the text. */
function fill(scope: string, { values }: Match): Required {
  const parts = partsOf(scope);
  const [resource, id = "", action] = parts;
  if (action === undefined) return { text: scope, parts };
  if (id === "<any>") return { text: `${resource}:${action}`, parts, id: undefined };
  const name = /^<(.*)>$/.exec(id)?.[1];
  const value = name === undefined ? id : values[name]?.value;
  const isWritten =
    value !== undefined && /^[!#-[\]-~]+$/.test(value) && value !== "*" && !value.includes(":");
  return { text: isWritten ? `${resource}:${value}:${action}` : scope, parts, id: isWritten ? value : "" };
}

function isCovered(required: Required, granted: ReadonlySet<string>): boolean {
  const [resource, second, third] = required.parts;
  if (granted.has(ADMIN)) return true;
  if (!("id" in required)) return granted.has(required.text);
  if (granted.has(`${resource}:${third}`)) return true;
  if (second !== "<any>") return required.id !== "" && granted.has(`${resource}:${required.id}:${third}`);
  return [...granted].some((scope) => {
    const parts = partsOf(scope);
    return parts.length === 3 && parts[0] === resource && parts[1] !== "" && parts[2] === third;
  });
}

interface Requirement {
  readonly alsoNeeded: readonly Required[];
  readonly anyOf: readonly Required[] | undefined;
  readonly allOf: readonly Required[];
}

const restrictionsOf = ({ entry }: Rule): Restricted =>
  typeof entry === "string" || Array.isArray(entry) ? {} : (entry as Restricted);

/** Every other property is a condition. */
const UNCONDITIONAL = ["scopes", "anyOf", "unless", "except"];
const isRestricted = (rule: Rule): boolean =>
  Object.keys(restrictionsOf(rule)).some((name) => !UNCONDITIONAL.includes(name));

const exceptionsOf = (rule: Rule): readonly string[] => (restrictionsOf(rule).except ?? []).map(routeOf);
const exempts = (rule: Rule, deciding: Rule): boolean =>
  restrictionsOf(rule).except !== undefined && exceptionsOf(rule).includes(routeOf(deciding.key));

function requirementOf(match: Match): Requirement | undefined {
  const { entry } = match.rule;
  if (typeof entry === "string") return undefined;
  const restricted = restrictionsOf(match.rule);
  const scopes = Array.isArray(entry) ? (entry as readonly string[]) : (restricted.scopes ?? []);
  return {
    allOf: scopes.map((scope) => fill(scope, match)),
    anyOf: restricted.anyOf?.map((scope) => fill(scope, match)),
    alsoNeeded: (restricted.also ?? []).map((scope) => fill(scope, match)),
  };
}

/** Returns the scopes that are missing: of `anyOf`, all or none. */
function missingOf(
  { allOf, anyOf = [] }: Pick<Requirement, "allOf" | "anyOf">,
  granted: ReadonlySet<string>,
): readonly Required[] {
  const hasOne = anyOf.some((scope) => isCovered(scope, granted));
  return [...allOf.filter((scope) => !isCovered(scope, granted)), ...(hasOne ? [] : anyOf)];
}

// Which tables start

const sharePath = (rule: Rule, other: Rule): boolean =>
  rule.alternatives.some((one) => other.alternatives.some((another) => shapeOf(one) === shapeOf(another)));

/** A rule may repeat what another one requires at the root of its subtree. */
const isDuplicate = (rule: Rule, other: Rule): boolean =>
  rule.method === other.method &&
  sharePath(rule, other) &&
  JSON.stringify(rule.entry) !== JSON.stringify(other.entry);

/** Returns the codes of the errors in a policy; `undefined` where the promises don't say. */
export function mistakesIn(policy: Policy): ReadonlySet<string> | undefined {
  const codes = new Set<string>();
  const customs = rulesOf(policy.custom);
  for (const base of rulesOf(policy.base)) {
    const atOnePath = customs.filter((custom) => sharePath(custom, base));
    // It may lose a condition.
    if (isRestricted(base) && atOnePath.some(({ method }) => method === base.method)) return undefined;
    const isMissed = atOnePath.some(({ method }) => method === "*");
    if (base.method !== "*" && base.method !== "MCP" && !isReplaced(base, customs) && isMissed)
      codes.add("override_partial");
  }
  for (const table of [rulesOf(policy.base), customs])
    for (const [index, rule] of table.entries())
      if (table.slice(index + 1).some((other) => isDuplicate(rule, other))) codes.add("route_duplicate");
  const rules = effectiveRules(policy);
  // Exceptions that match no request of their rule, and those that decide none.
  const unmatched = new Set(
    rules.flatMap((rule) => exceptionsOf(rule).map((route) => `${rule.key} > ${route}`)),
  );
  const undecided = new Set(unmatched);
  for (const { method, path } of samplesFor(rules)) {
    const matches = matchesFor(rules, method, path);
    const deciding = narrowestOf(matches, method);
    if (!deciding) continue;
    for (const { rule } of matches) {
      undecided.delete(`${rule.key} > ${routeOf(deciding.rule.key)}`);
      for (const other of matches) unmatched.delete(`${rule.key} > ${routeOf(other.rule.key)}`);
    }
    const found = mistakesAt(matches, deciding, method, policy);
    for (const code of found) codes.add(code);
    const ofGet = method === "HEAD" ? narrowestOf(matchesFor(rules, "GET", path), "GET") : undefined;
    const isHead = deciding.rule.method === "HEAD";
    if (
      ofGet &&
      isHead &&
      !found.includes("rules_cross") &&
      !implies(deciding, ofGet, heldAt(matches, deciding), policy)
    )
      codes.add("rule_outranked");
  }
  if (unmatched.size > 0) codes.add("exception_unknown");
  return undecided.size > unmatched.size ? undefined : codes;
}

function mistakesAt(
  matches: readonly Match[],
  deciding: Match,
  method: string,
  policy: Policy,
): readonly string[] {
  const codes: string[] = [];
  const methods = methodsFor(method);
  const acrs: (readonly string[])[] = [];
  for (const match of matches) {
    const { acr } = restrictionsOf(match.rule);
    const isExempt = exempts(match.rule, deciding.rule);
    if (isRestricted(match.rule) && !isExempt && typeof deciding.rule.entry === "string")
      codes.push("exception_missing");
    if (acr && !isExempt) acrs.push(acr.anyOf);
    if (match === deciding || implies(deciding, match, heldAt(matches, deciding), policy)) continue;
    const isMethodNarrower = methods.indexOf(deciding.rule.method) <= methods.indexOf(match.rule.method);
    if (method === "MCP") continue; // Names nest.
    if (!contains(match.segments, deciding.segments)) codes.push("rules_cross");
    else if (!isMethodNarrower) codes.push("rule_outranked");
  }
  if (acrs.some((one) => acrs.some((other) => !one.some((value) => other.includes(value)))))
    codes.push("condition_conflict");
  return codes;
}

/**
 * Returns whether every caller who is allowed by the first rule at a request satisfies the second one. `held` are
 * the scopes of `also` that the request needs anyway.
 */
function implies(first: Match, second: Match, held: readonly Required[], policy: Policy): boolean {
  if (second.rule.entry === "public" || first.rule.entry === second.rule.entry) return true;
  const [requirement, other] = [requirementOf(first), requirementOf(second)];
  if (!requirement) return false;
  if (!other) return true;
  return (requirement.anyOf ?? [undefined]).every((one) => {
    const needed = [...requirement.allOf, ...requirement.alsoNeeded, ...held, ...(one ? [one] : [])];
    const granted = grantsOf(needed.map(grantFor), policy);
    const isExempt = exempts(second.rule, first.rule);
    const also = { allOf: isExempt ? [] : other.alsoNeeded, anyOf: undefined };
    return [other, also].every((required) => missingOf(required, granted).length === 0);
  });
}

/** The scopes of `also` of every rule that matches, and doesn't exempt the deciding one. */
const heldAt = (matches: readonly Match[], deciding: Match): readonly Required[] =>
  restrictingIn({ matches, deciding: [deciding] }).flatMap((match) => requirementOf(match)?.alsoNeeded ?? []);

/** The least that satisfies a required scope. */
const grantFor = ({ text, parts }: Required): string =>
  parts[1] === "<any>" ? `${parts[0]}:some:${parts[2]}` : text;

/** Requests that reach every combination of rules: each text at its place, and a value that no rule names. */
function samplesFor(rules: readonly Rule[]): readonly Request[] {
  const methods = new Set(["GET", ...rules.map(({ method }) => (method === "*" ? "PUT" : method))]);
  methods.delete("MCP");
  const all = rules.filter(({ method }) => method !== "MCP").flatMap(({ alternatives }) => alternatives);
  const paths: string[] = [];
  let heads = [""];
  for (let place = 0; place <= Math.max(0, ...all.map(({ length }) => length)); place += 1) {
    paths.push(...heads.map((head) => head || "/"));
    const segments = new Set([`z${place}`]);
    for (const { kind, text } of all.flatMap((alternative) => alternative[place] ?? [])) {
      if (kind === "text") segments.add(text);
      if (kind === "suffix") segments.add(`z${place}${text}`);
    }
    heads = heads.flatMap((head) => [...segments].map((segment) => `${head}/${segment}`));
  }
  paths.push(...heads);
  const operations = rules
    .filter(({ method }) => method === "MCP")
    .map(({ key }) => ({ method: "MCP", path: key.slice(4).replace("*", "zz") }));
  return [...[...methods].flatMap((method) => paths.map((path) => ({ method, path }))), ...operations];
}

// Decisions

/** What decides one path: its rule, the rule of the route that runs, and every rule that matches. */
interface Question {
  readonly matches: readonly Match[];
  readonly deciding: readonly Match[];
}

function questionFor(rules: readonly Rule[], { method, path, route }: Request): Question | undefined {
  const matches = matchesFor(rules, method, path);
  const ofPath = narrowestOf(matches, method);
  if (!ofPath) return undefined;
  const [segments = []] = route === undefined ? [] : readPattern(method, route);
  const covering = route === undefined ? [] : matches.filter((match) => contains(match.segments, segments));
  const ofRoute = narrowestOf(covering, method);
  return { matches, deciding: ofRoute && ofRoute !== ofPath ? [ofPath, ofRoute] : [ofPath] };
}

/** The conditions of every rule that matches hold, unless all deciding rules are its exceptions. */
const restrictingIn = ({ matches, deciding }: Question): readonly Match[] =>
  matches.filter(({ rule }) => !deciding.every((match) => exempts(rule, match.rule)));

const UNMAPPED: Ruling = { result: "route_unmapped", required: [], missing: [] };

/** Decides a request. `now` is in seconds. */
export function decide(policy: Policy, request: Request, caller: Caller, now: number): Ruling {
  const rules = effectiveRules(policy);
  const paths = [...new Set(request.calls ?? [request.path])];
  const questions = paths.flatMap((path) => questionFor(rules, { ...request, path }) ?? []);
  if (questions.length < paths.length) return UNMAPPED;
  const deciding = questions.flatMap((question) => question.deciding);
  const restricting = questions.flatMap(restrictingIn);
  // An open rule may be exempt from conditions that the rule of the route isn't exempt from.
  const isFree = !restricting.some(({ rule }) => isRestricted(rule));
  const isPublic = isFree && deciding.every(({ rule }) => rule.entry === "public");
  const isOpen = isFree && deciding.every(({ rule }) => typeof rule.entry === "string");
  const isAllowed = { result: "allowed", required: [], missing: [] };
  if (isPublic || (isOpen && caller !== "rejected")) return isAllowed;
  if (caller === "none") return { ...isAllowed, result: "credential_missing" };
  if (caller === "rejected") return { ...isAllowed, result: "token_rejected" };

  const granted = grantsOf(caller.scopes, policy);
  const needs = deciding.flatMap((match) => requirementOf(match) ?? []);
  for (const match of restricting)
    needs.push({ allOf: requirementOf(match)?.alsoNeeded ?? [], anyOf: undefined, alsoNeeded: [] });
  const missing = namesOf(needs.flatMap((need) => missingOf(need, granted)));
  const required = namesOf(needs.flatMap(({ allOf, anyOf = [] }) => [...allOf, ...anyOf]));
  if (missing.length > 0) return { result: "scope_insufficient", required, missing };

  const unmet = unmetBy(caller, restricting, granted, request.method);
  if (unmet.length > 0) return { ...isAllowed, result: "caller_not_allowed", conditions: unmet };
  return stepUpFor(caller, restricting, now) ?? { result: "allowed", required, missing };
}

const namesOf = (scopes: readonly Required[]): readonly string[] =>
  [...new Set(scopes.map(({ text }) => text))].toSorted();

/** Returns which of `where`, `actors` and `clients` a caller doesn't meet. `unless` lifts these three only. */
function unmetBy(
  caller: Claims,
  all: readonly Match[],
  granted: ReadonlySet<string>,
  method: string,
): readonly string[] {
  const held = new Set(granted);
  held.delete(ADMIN);
  const restricting = all.filter(({ rule }) => {
    const { unless } = restrictionsOf(rule);
    if (!unless) return true;
    const methods = unless.methods?.includes("GET") ? [...unless.methods, "HEAD"] : unless.methods;
    const isCrossing = unless.scopes.every((text) => isCovered({ text, parts: [] }, held));
    return !isCrossing || (methods && !methods.includes(method));
  });
  const unmet: string[] = [];
  const chosen: Choice[] = [];
  for (const { rule, path, values } of restricting) {
    const { where = {}, actors, clients } = restrictionsOf(rule);
    for (const [name, { claim }] of Object.entries(where)) {
      const claimed = [caller[claim]].flat();
      const bound = values[name];
      const texts = claimed.map((value) => (Number.isSafeInteger(value) ? String(value) : value));
      if (!bound || bound.value === "" || !texts.includes(bound.value)) unmet.push("where");
      else if (new Set(texts).size > 1) chosen.push({ ...bound, claim, path });
    }
    if (!isActorAllowed(actors, caller)) unmet.push("actors");
    if (!isClientAllowed(clients, caller)) unmet.push("clients");
  }
  const areCombined = chosen.some((first) => chosen.some((second) => isOtherChoice(first, second)));
  return areCombined ? [...unmet, "where"] : unmet;
}

/** A parameter that is one of several values of a claim. */
interface Choice {
  readonly path: string;
  readonly place: number;
  readonly claim: string;
  readonly value: string;
}

/** Two lists don't say which of their values belong together. Each call of a batch may have another tenant. */
function isOtherChoice(first: Choice, second: Choice): boolean {
  if (first.path !== second.path) return first.claim !== second.claim;
  return first.place !== second.place && (first.claim !== second.claim || first.value !== second.value);
}

function isClientAllowed(allowed: readonly unknown[] | undefined, caller: Claims): boolean {
  const clients = ["client_id", "azp", "cid"].flatMap((claim) => (claim in caller ? [caller[claim]] : []));
  return allowed === undefined || (clients.length > 0 && clients.every((client) => allowed.includes(client)));
}

function isActorAllowed(actors: Restricted["actors"], caller: Claims): boolean {
  if (actors === undefined) return true;
  if (!("act" in caller)) return actors === "none" || (typeof actors === "object" && actors.direct === true);
  const actor = (caller["act"] as { readonly sub?: unknown } | null)?.sub;
  if (typeof actor !== "string" || actor === "" || actors === "none") return false;
  return actors === "any" || actors.anyOf.includes(actor);
}

/** Refuses a login that is too weak or too old. A token without a user can't log in again. */
function stepUpFor(caller: Claims, restricting: readonly Match[], now: number): Ruling | undefined {
  const all = restricting.map(({ rule }) => restrictionsOf(rule));
  const lists = all.flatMap(({ acr }) => (acr ? [acr.anyOf] : []));
  const acrValues = lists[0]?.filter((value) => lists.every((list) => list.includes(value)));
  const ages = all.flatMap(({ maxAuthAgeSeconds }) => maxAuthAgeSeconds ?? []);
  const maxAgeSeconds = ages.length > 0 ? Math.min(...ages) : undefined;
  const { acr, auth_time: authTime } = caller;
  const age = typeof authTime === "number" ? now - authTime : Infinity;
  const isOld = maxAgeSeconds !== undefined && (age > maxAgeSeconds || age < 0);
  const isWeak = acrValues !== undefined && !acrValues.includes(acr as string);
  if (!isWeak && !isOld) return undefined;
  const conditions = [...(isWeak ? ["acr"] : []), ...(isOld ? ["maxAuthAgeSeconds"] : [])];
  const refused = { required: [], missing: [], conditions };
  if (caller["sub"] === undefined) return { ...refused, result: "caller_not_allowed" };
  return {
    ...refused,
    result: "authentication_insufficient",
    ...(acrValues && { acrValues }),
    ...(maxAgeSeconds !== undefined && { maxAgeSeconds }),
  };
}

/** What the shadow decides, where it differs; `undefined` where it doesn't. `enforced` has no shadow. */
export function decideShadow(
  policy: Policy,
  shadow: Policy,
  request: Request,
  caller: Caller,
  now: number,
): string | undefined {
  const enforced = decide(policy, request, caller, now).result;
  const isRead =
    typeof caller === "object" && decide(policy, request, "rejected", now).result === "token_rejected";
  const isMissing = caller === "none" && decide(policy, request, "rejected", now).result === "token_rejected";
  const unread = decide(shadow, request, "rejected", now).result;
  const result =
    isRead || isMissing
      ? decide(shadow, request, caller, now).result
      : unread === "token_rejected"
        ? "undecided"
        : unread;
  return result === enforced ? undefined : result;
}
