/**
 * The grammar of scopes, and which scope covers which. A scope is a scope-token (RFC 6749 section 3.3).
 * `resource:action` and `resource:<id>:action` have structure. Any other scope is opaque, and covers only
 * itself. A URI is opaque too: `urn:example:read` isn't `read` for the id `example`.
 */

/** How a granted scope satisfied a required scope. */
export type SatisfiedBy = "exact" | "wildcard" | "resource-wide" | "some-ids" | "implied" | "admin";

/** Which granted scope satisfied which required scope, and how. */
export interface Satisfaction {
  /** The required scope, with its parameters filled in. */
  readonly required: string;
  /** The scope of the token. */
  readonly granted: string;
  /** How it satisfies the required scope. */
  readonly by: SatisfiedBy;
}

/** The scope that implies every scope, and the transitive closure of implied scopes. */
export interface ScopeRules {
  readonly adminScope: string | null;
  readonly implied: ReadonlyMap<string, readonly string[]>;
}

const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** Returns whether a string is a scope-token: printable ASCII without spaces, quotes and backslashes. */
export const isScopeToken = (value: string): boolean => SCOPE_TOKEN.test(value);

/** Splits a scope into its parts; a URI is one part. A scope with an empty part grants nothing. */
export const splitScope = (scope: string): readonly string[] => (isUri(scope) ? [scope] : scope.split(":"));

const isUri = (scope: string): boolean => scope.startsWith("urn:") || scope.includes("://");

/** Returns whether a token can be granted a scope. */
export const isScope = (value: string): boolean => isScopeToken(value) && !splitScope(value).includes("");

/** A structured scope. Without an id it covers the whole resource. */
interface Structure {
  readonly resource: string;
  readonly id: string | undefined;
  readonly action: string;
}

function structureOf(parts: readonly string[]): Structure | undefined {
  const [resource, second, third] = parts;
  if (resource === undefined || second === undefined || parts.length > 3) return undefined;
  return third === undefined
    ? { resource, id: undefined, action: second }
    : { resource, id: second, action: third };
}

/** Returns whether a string can be a part of a granted scope. An id with a colon would be several parts. */
export const isScopePart = (value: string): boolean => isScopeToken(value) && !value.includes(":");

/** A scope that covers a required scope, and how. */
export interface Covering {
  readonly text: string;
  readonly by: SatisfiedBy;
}

/** Returns the scopes that cover a required scope, by its parts; none if no scope can have these parts. */
export function coveringOf(parts: readonly string[]): readonly Covering[] {
  const structure = structureOf(parts);
  // Joined, a part with a colon would become several: an id `web:run` must not become an action.
  if (!structure) {
    const isScope = parts.every((part) => isScopePart(part) || (isUri(part) && isScopeToken(part)));
    return isScope ? [{ text: parts.join(":"), by: "exact" }] : [];
  }
  const { resource, id, action } = structure;
  if (resource.includes(":") || action.includes(":")) return [];
  const whole = `${resource}:${action}`;
  const everyId: Covering = { text: `${resource}:*:${action}`, by: "wildcard" };
  if (id === undefined) return [{ text: whole, by: "exact" }, everyId];
  const wider: readonly Covering[] = [everyId, { text: whole, by: "resource-wide" }];
  if (id === "*" || id.includes(":")) return wider;
  return [{ text: `${resource}:${id}:${action}`, by: "exact" }, ...wider];
}

/** The scopes of one token, and the scopes that they imply. */
export class GrantedScopes {
  readonly rules: ScopeRules;
  /** Each scope that counts as granted, and the scope of the token that it comes from. */
  readonly #grants = new Map<string, string>();
  #admin: string | undefined;

  constructor(scopes: Iterable<string>, rules: ScopeRules) {
    this.rules = rules;
    const granted = [...scopes];
    for (const scope of granted) this.#add(scope, scope);
    // Added last, so that decisions report a scope of the token itself rather than an implied one.
    if (rules.implied.size > 0) for (const scope of granted) this.#addImplied(scope);
  }

  /** Returns how many scopes count as granted. */
  get count(): number {
    return this.#grants.size;
  }

  /** Returns whether a grant covers a required scope. `covering` are the scopes that cover it. */
  covers(covering: readonly Covering[]): boolean {
    return this.#admin !== undefined || covering.some(({ text }) => this.#grants.has(text));
  }

  /** Finds the grant that covers a required scope. `covering` are the scopes that cover it. */
  find(covering: readonly Covering[], required: string): Satisfaction | undefined {
    for (const { text, by } of covering) {
      const granted = this.#grants.get(text);
      if (granted !== undefined)
        return Object.freeze({ required, granted, by: granted === text ? by : "implied" });
    }
    if (this.#admin === undefined) return undefined;
    return Object.freeze({ required, granted: this.#admin, by: "admin" });
  }

  /** Like `find` for `resource:action`, but a grant for one id is enough. */
  findSome(resource: string, action: string, required: string): Satisfaction | undefined {
    const forEveryId = this.find(coveringOf([resource, action]), required);
    if (forEveryId) return forEveryId;
    for (const { text } of this.#idsOf(resource, action)) {
      const granted = this.#grants.get(text) ?? text;
      return Object.freeze({ required, granted, by: granted === text ? "some-ids" : "implied" });
    }
    return undefined;
  }

  /** Returns the ids for which an action on a resource is granted, or `"all"`. */
  resourceIds(resource: string, action: string): "all" | ReadonlySet<string> {
    if (this.covers(coveringOf([resource, action]))) return "all";
    return new Set([...this.#idsOf(resource, action)].map(({ id }) => id));
  }

  *#idsOf(resource: string, action: string): Iterable<{ readonly text: string; readonly id: string }> {
    for (const text of this.#grants.keys()) {
      if (!text.startsWith(resource)) continue;
      const structure = structureOf(splitScope(text));
      if (structure?.resource === resource && structure.action === action && structure.id !== undefined)
        yield { text, id: structure.id };
    }
  }

  #add(scope: string, granted: string): void {
    if (!isScope(scope)) return;
    if (scope === this.rules.adminScope && scope === granted) this.#admin ??= granted;
    if (!this.#grants.has(scope)) this.#grants.set(scope, granted);
  }

  #addImplied(scope: string): void {
    const seen = new Set([scope]);
    for (const reached of seen) {
      for (const implied of this.#impliedBy(reached)) {
        seen.add(implied);
        this.#add(implied, scope);
        // A hierarchy for an id must not grant admin just because the result equals the admin scope.
        const isNamed = this.rules.implied.get(reached)?.includes(implied);
        if (isNamed && implied === this.rules.adminScope) this.#admin ??= scope;
      }
    }
  }

  /** A hierarchy for a resource also applies to each of its ids, but never to the ids of another resource. */
  #impliedBy(scope: string): readonly string[] {
    const direct = this.rules.implied.get(scope) ?? [];
    const structure = structureOf(splitScope(scope));
    if (structure?.id === undefined) return direct;
    const { resource, id, action } = structure;
    const forId = (this.rules.implied.get(`${resource}:${action}`) ?? []).flatMap((implied) => {
      const impliedStructure = structureOf(splitScope(implied));
      if (impliedStructure?.resource !== resource || impliedStructure.id !== undefined) return [];
      return [`${resource}:${id}:${impliedStructure.action}`];
    });
    return [...direct, ...forId];
  }
}
