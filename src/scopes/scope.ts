/**
 * The grammar of scopes, and which scope covers which. A scope is a scope-token (RFC 6749 section 3.3).
 * `resource:action` and `resource:<id>:action` have structure; any other is opaque and covers only itself.
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

/** One grant, and the scope of the token that it comes from. */
interface Grant {
  readonly granted: string;
  readonly implied: boolean;
}

interface ActionGrants {
  wide?: Grant;
  wildcard?: Grant;
  /** Created with the first id: most actions have none, and cached principals should stay small. */
  ids?: Map<string, Grant>;
}

/** The scope that implies every scope, and the transitive closure of implied scopes. */
export interface ScopeRules {
  readonly adminScope: string | null;
  readonly implied: ReadonlyMap<string, readonly string[]>;
}

const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** Reports whether a string is a scope-token: printable ASCII without space, quotation mark and backslash. */
export const isScopeToken = (value: string): boolean => SCOPE_TOKEN.test(value);

/** Splits a scope into its parts. A scope with an empty part grants nothing. */
export const splitScope = (scope: string): readonly string[] => scope.split(":");

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

/** Whether a string can be one part of a granted scope. An id with a colon would be read as several parts. */
export const isScopePart = (value: string): boolean => isScopeToken(value) && !value.includes(":");

/** The scopes of one token, indexed by structure: scopes are never joined into a string and parsed again. */
export class GrantedScopes {
  readonly rules: ScopeRules;
  readonly #resources = new Map<string, Map<string, ActionGrants>>();
  readonly #opaque = new Map<string, Grant>();
  #admin: string | undefined;

  constructor(scopes: Iterable<string>, rules: ScopeRules) {
    this.rules = rules;
    const granted = [...scopes];
    for (const scope of granted) this.#add(scope, { granted: scope, implied: false });
    // Last, so that a scope of the token itself is reported in preference to an implied one.
    if (rules.implied.size > 0) for (const scope of granted) this.#addImplied(scope);
  }

  /** Whether a grant covers a required scope, given as parts. */
  covers(parts: readonly string[]): boolean {
    return this.#grantFor(parts) !== undefined || this.#admin !== undefined;
  }

  /** Finds the grant that covers a required scope, given as parts. */
  find(parts: readonly string[], required: string): Satisfaction | undefined {
    const found = this.#grantFor(parts);
    if (!found) {
      return this.#admin === undefined
        ? undefined
        : Object.freeze({ required, granted: this.#admin, by: "admin" });
    }
    const [grant, by] = found;
    return Object.freeze({ required, granted: grant.granted, by: grant.implied ? "implied" : by });
  }

  /** Like `find` for `resource:action`, but a grant for one id is enough. */
  findSome(resource: string, action: string, required: string): Satisfaction | undefined {
    const all = this.find([resource, action], required);
    if (all) return all;
    const [grant] = this.#resources.get(resource)?.get(action)?.ids?.values() ?? [];
    return (
      grant && Object.freeze({ required, granted: grant.granted, by: grant.implied ? "implied" : "some-ids" })
    );
  }

  /** Returns the ids for which an action on a resource is granted, or `"all"`. */
  resourceIds(resource: string, action: string): "all" | ReadonlySet<string> {
    if (this.covers([resource, action])) return "all";
    return new Set(this.#resources.get(resource)?.get(action)?.ids?.keys());
  }

  #grantFor(parts: readonly string[]): readonly [Grant, SatisfiedBy] | undefined {
    const structure = structureOf(parts);
    return structure ? this.#findStructured(structure) : this.#findOpaque(parts);
  }

  #findStructured({ resource, id, action }: Structure): readonly [Grant, SatisfiedBy] | undefined {
    const grants = this.#resources.get(resource)?.get(action);
    if (!grants) return undefined;
    const exact = id === undefined ? grants.wide : grants.ids?.get(id);
    if (exact) return [exact, "exact"];
    if (grants.wildcard) return [grants.wildcard, "wildcard"];
    return grants.wide && [grants.wide, "resource-wide"];
  }

  #findOpaque(parts: readonly string[]): readonly [Grant, SatisfiedBy] | undefined {
    if (!parts.every(isScopePart)) return undefined;
    const grant = this.#opaque.get(parts.join(":"));
    return grant && [grant, "exact"];
  }

  #add(scope: string, grant: Grant): void {
    const parts = splitScope(scope);
    if (!isScopeToken(scope) || parts.includes("")) return;
    if (scope === this.rules.adminScope && !grant.implied) this.#admin ??= grant.granted;
    const structure = structureOf(parts);
    if (!structure) {
      if (!this.#opaque.has(scope)) this.#opaque.set(scope, grant);
      return;
    }
    const { resource, id, action } = structure;
    const grants = this.#actionGrants(resource, action);
    if (id === undefined) grants.wide ??= grant;
    else if (id === "*") grants.wildcard ??= grant;
    else if (!grants.ids?.has(id)) (grants.ids ??= new Map<string, Grant>()).set(id, grant);
  }

  #addImplied(scope: string): void {
    const seen = new Set([scope]);
    for (const reached of seen) {
      for (const implied of this.#impliedBy(reached)) {
        seen.add(implied);
        this.#add(implied, { granted: scope, implied: true });
        // A hierarchy applied to an id must not grant admin because the result looks like the admin scope.
        const isNamed = this.rules.implied.get(reached)?.includes(implied);
        if (isNamed && implied === this.rules.adminScope) this.#admin ??= scope;
      }
    }
  }

  /** A hierarchy for a resource also applies to each of its ids, but never to ids of another resource. */
  #impliedBy(scope: string): readonly string[] {
    const direct = this.rules.implied.get(scope) ?? [];
    const own = structureOf(splitScope(scope));
    if (own?.id === undefined) return direct;
    const { resource, id, action } = own;
    const forId = (this.rules.implied.get(`${resource}:${action}`) ?? []).flatMap((implied) => {
      const other = structureOf(splitScope(implied));
      const isSameResource = other?.resource === resource && other.id === undefined;
      return isSameResource ? [`${resource}:${id}:${other.action}`] : [];
    });
    return [...direct, ...forId];
  }

  #actionGrants(resource: string, action: string): ActionGrants {
    const actions = this.#resources.get(resource) ?? new Map<string, ActionGrants>();
    this.#resources.set(resource, actions);
    const grants = actions.get(action) ?? {};
    actions.set(action, grants);
    return grants;
  }
}
