/** The scopes that a token grants, and what they cover. */
import {
  type Covering,
  coveringOf,
  isScope,
  normalizeScope,
  type SatisfiedBy,
  splitScope,
  structureOf,
} from "./scope.ts";

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

/** The scopes of one token, and the scopes that they imply. Frozen, because several tokens can share them. */
export class GrantedScopes {
  readonly rules: ScopeRules;
  /** As the token lists them. */
  readonly scopes: readonly string[];
  /** Each scope that counts as granted, normalized, and the scope of the token that it comes from. */
  readonly #grants = new Map<string, string>();
  #admin: string | undefined;

  constructor(scopes: Iterable<string>, rules: ScopeRules) {
    this.rules = rules;
    this.scopes = Object.freeze([...scopes]);
    for (const scope of this.scopes) this.#add(scope, scope);
    // Added last, so that decisions report a scope of the token itself rather than an implied one.
    if (rules.implied.size > 0) for (const scope of this.scopes) this.#addImplied(scope);
    Object.freeze(this);
  }

  /** Returns how many scopes count as granted. */
  get count(): number {
    return this.#grants.size;
  }

  /** Returns whether a grant covers a required scope. `covering` are the scopes that cover it. */
  covers(covering: readonly Covering[]): boolean {
    return this.#admin !== undefined || covering.some((each) => this.#grants.has(this.#grantFor(each)));
  }

  /** Finds the grant that covers a required scope. `covering` are the scopes that cover it. */
  find(covering: readonly Covering[], required: string): Satisfaction | undefined {
    for (const each of covering) {
      // An administrator reads the whole list.
      if (each.by === "some-ids" && this.#admin !== undefined) break;
      const text = this.#grantFor(each);
      const granted = this.#grants.get(text);
      if (granted === undefined) continue;
      const byForm = normalizeScope(granted) === text ? "wildcard" : "implied";
      return Object.freeze({ required, granted, by: granted === text ? each.by : byForm });
    }
    if (this.#admin === undefined) return undefined;
    return Object.freeze({ required, granted: this.#admin, by: "admin" });
  }

  /** Returns whether the grants cover a scope. */
  readonly has = (scope: string): boolean => isScope(scope) && this.covers(coveringOf(splitScope(scope)));

  /** Returns the ids for which an action on a resource is granted, or `"all"`. */
  readonly resourceIds = (resource: string, action: string): "all" | ReadonlySet<string> => {
    if (this.covers(coveringOf([resource, action]))) return "all";
    return new Set([...this.#withIds(resource, action)].map(([, id]) => id));
  };

  #grantFor({ text, by }: Covering): string {
    if (by !== "some-ids") return text;
    const [resource = "", action = ""] = splitScope(text);
    const [[someId] = [""]] = this.#withIds(resource, action);
    return someId;
  }

  /** Visits the scopes that count as granted for one id, and their ids. */
  *#withIds(resource: string, action: string): Iterable<readonly [text: string, id: string]> {
    for (const text of this.#grants.keys()) {
      const structure = structureOf(splitScope(text));
      if (structure?.resource === resource && structure.action === action && structure.id !== undefined)
        yield [text, structure.id];
    }
  }

  #add(scope: string, granted: string): void {
    if (!isScope(scope)) return;
    // Compared as text: a scope for every id of a resource doesn't name the admin scope.
    if (scope === this.rules.adminScope && scope === granted) this.#admin ??= granted;
    const text = normalizeScope(scope);
    // The scope itself, rather than `agents:*:read`, whatever their order in the token.
    if (!this.#grants.has(text) || granted === text) this.#grants.set(text, granted);
  }

  #addImplied(scope: string): void {
    const seen = new Set([normalizeScope(scope)]);
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
