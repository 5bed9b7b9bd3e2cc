/**
 * The grammar of scopes and the one place that says what covers what.
 *
 * A scope is an RFC 6749 section 3.3 scope-token. `resource:action` and `resource:<id>:action` have structure; every
 * other token is opaque and only covers itself.
 */

/** How a granted scope satisfied a required one. */
export type SatisfiedBy = "exact" | "wildcard" | "resource-wide" | "some-ids" | "implied" | "admin";

/** Which granted scope satisfied which required one, and how. */
export interface Satisfaction {
  /** The scope that was asked for, parameters filled in. */
  readonly required: string;
  /** The scope of the token that satisfied it. */
  readonly granted: string;
  /** How. */
  readonly by: SatisfiedBy;
}

/** What one granted scope gives, and through which scope of the token it came. */
interface Grant {
  readonly granted: string;
  readonly implied: boolean;
}

interface ActionGrants {
  wide?: Grant;
  wildcard?: Grant;
  /** Made with the first id: most actions have none, and a principal is remembered. */
  ids?: Map<string, Grant>;
}

/** The rules beyond the grammar: the scope that implies all, and the transitive closure of implied scopes. */
export interface ScopeRules {
  readonly adminScope: string | null;
  readonly implied: ReadonlyMap<string, readonly string[]>;
}

const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/;

/** Whether a text is a scope-token: printable ASCII without space, quotation mark and backslash. */
export const isScopeToken = (text: string): boolean => SCOPE_TOKEN.test(text);

/** The parts of a scope. An empty part means that the scope grants nothing. */
export const splitScope = (scope: string): readonly string[] => scope.split(":");

/** A scope that has structure; without an id it is for the resource as a whole. */
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

/**
 * Whether a text can stand as one part of a granted scope. An id that holds a colon is no such part: glued into a
 * scope it would read as more parts than the route had (`web:admin` must not become a resource and an action).
 */
export const isScopePart = (text: string): boolean => isScopeToken(text) && !text.includes(":");

/** The scopes of one token, indexed by structure so that texts are never glued together and parsed again. */
export class GrantedScopes {
  readonly rules: ScopeRules;
  readonly #resources = new Map<string, Map<string, ActionGrants>>();
  readonly #opaque = new Map<string, Grant>();
  #admin: string | undefined;

  constructor(scopes: Iterable<string>, rules: ScopeRules) {
    this.rules = rules;
    const granted = [...scopes];
    for (const scope of granted) this.#add(scope, { granted: scope, implied: false });
    // After all direct ones: what a token says itself is the better reason.
    if (rules.implied.size > 0) for (const scope of granted) this.#addImplied(scope);
  }

  /** The satisfaction of a required scope given as parts, or `undefined` when nothing granted covers it. */
  find(parts: readonly string[], required: string): Satisfaction | undefined {
    const structure = structureOf(parts);
    const found = structure ? this.#findStructured(structure) : this.#findOpaque(parts);
    if (!found) {
      return this.#admin === undefined
        ? undefined
        : Object.freeze({ required, granted: this.#admin, by: "admin" });
    }
    const [grant, by] = found;
    return Object.freeze({ required, granted: grant.granted, by: grant.implied ? "implied" : by });
  }

  /** Like `find` for `resource:action`, satisfied by a single id as well. */
  findSome(resource: string, action: string, required: string): Satisfaction | undefined {
    const all = this.find([resource, action], required);
    if (all) return all;
    const [grant] = this.#resources.get(resource)?.get(action)?.ids?.values() ?? [];
    return (
      grant && Object.freeze({ required, granted: grant.granted, by: grant.implied ? "implied" : "some-ids" })
    );
  }

  /** The ids for which an action on a resource is granted: `"all"`, or exactly these. */
  resourceIds(resource: string, action: string): "all" | ReadonlySet<string> {
    if (this.find([resource, action], "")) return "all";
    return new Set(this.#resources.get(resource)?.get(action)?.ids?.keys());
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
        // Only by its name: a hierarchy that is lifted to an id must not happen to spell what implies every scope.
        const isNamed = this.rules.implied.get(reached)?.includes(implied);
        if (isNamed && implied === this.rules.adminScope) this.#admin ??= scope;
      }
    }
  }

  /** A hierarchy written for a resource holds for each of its ids too, never for the ids of another resource. */
  #impliedBy(scope: string): readonly string[] {
    const direct = this.rules.implied.get(scope) ?? [];
    const own = structureOf(splitScope(scope));
    if (own?.id === undefined) return direct;
    const { resource, id, action } = own;
    const lifted = (this.rules.implied.get(`${resource}:${action}`) ?? []).flatMap((implied) => {
      const other = structureOf(splitScope(implied));
      const isLifted = other?.resource === resource && other.id === undefined;
      return isLifted ? [`${resource}:${id}:${other.action}`] : [];
    });
    return [...direct, ...lifted];
  }

  #actionGrants(resource: string, action: string): ActionGrants {
    const actions = this.#resources.get(resource) ?? new Map<string, ActionGrants>();
    this.#resources.set(resource, actions);
    const grants = actions.get(action) ?? {};
    actions.set(action, grants);
    return grants;
  }
}
